"""Refuses what names a forbidden word."""

import wit_world.exports
from portcullis import allow, blank, deny, description, finding, refuse, settings, span
from wit_world.exports import lifecycle
from wit_world.imports import types
from wit_world.imports.types import Severity

RULE = "forbidden-word"
MESSAGE = "a forbidden word"

# Words that nobody may say. Memory is frozen after `configure`: build every table there.
words: list[str] = []


class Lifecycle(wit_world.exports.Lifecycle):
    def describe(self) -> lifecycle.Description:
        rules = [lifecycle.Rule(RULE, Severity.HIGH, "A forbidden word.")]
        return description("{{name}}", "0.1.0", "Refuses what names a forbidden word.", rules, {{rights}})

    def configure(self, json: str, packs: list[lifecycle.Pack]) -> None:
        given = settings(json, {"words": []})
        if "" in given["words"]:
            refuse("/words", "an empty word is everywhere")
        words[:] = given["words"]


def findings(segments: list[types.Segment]) -> list[types.Finding]:
    """A finding for every forbidden word of a subject, with the place where it stands."""
    found = []
    for index, segment in enumerate(segments):
        for word in words:
            at = segment.text.find(word)
            while at >= 0:
                place = span(segments, index, at, at + len(word))
                found.append(finding(RULE, Severity.HIGH, MESSAGE, place))
                at = segment.text.find(word, at + len(word))
    return found


def judge(segments: list[types.Segment]) -> types.Verdict:
    """Denies where a forbidden word stands."""
    found = findings(segments)
    return deny(RULE, MESSAGE, findings=found) if found else allow()

"""Denies calls that write outside of the working folders."""

import re

import wit_world.exports
from portcullis import allow, deny, description, finding, refuse, settings, span
from wit_world.exports import call_gate, lifecycle
from wit_world.imports import types
from wit_world.imports.types import Severity, Trust

RULES = {
    "outside-folder": "An absolute path outside of every working folder.",
    "leaves-folder": "A relative path that climbs out of where it starts.",
    "unclear-path": "A path whose place cannot be told from its text.",
}

MESSAGES = {
    "outside-folder": "the path lies outside of the working folders",
    "leaves-folder": "the path climbs out of where it starts",
    "unclear-path": "where the path leads cannot be told",
}

USUAL = ["path", "paths", "file", "file_path", "filename", "directory", "folder", "destination", "target"]

folders: list[list[str]] = []
names: set[str] = set()


class Lifecycle(wit_world.exports.Lifecycle):
    def describe(self) -> lifecycle.Description:
        rules = [lifecycle.Rule(rule, Severity.HIGH, summary) for rule, summary in RULES.items()]
        summary = "Denies calls that write outside of the working folders."
        return description("working-folder", "1.0.0", summary, rules, lifecycle.Rights.DENY)

    def configure(self, json: str, packs: list[lifecycle.Pack]) -> None:
        given = settings(json, {"folders": [], "arguments": USUAL})
        if any(not folder.startswith("/") or is_unclear(folder) for folder in given["folders"]):
            refuse("/folders", "a working folder is an absolute path")
        folders[:] = [parts(folder)[0] for folder in given["folders"]]
        names.update(given["arguments"])


def parts(path: str) -> tuple[list[str], bool]:
    """The parts of a path with `.` and `..` resolved, and whether it climbs above its start."""
    kept: list[str] = []
    climbed = False
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept.append(part)
        elif kept:
            kept.pop()
        else:
            climbed = True
    return kept, climbed


def is_unclear(path: str) -> bool:
    return path.startswith("~") or re.search(r"[\x00-\x1f$\\]", path) is not None


def broken(path: str) -> str | None:
    """The rule that a path breaks, if it does."""
    if path == "":
        return None
    if path.startswith("file:"):
        if not path.startswith("file:///") or "%" in path:
            return "unclear-path"
        path = path.removeprefix("file://")
    if is_unclear(path):
        return "unclear-path"
    kept, climbed = parts(path)
    if not path.startswith("/"):
        return "leaves-folder" if climbed else None
    below = any(kept[: len(folder)] == folder for folder in folders)
    return None if below else "outside-folder"


def name_of(pointer: str) -> str:
    """The name of the argument that a string belongs to: the last part of its pointer that is no index."""
    named = [part for part in pointer.split("/") if part and part[0] not in "0123456789"]
    return named[-1] if named else ""


def may_write(facts: types.Facts, call: call_gate.Call) -> bool:
    """A server that the operator does not trust is not believed when it says that a tool only reads."""
    if call.kind != call_gate.Kind.TOOL or call.utility:
        return False
    return call.annotations.read_only is not True or facts.server_trust == Trust.UNTRUSTED


class CallGate(wit_world.exports.CallGate):
    def authorize(self, facts: types.Facts, call: call_gate.Call) -> types.Verdict:
        if not may_write(facts, call):
            return allow()
        findings = []
        for index, segment in enumerate(call.segments):
            rule = broken(segment.text) if not segment.key and name_of(segment.pointer) in names else None
            if rule:
                findings.append(finding(rule, Severity.HIGH, MESSAGES[rule], span(call.segments, index)))
        if not findings:
            return allow()
        return deny("write-outside-folder", "the call may write outside of the working folders", findings=findings)

"""Builders for what a policy answers, and the way to read its settings."""

import json
from typing import Any

from componentize_py_types import Err
from wit_world.exports import lifecycle
from wit_world.imports import types
from wit_world.imports.types import Severity


def allow(**more: Any) -> types.Verdict:
    """Allows, with whatever else is given: `allow(findings=[...])`."""
    verdict = types.Verdict(types.Decision_Allow(), [], [], [], [], "{}")
    for name, value in more.items():
        setattr(verdict, name, value)
    return verdict


def deny(code: str, message: str, **more: Any) -> types.Verdict:
    """Denies. `code` is stable, lowercase words joined by hyphens; `message` is for the operator."""
    return allow(decision=types.Decision_Deny(types.Denial(code, message)), **more)


def ask(code: str, text: str, severity: Severity, lowest: types.ApproverClass, **more: Any) -> types.Verdict:
    """Asks one question."""
    return allow(decision=types.Decision_Ask([types.Question(code, text, severity, lowest)]), **more)


def finding(rule: str, severity: Severity, message: str, *evidence: types.Span) -> types.Finding:
    """A finding for the operator, with spans as evidence."""
    return types.Finding(rule, severity, message, list(evidence))


def blank(rule: str, span: types.Span) -> types.Edit:
    """Blanks a span; the host writes a marker that names the rule."""
    return types.Edit_Blank(types.Blank(rule, span, types.Replacement.MARKER))


def span(segments: list[types.Segment], index: int, start: int = 0, end: int | None = None) -> types.Span:
    """The span of a segment between two positions of its string. Spans are counted in bytes of UTF-8."""
    text = segments[index].text
    before = len(text[:start].encode())
    return types.Span(index, before, before + len(text[start:end].encode()))


def description(name: str, version: str, summary: str, rules: list[lifecycle.Rule], wants: lifecycle.Rights) -> lifecycle.Description:
    """What a policy says of itself: no label, no meter, and texts needed."""
    return lifecycle.Description(name, version, summary, rules, [], [], wants, True)


def settings(text: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """Reads settings over their defaults. A member that the defaults do not have, or of another type, is refused."""
    given = json.loads(text or "null") or {}
    if not isinstance(given, dict):
        refuse("", "settings are an object")
    for key, value in given.items():
        if key not in defaults:
            refuse(f"/{key}", "unknown setting")
        wanted = defaults[key]
        if isinstance(wanted, list):
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                refuse(f"/{key}", "expected a list of texts")
        elif type(value) is not type(wanted):
            refuse(f"/{key}", f"expected a {type(wanted).__name__}")
    return {**defaults, **given}


def refuse(place: str, message: str) -> None:
    """Refuses settings or packs at a place: a JSON pointer into the settings, or `pack:NAME` and a pointer."""
    raise Err(lifecycle.ConfigureError(place, message))

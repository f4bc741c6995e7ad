// Builders for what a policy answers, and the way to read its settings. No import: a policy stays a pure function.

/** Allows, with whatever else is given: `allow({ findings })`. */
export function allow(more = {}) {
    return { decision: { tag: 'allow' }, findings: [], edits: [], labels: [], charges: [], extensions: '{}', ...more };
}

/** Denies. `code` is stable, lowercase words joined by hyphens; `message` is for the operator. */
export function deny(code, message, more = {}) {
    return { ...allow(more), decision: { tag: 'deny', val: { code, message } } };
}

/** Asks one question. `lowestApprover` is `client` or `operator`. */
export function ask(code, text, severity, lowestApprover, more = {}) {
    return { ...allow(more), decision: { tag: 'ask', val: [{ code, text, severity, lowestApprover }] } };
}

/** A finding for the operator, with spans as evidence. */
export function finding(rule, severity, message, ...evidence) {
    return { rule, severity, message, evidence };
}

/** Blanks a span; the host writes a marker that names the rule. */
export function blank(rule, span) {
    return { tag: 'blank', val: { rule, span, replacement: 'marker' } };
}

/** The span of a segment between two positions of its JavaScript string. Spans are counted in bytes of UTF-8. */
export function span(segments, index, start = 0, end = segments[index].text.length) {
    const text = segments[index].text;
    const before = utf8Length(text.slice(0, start));
    return { segment: index, start: before, end: before + utf8Length(text.slice(start, end)) };
}

/** The number of bytes that a string has in UTF-8. */
export function utf8Length(text) {
    let length = 0;
    for (const character of text) {
        const point = character.codePointAt(0);
        length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }
    return length;
}

/** What a policy says of itself; what is left out is empty. `wants` is like `{ deny: true }`. */
export function description({ name, version, summary, rules = [], labels = [], meters = [], wants = {}, needsPayload = true }) {
    const rights = { ask: false, deny: false, editSpan: false, removeMember: false, label: false, charge: false, fence: false };
    return { name, version, summary, rules, labels, meters, wants: { ...rights, ...wants }, needsPayload };
}

/**
 * Reads settings over their defaults. A member that the defaults do not have, or of another type than there, is refused; of a list,
 * each element has to be a text.
 */
export function settings(json, defaults) {
    const given = JSON.parse(json || 'null') ?? {};
    if (typeof given !== 'object' || Array.isArray(given)) refuse('', 'settings are an object');
    for (const [key, value] of Object.entries(given)) {
        if (!Object.hasOwn(defaults, key)) refuse(`/${key}`, 'unknown setting');
        const wanted = defaults[key];
        if (Array.isArray(wanted)) {
            const texts = Array.isArray(value) && value.every((item) => typeof item === 'string');
            if (!texts) refuse(`/${key}`, 'expected a list of texts');
        } else if (typeof value !== typeof wanted) {
            refuse(`/${key}`, `expected a ${typeof wanted}`);
        }
    }
    return { ...defaults, ...given };
}

/** Refuses settings or packs at a place: a JSON pointer into the settings, or `pack:NAME` and a pointer. */
export function refuse(place, message) {
    throw { place, message };
}

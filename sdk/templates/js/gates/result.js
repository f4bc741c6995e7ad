
/** Judges what is on its way to the model. Keys of objects are judged and cannot be edited. */
export const resultGate = {
    sanitize(_facts, subject) {
        const found = findings(subject.segments);
        const spans = found.flatMap(({ evidence }) => evidence).filter(({ segment }) => !subject.segments[segment].key);
        return allow({ findings: found, edits: spans.map((place) => blank(RULE, place)) });
    },
};

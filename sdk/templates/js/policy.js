// Refuses what names a forbidden word.

import { allow, blank, deny, description, finding, refuse, settings, span } from './portcullis.js';

const RULE = 'forbidden-word';
const MESSAGE = 'a forbidden word';

// Words that nobody may say. Memory is frozen after `configure`: build every table there.
let words = [];

export const lifecycle = {
    describe() {
        return description({
            name: '{{name}}',
            version: '0.1.0',
            summary: 'Refuses what names a forbidden word.',
            rules: [{ id: RULE, severity: 'high', summary: 'A forbidden word.' }],
            wants: { {{rights}} },
        });
    },

    configure(json, _packs) {
        const given = settings(json, { words: [] });
        if (given.words.includes('')) refuse('/words', 'an empty word is everywhere');
        words = given.words;
    },
};

/** A finding for every forbidden word of a subject, with the place where it stands. */
function findings(segments) {
    const found = [];
    segments.forEach(({ text }, index) => {
        for (const word of words) {
            for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
                found.push(finding(RULE, 'high', MESSAGE, span(segments, index, at, at + word.length)));
            }
        }
    });
    return found;
}

/** Denies where a forbidden word stands. */
function judge(segments) {
    const found = findings(segments);
    return found.length === 0 ? allow() : deny(RULE, MESSAGE, { findings: found });
}

/* Refuses what names a forbidden word. */

#include "portcullis.h"

#define RULE "forbidden-word"
#define MESSAGE "a forbidden word"
#define HIGH PORTCULLIS_POLICY_TYPES_SEVERITY_HIGH
#define RIGHT(name) EXPORTS_PORTCULLIS_POLICY_LIFECYCLE_RIGHTS_##name

/* Words that nobody may say. Memory is frozen after `configure`: build every table there. */
static texts_t words;

void exports_portcullis_policy_lifecycle_describe(description_t *ret) {
    describe(ret, "{{name}}", "0.1.0", "Refuses what names a forbidden word.");
    describe_rule(ret, RULE, HIGH, "A forbidden word.");
    ret->wants = {{rights}};
}

bool exports_portcullis_policy_lifecycle_configure(text_t *settings, packs_t *packs, refusal_t *err) {
    (void)packs;
    const setting_t known[] = {{"words", &words}};
    if (!read_settings(*settings, known, 1, err)) return false;
    for (size_t i = 0; i < words.len; i++)
        if (words.ptr[i].len == 0) return refuse(err, text("/words"), "an empty word is everywhere");
    return true;
}

/* Adds a finding for every forbidden word of a subject, with the place where it stands. */
static inline void find_words(const segment_t *segments, size_t count, findings_t *findings) {
    for (size_t i = 0; i < count; i++) {
        text_t whole = segments[i].text;
        for (size_t j = 0; j < words.len; j++) {
            size_t length = words.ptr[j].len;
            for (size_t at = text_find(whole, words.ptr[j], 0); at < whole.len; at = text_find(whole, words.ptr[j], at + length))
                add_finding(findings, RULE, HIGH, MESSAGE, &(span_t){i, at, at + length});
        }
    }
}

/* Denies where a forbidden word stands. */
static inline void judge(const segment_t *segments, size_t count, verdict_t *verdict) {
    allow(verdict);
    find_words(segments, count, &verdict->findings);
    if (verdict->findings.len > 0) deny(verdict, RULE, MESSAGE);
}

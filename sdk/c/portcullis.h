/* Short names and builders over the bindings that `portcullis policy build` generates as guest.h.
 *
 * Memory is taken and never given back: each evaluation starts from the memory that `configure` left, and what it takes is
 * gone when it ends. So literals and parts of the subject may stand in a verdict as they are, without a copy. */
#ifndef PORTCULLIS_H
#define PORTCULLIS_H

#include "guest.h"

typedef guest_string_t text_t;
typedef guest_list_string_t texts_t;
typedef portcullis_policy_types_facts_t facts_t;
typedef portcullis_policy_types_segment_t segment_t;
typedef portcullis_policy_types_severity_t severity_t;
typedef portcullis_policy_types_verdict_t verdict_t;
typedef portcullis_policy_types_list_finding_t findings_t;
typedef exports_portcullis_policy_lifecycle_description_t description_t;
typedef exports_portcullis_policy_lifecycle_configure_error_t refusal_t;
typedef exports_portcullis_policy_lifecycle_list_pack_t packs_t;

/* A part of a segment, in bytes. Both ends lie on character boundaries. */
typedef struct { size_t segment, start, end; } span_t;

/* Memory for an answer that no function here builds. Traps where there is none left. */
void *take_memory(size_t size);

/* Texts. */
text_t text(const char *literal);
bool text_equals(text_t left, const char *right);
bool text_same(text_t left, text_t right);
bool text_starts_with(text_t text, const char *start);
/* Returns the byte at which `part` begins, looking from `from` on, or the length of `whole`. An empty part is nowhere. */
size_t text_find(text_t whole, text_t part, size_t from);
/* Joins two texts into a new one. */
text_t text_join(text_t left, text_t right);

/* What a policy says of itself. Everything that is not set is empty. */
void describe(description_t *description, const char *name, const char *version, const char *summary);
void describe_rule(description_t *description, const char *id, severity_t severity, const char *summary);

/* Verdicts. An untouched one is made by `allow`. */
void allow(verdict_t *verdict);
void deny(verdict_t *verdict, const char *code, const char *message);
void add_finding(findings_t *findings, const char *rule, severity_t severity, const char *message, const span_t *span);
void add_blank(verdict_t *verdict, const char *rule, span_t span);

/* Adds to a list of texts. */
void texts_add(texts_t *texts, text_t text);

/* Reads settings: one JSON object whose members the policy names. Returns false, with the reason, for what it does not
 * know or what has another type. A member that is missing leaves its list as it is. */
typedef struct { const char *name; texts_t *texts; } setting_t;
bool read_settings(text_t json, const setting_t *settings, size_t count, refusal_t *refusal);
/* Refuses the settings: always returns false. */
bool refuse(refusal_t *refusal, text_t place, const char *message);

#endif

/* Memory, texts and verdicts for policies in C: no standard library, no import. */

#include "portcullis.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536, ALIGNMENT = 16 };

extern unsigned char __heap_base;

static size_t heap_end;

void *malloc(size_t size) {
    if (heap_end == 0) heap_end = (size_t)&__heap_base;
    size_t start = (heap_end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > SIZE_MAX - start) abort();
    size_t end = start + size;
    size_t has = __builtin_wasm_memory_size(0) * PAGE;
    if (end > has && __builtin_wasm_memory_grow(0, (end - has + PAGE - 1) / PAGE) == SIZE_MAX) abort();
    heap_end = end;
    return (void *)start;
}

void *calloc(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) abort();
    return memset(malloc(count * size), 0, count * size);
}

/* Nothing tells how long the old block was; reading on from it is harmless, since memory only grows. */
void *realloc(void *memory, size_t size) {
    void *moved = malloc(size);
    if (memory != NULL) {
        size_t most = (size_t)moved - (size_t)memory;
        memcpy(moved, memory, size < most ? size : most);
    }
    return moved;
}

void free(void *memory) { (void)memory; }

_Noreturn void abort(void) { __builtin_trap(); }

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
    for (size_t i = 0; i < length; i++) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t length) {
    unsigned char *target = to;
    const unsigned char *source = from;
    if (target < source) return memcpy(to, from, length);
    for (size_t i = length; i > 0; i--) target[i - 1] = source[i - 1];
    return to;
}

void *memset(void *memory, int byte, size_t length) {
    for (size_t i = 0; i < length; i++) ((unsigned char *)memory)[i] = (unsigned char)byte;
    return memory;
}

int memcmp(const void *left, const void *right, size_t length) {
    const unsigned char *one = left, *other = right;
    for (size_t i = 0; i < length; i++)
        if (one[i] != other[i]) return one[i] < other[i] ? -1 : 1;
    return 0;
}

size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length] != 0) length++;
    return length;
}

void *take_memory(size_t size) { return malloc(size); }

text_t text(const char *literal) { return (text_t){(uint8_t *)literal, strlen(literal)}; }

bool text_same(text_t left, text_t right) {
    return left.len == right.len && memcmp(left.ptr, right.ptr, left.len) == 0;
}

bool text_equals(text_t left, const char *right) { return text_same(left, text(right)); }

bool text_starts_with(text_t whole, const char *start) {
    size_t length = strlen(start);
    return whole.len >= length && memcmp(whole.ptr, start, length) == 0;
}

size_t text_find(text_t whole, text_t part, size_t from) {
    if (part.len == 0) return whole.len;
    for (size_t i = from; i + part.len <= whole.len; i++)
        if (memcmp(whole.ptr + i, part.ptr, part.len) == 0) return i;
    return whole.len;
}

text_t text_join(text_t left, text_t right) {
    text_t joined = {malloc(left.len + right.len), left.len + right.len};
    memcpy(joined.ptr, left.ptr, left.len);
    memcpy(joined.ptr + left.len, right.ptr, right.len);
    return joined;
}

/* Returns a copy of a list with room for one more. */
static void *grown(void *items, size_t count, size_t size) {
    unsigned char *moved = malloc((count + 1) * size);
    if (count > 0) memcpy(moved, items, count * size);
    return moved;
}

void texts_add(texts_t *texts, text_t text) {
    texts->ptr = grown(texts->ptr, texts->len, sizeof *texts->ptr);
    texts->ptr[texts->len++] = text;
}

void describe(description_t *description, const char *name, const char *version, const char *summary) {
    memset(description, 0, sizeof *description);
    description->name = text(name);
    description->version = text(version);
    description->summary = text(summary);
    description->needs_payload = true;
}

void describe_rule(description_t *description, const char *id, severity_t severity, const char *summary) {
    exports_portcullis_policy_lifecycle_list_rule_t *rules = &description->rules;
    rules->ptr = grown(rules->ptr, rules->len, sizeof *rules->ptr);
    rules->ptr[rules->len++] = (exports_portcullis_policy_lifecycle_rule_t){text(id), severity, text(summary)};
}

void allow(verdict_t *verdict) {
    memset(verdict, 0, sizeof *verdict);
    verdict->extensions = text("{}");
}

void deny(verdict_t *verdict, const char *code, const char *message) {
    verdict->decision.tag = PORTCULLIS_POLICY_TYPES_DECISION_DENY;
    verdict->decision.val.deny.code = text(code);
    verdict->decision.val.deny.message = text(message);
}

static portcullis_policy_types_span_t narrow(span_t span) {
    return (portcullis_policy_types_span_t){(uint32_t)span.segment, (uint32_t)span.start, (uint32_t)span.end};
}

void add_finding(findings_t *findings, const char *rule, severity_t severity, const char *message, const span_t *span) {
    portcullis_policy_types_finding_t finding = {text(rule), severity, text(message), {NULL, 0}};
    if (span != NULL) {
        finding.evidence.ptr = malloc(sizeof *finding.evidence.ptr);
        finding.evidence.ptr[0] = narrow(*span);
        finding.evidence.len = 1;
    }
    findings->ptr = grown(findings->ptr, findings->len, sizeof *findings->ptr);
    findings->ptr[findings->len++] = finding;
}

void add_blank(verdict_t *verdict, const char *rule, span_t span) {
    portcullis_policy_types_edit_t edit;
    edit.tag = PORTCULLIS_POLICY_TYPES_EDIT_BLANK;
    edit.val.blank.rule = text(rule);
    edit.val.blank.span = narrow(span);
    edit.val.blank.replacement = PORTCULLIS_POLICY_TYPES_REPLACEMENT_MARKER;
    verdict->edits.ptr = grown(verdict->edits.ptr, verdict->edits.len, sizeof *verdict->edits.ptr);
    verdict->edits.ptr[verdict->edits.len++] = edit;
}

/* Denies calls that write outside of the working folders. */

#include "portcullis.h"

#include <string.h>

#define HIGH PORTCULLIS_POLICY_TYPES_SEVERITY_HIGH

static texts_t folders, names;

typedef enum { FINE, OUTSIDE, LEAVES, UNCLEAR } place_t;

void exports_portcullis_policy_lifecycle_describe(description_t *ret) {
    describe(ret, "working-folder", "1.0.0", "Denies calls that write outside of the working folders.");
    describe_rule(ret, "outside-folder", HIGH, "An absolute path outside of every working folder.");
    describe_rule(ret, "leaves-folder", HIGH, "A relative path that climbs out of where it starts.");
    describe_rule(ret, "unclear-path", HIGH, "A path whose place cannot be told from its text.");
    ret->wants = EXPORTS_PORTCULLIS_POLICY_LIFECYCLE_RIGHTS_DENY;
}

/* Takes the next part of a path, without slashes. */
static bool next_part(text_t path, size_t *at, text_t *part) {
    while (*at < path.len && path.ptr[*at] == '/') (*at)++;
    size_t start = *at;
    while (*at < path.len && path.ptr[*at] != '/') (*at)++;
    *part = (text_t){path.ptr + start, *at - start};
    return part->len > 0;
}

/* Collects the parts of a path with `.` and `..` resolved. Returns false where it climbs above its start. */
static bool parts_of(text_t path, texts_t *parts) {
    bool climbed = false;
    size_t at = 0;
    text_t part;
    *parts = (texts_t){NULL, 0};
    while (next_part(path, &at, &part)) {
        if (text_equals(part, ".")) continue;
        if (!text_equals(part, "..")) texts_add(parts, part);
        else if (parts->len > 0) parts->len--;
        else climbed = true;
    }
    return !climbed;
}

static bool is_below(const texts_t *path, text_t folder) {
    texts_t above;
    parts_of(folder, &above);
    if (above.len > path->len) return false;
    for (size_t i = 0; i < above.len; i++)
        if (!text_same(above.ptr[i], path->ptr[i])) return false;
    return true;
}

static bool is_unclear(text_t path) {
    if (path.ptr[0] == '~') return true;
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] < ' ' || path.ptr[i] == '$' || path.ptr[i] == '\\') return true;
    return false;
}

static place_t place_of(text_t path) {
    if (path.len == 0) return FINE;
    if (text_starts_with(path, "file:")) {
        if (!text_starts_with(path, "file:///") || text_find(path, text("%"), 0) < path.len) return UNCLEAR;
        path = (text_t){path.ptr + strlen("file://"), path.len - strlen("file://")};
    }
    if (is_unclear(path)) return UNCLEAR;
    texts_t parts;
    bool stays = parts_of(path, &parts);
    if (path.ptr[0] != '/') return stays ? FINE : LEAVES;
    for (size_t i = 0; i < folders.len; i++)
        if (is_below(&parts, folders.ptr[i])) return FINE;
    return OUTSIDE;
}

bool exports_portcullis_policy_lifecycle_configure(text_t *json, packs_t *packs, refusal_t *err) {
    (void)packs;
    const char *usual[] = {"path", "paths", "file", "file_path", "filename", "directory", "folder", "destination", "target"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) texts_add(&names, text(usual[i]));
    const setting_t known[] = {{"folders", &folders}, {"arguments", &names}};
    if (!read_settings(*json, known, 2, err)) return false;
    for (size_t i = 0; i < folders.len; i++)
        if (folders.ptr[i].len == 0 || folders.ptr[i].ptr[0] != '/' || is_unclear(folders.ptr[i]))
            return refuse(err, text("/folders"), "a working folder is an absolute path");
    return true;
}

/* Returns the name of the argument that a string belongs to: the last part of its pointer that is no index. */
static text_t name_of(text_t pointer) {
    size_t at = 0;
    text_t part, name = text("");
    while (next_part(pointer, &at, &part))
        if (part.ptr[0] < '0' || part.ptr[0] > '9') name = part;
    return name;
}

static bool is_path(const segment_t *segment) {
    if (segment->key) return false;
    text_t name = name_of(segment->pointer);
    for (size_t i = 0; i < names.len; i++)
        if (text_same(name, names.ptr[i])) return true;
    return false;
}

/* A server that the operator does not trust is not believed when it says that a tool only reads. */
static bool may_write(const facts_t *facts, const exports_portcullis_policy_call_gate_call_t *call) {
    if (call->kind != EXPORTS_PORTCULLIS_POLICY_CALL_GATE_KIND_TOOL || call->utility) return false;
    bool reads = call->annotations.read_only.is_some && call->annotations.read_only.val;
    bool untrusted = facts->server_trust.is_some && facts->server_trust.val == PORTCULLIS_POLICY_TYPES_TRUST_UNTRUSTED;
    return !reads || untrusted;
}

void exports_portcullis_policy_call_gate_authorize(facts_t *facts, exports_portcullis_policy_call_gate_call_t *call, verdict_t *ret) {
    static const char *rules[] = {"", "outside-folder", "leaves-folder", "unclear-path"};
    static const char *messages[] = {"", "the path lies outside of the working folders",
        "the path climbs out of where it starts", "where the path leads cannot be told"};
    allow(ret);
    if (!may_write(facts, call)) return;
    for (size_t i = 0; i < call->segments.len; i++) {
        const segment_t *segment = &call->segments.ptr[i];
        place_t place = is_path(segment) ? place_of(segment->text) : FINE;
        if (place == FINE) continue;
        add_finding(&ret->findings, rules[place], HIGH, messages[place], &(span_t){i, 0, segment->text.len});
        deny(ret, "write-outside-folder", "the call may write outside of the working folders");
    }
}

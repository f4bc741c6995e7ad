/* Settings: one JSON object of lists of texts. The host hands over JSON that it has parsed and written itself. */

#include "portcullis.h"

#include <stdlib.h>

typedef struct { const uint8_t *at, *end; } reader_t;

static void skip_space(reader_t *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || (*reader->at >= '\t' && *reader->at <= '\r'))) reader->at++;
}

static bool take(reader_t *reader, uint8_t byte) {
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != byte) return false;
    reader->at++;
    return true;
}

static int hexadecimal(uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

static bool code_unit(reader_t *reader, uint32_t *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = reader->at < reader->end ? hexadecimal(*reader->at++) : -1;
        if (digit < 0) return false;
        *unit = *unit * 16 + (uint32_t)digit;
    }
    return true;
}

static uint8_t *write_utf8(uint8_t *to, uint32_t point) {
    if (point < 0x80) { *to++ = (uint8_t)point; return to; }
    if (point < 0x800) {
        *to++ = (uint8_t)(0xc0 | point >> 6);
    } else {
        if (point < 0x10000) {
            *to++ = (uint8_t)(0xe0 | point >> 12);
        } else {
            *to++ = (uint8_t)(0xf0 | point >> 18);
            *to++ = (uint8_t)(0x80 | (point >> 12 & 0x3f));
        }
        *to++ = (uint8_t)(0x80 | (point >> 6 & 0x3f));
    }
    *to++ = (uint8_t)(0x80 | (point & 0x3f));
    return to;
}

static bool escaped(reader_t *reader, uint8_t **to) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end) return false;
    uint8_t letter = *reader->at++;
    for (size_t i = 0; letters[i] != 0; i++)
        if (letter == (uint8_t)letters[i]) { *(*to)++ = (uint8_t)meanings[i]; return true; }
    uint32_t point, low;
    if (letter != 'u' || !code_unit(reader, &point)) return false;
    if (point >= 0xd800 && point < 0xdc00) {
        if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u') return false;
        reader->at += 2;
        if (!code_unit(reader, &low) || low < 0xdc00 || low > 0xdfff) return false;
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = write_utf8(*to, point);
    return true;
}

/* A text is never longer than the JSON that it is written as. */
static bool read_text(reader_t *reader, text_t *result) {
    if (!take(reader, '"')) return false;
    uint8_t *start = malloc((size_t)(reader->end - reader->at)), *to = start;
    while (reader->at < reader->end && *reader->at != '"') {
        uint8_t byte = *reader->at++;
        if (byte != '\\') *to++ = byte;
        else if (!escaped(reader, &to)) return false;
    }
    *result = (text_t){start, (size_t)(to - start)};
    return take(reader, '"');
}

static bool read_texts(reader_t *reader, texts_t *texts) {
    *texts = (texts_t){NULL, 0};
    if (!take(reader, '[')) return false;
    if (take(reader, ']')) return true;
    do {
        text_t text;
        if (!read_text(reader, &text)) return false;
        texts_add(texts, text);
    } while (take(reader, ','));
    return take(reader, ']');
}

bool refuse(refusal_t *refusal, text_t place, const char *message) {
    refusal->place = place;
    refusal->message = text(message);
    return false;
}

bool read_settings(text_t json, const setting_t *settings, size_t count, refusal_t *refusal) {
    reader_t reader = {json.ptr, json.ptr + json.len};
    /* No settings at all. */
    if (json.len == 0 || text_equals(json, "null")) return true;
    if (!take(&reader, '{')) return refuse(refusal, text(""), "settings are an object");
    if (take(&reader, '}')) return true;
    do {
        text_t name;
        if (!read_text(&reader, &name) || !take(&reader, ':')) return refuse(refusal, text(""), "settings are no JSON");
        size_t known = 0;
        while (known < count && !text_equals(name, settings[known].name)) known++;
        if (known == count) return refuse(refusal, text_join(text("/"), name), "unknown setting");
        if (!read_texts(&reader, settings[known].texts))
            return refuse(refusal, text_join(text("/"), name), "expected a list of texts");
    } while (take(&reader, ','));
    return take(&reader, '}') ? true : refuse(refusal, text(""), "settings are no JSON");
}

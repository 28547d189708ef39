#include "suite/generate/picture_case.h"

#include "base/file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE = 8, HEAD = 8, CHECKSUM = 4 };
static const size_t most_bytes = (size_t)1 << 30;
static const char keyword[] = "ditbench.case";

typedef struct {
    const uint8_t *data;
    size_t length;
} stretch;

/* Cuts a part that ends with a zero byte off the front. False: there is no zero byte. */
static bool cut(stretch *rest, stretch *part)
{
    const uint8_t *end = rest->length ? memchr(rest->data, 0, rest->length) : NULL;
    if (!end) return false;
    *part = (stretch){rest->data, (size_t)(end - rest->data)};
    rest->data = end + 1;
    rest->length -= part->length + 1;
    return true;
}

/* Whether a chunk holds the case, as tEXt or as iTXt without compression; *text is it. */
static bool holds_case(const uint8_t *type, stretch rest, stretch *text)
{
    stretch key, language, translated;
    bool international = memcmp(type, "iTXt", 4) == 0;
    if (!international && memcmp(type, "tEXt", 4) != 0) return false;
    if (!cut(&rest, &key) || key.length != sizeof keyword - 1 || memcmp(key.data, keyword, key.length) != 0)
        return false;
    if (international) {
        if (rest.length < 2 || rest.data[0] != 0) return false; /* compressed: not by us */
        rest.data += 2, rest.length -= 2;
        if (!cut(&rest, &language) || !cut(&rest, &translated)) return false;
    }
    *text = rest;
    return true;
}

/* Walks over the chunks (PNG specification, 5.3): length, type, data, checksum. */
static bool find_case(const uint8_t *bytes, size_t length, stretch *text)
{
    for (size_t at = SIGNATURE; at <= length && length - at >= HEAD + CHECKSUM;) {
        const uint8_t *head = bytes + at;
        size_t data = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        if (data > length - at - HEAD - CHECKSUM) return false;
        if (holds_case(head + 4, (stretch){head + HEAD, data}, text)) return true;
        at += HEAD + data + CHECKSUM;
    }
    return false;
}

dit_status suite_picture_case_parse(const char *name, const void *bytes, size_t length, dit_json *out)
{
    static const uint8_t signature[SIGNATURE] = {137, 'P', 'N', 'G', 13, 10, 26, 10};
    stretch text;
    *out = (dit_json){0};
    if (length < SIGNATURE || memcmp(bytes, signature, SIGNATURE) != 0)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s is no PNG file", name);
    if (!find_case(bytes, length, &text))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_NOT_FOUND, "%s carries no case (text chunk %s)", name, keyword),
            "only pictures that `ditbench generate` wrote can be run again; other programs drop the text "
            "when they save a picture");
    DIT_TRY(dit_json_parse((const char *)text.data, text.length, name, out));
    const char *schema = dit_json_text_or(out->root, "schema", ""),
               *program = dit_json_text_or(out->root, "program", "");
    if (strcmp(schema, "ditbench.case/1") == 0 && strcmp(program, "generate") == 0) return DIT_OK;
    dit_json_release(out);
    return DIT_FAIL(DIT_ERR_JSON_VALUE, "%s: the text chunk %s is no case of generate", name, keyword);
}

dit_status suite_picture_case_read(const char *path, dit_json *out)
{
    char *bytes;
    size_t length;
    *out = (dit_json){0};
    DIT_TRY(dit_file_read(path, most_bytes, &bytes, &length));
    dit_status st = suite_picture_case_parse(path, bytes, length, out);
    free(bytes);
    return st;
}

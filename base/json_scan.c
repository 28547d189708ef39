#include "base/json_scan.h"

#include "base/buffer.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

/* One open array or object, with the path to the value in it that is being read. */
typedef struct {
    bool is_object;
    size_t index;                 /* of an array's element                       */
    size_t key_start, key_length; /* of an object's member, in scanner.names     */
} frame;

/* A key of an object that is still open. */
typedef struct {
    size_t start, length; /* unescaped, in scanner.names */
    size_t offset;        /* of its opening quote        */
} key_entry;

typedef struct {
    const unsigned char *text;
    size_t length, at, values;
    frame frames[DIT_JSON_MAX_DEPTH];
    int depth;
    dit_buffer names; /* unescaped keys of the open objects, end to end     */
    dit_buffer keys;  /* array of key_entry, those of the open objects      */
    dit_json_problem *problem;
} scanner;

/* ---- what went wrong, and where -------------------------------------------------------------------------------- */

/* Appends bytes of a name to a message, without control characters, which must not reach a terminal. */
static size_t append_safe(char *out, size_t size, size_t used, const char *bytes, size_t count, bool as_pointer)
{
    for (size_t i = 0; i < count && used + 8 < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (as_pointer && (byte == '~' || byte == '/'))
            used += (size_t)snprintf(out + used, size - used, "~%d", byte == '/');
        else
            out[used++] = byte < 0x20 || byte == 0x7F ? '?' : (char)byte;
    }
    out[used] = '\0';
    return used;
}

static void pointer_of_frames(const scanner *s, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < s->depth; i++) {
        const frame *f = &s->frames[i];
        if (f->is_object && f->key_start == (size_t)-1) break; /* no key yet */
        if (used + 64 >= size) {
            snprintf(out + used, size - used, "/...");
            return;
        }
        out[used++] = '/';
        if (!f->is_object) {
            used += (size_t)snprintf(out + used, size - used, "%zu", f->index);
        } else {
            size_t shown = f->key_length < 80 ? f->key_length : 80;
            used = append_safe(out, size, used, s->names.data + f->key_start, shown, true);
        }
    }
}

/* Notes what is wrong. Always returns false, so that a check reads `return refuse(...)`. */
static bool refuse(scanner *s, dit_status status, size_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool refuse(scanner *s, dit_status status, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->problem->what, sizeof s->problem->what, format, args);
    va_end(args);
    s->problem->status = status;
    s->problem->offset = offset;
    pointer_of_frames(s, s->problem->pointer, sizeof s->problem->pointer);
    return false;
}

/* True if a comment of JavaScript or YAML stands here. */
static bool comment_here(const scanner *s)
{
    unsigned char byte = s->at < s->length ? s->text[s->at] : 0, next = s->at + 1 < s->length ? s->text[s->at + 1] : 0;
    return byte == '#' || (byte == '/' && (next == '/' || next == '*'));
}

static bool unexpected(scanner *s, const char *wanted)
{
    if (comment_here(s)) return refuse(s, DIT_ERR_JSON_SYNTAX, s->at, "expected %s; JSON has no comments", wanted);
    if (s->at >= s->length)
        return refuse(s, DIT_ERR_JSON_SYNTAX, s->length, "expected %s, found the end of the text", wanted);
    unsigned char byte = s->text[s->at];
    if (byte > 0x20 && byte < 0x7F)
        return refuse(s, DIT_ERR_JSON_SYNTAX, s->at, "expected %s, found '%c'", wanted, byte);
    return refuse(s, DIT_ERR_JSON_SYNTAX, s->at, "expected %s, found byte 0x%02x", wanted, byte);
}

/* ---- strings --------------------------------------------------------------------------------------------------- */

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Checks by table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t dit_json_utf8_length(const unsigned char *bytes, size_t available)
{
    unsigned char first = available ? bytes[0] : 0xFF;
    if (first < 0x80) return 1;
    size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                    : first >= 0xE0 && first <= 0xEF ? 3
                    : first >= 0xF0 && first <= 0xF4 ? 4
                                                     : 0;
    if (length == 0 || available < length) return 0;
    for (size_t i = 1; i < length; i++)
        if (!is_continuation(bytes[i])) return 0;
    bool bad = (first == 0xE0 && bytes[1] < 0xA0) || (first == 0xED && bytes[1] > 0x9F) ||
               (first == 0xF0 && bytes[1] < 0x90) || (first == 0xF4 && bytes[1] > 0x8F);
    return bad ? 0 : length;
}

static void append_utf8(dit_buffer *out, uint32_t code)
{
    char bytes[4];
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = count - 1; i > 0; i--, code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)(lead[count] | code);
    dit_buffer_append(out, bytes, count);
}

/* Reads four hex digits at s->at. */
static bool scan_hex4(scanner *s, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        unsigned char byte = s->at < s->length ? s->text[s->at] : 0;
        int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                    : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                 : -1;
        if (digit < 0) return unexpected(s, "four hex digits after \\u");
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* Reads the escape after "\u". */
static bool scan_unicode_escape(scanner *s, dit_buffer *out)
{
    size_t start = s->at - 2;
    uint32_t code, low;
    if (!scan_hex4(s, &code)) return false;
    if (code == 0) return refuse(s, DIT_ERR_JSON_ENCODING, start, "\\u0000 cannot be part of a string here");
    if (code >= 0xDC00 && code <= 0xDFFF)
        return refuse(s, DIT_ERR_JSON_ENCODING, start, "low surrogate without a high one before it");
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (s->length - s->at < 2 || s->text[s->at] != '\\' || s->text[s->at + 1] != 'u')
            return refuse(s, DIT_ERR_JSON_ENCODING, start, "high surrogate without a low one after it");
        s->at += 2;
        if (!scan_hex4(s, &low)) return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return refuse(s, DIT_ERR_JSON_ENCODING, start, "high surrogate without a low one after it");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (out) append_utf8(out, code);
    return true;
}

/* Reads the escape after the backslash. */
static bool scan_escape(scanner *s, dit_buffer *out)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    unsigned char byte = s->at < s->length ? s->text[s->at] : 0;
    const char *found = byte ? strchr(names, byte) : NULL;
    if (byte != 'u' && !found) return unexpected(s, "one of \"\\/bfnrtu after a backslash");
    s->at++;
    if (byte == 'u') return scan_unicode_escape(s, out);
    if (out) dit_buffer_char(out, meanings[found - names]);
    return true;
}

/* Reads a string from its opening quote to behind its closing one. Appends the unescaped bytes to `out` unless NULL. */
static bool scan_string(scanner *s, dit_buffer *out)
{
    size_t opening = s->at++;
    for (;;) {
        size_t start = s->at;
        while (s->at < s->length && s->text[s->at] >= 0x20 && s->text[s->at] < 0x80 && s->text[s->at] != '"' &&
               s->text[s->at] != '\\')
            s->at++;
        if (out) dit_buffer_append(out, s->text + start, s->at - start);
        if (s->at >= s->length) return refuse(s, DIT_ERR_JSON_SYNTAX, opening, "string without a closing quote");
        unsigned char byte = s->text[s->at];
        if (byte == '"') {
            s->at++;
            return true;
        }
        if (byte < 0x20)
            return refuse(s, DIT_ERR_JSON_SYNTAX, s->at, "control character 0x%02x in a string; write it as \\u%04x",
                          byte, byte);
        if (byte == '\\') {
            s->at++;
            if (!scan_escape(s, out)) return false;
            continue;
        }
        size_t length = dit_json_utf8_length(s->text + s->at, s->length - s->at);
        if (length == 0) return refuse(s, DIT_ERR_JSON_ENCODING, s->at, "byte 0x%02x is not valid UTF-8", byte);
        if (out) dit_buffer_append(out, s->text + s->at, length);
        s->at += length;
    }
}

/* ---- numbers and words ----------------------------------------------------------------------------------------- */

static bool digit_here(const scanner *s)
{
    return s->at < s->length && s->text[s->at] >= '0' && s->text[s->at] <= '9';
}

static bool scan_digits(scanner *s, const char *wanted)
{
    if (!digit_here(s)) return unexpected(s, wanted);
    while (digit_here(s)) s->at++;
    return true;
}

/* Reads fraction and exponent. *is_integer is true if there was neither. */
static bool scan_number_tail(scanner *s, bool *is_integer)
{
    *is_integer = true;
    if (s->at < s->length && s->text[s->at] == '.') {
        *is_integer = false;
        s->at++;
        if (!scan_digits(s, "a digit after the decimal point")) return false;
    }
    if (s->at < s->length && (s->text[s->at] == 'e' || s->text[s->at] == 'E')) {
        *is_integer = false;
        s->at++;
        if (s->at < s->length && (s->text[s->at] == '+' || s->text[s->at] == '-')) s->at++;
        if (!scan_digits(s, "a digit in the exponent")) return false;
    }
    return true;
}

static bool check_number_value(scanner *s, size_t start, bool is_integer)
{
    char copy[DIT_JSON_MAX_NUMBER_LENGTH + 1];
    size_t length = s->at - start;
    if (length > DIT_JSON_MAX_NUMBER_LENGTH)
        return refuse(s, DIT_ERR_JSON_NUMBER, start, "number of %zu characters; at most %d are read exactly", length,
                      DIT_JSON_MAX_NUMBER_LENGTH);
    memcpy(copy, s->text + start, length);
    copy[length] = '\0';
    if (is_integer) {
        errno = 0;
        long long value = strtoll(copy, NULL, 10);
        if (errno || value > DIT_JSON_MAX_INTEGER || value < -DIT_JSON_MAX_INTEGER)
            return refuse(s, DIT_ERR_JSON_NUMBER, start, "integer %s is beyond 2^53; write it as a string", copy);
    } else if (!isfinite(strtod(copy, NULL))) {
        return refuse(s, DIT_ERR_JSON_NUMBER, start, "number %s is too large for a double", copy);
    }
    return true;
}

static bool scan_number(scanner *s)
{
    size_t start = s->at;
    bool is_integer;
    if (s->text[s->at] == '-') s->at++;
    bool zero = s->at < s->length && s->text[s->at] == '0';
    if (!scan_digits(s, "a digit")) return false;
    size_t integer_digits = s->at - start - (s->text[start] == '-');
    if (zero && integer_digits > 1) return refuse(s, DIT_ERR_JSON_SYNTAX, start, "number with a leading zero");
    return scan_number_tail(s, &is_integer) && check_number_value(s, start, is_integer);
}

static bool scan_word(scanner *s, const char *word)
{
    size_t length = strlen(word);
    if (s->length - s->at < length || memcmp(s->text + s->at, word, length) != 0) return unexpected(s, "a value");
    s->at += length;
    return true;
}

/* ---- arrays and objects ---------------------------------------------------------------------------------------- */

static void skip_space(scanner *s)
{
    while (s->at < s->length &&
           (s->text[s->at] == ' ' || s->text[s->at] == '\n' || s->text[s->at] == '\r' || s->text[s->at] == '\t'))
        s->at++;
}

static bool next_is(const scanner *s, char byte)
{
    return s->at < s->length && s->text[s->at] == (unsigned char)byte;
}

static bool scan_value(scanner *s);

static bool enter(scanner *s, bool is_object)
{
    if (s->depth == DIT_JSON_MAX_DEPTH)
        return refuse(s, DIT_ERR_JSON_DEPTH, s->at, "nested more than %d deep", DIT_JSON_MAX_DEPTH);
    s->frames[s->depth++] = (frame){.is_object = is_object, .key_start = (size_t)-1};
    s->at++;
    skip_space(s);
    return true;
}

static bool leave(scanner *s)
{
    s->at++;
    s->depth--;
    return true;
}

/* Takes the comma. Returns true, and refuses it, when only the end of the array or object follows. */
static bool comma_trails(scanner *s, char end)
{
    size_t comma = s->at++;
    skip_space(s);
    if (!next_is(s, end)) return false;
    return !refuse(s, DIT_ERR_JSON_SYNTAX, comma, "a comma before '%c'; JSON has no trailing commas", end);
}

static bool scan_array(scanner *s)
{
    if (!enter(s, false)) return false;
    if (next_is(s, ']')) return leave(s);
    for (;;) {
        if (!scan_value(s)) return false;
        skip_space(s);
        if (next_is(s, ']')) return leave(s);
        if (!next_is(s, ',')) return unexpected(s, "',' or ']' after an element");
        if (comma_trails(s, ']')) return false;
        s->frames[s->depth - 1].index++;
    }
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_keys(const void *left, const void *right, void *names)
{
    const key_entry *a = left, *b = right;
    int order = compare_bytes((char *)names + a->start, a->length, (char *)names + b->start, b->length);
    return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

/* Refuses the first repeated key of the object whose keys begin at `first`. It sorts instead of hashing, so that no
 * choice of keys makes it slow. */
static bool check_duplicates(scanner *s, size_t first)
{
    key_entry *keys = (key_entry *)(void *)s->keys.data;
    size_t end = s->keys.used / sizeof *keys;
    const key_entry *worst = NULL;
    qsort_r(keys + first, end - first, sizeof *keys, compare_keys, s->names.data);
    for (size_t i = first + 1; i < end; i++) {
        bool same = compare_bytes(s->names.data + keys[i - 1].start, keys[i - 1].length, s->names.data + keys[i].start,
                                  keys[i].length) == 0;
        if (same && (!worst || keys[i].offset < worst->offset)) worst = &keys[i];
    }
    if (!worst) return true;
    char name[96];
    append_safe(name, sizeof name, 0, s->names.data + worst->start, worst->length, false);
    s->frames[s->depth - 1].key_start = worst->start;
    s->frames[s->depth - 1].key_length = worst->length;
    return refuse(s, DIT_ERR_JSON_DUPLICATE_KEY, worst->offset, "key \"%s\" occurs twice in one object", name);
}

static bool scan_member(scanner *s)
{
    key_entry key = {.start = s->names.used, .offset = s->at};
    if (!next_is(s, '"')) return unexpected(s, "a key in double quotes");
    if (!scan_string(s, &s->names)) return false;
    dit_buffer_char(&s->names, '\0');
    key.length = s->names.used - key.start - 1;
    dit_buffer_append(&s->keys, &key, sizeof key);
    if (s->names.failed || s->keys.failed) return refuse(s, DIT_ERR_MEMORY, s->at, "no memory for the keys");
    s->frames[s->depth - 1].key_start = key.start;
    s->frames[s->depth - 1].key_length = key.length;
    skip_space(s);
    if (!next_is(s, ':')) return unexpected(s, "':' after a key");
    s->at++;
    skip_space(s);
    return scan_value(s);
}

static bool scan_object(scanner *s)
{
    size_t names_used = s->names.used, keys_used = s->keys.used;
    if (!enter(s, true)) return false;
    if (next_is(s, '}')) return leave(s);
    for (;;) {
        if (!scan_member(s)) return false;
        skip_space(s);
        if (next_is(s, '}')) break;
        if (!next_is(s, ',')) return unexpected(s, "',' or '}' after a member");
        if (comma_trails(s, '}')) return false;
    }
    if (!check_duplicates(s, keys_used / sizeof(key_entry))) return false;
    s->names.used = names_used;
    s->keys.used = keys_used;
    return leave(s);
}

static bool scan_value(scanner *s)
{
    unsigned char byte = s->at < s->length ? s->text[s->at] : 0;
    if (++s->values > DIT_JSON_MAX_VALUES)
        return refuse(s, DIT_ERR_JSON_DEPTH, s->at, "more than %d values", DIT_JSON_MAX_VALUES);
    switch (byte) {
    case '{': return scan_object(s);
    case '[': return scan_array(s);
    case '"': return scan_string(s, NULL);
    case 't': return scan_word(s, "true");
    case 'f': return scan_word(s, "false");
    case 'n': return scan_word(s, "null");
    default: break;
    }
    if (byte == '-' || (byte >= '0' && byte <= '9')) return scan_number(s);
    return unexpected(s, "a value");
}

static bool scan_document(scanner *s)
{
    if (s->length > DIT_JSON_MAX_BYTES)
        return refuse(s, DIT_ERR_JSON_DEPTH, 0, "%zu bytes; at most %d are read", s->length, DIT_JSON_MAX_BYTES);
    if (s->length >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0)
        return refuse(s, DIT_ERR_JSON_SYNTAX, 0, "byte order mark before the document; save it without one");
    skip_space(s);
    if (!scan_value(s)) return false;
    skip_space(s);
    if (s->at < s->length)
        return refuse(s, DIT_ERR_JSON_TRAILING, s->at, "bytes after the end of the document%s",
                      comment_here(s) ? "; JSON has no comments" : "");
    return true;
}

static void scanner_release(scanner *s)
{
    dit_buffer_release(&s->names);
    dit_buffer_release(&s->keys);
}

bool dit_json_scan(const char *text, size_t length, dit_json_problem *problem)
{
    scanner s = {.text = (const unsigned char *)text, .length = length, .problem = problem};
    *problem = (dit_json_problem){0};
    bool good = scan_document(&s);
    scanner_release(&s);
    return good;
}

/* ---- where a pointer lies -------------------------------------------------------------------------------------- */

void dit_json_place(const char *text, size_t offset, int *line, int *column)
{
    size_t line_start = 0;
    *line = 1;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] != '\n') continue;
        (*line)++;
        line_start = i + 1;
    }
    *column = (int)(offset - line_start) + 1;
}

/* Takes the next "/token" off *pointer and unescapes it into `token`. */
static void next_token(const char **pointer, dit_buffer *token)
{
    const char *p = *pointer + 1;
    dit_buffer_reset(token);
    dit_buffer_text(token, "");
    for (; *p && *p != '/'; p++) {
        bool escaped = *p == '~' && (p[1] == '0' || p[1] == '1');
        dit_buffer_char(token, !escaped ? *p : p[1] == '0' ? '~' : '/');
        p += escaped;
    }
    *pointer = p;
}

/* Moves from the '{' to the value of the member named `token`; *place is where its key stands. */
static bool find_member(scanner *s, const dit_buffer *token, size_t *place)
{
    for (bool more = enter(s, true) && !next_is(s, '}'); more; more = next_is(s, ',')) {
        if (next_is(s, ',')) s->at++;
        skip_space(s);
        size_t key_at = s->at;
        s->names.used = 0;
        if (!next_is(s, '"') || !scan_string(s, &s->names)) return false;
        bool found = compare_bytes(s->names.data ? s->names.data : "", s->names.used, token->data, token->used) == 0;
        skip_space(s);
        if (!next_is(s, ':')) return false;
        s->at++;
        skip_space(s);
        if (found) {
            *place = key_at;
            return true;
        }
        if (!scan_value(s)) return false;
        skip_space(s);
    }
    return false;
}

static bool find_element(scanner *s, const dit_buffer *token, size_t *place)
{
    char *end;
    unsigned long long wanted = strtoull(token->data, &end, 10), index = 0;
    bool is_index = token->data[0] >= '0' && token->data[0] <= '9' && *end == '\0';
    for (bool more = enter(s, false) && is_index && !next_is(s, ']'); more; more = next_is(s, ','), index++) {
        if (next_is(s, ',')) s->at++;
        skip_space(s);
        *place = s->at;
        if (index == wanted) return true;
        if (!scan_value(s)) return false;
        skip_space(s);
    }
    return false;
}

bool dit_json_scan_locate(const char *text, size_t length, const char *pointer, int *line, int *column)
{
    dit_json_problem problem = {0};
    scanner s = {.text = (const unsigned char *)text, .length = length, .problem = &problem};
    dit_buffer token = {0};
    skip_space(&s);
    size_t place = s.at;
    bool found = place < length && (*pointer == '\0' || *pointer == '/');
    while (found && *pointer) {
        next_token(&pointer, &token);
        found = !token.failed && ((next_is(&s, '{') && find_member(&s, &token, &place)) ||
                                  (next_is(&s, '[') && find_element(&s, &token, &place)));
    }
    if (found) dit_json_place(text, place, line, column);
    dit_buffer_release(&token);
    scanner_release(&s);
    return found;
}

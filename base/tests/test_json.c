/* JSON: what the strict door lets in, what it refuses and where it points; access, names, printing, files.
 *
 * The accept and reject cases are data: add a row.
 */
#include "base/file.h"
#include "base/json.h"

#include "base/tests/test.h"

#include <dirent.h>
#include <float.h>
#include <sys/stat.h>

/* ---- accepted -------------------------------------------------------------------------------------------------- */

/* A text, and its canonical form. */
typedef struct {
    const char *name, *text, *canonical;
} accepted_row;

static const accepted_row accepted[] = {
    {"accepts empty object", "{}", "{}"},
    {"accepts empty array with space", " [ \t\r\n ] ", "[]"},
    {"accepts bare null", "null", "null"},
    {"accepts bare true", "true", "true"},
    {"accepts bare false", "false", "false"},
    {"accepts bare string", "\"\"", "\"\""},
    {"accepts bare number", "-12", "-12"},
    {"accepts zero and minus zero", "[0,-0,0.0,-0.0]", "[0,0,0,0]"},
    {"accepts fractions", "[0.5,1.25e2,1E-2,1e+2]", "[0.5,125,0.01,100]"},
    {"accepts 2^53", "[9007199254740992,-9007199254740992]", "[9007199254740992,-9007199254740992]"},
    {"accepts larger with exponent", "1e20", "1e+20"},
    {"prints large integers so that they read back", "9007199254740994.0", "9007199254740994.0"},
    {"accepts largest double", "1.7976931348623157e308", "1.7976931348623157e+308"},
    {"accepts smallest double", "5e-324", "5e-324"},
    {"accepts underflow as zero", "1e-400", "0"},
    {"accepts 17 digits exactly", "0.1000000000000000055511151231257827", "0.1"},
    {"keeps the last bit", "0.30000000000000004", "0.30000000000000004"},
    {"sorts keys", "{\"b\":1,\"a\":2,\"B\":3,\"\":4}", "{\"\":4,\"B\":3,\"a\":2,\"b\":1}"},
    {"sorts keys at every level", "[{\"b\":{\"d\":1,\"c\":2},\"a\":[]}]", "[{\"a\":[],\"b\":{\"c\":2,\"d\":1}}]"},
    {"same key in different objects", "{\"a\":{\"a\":1},\"b\":{\"a\":1}}", "{\"a\":{\"a\":1},\"b\":{\"a\":1}}"},
    {"keys differing in case", "{\"a\":1,\"A\":2}", "{\"A\":2,\"a\":1}"},
    {"keys where one begins the other", "{\"ab\":1,\"a\":2,\"abc\":3}", "{\"a\":2,\"ab\":1,\"abc\":3}"},
    {"short escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
    {"unicode escapes", "\"\\u0041\\u00e9\\u20AC\"", "\"A\xC3\xA9\xE2\x82\xAC\""},
    {"surrogate pair", "\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\""},
    {"raw UTF-8 of every length", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"",
     "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
    {"last code point", "\"\xF4\x8F\xBF\xBF\"", "\"\xF4\x8F\xBF\xBF\""},
    {"control characters escaped", "\"\\u0001\\u001f\x7F\"", "\"\\u0001\\u001f\x7F\""},
    {"depth 64",
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"},
};

/* The canonical form is as said, and is a fixed point. */
static void accepted_text_has_its_canonical_form(void **state)
{
    const accepted_row *row = *state;
    dit_json document, again;
    char *text, *second;
    assert_int_equal(dit_json_parse(row->text, strlen(row->text), "t", &document), DIT_OK);
    assert_int_equal(dit_json_canonical(document.root, &text), DIT_OK);
    assert_string_equal(text, row->canonical);
    assert_int_equal(dit_json_parse(text, strlen(text), "t", &again), DIT_OK);
    assert_int_equal(dit_json_canonical(again.root, &second), DIT_OK);
    assert_string_equal(second, text);
    dit_json_release(&document);
    dit_json_release(&again);
    free(text);
    free(second);
}

/* ---- refused --------------------------------------------------------------------------------------------------- */

/* A text, and how the message begins. */
typedef struct {
    const char *name, *text;
    dit_status status;
    const char *message;
} refused_row;

#define DEPTH_65 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
static const refused_row refused[] = {
    {"empty text", "", DIT_ERR_JSON_SYNTAX, "t:1:1: expected a value, found the end of the text"},
    {"only space", " \n ", DIT_ERR_JSON_SYNTAX, "t:2:2: expected a value, found the end"},
    {"byte order mark", "\xEF\xBB\xBF{}", DIT_ERR_JSON_SYNTAX, "t:1:1: byte order mark"},
    {"word", "hello", DIT_ERR_JSON_SYNTAX, "t:1:1: expected a value, found 'h'"},
    {"NaN", "[NaN]", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: expected a value, found 'N'"},
    {"minus infinity", "[-Infinity]", DIT_ERR_JSON_SYNTAX, "t:1:3: /0: expected a digit, found 'I'"},
    {"word cut", "[tru", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: expected a value"},
    {"word continued", "[truex]", DIT_ERR_JSON_SYNTAX, "t:1:6: /0: expected ',' or ']' after an element, found 'x'"},
    {"single quotes", "{'a':1}", DIT_ERR_JSON_SYNTAX, "t:1:2: expected a key in double quotes, found '''"},
    {"comment", "{\"a\":1 // no\n}", DIT_ERR_JSON_SYNTAX,
     "t:1:8: /a: expected ',' or '}' after a member; JSON has no comments"},
    {"trailing comma in array", "[1, ]", DIT_ERR_JSON_SYNTAX,
     "t:1:3: /0: a comma before ']'; JSON has no trailing commas"},
    {"trailing comma in object", "{\"a\":1,\n}", DIT_ERR_JSON_SYNTAX,
     "t:1:7: /a: a comma before '}'; JSON has no trailing commas"},
    {"two commas", "[1,,2]", DIT_ERR_JSON_SYNTAX, "t:1:4: /1: expected a value, found ','"},
    {"comment before", "// x\n{}", DIT_ERR_JSON_SYNTAX, "t:1:1: expected a value; JSON has no comments"},
    {"comment after a member", "{\"a\": 1 /* x */}", DIT_ERR_JSON_SYNTAX,
     "t:1:9: /a: expected ',' or '}' after a member; JSON has no comments"},
    {"comment after a comma", "{\"a\": 1, // x\n}", DIT_ERR_JSON_SYNTAX,
     "t:1:10: /a: expected a key in double quotes; JSON has no comments"},
    {"comment with a hash", "[1, # x\n 2]", DIT_ERR_JSON_SYNTAX, "t:1:5: /1: expected a value; JSON has no comments"},
    {"comment behind", "{} // x", DIT_ERR_JSON_TRAILING,
     "t:1:4: bytes after the end of the document; JSON has no comments"},
    {"slash", "[/]", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: expected a value, found '/'"},
    {"leading comma", "[,1]", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: expected a value, found ','"},
    {"missing comma", "[1 2]", DIT_ERR_JSON_SYNTAX, "t:1:4: /0: expected ',' or ']'"},
    {"missing colon", "{\"a\" 1}", DIT_ERR_JSON_SYNTAX, "t:1:6: /a: expected ':' after a key"},
    {"missing value", "{\"a\":}", DIT_ERR_JSON_SYNTAX, "t:1:6: /a: expected a value, found '}'"},
    {"number as key", "{1:2}", DIT_ERR_JSON_SYNTAX, "t:1:2: expected a key in double quotes, found '1'"},
    {"array closed as object", "[1}", DIT_ERR_JSON_SYNTAX,
     "t:1:3: /0: expected ',' or ']' after an element, found '}'"},
    {"open array", "[1", DIT_ERR_JSON_SYNTAX, "t:1:3: /0: expected ',' or ']' after an element, found the end"},
    {"open object", "{\"a\":1", DIT_ERR_JSON_SYNTAX, "t:1:7: /a: expected ',' or '}' after a member, found the end"},
    {"open string", "{\n  \"a\": \"xyz\n}", DIT_ERR_JSON_SYNTAX, "t:2:12: /a: control character 0x0a in a string"},
    {"string without end", "[\"abc", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: string without a closing quote"},
    {"backslash at end", "[\"abc\\", DIT_ERR_JSON_SYNTAX, "t:1:7: /0: expected one of"},
    {"tab in string", "[\"a\tb\"]", DIT_ERR_JSON_SYNTAX, "t:1:4: /0: control character 0x09 in a string"},
    {"unknown escape", "[\"\\x41\"]", DIT_ERR_JSON_SYNTAX, "t:1:4: /0: expected one of \"\\/bfnrtu after a backslash"},
    {"short unicode escape", "[\"\\u12\"]", DIT_ERR_JSON_SYNTAX, "t:1:7: /0: expected four hex digits"},
    {"signed unicode escape", "[\"\\u+123\"]", DIT_ERR_JSON_SYNTAX, "t:1:5: /0: expected four hex digits"},
    {"leading zero", "[01]", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: number with a leading zero"},
    {"negative leading zero", "[-012]", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: number with a leading zero"},
    {"plus sign", "[+1]", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: expected a value, found '+'"},
    {"bare minus", "[-]", DIT_ERR_JSON_SYNTAX, "t:1:3: /0: expected a digit, found ']'"},
    {"point without digit", "[1.]", DIT_ERR_JSON_SYNTAX, "t:1:4: /0: expected a digit after the decimal point"},
    {"point first", "[.5]", DIT_ERR_JSON_SYNTAX, "t:1:2: /0: expected a value, found '.'"},
    {"exponent without digit", "[1e]", DIT_ERR_JSON_SYNTAX, "t:1:4: /0: expected a digit in the exponent"},
    {"exponent with sign only", "[1e+]", DIT_ERR_JSON_SYNTAX, "t:1:5: /0: expected a digit in the exponent"},
    {"hexadecimal", "[0x10]", DIT_ERR_JSON_SYNTAX, "t:1:3: /0: expected ',' or ']'"},
    {"form feed between", "[1,\f2]", DIT_ERR_JSON_SYNTAX, "t:1:4: /1: expected a value, found byte 0x0c"},
    {"beyond 2^53", "{\"seed\":9007199254740993}", DIT_ERR_JSON_NUMBER,
     "t:1:9: /seed: integer 9007199254740993 is beyond 2^53; write it as a string"},
    {"below -2^53", "-9007199254740993", DIT_ERR_JSON_NUMBER, "t:1:1: integer -9007199254740993 is beyond"},
    {"2^63", "[9223372036854775808]", DIT_ERR_JSON_NUMBER, "t:1:2: /0: integer 9223372036854775808 is beyond"},
    {"infinite", "[1e309]", DIT_ERR_JSON_NUMBER, "t:1:2: /0: number 1e309 is too large for a double"},
    {"minus infinite", "[-1e999999999]", DIT_ERR_JSON_NUMBER, "t:1:2: /0: number -1e999999999 is too large"},
    {"number of 64 characters", "0.00000000000000000000000000000000000000000000000000000000000001", DIT_ERR_JSON_NUMBER,
     "t:1:1: number of 64 characters"},
    {"trailing word", "{} x", DIT_ERR_JSON_TRAILING, "t:1:4: bytes after the end of the document"},
    {"two documents", "{}\n{}", DIT_ERR_JSON_TRAILING, "t:2:1: bytes after the end of the document"},
    {"duplicate key", "{\"a\":1,\n \"b\":2,\n \"a\":3}", DIT_ERR_JSON_DUPLICATE_KEY,
     "t:3:2: /a: key \"a\" occurs twice in one object"},
    {"duplicate empty key", "{\"\":1,\"\":2}", DIT_ERR_JSON_DUPLICATE_KEY, "t:1:7: /: key \"\" occurs twice"},
    {"duplicate after unescaping", "{\"a\":1,\"\\u0061\":2}", DIT_ERR_JSON_DUPLICATE_KEY, "t:1:8: /a: key \"a\""},
    {"duplicate inside", "{\"x\":[0,{\"k\":1,\"k\":1}]}", DIT_ERR_JSON_DUPLICATE_KEY, "t:1:16: /x/1/k: key \"k\""},
    {"first of two duplicates", "{\"z\":1,\"a\":1,\"z\":2,\"a\":2}", DIT_ERR_JSON_DUPLICATE_KEY, "t:1:14: /z: key"},
    {"key with slash and tilde", "{\"a/b~c\":[!]}", DIT_ERR_JSON_SYNTAX, "t:1:11: /a~1b~0c/0: expected a value"},
    {"key with control character", "{\"\\u001b[2J\":!}", DIT_ERR_JSON_SYNTAX, "t:1:14: /?[2J: expected a value"},
    {"stray continuation byte", "[\"\x80\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0x80 is not valid UTF-8"},
    {"overlong slash", "[\"\xC0\xAF\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xc0 is not valid UTF-8"},
    {"overlong three bytes", "[\"\xE0\x80\xAF\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xe0"},
    {"overlong four bytes", "[\"\xF0\x80\x80\xAF\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xf0"},
    {"surrogate in UTF-8", "[\"\xED\xA0\x80\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xed"},
    {"above U+10FFFF", "[\"\xF4\x90\x80\x80\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xf4"},
    {"byte 0xff", "[\"\xFF\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xff"},
    {"sequence cut by quote", "[\"\xE2\x82\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xe2"},
    {"sequence cut by end", "[\"\xE2\x82", DIT_ERR_JSON_ENCODING, "t:1:3: /0: byte 0xe2"},
    {"lone high surrogate", "[\"\\ud800\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: high surrogate without a low one"},
    {"lone low surrogate", "[\"\\udc00\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: low surrogate without a high one"},
    {"two high surrogates", "[\"\\ud800\\ud800\"]", DIT_ERR_JSON_ENCODING, "t:1:3: /0: high surrogate"},
    {"escaped NUL", "[\"a\\u0000b\"]", DIT_ERR_JSON_ENCODING, "t:1:4: /0: \\u0000 cannot be part of a string"},
    {"depth 65", DEPTH_65, DIT_ERR_JSON_DEPTH, "t:1:65: "},
    {"pointer names the place", "{\n  \"axes\": {\n    \"model\": [\"a\", b]\n  }\n}", DIT_ERR_JSON_SYNTAX,
     "t:3:20: /axes/model/1: expected a value, found 'b'"},
};

static void refused_text_is_named_and_placed(void **state)
{
    const refused_row *row = *state;
    size_t length = strlen(row->text);
    char *exact = malloc(length + (length == 0)); /* without NUL: the address sanitizer sees a read beyond the end */
    dit_json document;
    memcpy(exact, row->text, length);
    dit_status st = dit_json_parse(exact, length, "t", &document);
    const char *message = dit_error_last()->message;
    if (st != row->status || strncmp(message, row->message, strlen(row->message)) != 0)
        fail_msg("expected %s \"%s\", got %s \"%s\"", dit_status_name(row->status), row->message, dit_status_name(st),
                 message);
    assert_null(document.root);
    assert_null(document.text);
    free(exact);
}

static void nul_bytes_are_not_an_end(void **state)
{
    (void)state;
    dit_json document;
    assert_int_equal(dit_json_parse("{}\0{}", 5, "t", &document), DIT_ERR_JSON_TRAILING);
    assert_int_equal(dit_json_parse("[\"\0\"]", 5, "t", &document), DIT_ERR_JSON_SYNTAX);
    assert_int_equal(dit_json_parse("\0", 1, "t", &document), DIT_ERR_JSON_SYNTAX);
}

/* ---- hostile sizes --------------------------------------------------------------------------------------------- */

static char *repeated(const char *head, const char *item, size_t count, const char *tail, size_t *length)
{
    size_t head_length = strlen(head), item_length = strlen(item), tail_length = strlen(tail);
    *length = head_length + item_length * count + tail_length;
    char *text = malloc(*length + 1), *p = text;
    assert_non_null(text);
    p = stpcpy(p, head);
    for (size_t i = 0; i < count; i++) p = stpcpy(p, item);
    strcpy(p, tail);
    return text;
}

static void huge_documents_are_refused_quickly(void **state)
{
    (void)state;
    dit_json document;
    size_t length;
    char *many = repeated("[0", ",0", 5000000, "]", &length);
    assert_int_equal(dit_json_parse(many, length, "t", &document), DIT_ERR_JSON_DEPTH);
    assert_non_null(strstr(dit_error_last()->message, "more than 4194304 values"));
    free(many);
    char *large = repeated("\"", "xxxxxxxxxxxxxxxx", 4 << 20, "\"", &length);
    assert_int_equal(dit_json_parse(large, length, "t", &document), DIT_ERR_JSON_DEPTH);
    assert_non_null(strstr(dit_error_last()->message, "67108866 bytes"));
    free(large);
    char *deep = repeated("", "[", 1000000, "", &length);
    assert_int_equal(dit_json_parse(deep, length, "t", &document), DIT_ERR_JSON_DEPTH);
    free(deep);
}

/* 200 thousand keys with a long common beginning: a quadratic check would take minutes. */
static void many_keys_are_checked_in_reasonable_time(void **state)
{
    (void)state;
    enum { COUNT = 200000, WIDTH = 60 };
    char *text = malloc(COUNT * (size_t)WIDTH + 64), *p = text;
    dit_json document;
    *p++ = '{';
    for (int i = 0; i < COUNT; i++) p += sprintf(p, "\"transformer_blocks.attention.weight.%09d\":%d,", i, i % 10);
    sprintf(p, "\"transformer_blocks.attention.weight.%09d\":0}", 123456);
    assert_int_equal(dit_json_parse(text, strlen(text), "t", &document), DIT_ERR_JSON_DUPLICATE_KEY);
    assert_non_null(strstr(dit_error_last()->message, "weight.000123456\" occurs twice"));
    sprintf(p, "\"last\":0}");
    assert_int_equal(dit_json_parse(text, strlen(text), "t", &document), DIT_OK);
    assert_int_equal(cJSON_GetArraySize(document.root), COUNT + 1);
    dit_json_release(&document);
    free(text);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

static const char located[] =
    "{\n  \"axes\": {\"model\": [\"a\", {\"b/c\": 1, \"d~e\": 2}]},\n  \"\": {\"x\": []}\n}\n";

static void assert_place(const char *pointer, int line, int column)
{
    int found_line = 0, found_column = 0;
    bool found = dit_json_locate(located, strlen(located), pointer, &found_line, &found_column);
    assert_int_equal(found, line > 0);
    if (!found) return;
    assert_int_equal(found_line, line);
    assert_int_equal(found_column, column);
}

static void pointers_are_located(void **state)
{
    (void)state;
    assert_place("", 1, 1);
    assert_place("/axes", 2, 3);
    assert_place("/axes/model", 2, 12);
    assert_place("/axes/model/0", 2, 22);
    assert_place("/axes/model/1", 2, 27);
    assert_place("/axes/model/1/b~1c", 2, 28);
    assert_place("/axes/model/1/d~0e", 2, 38);
    assert_place("/", 3, 3);
    assert_place("//x", 3, 8);
    assert_place("/axes/model/2", 0, 0);
    assert_place("/axes/model/01x", 0, 0);
    assert_place("/axes/model/-1", 0, 0);
    assert_place("/none", 0, 0);
    assert_place("/axes/model/0/deeper", 0, 0);
    assert_place("axes", 0, 0);
}

static void parse(const char *text, dit_json *out)
{
    assert_int_equal(dit_json_parse(text, strlen(text), "w.json", out), DIT_OK);
}

static void assert_says(dit_status status, dit_status expected, const char *message)
{
    assert_int_equal(status, expected);
    assert_string_equal(dit_error_last()->message, message);
}

static void complaints_carry_the_place(void **state)
{
    (void)state;
    dit_json document;
    parse("{\n  \"run\": {\"seed\": 1}\n}", &document);
    assert_says(dit_json_fail(&document, "/run/seed", DIT_ERR_JSON_VALUE, "too %s", "small"), DIT_ERR_JSON_VALUE,
                "w.json:2:11: /run/seed: too small");
    assert_says(dit_json_fail(&document, "/run/steps", DIT_ERR_JSON_VALUE, "absent"), DIT_ERR_JSON_VALUE,
                "w.json:2:3: /run/steps: absent"); /* the nearest that exists */
    assert_says(dit_json_fail(&document, "", DIT_ERR_WORKLOAD, "empty"), DIT_ERR_WORKLOAD, "w.json:1:1: empty");
    dit_json_release(&document);
    dit_json_release(&document); /* a zeroed one is fine */
}

/* ---- typed access ---------------------------------------------------------------------------------------------- */

static void access_returns_values_and_leaves_absent_ones(void **state)
{
    (void)state;
    dit_json d;
    parse("{\"s\":\"x\",\"i\":-3,\"e\":1e3,\"n\":0.5,\"b\":true,\"o\":{},\"a\":[1]}", &d);
    const char *string = "unset";
    const cJSON *object = NULL, *array = NULL;
    int64_t integer = 77;
    double number = 77;
    bool flag = false;
    assert_int_equal(dit_json_require_string(&d, d.root, "", "s", &string), DIT_OK);
    assert_string_equal(string, "x");
    assert_int_equal(dit_json_require_int(&d, d.root, "", "i", -3, 5, &integer), DIT_OK);
    assert_int_equal(integer, -3);
    assert_int_equal(dit_json_optional_int(&d, d.root, "", "e", 0, INT64_MAX, &integer), DIT_OK);
    assert_int_equal(integer, 1000);
    assert_int_equal(dit_json_optional_number(&d, d.root, "", "n", 0, 1, &number), DIT_OK);
    assert_true(number == 0.5);
    assert_int_equal(dit_json_optional_bool(&d, d.root, "", "b", &flag), DIT_OK);
    assert_true(flag);
    assert_int_equal(dit_json_require_object(&d, d.root, "", "o", &object), DIT_OK);
    assert_int_equal(dit_json_optional_array(&d, d.root, "", "a", &array), DIT_OK);
    assert_true(object && array);
    assert_int_equal(dit_json_optional_int(&d, d.root, "", "absent", 0, 1, &integer), DIT_OK);
    assert_int_equal(integer, 1000);
    assert_int_equal(dit_json_optional_string(&d, d.root, "", "absent", &string), DIT_OK);
    assert_string_equal(string, "x");
    dit_json_release(&d);
}

static void access_refuses_what_does_not_fit(void **state)
{
    (void)state;
    dit_json d;
    parse("{\"o\": {\"i\": \"x\", \"f\": 1.5, \"n\": 9, \"z\": null, \"s\": [], \"a/b\": 1}}", &d);
    const cJSON *o = cJSON_GetObjectItem(d.root, "o"), *item;
    int64_t integer;
    double number;
    const char *string;
    bool flag;
    assert_says(dit_json_require_int(&d, o, "/o", "i", 0, 1, &integer), DIT_ERR_JSON_TYPE,
                "w.json:1:8: /o/i: expected an integer, found a string");
    assert_says(dit_json_require_int(&d, o, "/o", "f", 0, 9, &integer), DIT_ERR_JSON_TYPE,
                "w.json:1:18: /o/f: expected an integer, found 1.5");
    assert_says(dit_json_require_int(&d, o, "/o", "n", 0, 8, &integer), DIT_ERR_JSON_VALUE,
                "w.json:1:28: /o/n: expected a value in [0, 8], found 9");
    assert_says(dit_json_optional_number(&d, o, "/o", "n", 0, 0.5, &number), DIT_ERR_JSON_VALUE,
                "w.json:1:28: /o/n: expected a value in [0, 0.5], found 9");
    assert_says(dit_json_optional_bool(&d, o, "/o", "z", &flag), DIT_ERR_JSON_TYPE,
                "w.json:1:36: /o/z: expected a boolean, found null");
    assert_says(dit_json_optional_string(&d, o, "/o", "s", &string), DIT_ERR_JSON_TYPE,
                "w.json:1:47: /o/s: expected a string, found an array");
    assert_says(dit_json_optional_array(&d, o, "/o", "a/b", &item), DIT_ERR_JSON_TYPE,
                "w.json:1:56: /o/a~1b: expected an array, found a number");
    assert_says(dit_json_require_object(&d, o, "/o", "gone", &item), DIT_ERR_JSON_MISSING,
                "w.json:1:2: /o: required key \"gone\" is absent");
    dit_json_release(&d);
}

static void unknown_keys_are_refused_with_the_nearest(void **state)
{
    (void)state;
    static const char *const keys[] = {"ulysses_degree", "ring_degree", "cfg_degree", NULL};
    dit_json d;
    parse("{\"ring_degree\": 1,\n \"ulyses_degree\": 2}", &d);
    assert_says(dit_json_only_keys(&d, d.root, "", keys), DIT_ERR_JSON_UNKNOWN_KEY,
                "w.json:2:2: /ulyses_degree: unknown key \"ulyses_degree\"");
    assert_string_equal(dit_error_last()->hint, "did you mean \"ulysses_degree\"?");
    dit_json_release(&d);
    parse("{\"colour\": 1}", &d);
    assert_int_equal(dit_json_only_keys(&d, d.root, "", keys), DIT_ERR_JSON_UNKNOWN_KEY);
    assert_string_equal(dit_error_last()->hint, "the keys known here are: ulysses_degree, ring_degree, cfg_degree");
    dit_json_release(&d);
    parse("{\"cfg_degree\": 1}", &d);
    assert_int_equal(dit_json_only_keys(&d, d.root, "", keys), DIT_OK);
    dit_json_release(&d);
    parse("[]", &d);
    assert_int_equal(dit_json_only_keys(&d, d.root, "", keys), DIT_ERR_JSON_TYPE);
    dit_json_release(&d);
}

static void lenient_access_never_complains(void **state)
{
    static const char *const keys[] = {"s", "i", "h", "b", "o", "none"};
    static const char *const texts[] = {"x", "-", "-", "-", "-", "-"};
    static const double numbers[] = {-1, 3, 1e300, -1, -1, -1};
    static const int64_t integers[] = {-1, 3, -1, -1, -1, -1};
    dit_json d;
    (void)state;
    parse("{\"s\":\"x\",\"i\":3,\"h\":1e300,\"b\":true,\"o\":{\"f\":2.5}}", &d);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_string_equal(dit_json_text_or(d.root, keys[i], "-"), texts[i]);
        assert_true(dit_json_number_or(d.root, keys[i], -1) == numbers[i]);
        assert_int_equal(dit_json_int_or(d.root, keys[i], -1), integers[i]);
        assert_int_equal(dit_json_is_true(d.root, keys[i]), i == 3);
    }
    assert_int_equal(dit_json_int_or(dit_json_member(d.root, "o"), "f", -1), -1);
    assert_null(dit_json_text_or(NULL, "s", NULL));
    assert_null(dit_json_member(dit_json_member(d.root, "s"), "f")); /* a text has no members */
    dit_json_release(&d);
}

static void a_word_of_no_list_is_placed_and_named(void **state)
{
    static const char *const words[] = {"linear", "cosine", NULL};
    dit_json d;
    (void)state;
    parse("{\n\"schedule\":\"linaer\"}", &d);
    assert_says(dit_json_fail_word(&d, "/schedule", "schedule", "linaer", words), DIT_ERR_JSON_VALUE,
                "w.json:2:1: /schedule: schedule \"linaer\" is none of linear, cosine");
    assert_string_equal(dit_error_last()->hint, "did you mean \"linear\"?");
    dit_json_release(&d);
}

static void a_pointer_is_joined_with_its_escapes(void **state)
{
    char out[16];
    (void)state;
    dit_json_pointer_join(out, sizeof out, "/a", "b~c/d");
    assert_string_equal(out, "/a/b~0c~1d");
    dit_json_pointer_join(out, sizeof out, "/a/long/way/down", "b");
    assert_string_equal(out, "/a/long/way/dow");
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void canonical_refuses_what_would_not_read_back(void **state)
{
    (void)state;
    char *text = NULL;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "n", NAN);
    assert_int_equal(dit_json_canonical(object, &text), DIT_ERR_NONFINITE);
    cJSON_DeleteItemFromObject(object, "n");
    cJSON_AddNullToObject(object, "k");
    cJSON_AddNullToObject(object, "k");
    assert_int_equal(dit_json_canonical(object, &text), DIT_ERR_JSON_DUPLICATE_KEY);
    cJSON_Delete(object);
    cJSON *deep = cJSON_CreateArray(), *inner = deep;
    for (int i = 0; i < 64; i++) {
        cJSON *next = cJSON_CreateArray();
        cJSON_AddItemToArray(inner, next);
        inner = next;
    }
    assert_int_equal(dit_json_canonical(deep, &text), DIT_ERR_JSON_DEPTH);
    assert_null(text);
    cJSON_Delete(deep);
}

/* Doubles chosen by their bits, the awkward ones first: text and back gives the same bits. */
static void every_number_reads_back_exactly(void **state)
{
    (void)state;
    double edge[] = {DBL_MIN, DBL_MAX, DBL_TRUE_MIN, 0.1, 1.0 / 3, 1e22, 1e23, 123456789012345680.0, 5e-324, -2.5e-310};
    uint64_t random = 88172645463325252;
    for (int i = 0; i < 20000; i++) {
        double value, back;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        memcpy(&value, &random, sizeof value);
        if (i < (int)(sizeof edge / sizeof *edge)) value = edge[i];
        if (!isfinite(value)) continue;
        cJSON *number = cJSON_CreateNumber(value);
        char *text;
        dit_json document;
        assert_int_equal(dit_json_canonical(number, &text), DIT_OK);
        parse(text, &document);
        back = document.root->valuedouble;
        if (back != value) fail_msg("%.17g was written as %s", value, text);
        dit_json_release(&document);
        cJSON_Delete(number);
        free(text);
    }
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
    char *text;
    cJSON *string = cJSON_CreateString("a\xFF\xE2\x82z");
    assert_int_equal(dit_json_canonical(string, &text), DIT_OK);
    assert_string_equal(text, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"");
    free(text);
    cJSON_Delete(string);
}

static int entries_of(const char *folder)
{
    int count = -2; /* . and .. */
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    while (readdir(listing)) count++;
    closedir(listing);
    return count;
}

static void files_are_written_whole_and_read_back(void **state)
{
    (void)state;
    char folder[TEST_FOLDER], path[128], *text;
    size_t length;
    dit_json d;
    assert_int_equal(test_folder_make(folder), 0);
    snprintf(path, sizeof path, "%s/x.json", folder);
    parse("{\"b\":[1,2],\"a\":[{\"x\":{}}]}", &d);
    assert_int_equal(dit_json_write_file(d.root, path, false), DIT_OK);
    assert_int_equal(dit_file_read(path, 1000, &text, &length), DIT_OK);
    assert_string_equal(text, "{\n  \"b\": [1, 2],\n  \"a\": [\n    {\n      \"x\": {}\n    }\n  ]\n}\n");
    free(text);
    assert_int_equal(dit_json_write_file(d.root, path, true), DIT_OK); /* over the old one */
    dit_json_release(&d);
    assert_int_equal(dit_json_read_file(path, &d), DIT_OK);
    assert_string_equal(d.path, path);
    assert_string_equal(d.text, "{\"b\":[1,2],\"a\":[{\"x\":{}}]}\n");
    cJSON_AddNumberToObject(d.root, "bad", INFINITY);
    assert_int_equal(dit_json_write_file(d.root, path, true), DIT_ERR_NONFINITE); /* and the old one stays */
    dit_json_release(&d);
    assert_int_equal(dit_json_read_file(path, &d), DIT_OK);
    dit_json_release(&d);
    assert_int_equal(entries_of(folder), 1);
    unlink(path);
    rmdir(folder);
}

static void files_that_cannot_be_used_are_named(void **state)
{
    (void)state;
    char *text;
    size_t length;
    dit_json d;
    const dit_file_piece piece = {"x", 1};
    assert_says(dit_json_read_file("/nonexistent/w.json", &d), DIT_ERR_IO,
                "/nonexistent/w.json: cannot be opened: No such file or directory");
    assert_says(dit_json_read_file("/tmp", &d), DIT_ERR_IO, "/tmp: cannot be read: Is a directory");
    assert_int_equal(dit_file_read("/dev/zero", 100000, &text, &length), DIT_ERR_IO);
    assert_says(dit_file_write("/nonexistent/x", &piece, 1), DIT_ERR_IO,
                "/nonexistent/x: cannot be created: No such file or directory");
    assert_int_equal(dit_file_write("/tmp", &piece, 1), DIT_ERR_IO); /* a folder in the way */
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

enum { ACCEPTED = sizeof accepted / sizeof *accepted, REFUSED = sizeof refused / sizeof *refused };

/* A document of another version or kind is refused with its place, both versions, and what to do. */
static void versions_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *words[3];
    } rows[] = {
        {"ditbench.journal/1", {NULL}},
        {"ditbench.journal/0",
         {"\"ditbench.journal/0\" is older than \"ditbench.journal/1\"", "use the ditbench that wrote it"}},
        {"ditbench.journal/2", {"\"ditbench.journal/2\" is newer than \"ditbench.journal/1\"", "nothing converts it"}},
        {"ditbench.journal/10", {"is newer than"}},
        {"ditbench.journal/01", {"is not \"ditbench.journal/1\""}},
        {"ditbench.journal/", {"is not"}},
        {"ditbench.journal/1x", {"is not"}},
        {"ditbench.journal/-1", {"is not"}},
        {"ditbench.journal", {"is not"}},
        {"ditbench.plan/1", {"\"ditbench.plan/1\" is not \"ditbench.journal/1\""}},
        {"", {"is not"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128];
        dit_json doc = {0};
        snprintf(text, sizeof text, "{\n \"schema\": \"%s\"}", rows[i].schema);
        assert_ok(dit_json_parse(text, strlen(text), "file.json", &doc));
        dit_status st = dit_json_require_schema(&doc, "ditbench.journal/1");
        assert_int_equal(st, rows[i].words[0] ? DIT_ERR_JSON_VALUE : DIT_OK);
        if (st != DIT_OK) assert_contains(dit_error_last()->message, "file.json:2:2: /schema: ");
        for (int w = 0; w < 3 && rows[i].words[w]; w++) assert_contains(dit_error_last()->message, rows[i].words[w]);
        dit_json_release(&doc);
    }
}

int main(void)
{
    static struct CMUnitTest rows[ACCEPTED + REFUSED];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nul_bytes_are_not_an_end),
        cmocka_unit_test(huge_documents_are_refused_quickly),
        cmocka_unit_test(many_keys_are_checked_in_reasonable_time),
        cmocka_unit_test(pointers_are_located),
        cmocka_unit_test(complaints_carry_the_place),
        cmocka_unit_test(access_returns_values_and_leaves_absent_ones),
        cmocka_unit_test(access_refuses_what_does_not_fit),
        cmocka_unit_test(unknown_keys_are_refused_with_the_nearest),
        cmocka_unit_test(lenient_access_never_complains),
        cmocka_unit_test(a_word_of_no_list_is_placed_and_named),
        cmocka_unit_test(a_pointer_is_joined_with_its_escapes),
        cmocka_unit_test(canonical_refuses_what_would_not_read_back),
        cmocka_unit_test(every_number_reads_back_exactly),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(files_are_written_whole_and_read_back),
        cmocka_unit_test(files_that_cannot_be_used_are_named),
        cmocka_unit_test(versions_are_told_apart),
    };
    for (int i = 0; i < ACCEPTED; i++)
        rows[i] = (struct CMUnitTest){accepted[i].name, accepted_text_has_its_canonical_form, NULL, NULL,
                                      (void *)(uintptr_t)&accepted[i]};
    for (int i = 0; i < REFUSED; i++)
        rows[ACCEPTED + i] = (struct CMUnitTest){refused[i].name, refused_text_is_named_and_placed, NULL, NULL,
                                                 (void *)(uintptr_t)&refused[i]};
    int failed = cmocka_run_group_tests_name("json texts", rows, NULL, NULL);
    return failed + cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

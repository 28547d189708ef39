/* Reads a census and charges it. */
#include "kernels/cost/census.h"

#include "base/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_LETTER(letter, name, meaning) +1
enum { POINTER = 512, NAME = 64, LETTERS = DIT_CENSUS_SIZE_LIST(COUNT_LETTER), MOST_ROWS = 1 << 16 };
#undef COUNT_LETTER
static const double MOST = 1e15;

/* Terms first to first + count - 1 of the census. */
typedef struct {
    int first, count;
} polynomial;
typedef struct {
    double factor;
    int power[LETTERS];
} term;

/* Calls of one operator. Own elements have the device's type, other bytes keep theirs. */
typedef struct {
    double calls, launches;
    polynomial own, bytes, rows; /* rows: of a norm; none: no norm */
    polynomial indexed;          /* written elements; none: they are vectors, and need no index each */
    bool shared;
} kernel;
typedef struct {
    double calls;
    polynomial batch, rows, n, k, input; /* input: of a convolution, elements */
    bool fp32;
    int64_t axes; /* of a convolution's kernel; 0: no convolution */
    char split;   /* 'n', 'k', or 0 */
} product;
typedef struct {
    double calls;
    polynomial batch, heads, queries, keys, dim;
} attention;
typedef struct {
    double calls;
    polynomial bytes;
    bool table; /* copied from the host, if it lies there */
} wait;
typedef struct {
    double views;
    int first_kernel, kernels, first_fused, fused, first_product, products, first_wait, waits;
    int first_attention, attentions;
} half;
typedef struct {
    char name[NAME];
    half halves[DIT_CENSUS_HALVES];
} part;
typedef struct {
    int kind, part;
    int64_t count;
} run;

typedef struct {
    void *at;
    int count;
} array;

/* Everything of one file's model, in arrays that only reading makes longer. */
struct dit_census {
    char name[NAME];
    int64_t forwards;
    bool decodes;
    dit_census_schedule schedule;
    array terms, kernels, products, attentions, waits, parts, runs;
};

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

#define ELEMENTS(census, array, type) ((type *)(census)->array.at)

/* Makes room for one element more, which is zeroed. */
static dit_status grow(array *to, size_t size, void **out)
{
    *out = NULL;
    if (to->count >= MOST_ROWS) return DIT_FAIL(DIT_ERR_JSON_VALUE, "a census has more than %d rows", MOST_ROWS);
    if ((to->count & (to->count - 1)) == 0) { /* a power of two, or none yet */
        void *more = realloc(to->at, (size_t)(to->count ? 2 * to->count : 1) * size);
        if (!more) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a census");
        to->at = more;
    }
    *out = (char *)to->at + (size_t)to->count++ * size;
    memset(*out, 0, size);
    return DIT_OK;
}

void dit_census_free(dit_census *census)
{
    if (!census) return;
    free(census->terms.at);
    free(census->kernels.at);
    free(census->products.at);
    free(census->attentions.at);
    free(census->waits.at);
    free(census->parts.at);
    free(census->runs.at);
    free(census);
}

const char *dit_census_name(const dit_census *census)
{
    return census->name;
}

int dit_census_forwards(const dit_census *census)
{
    return (int)census->forwards;
}

/* ---- polynomials ------------------------------------------------------------------------------------------------- */

static const char letters[LETTERS + 1] = {
#define LETTER(letter, name, meaning) letter,
    DIT_CENSUS_SIZE_LIST(LETTER)
#undef LETTER
};

typedef struct {
    const dit_json *doc;
    dit_census *census;
} reading;

static dit_status read_term(const reading *r, const cJSON *item, const char *pointer, double scale)
{
    void *memory;
    DIT_TRY(grow(&r->census->terms, sizeof(term), &memory));
    term *to = memory;
    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) >= 1 && fabs(item->valuedouble) <= MOST) ||
        item->valuedouble != floor(item->valuedouble))
        return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "the coefficient of %s is no whole number but 0",
                             item->string);
    to->factor = item->valuedouble * scale;
    for (const char *c = strcmp(item->string, "1") == 0 ? "" : item->string; *c; c++) {
        const char *letter = strchr(letters, *c);
        if (!letter)
            return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "'%s' has a letter that is none of %s",
                                 item->string, letters);
        to->power[letter - letters]++;
    }
    return DIT_OK;
}

/* Appends the terms of {"BS": 3072, "1": 4}, times `scale`, to *out, whose terms are the newest. */
static dit_status append_terms(const reading *r, const cJSON *object, const char *pointer, double scale,
                               polynomial *out)
{
    const cJSON *item;
    if (!cJSON_IsObject(object)) return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_TYPE, "expected a polynomial");
    if (!out->count) out->first = r->census->terms.count;
    cJSON_ArrayForEach(item, object)
    {
        DIT_TRY(read_term(r, item, pointer, scale));
        out->count++;
    }
    return DIT_OK;
}

static dit_status optional_polynomial(const reading *r, const cJSON *row, const char *pointer, const char *key,
                                      polynomial *out)
{
    const cJSON *object = dit_json_member(row, key);
    return object ? append_terms(r, object, pointer, 1, out) : DIT_OK;
}

static double value_of(const dit_census *census, polynomial p, const dit_census_size *size)
{
    const double values[LETTERS] = {
#define SIZE_VALUE(letter, name, meaning) size->name,
        DIT_CENSUS_SIZE_LIST(SIZE_VALUE)
#undef SIZE_VALUE
    };
    double sum = 0;
    for (int i = p.first; i < p.first + p.count; i++) {
        const term *t = ELEMENTS(census, terms, const term) + i;
        double one = t->factor;
        for (int letter = 0; letter < LETTERS; letter++)
            for (int power = 0; power < t->power[letter]; power++) one *= values[letter];
        sum += one;
    }
    return fmax(sum, 0);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int bytes; /* 0: the device's own type */
} dtypes[] = {{"own", 0},  {"fp32", 4},  {"fp64", 8},      {"int64", 8},      {"int32", 4},
              {"bool", 1}, {"uint8", 1}, {"complex64", 8}, {"complex128", 16}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Adds what "read" or "write" says, {"own": polynomial, "fp32": polynomial}, of elements of the device's type or of
 * others. */
static dit_status add_side(const reading *r, const cJSON *row, const char *pointer, const char *side, bool own,
                           polynomial *out)
{
    const cJSON *object = NULL, *item;
    DIT_TRY(dit_json_optional_object(r->doc, row, pointer, side, &object));
    cJSON_ArrayForEach(item, object)
    {
        int i = 0;
        while (i < DTYPES && strcmp(dtypes[i].name, item->string) != 0) i++;
        if (i == DTYPES)
            return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "'%s' is no type of elements", item->string);
        if (own == (dtypes[i].bytes == 0)) DIT_TRY(append_terms(r, item, pointer, own ? 1 : dtypes[i].bytes, out));
    }
    return DIT_OK;
}

/* Adds the elements of one side, whatever their type. */
static dit_status add_elements(const reading *r, const cJSON *row, const char *pointer, const char *side,
                               polynomial *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, dit_json_member(row, side)) DIT_TRY(append_terms(r, item, pointer, 1, out));
    return DIT_OK;
}

static dit_status read_calls(const reading *r, const cJSON *row, const char *pointer, double *calls)
{
    const char *op;
    int64_t count;
    DIT_TRY(dit_json_require_string(r->doc, row, pointer, "op", &op));
    DIT_TRY(dit_json_require_int(r->doc, row, pointer, "calls", 1, 1 << 20, &count));
    *calls = (double)count;
    return DIT_OK;
}

/* Whether one polynomial is `times` the other, term by term. */
static bool is_multiple(const cJSON *of, const cJSON *one, double times)
{
    const cJSON *item;
    if (cJSON_GetArraySize(of) != cJSON_GetArraySize(one)) return false;
    cJSON_ArrayForEach(item, one)
    {
        const cJSON *other = dit_json_member(of, item->string);
        if (!cJSON_IsNumber(other) || other->valuedouble != times * item->valuedouble) return false;
    }
    return true;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0) words++;
    return *words != NULL;
}

/* Whether a kernel of PyTorch computes an index for each element: where types are mixed, an operand is repeated along an
 * axis, or elements are gathered from afar. Others move vectors, and so do kernels that a compiler generates. */
static bool computes_indices(const cJSON *row)
{
    static const char *const binary[] = {"add", "sub", "mul", "div", "addcmul", NULL};
    static const char *const far[] = {"stack",
                                      "clone",
                                      "flip",
                                      "roll",
                                      "repeat",
                                      "constant_pad_nd",
                                      "reflection_pad2d",
                                      "replication_pad2d",
                                      "replication_pad3d",
                                      "upsample_nearest2d",
                                      "upsample_nearest3d",
                                      "_upsample_nearest_exact2d",
                                      NULL};
    static const char *const floats[] = {"own", "fp32", "fp64"};
    const char *op = dit_json_text_or(row, "op", "");
    const cJSON *read = dit_json_member(row, "read"), *write = dit_json_member(row, "write");
    int types = 0;
    if (strcmp(op, "fused") == 0 || dit_json_member(row, "rows")) return false;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        types += dit_json_member(read, floats[i]) || dit_json_member(write, floats[i]);
    if (types > 1 || is_one_of(op, far)) return true;
    if (!is_one_of(op, binary) || !read || !write || !read->child || !write->child) return false;
    return !is_multiple(read->child, write->child, 1) && !is_multiple(read->child, write->child, 2);
}

static dit_status read_kernel(const reading *r, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"op", "calls", "launches", "read", "write", "rows", "shared", NULL};
    void *memory;
    int64_t launches = 1;
    DIT_TRY(grow(&r->census->kernels, sizeof(kernel), &memory));
    kernel *out = memory;
    DIT_TRY(dit_json_only_keys(r->doc, row, pointer, keys));
    DIT_TRY(read_calls(r, row, pointer, &out->calls));
    DIT_TRY(dit_json_optional_int(r->doc, row, pointer, "launches", 1, 100, &launches));
    out->launches = (double)launches;
    for (int own = 0; own < 2; own++) {
        polynomial *to = own ? &out->own : &out->bytes;
        DIT_TRY(add_side(r, row, pointer, "read", own, to));
        DIT_TRY(add_side(r, row, pointer, "write", own, to));
    }
    DIT_TRY(optional_polynomial(r, row, pointer, "rows", &out->rows));
    if (computes_indices(row)) DIT_TRY(add_elements(r, row, pointer, "write", &out->indexed));
    return dit_json_optional_bool(r->doc, row, pointer, "shared", &out->shared);
}

static dit_status read_product(const reading *r, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"op",    "calls", "batch", "rows",  "n", "k",
                                       "input", "axes",  "split", "dtype", NULL};
    void *memory;
    const char *split = "", *dtype = "own";
    DIT_TRY(grow(&r->census->products, sizeof(product), &memory));
    product *out = memory;
    DIT_TRY(dit_json_only_keys(r->doc, row, pointer, keys));
    DIT_TRY(read_calls(r, row, pointer, &out->calls));
    DIT_TRY(optional_polynomial(r, row, pointer, "batch", &out->batch));
    DIT_TRY(optional_polynomial(r, row, pointer, "rows", &out->rows));
    DIT_TRY(optional_polynomial(r, row, pointer, "n", &out->n));
    DIT_TRY(optional_polynomial(r, row, pointer, "k", &out->k));
    DIT_TRY(optional_polynomial(r, row, pointer, "input", &out->input));
    if (!out->rows.count || !out->n.count || !out->k.count)
        return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_MISSING, "a product has 'rows', 'n' and 'k'");
    DIT_TRY(dit_json_optional_string(r->doc, row, pointer, "split", &split));
    if (*split && strcmp(split, "n") != 0 && strcmp(split, "k") != 0)
        return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "tensor ranks split 'n' or 'k', not '%s'", split);
    out->split = *split;
    DIT_TRY(dit_json_optional_string(r->doc, row, pointer, "dtype", &dtype));
    if (strcmp(dtype, "own") != 0 && strcmp(dtype, "fp32") != 0)
        return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "a product is of 'own' or 'fp32', not of '%s'",
                             dtype);
    out->fp32 = strcmp(dtype, "fp32") == 0;
    if (out->input.count) {
        out->axes = 2;
        return dit_json_optional_int(r->doc, row, pointer, "axes", 1, 3, &out->axes);
    }
    if (dit_json_member(row, "axes"))
        return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "'axes' is of a convolution, which has 'input', too");
    return DIT_OK;
}

static dit_status read_attention(const reading *r, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"op", "calls", "batch", "heads", "queries", "keys", "dim", NULL};
    void *memory;
    DIT_TRY(grow(&r->census->attentions, sizeof(attention), &memory));
    attention *out = memory;
    polynomial *const of[] = {&out->batch, &out->heads, &out->queries, &out->keys, &out->dim};
    DIT_TRY(dit_json_only_keys(r->doc, row, pointer, keys));
    DIT_TRY(read_calls(r, row, pointer, &out->calls));
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        DIT_TRY(optional_polynomial(r, row, pointer, keys[2 + i], of[i]));
        if (!of[i]->count)
            return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_MISSING, "an attention has '%s'", keys[2 + i]);
    }
    return DIT_OK;
}

static dit_status read_wait(const reading *r, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"op", "calls", "bytes", NULL};
    void *memory;
    DIT_TRY(grow(&r->census->waits, sizeof(wait), &memory));
    wait *out = memory;
    DIT_TRY(dit_json_only_keys(r->doc, row, pointer, keys));
    DIT_TRY(read_calls(r, row, pointer, &out->calls));
    out->table = strcmp(dit_json_text_or(row, "op", ""), "copy_from_host") == 0;
    return optional_polynomial(r, row, pointer, "bytes", &out->bytes);
}

/* Writes POINTER/key/index, cut where it is too long. */
static void place_of(char out[POINTER], const char *pointer, const char *key, int index)
{
    char list[POINTER], number[16];
    snprintf(number, sizeof number, "%d", index);
    dit_json_pointer_join(list, sizeof list, pointer, key);
    dit_json_pointer_join(out, POINTER, list, number);
}

/* Reads the rows of one table; *first and *count are those of the array that `read` makes longer. */
static dit_status read_rows(const reading *r, const cJSON *object, const char *pointer, const char *key,
                            dit_status (*read)(const reading *, const cJSON *, const char *), const int *length,
                            int *first, int *count)
{
    const cJSON *list = NULL, *row;
    char at[POINTER];
    int index = 0;
    DIT_TRY(dit_json_optional_array(r->doc, object, pointer, key, &list));
    *first = *length;
    cJSON_ArrayForEach(row, list)
    {
        place_of(at, pointer, key, index++);
        if (!cJSON_IsObject(row)) return dit_json_fail(r->doc, at, DIT_ERR_JSON_TYPE, "expected an object");
        DIT_TRY(read(r, row, at));
    }
    *count = *length - *first;
    return DIT_OK;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static dit_status read_half(const reading *r, const cJSON *object, const char *pointer, half *out)
{
    static const char *const keys[] = {"views", "waits", "products", "attentions", "kernels", "fused", NULL};
    dit_census *c = r->census;
    int64_t views = 0;
    DIT_TRY(dit_json_only_keys(r->doc, object, pointer, keys));
    DIT_TRY(dit_json_optional_int(r->doc, object, pointer, "views", 0, 1 << 20, &views));
    out->views = (double)views;
    DIT_TRY(read_rows(r, object, pointer, "waits", read_wait, &c->waits.count, &out->first_wait, &out->waits));
    DIT_TRY(read_rows(r, object, pointer, "products", read_product, &c->products.count, &out->first_product,
                      &out->products));
    DIT_TRY(read_rows(r, object, pointer, "attentions", read_attention, &c->attentions.count, &out->first_attention,
                      &out->attentions));
    DIT_TRY(
        read_rows(r, object, pointer, "kernels", read_kernel, &c->kernels.count, &out->first_kernel, &out->kernels));
    return read_rows(r, object, pointer, "fused", read_kernel, &c->kernels.count, &out->first_fused, &out->fused);
}

static dit_status read_part(const reading *r, const cJSON *object, const char *pointer)
{
    static const char *const keys[] = {"before", "after", NULL};
    char at[POINTER];
    part read = {0};
    void *memory;
    if (snprintf(read.name, NAME, "%s", object->string) >= NAME || !cJSON_IsObject(object))
        return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "a part is an object with a name below %d bytes",
                             NAME);
    DIT_TRY(dit_json_only_keys(r->doc, object, pointer, keys));
    for (int i = 0; i < DIT_CENSUS_HALVES; i++) {
        const cJSON *one = NULL;
        DIT_TRY(dit_json_optional_object(r->doc, object, pointer, keys[i], &one));
        dit_json_pointer_join(at, sizeof at, pointer, keys[i]);
        if (one) DIT_TRY(read_half(r, one, at, &read.halves[i]));
    }
    DIT_TRY(grow(&r->census->parts, sizeof(part), &memory));
    *(part *)memory = read;
    return DIT_OK;
}

static int find_part(const dit_census *census, const char *name)
{
    for (int i = 0; i < census->parts.count; i++)
        if (strcmp(ELEMENTS(census, parts, const part)[i].name, name) == 0) return i;
    return -1;
}

static dit_status read_run(const reading *r, const cJSON *row, const char *pointer, int kind)
{
    static const char *const keys[] = {"part", "count", NULL};
    const char *name;
    void *memory;
    if (!cJSON_IsObject(row)) return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(grow(&r->census->runs, sizeof(run), &memory));
    run *out = memory;
    DIT_TRY(dit_json_only_keys(r->doc, row, pointer, keys));
    DIT_TRY(dit_json_require_string(r->doc, row, pointer, "part", &name));
    DIT_TRY(dit_json_require_int(r->doc, row, pointer, "count", 1, 100000, &out->count));
    out->kind = kind;
    out->part = find_part(r->census, name);
    if (out->part >= 0) return DIT_OK;
    return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "there is no part '%s'", name);
}

/* Reads {"num_layers": [{"part", "count"}, ...], ...}: kinds of blocks in the order of the config's keys. */
static dit_status read_blocks(const reading *r, const cJSON *model)
{
    const cJSON *blocks, *list, *row;
    char at[POINTER];
    int kind = 0;
    DIT_TRY(dit_json_require_object(r->doc, model, "/models", "blocks", &blocks));
    cJSON_ArrayForEach(list, blocks)
    {
        int index = 0;
        if (!cJSON_IsArray(list))
            return dit_json_fail(r->doc, "/models", DIT_ERR_JSON_TYPE, "blocks of '%s' are no array", list->string);
        cJSON_ArrayForEach(row, list)
        {
            place_of(at, "/models/blocks", list->string, index++);
            DIT_TRY(read_run(r, row, at, kind));
        }
        kind++;
    }
    return DIT_OK;
}

/* Reads [rows, columns] where the key is there. */
static dit_status read_pair(const reading *r, const cJSON *object, const char *key, int64_t out[2])
{
    const cJSON *list = NULL;
    DIT_TRY(dit_json_optional_array(r->doc, object, "/models/decode", key, &list));
    if (!list) return DIT_OK;
    for (int i = 0; i < 2; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        if (cJSON_GetArraySize(list) != 2 || !cJSON_IsNumber(item) ||
            !(item->valuedouble >= 1 && item->valuedouble <= 1e6))
            return dit_json_fail(r->doc, "/models/decode", DIT_ERR_JSON_VALUE, "'%s' is no pair of numbers from 1 on",
                                 key);
        out[i] = (int64_t)item->valuedouble;
    }
    return DIT_OK;
}

static dit_status read_schedule(const reading *r, const cJSON *object)
{
    static const char *const keys[] = {"pixels",      "frames",      "chunk",        "tile",       "step", "blend",
                                       "tile_frames", "step_frames", "blend_frames", "parameters", NULL};
    static const char at[] = "/models/decode";
    dit_census_schedule *s = &r->census->schedule;
    DIT_TRY(dit_json_only_keys(r->doc, object, at, keys));
    DIT_TRY(dit_json_require_int(r->doc, object, at, "pixels", 1, 64, &s->pixels));
    DIT_TRY(dit_json_require_int(r->doc, object, at, "frames", 1, 64, &s->frames));
    DIT_TRY(dit_json_require_int(r->doc, object, at, "parameters", 1, INT64_C(1) << 40, &s->parameters));
    DIT_TRY(dit_json_optional_int(r->doc, object, at, "chunk", 1, 1 << 20, &s->chunk));
    DIT_TRY(dit_json_optional_int(r->doc, object, at, "tile_frames", 1, 1 << 20, &s->tile_frames));
    DIT_TRY(dit_json_optional_int(r->doc, object, at, "step_frames", 1, 1 << 20, &s->step_frames));
    DIT_TRY(dit_json_optional_int(r->doc, object, at, "blend_frames", 0, 1 << 20, &s->blend_frames));
    DIT_TRY(read_pair(r, object, "tile", s->tile));
    DIT_TRY(read_pair(r, object, "step", s->step));
    DIT_TRY(read_pair(r, object, "blend", s->blend));
    if ((s->tile[0] && (!s->step[0] || !s->blend[0])) || (s->tile_frames && !s->step_frames))
        return dit_json_fail(r->doc, at, DIT_ERR_JSON_MISSING, "tiles need a step and a blend");
    r->census->decodes = true;
    return DIT_OK;
}

static dit_status read_model(const reading *r, const cJSON *model)
{
    static const char *const keys[] = {"models", "batch", "forwards", "decode", "blocks", "parts", NULL};
    const cJSON *parts, *object, *decode = NULL;
    char at[POINTER];
    DIT_TRY(dit_json_only_keys(r->doc, model, "/models", keys));
    DIT_TRY(dit_json_optional_object(r->doc, model, "/models", "decode", &decode));
    if (decode) DIT_TRY(read_schedule(r, decode));
    const char *batch = "one";
    DIT_TRY(dit_json_optional_string(r->doc, model, "/models", "batch", &batch));
    if (strcmp(batch, "one") != 0 && strcmp(batch, "more") != 0)
        return dit_json_fail(r->doc, "/models", DIT_ERR_JSON_VALUE, "a batch is 'one' or 'more', not '%s'", batch);
    r->census->forwards = 1;
    DIT_TRY(dit_json_optional_int(r->doc, model, "/models", "forwards", 1, 2, &r->census->forwards));
    DIT_TRY(dit_json_require_object(r->doc, model, "/models", "parts", &parts));
    cJSON_ArrayForEach(object, parts)
    {
        dit_json_pointer_join(at, sizeof at, "/models/parts", object->string);
        DIT_TRY(read_part(r, object, at));
    }
    return read_blocks(r, model);
}

/* ---- which model ------------------------------------------------------------------------------------------------- */

/* Whether a config is like one of the file: equal but for the numbers of blocks and keys that begin with "_". */
static bool is_like(const cJSON *config, const cJSON *counted, const cJSON *blocks)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, counted)
    {
        bool depth = dit_json_member(blocks, item->string) || strcmp(item->string, "dual_attention_layers") == 0;
        const cJSON *own = dit_json_member(config, item->string);
        if (!depth && (!own || !cJSON_Compare(own, item, true))) return false;
    }
    return true;
}

/* Finds the entry of "models" that counts a model like `config` for such batches; NULL where there is none. */
static const cJSON *find_model(const cJSON *list, const cJSON *config, bool batched)
{
    const cJSON *entry, *model;
    cJSON_ArrayForEach(entry, list)
    {
        const char *batch = dit_json_text_or(entry, "batch", NULL);
        if (batch && batched != (strcmp(batch, "more") == 0)) continue;
        cJSON_ArrayForEach(model, dit_json_member(entry, "models"))
        {
            const cJSON *counted = dit_json_member(model, "config");
            if (cJSON_IsObject(counted) && is_like(config, counted, dit_json_member(entry, "blocks"))) return entry;
        }
    }
    return NULL;
}

static dit_status read_file(const dit_json *doc, const cJSON *config, bool batched, dit_census *census, bool *found)
{
    static const char *const keys[] = {"schema", "name", "class", "software", "models", NULL};
    const char *name, *class_name;
    const cJSON *list = NULL, *model;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.census/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &name));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "class", &class_name));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "models", &list));
    snprintf(census->name, sizeof census->name, "%s", name);
    model = config ? find_model(list, config, batched) : cJSON_GetArrayItem(list, 0);
    *found = model != NULL;
    return model ? read_model(&(reading){doc, census}, model) : DIT_OK;
}

/* `config` NULL: the file's first entry. */
static dit_status read_path(const char *path, const cJSON *config, bool batched, dit_census **out)
{
    dit_json doc = {0};
    bool found = false;
    if (access(path, F_OK) != 0) return DIT_OK;
    dit_census *census = calloc(1, sizeof *census);
    if (!census) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a census");
    dit_status st = dit_json_read_file(path, &doc);
    if (st == DIT_OK) st = read_file(&doc, config, batched, census, &found);
    dit_json_release(&doc);
    if (st == DIT_OK && found) *out = census;
    if (!*out) dit_census_free(census);
    return st;
}

static dit_status read_in(const char *folder, const char *name, const cJSON *config, bool batched, dit_census **out)
{
    char path[4096];
    *out = NULL;
    if (!name || strchr(name, '/')) return DIT_OK;
    if (snprintf(path, sizeof path, "%s/%s.json", folder, name) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of a census is too long: %s", folder);
    return read_path(path, config, batched, out);
}

dit_status dit_census_read(const char *folder, const cJSON *config, bool batched, dit_census **out)
{
    return read_in(folder, dit_json_text_or(config, "_class_name", NULL), config, batched, out);
}

dit_status dit_census_read_named(const char *folder, const char *name, dit_census **out)
{
    return read_in(folder, name, NULL, false, out);
}

const dit_census_schedule *dit_census_get_schedule(const dit_census *census)
{
    return census->decodes ? &census->schedule : NULL;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* Block `index` of `blocks` of its kind. Where the config has another number of blocks than the census, the last one
 * is the last one, and others are those as far along. */
static const part *block_part(const dit_census *census, const dit_census_call *call)
{
    int64_t counted = 0, at;
    const run *runs = ELEMENTS(census, runs, const run);
    for (int i = 0; i < census->runs.count; i++)
        if (runs[i].kind == call->kind) counted += runs[i].count;
    at = call->blocks > 0 ? call->index * counted / call->blocks : 0;
    if (call->index == call->blocks - 1) at = counted - 1;
    for (int i = 0; i < census->runs.count; i++) {
        if (runs[i].kind != call->kind) continue;
        if (at < runs[i].count) return ELEMENTS(census, parts, const part) + runs[i].part;
        at -= runs[i].count;
    }
    return NULL;
}

static const part *part_of(const dit_census *census, const dit_census_call *call)
{
    if (call->piece == DIT_CENSUS_BLOCK) return block_part(census, call);
    int index = find_part(census, call->piece == DIT_CENSUS_BEGIN ? "begin" : "head");
    return index < 0 ? NULL : ELEMENTS(census, parts, const part) + index;
}

/* A norm's kernel has one block of threads for each row, so that short rows take as long as they start. */
static double kernel_seconds(const dit_census *census, const dit_cost_device *device, const dit_cost_profile *profile,
                             const dit_census_call *call, const kernel *k)
{
    double share = k->shared ? 1 / call->tensor : 1;
    double bytes = share * (value_of(census, k->own, &call->size) * device->element_bytes +
                            value_of(census, k->bytes, &call->size));
    double rows = share * value_of(census, k->rows, &call->size);
    double indexed = k->indexed.count ? share * value_of(census, k->indexed, &call->size) : 0;
    double seconds =
        k->launches * dit_cost_indexed_seconds(device, profile, bytes / k->launches, indexed / k->launches);
    return fmax(seconds, device->launch_s + rows * profile->norm_row_s / device->processors);
}

static double product_seconds(const dit_census *census, const dit_cost_device *device, const dit_cost_profile *profile,
                              const dit_census_call *call, const product *p)
{
    double batch = p->batch.count ? value_of(census, p->batch, &call->size) : 1;
    int64_t rows = (int64_t)(batch * value_of(census, p->rows, &call->size));
    double n = value_of(census, p->n, &call->size), k = value_of(census, p->k, &call->size);
    if (p->split == 'n') n = ceil(n / call->tensor);
    if (p->split == 'k') k = ceil(k / call->tensor);
    double slower = p->fp32 && device->fp32_flops_per_s > 0 ? device->peak_flops_per_s / device->fp32_flops_per_s : 1;
    if (!p->axes) return fmax(slower, 1) * dit_cost_gemm_seconds(device, rows, (int64_t)n, (int64_t)k);
    return dit_cost_conv_seconds(device, rows, (int64_t)n, (int64_t)k,
                                 (int64_t)value_of(census, p->input, &call->size)) /
           dit_cost_conv_efficiency(profile, (int)p->axes);
}

static double attention_seconds(const dit_census *census, const dit_cost_device *device, const dit_census_call *call,
                                const attention *a)
{
    dit_cost_attention shape = {.B = (int64_t)value_of(census, a->batch, &call->size),
                                .H = (int64_t)value_of(census, a->heads, &call->size),
                                .Sq = (int64_t)value_of(census, a->queries, &call->size),
                                .Sk = (int64_t)value_of(census, a->keys, &call->size),
                                .D = (int64_t)value_of(census, a->dim, &call->size),
                                .seen = 1};
    return dit_cost_attention_seconds(device, &shape);
}

/* The host of `calls` calls. What it waits for is in no graph. A graph of a whole forward is launched with its begin. */
static double host_seconds(const dit_cost_profile *profile, bool begins, double views, double calls,
                           const dit_census_time *of)
{
    double views_s = profile->rule.views_free ? 0 : views * profile->view_dispatch_s;
    bool graphs = profile->rule.launches == DIT_RULE_HALF || profile->rule.launches == DIT_RULE_FORWARD;
    if (!graphs || of->waits) return calls * profile->dispatch_s + views_s;
    if (!(of->time.kernels > 0)) return 0;
    double launch_s = begins || profile->rule.launches == DIT_RULE_HALF ? profile->graph_launch_s : 0;
    return launch_s + of->time.kernels * profile->graph_kernel_s;
}

static double element_wise_calls(const dit_census *census, int first, int count)
{
    double calls = 0;
    for (int i = first; i < first + count; i++) calls += (ELEMENTS(census, kernels, const kernel) + i)->calls;
    return calls;
}

static dit_census_time time_of_half(const dit_census *census, const dit_cost_device *device,
                                    const dit_cost_profile *profile, const dit_census_call *call, const half *h,
                                    bool begins)
{
    dit_census_time out = {0};
    bool chains = profile->rule.chains;
    int first = chains ? h->first_fused : h->first_kernel, count = chains ? h->fused : h->kernels;
    double calls = profile->rule.launches == DIT_RULE_UNCOMPILED
                       ? element_wise_calls(census, h->first_kernel, h->kernels)
                       : element_wise_calls(census, first, count);
    for (int i = first; i < first + count; i++) {
        const kernel *k = ELEMENTS(census, kernels, const kernel) + i;
        out.time.device_s += k->calls * kernel_seconds(census, device, profile, call, k);
        out.time.kernels += k->calls * k->launches;
    }
    for (int i = h->first_product; i < h->first_product + h->products; i++) {
        const product *p = ELEMENTS(census, products, const product) + i;
        out.time.device_s += p->calls * product_seconds(census, device, profile, call, p);
        out.time.kernels += p->calls;
        calls += p->calls;
    }
    for (int i = h->first_attention; i < h->first_attention + h->attentions; i++) {
        const attention *a = ELEMENTS(census, attentions, const attention) + i;
        out.time.device_s += a->calls * attention_seconds(census, device, call, a);
        out.time.kernels += a->calls;
        calls += a->calls;
    }
    for (int i = h->first_wait; i < h->first_wait + h->waits; i++) {
        const wait *w = ELEMENTS(census, waits, const wait) + i;
        if (w->table && call->alone && profile->tables_on_device_alone) continue;
        out.waits = true;
        calls += w->calls;
        if (profile->pageable_copy_bytes_per_s > 0)
            out.wait_s += w->calls * value_of(census, w->bytes, &call->size) / profile->pageable_copy_bytes_per_s;
    }
    out.time.host_s = host_seconds(profile, begins, h->views, calls, &out);
    out.time.last_s = out.time.device_s;
    return out;
}

dit_census_time dit_census_half_time(const dit_census *census, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const dit_census_call *call, dit_census_half at)
{
    const part *of = part_of(census, call);
    bool begins = call->piece == DIT_CENSUS_BEGIN && at == DIT_CENSUS_BEFORE;
    return of ? time_of_half(census, device, profile, call, &of->halves[at], begins) : (dit_census_time){0};
}

void dit_census_add_time(dit_census_time *to, const dit_census_time *more, double times)
{
    to->time.device_s += times * more->time.device_s;
    to->time.host_s += times * more->time.host_s;
    to->time.kernels += times * more->time.kernels;
    to->time.last_s = to->time.device_s;
    to->wait_s += times * more->wait_s;
    to->waits = to->waits || more->waits;
}

static dit_census_time time_of_part(const dit_census *census, const dit_cost_device *device,
                                    const dit_cost_profile *profile, const part *of, const dit_census_size *size)
{
    const dit_census_call call = {.tensor = 1, .size = *size};
    dit_cost_profile plain = *profile;
    dit_census_time all = {0};
    plain.rule = (dit_rule){0};
    for (int at = 0; at < DIT_CENSUS_HALVES; at++) {
        dit_census_time one = time_of_half(census, device, &plain, &call, &of->halves[at], false);
        dit_census_add_time(&all, &one, 1);
    }
    return all;
}

dit_census_time dit_census_part_time(const dit_census *census, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const char *name, const dit_census_size *size)
{
    int index = find_part(census, name);
    if (index < 0) return (dit_census_time){0};
    return time_of_part(census, device, profile, ELEMENTS(census, parts, const part) + index, size);
}

dit_census_time dit_census_forward_time(const dit_census *census, const dit_cost_device *device,
                                        const dit_cost_profile *profile, const dit_census_size *size)
{
    dit_census_time all = dit_census_part_time(census, device, profile, "begin", size);
    dit_census_time head = dit_census_part_time(census, device, profile, "head", size);
    for (int i = 0; i < census->runs.count; i++) {
        const run *blocks = ELEMENTS(census, runs, const run) + i;
        const part *of = ELEMENTS(census, parts, const part) + blocks->part;
        dit_census_time one = time_of_part(census, device, profile, of, size);
        dit_census_add_time(&all, &one, (double)blocks->count);
    }
    dit_census_add_time(&all, &head, 1);
    return all;
}

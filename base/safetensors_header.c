/* Reads a safetensors header and trusts nothing in it.
 *
 * Source of the rules: huggingface/safetensors README.md ("Format") and safetensors/src/tensor.rs (Metadata::validate):
 * the header starts with '{', is at most 100 MB, may be padded with spaces; the tensors lie one behind the other from
 * byte 0 of the data to its end, without gaps; sizes follow from dtype and shape.
 */
#include "base/safetensors_impl.h"

#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_LIMIT 100000000
enum { LENGTH_BYTES = 8 };

/* What a check needs for its message. */
typedef struct {
    const st_mapping *file;
    dit_json json;
    int64_t data_bytes;
    const char *tensor; /* the one being read */
} header;

/* ---- complaints ------------------------------------------------------------------------------------------------ */

/* Returns the offset in the file of a line and column of the header. */
static int64_t file_offset(const header *h, int line, int column)
{
    const char *p = h->json.text;
    for (; line > 1; line--) p = strchr(p, '\n') + 1;
    return LENGTH_BYTES + (p - h->json.text) + column - 1;
}

static void tensor_pointer(const char *name, char *out, size_t size)
{
    size_t used = 0;
    out[used++] = '/';
    for (; *name && used + 3 < size; name++) {
        if (*name == '~' || *name == '/')
            used += (size_t)snprintf(out + used, size - used, "~%d", *name == '/');
        else
            out[used++] = *name;
    }
    out[used] = '\0';
}

/* "PATH: tensor "NAME" (header byte N): what". N counts from the start of the file. */
static dit_status refuse(const header *h, dit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static dit_status refuse(const header *h, dit_status status, const char *format, ...)
{
    char what[512], pointer[1024];
    int line, column;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    tensor_pointer(h->tensor, pointer, sizeof pointer);
    int64_t offset = LENGTH_BYTES;
    if (dit_json_locate(h->json.text, h->json.length, pointer, &line, &column)) offset = file_offset(h, line, column);
    return DIT_FAIL(status, "%s: tensor \"%.200s\" (header byte %lld): %s", h->file->path, h->tensor, (long long)offset,
                    what);
}

/* ---- one tensor ------------------------------------------------------------------------------------------------ */

static dit_status read_dtype(const header *h, const cJSON *entry, dit_stored_dtype *out)
{
    static const char *const elsewhere[] = {"U16", "U32",     "U64",     "F8_E5M2",     "F8_E4M3",     "F8_E8M0", "F4",
                                            "C64", "F6_E2M3", "F6_E3M2", "F8_E5M2FNUZ", "F8_E4M3FNUZ", NULL};
    const cJSON *item = dit_json_member(entry, "dtype");
    if (!item) return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "dtype is absent");
    if (!cJSON_IsString(item)) return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "dtype is not a string");
    for (int i = 0; i < DIT_STORED_COUNT; i++) {
        if (strcmp(item->valuestring, dit_stored_dtype_name((dit_stored_dtype)i)) != 0) continue;
        *out = (dit_stored_dtype)i;
        return DIT_OK;
    }
    for (int i = 0; elsewhere[i]; i++)
        if (strcmp(item->valuestring, elsewhere[i]) == 0)
            return refuse(h, DIT_ERR_SAFETENSORS_DTYPE, "dtype %s belongs to the format but is not supported here",
                          elsewhere[i]);
    return refuse(h, DIT_ERR_SAFETENSORS_DTYPE, "dtype \"%.40s\" is unknown", item->valuestring);
}

/* Reads a whole number >= 0; the strict parser has refused numbers beyond 2^53. */
static bool read_size(const cJSON *item, int64_t *out)
{
    const double limit = 9007199254740992.0;
    if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > limit) return false;
    *out = (int64_t)item->valuedouble;
    return (double)*out == item->valuedouble;
}

static dit_status read_shape(const header *h, const cJSON *entry, dit_tensor_view *view)
{
    const cJSON *shape = dit_json_member(entry, "shape"), *item;
    if (!shape) return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "shape is absent");
    if (!cJSON_IsArray(shape)) return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "shape is not an array");
    view->rank = 0;
    view->elements = 1;
    cJSON_ArrayForEach(item, shape)
    {
        int64_t extent;
        if (view->rank == DIT_TENSOR_MAX_RANK)
            return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "shape of rank %d; at most %d is supported here",
                          cJSON_GetArraySize(shape), DIT_TENSOR_MAX_RANK);
        if (!read_size(item, &extent))
            return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "shape[%d] is not a whole number >= 0", view->rank);
        if (__builtin_mul_overflow(view->elements, extent, &view->elements))
            return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "the product of the shape overflows at shape[%d]", view->rank);
        view->shape[view->rank++] = extent;
    }
    if (__builtin_mul_overflow(view->elements, dit_stored_dtype_bytes(view->dtype), &view->bytes))
        return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "the size in bytes overflows");
    return DIT_OK;
}

static dit_status read_offsets(const header *h, const cJSON *entry, int64_t *begin, int64_t *end)
{
    const cJSON *offsets = dit_json_member(entry, "data_offsets");
    if (!offsets) return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "data_offsets is absent");
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !read_size(offsets->child, begin) ||
        !read_size(offsets->child->next, end))
        return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "data_offsets is not a pair of whole numbers >= 0");
    if (*begin > *end)
        return refuse(h, DIT_ERR_SAFETENSORS_OFFSETS, "data_offsets [%lld, %lld] run backwards", (long long)*begin,
                      (long long)*end);
    if (*end > h->data_bytes)
        return refuse(h, DIT_ERR_SAFETENSORS_TRUNCATED, "data_offsets end at %lld, but the file has %lld bytes of data",
                      (long long)*end, (long long)h->data_bytes);
    return DIT_OK;
}

static dit_status check_keys(const header *h, const cJSON *entry)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, entry)
    {
        if (strcmp(item->string, "dtype") && strcmp(item->string, "shape") && strcmp(item->string, "data_offsets"))
            return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "unknown key \"%.60s\"", item->string);
    }
    return DIT_OK;
}

static dit_status read_tensor(header *h, const cJSON *entry, dit_tensor_view *view)
{
    int64_t begin = 0, end = 0;
    h->tensor = entry->string;
    if (!cJSON_IsObject(entry)) return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "its description is not an object");
    DIT_TRY(check_keys(h, entry));
    DIT_TRY(read_dtype(h, entry, &view->dtype));
    DIT_TRY(read_shape(h, entry, view));
    DIT_TRY(read_offsets(h, entry, &begin, &end));
    if (end - begin != view->bytes)
        return refuse(h, DIT_ERR_SAFETENSORS_OFFSETS, "data_offsets span %lld bytes, but %lld elements of %s take %lld",
                      (long long)(end - begin), (long long)view->elements, dit_stored_dtype_name(view->dtype),
                      (long long)view->bytes);
    view->data = h->file->bytes + h->file->length - h->data_bytes + begin;
    view->name = strdup(entry->string);
    return view->name ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for a tensor name", h->file->path);
}

/* ---- all tensors ----------------------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
    const dit_tensor_view *a = left, *b = right;
    const char *a_data = a->data, *b_data = b->data;
    if (a_data != b_data) return a_data < b_data ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes); /* empty tensors first */
}

int st_compare_names(const void *left, const void *right)
{
    return strcmp(((const dit_tensor_view *)left)->name, ((const dit_tensor_view *)right)->name);
}

/* Checks that the tensors cover the data exactly. Leaves the table sorted by place. */
static dit_status check_cover(header *h, st_table *table)
{
    const unsigned char *data = h->file->bytes + h->file->length - h->data_bytes;
    int64_t covered = 0;
    qsort(table->views, (size_t)table->count, sizeof *table->views, compare_places);
    for (int i = 0; i < table->count; i++) {
        const dit_tensor_view *view = &table->views[i];
        int64_t begin = (const unsigned char *)view->data - data;
        h->tensor = view->name;
        if (begin < covered)
            return refuse(h, DIT_ERR_SAFETENSORS_OFFSETS,
                          "begins at data byte %lld, inside \"%.100s\", which ends at %lld", (long long)begin,
                          table->views[i - 1].name, (long long)covered);
        if (begin > covered)
            return refuse(h, DIT_ERR_SAFETENSORS_OFFSETS, "begins at data byte %lld, which leaves a gap from %lld",
                          (long long)begin, (long long)covered);
        covered = begin + view->bytes;
    }
    if (covered < h->data_bytes)
        return DIT_FAIL(DIT_ERR_SAFETENSORS_TRAILING, "%s: %lld bytes after the last tensor, from byte %lld on",
                        h->file->path, (long long)(h->data_bytes - covered),
                        (long long)(h->file->length - (size_t)(h->data_bytes - covered)));
    return DIT_OK;
}

static dit_status check_metadata(header *h, const cJSON *metadata)
{
    const cJSON *item;
    h->tensor = metadata->string;
    if (!cJSON_IsObject(metadata)) return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "is not an object of strings");
    cJSON_ArrayForEach(item, metadata)
    {
        if (!cJSON_IsString(item))
            return refuse(h, DIT_ERR_SAFETENSORS_HEADER, "the value of \"%.60s\" is not a string", item->string);
    }
    return DIT_OK;
}

static dit_status read_entries(header *h, st_table *table)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, h->json.root)
    {
        if (strcmp(entry->string, "__metadata__") == 0)
            DIT_TRY(check_metadata(h, entry));
        else
            DIT_TRY(read_tensor(h, entry, &table->views[table->count++]));
    }
    DIT_TRY(check_cover(h, table));
    qsort(table->views, (size_t)table->count, sizeof *table->views, st_compare_names);
    return DIT_OK;
}

/* ---- the header as a whole ------------------------------------------------------------------------------------- */

static dit_status read_length(const st_mapping *file, uint64_t *out)
{
    *out = 0;
    if (file->length < LENGTH_BYTES)
        return DIT_FAIL(DIT_ERR_SAFETENSORS_TRUNCATED, "%s: %zu bytes; the header length alone takes %d", file->path,
                        file->length, LENGTH_BYTES);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) *out = *out << 8 | file->bytes[i];
    if (*out > HEADER_LIMIT)
        return DIT_FAIL(DIT_ERR_SAFETENSORS_HEADER, "%s: byte 0: header length %llu; the format allows %d", file->path,
                        (unsigned long long)*out, HEADER_LIMIT);
    if (*out > file->length - LENGTH_BYTES)
        return DIT_FAIL(DIT_ERR_SAFETENSORS_TRUNCATED, "%s: byte 0: header length %llu, but only %zu bytes follow",
                        file->path, (unsigned long long)*out, file->length - LENGTH_BYTES);
    if (*out == 0 || file->bytes[LENGTH_BYTES] != '{')
        return DIT_FAIL(DIT_ERR_SAFETENSORS_HEADER, "%s: byte %d: the header does not begin with '{'", file->path,
                        LENGTH_BYTES);
    return DIT_OK;
}

/* Parses the header. One that is not JSON counts as a damaged file; the JSON reader's complaint is quoted. */
static dit_status parse_header(const st_mapping *file, uint64_t length, dit_json *out)
{
    char name[1024], message[2048];
    snprintf(name, sizeof name, "%s: header", file->path);
    dit_status st = dit_json_parse((const char *)file->bytes + LENGTH_BYTES, (size_t)length, name, out);
    if (st == DIT_OK || st == DIT_ERR_MEMORY) return st;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    return dit_error_hint(DIT_FAIL(DIT_ERR_SAFETENSORS_HEADER, "%s (%s)", message, dit_status_name(st)),
                          "line and column count from byte %d of the file", LENGTH_BYTES);
}

dit_status st_header_read(const st_mapping *file, st_table *out)
{
    header h = {.file = file};
    uint64_t length;
    *out = (st_table){0};
    DIT_TRY(read_length(file, &length));
    DIT_TRY(parse_header(file, length, &h.json));
    h.data_bytes = (int64_t)(file->length - LENGTH_BYTES - length);
    out->views = calloc((size_t)cJSON_GetArraySize(h.json.root) + 1, sizeof *out->views);
    dit_status st = out->views ? read_entries(&h, out)
                               : DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for the table of tensors", file->path);
    dit_json_release(&h.json);
    if (st != DIT_OK) st_table_release(out);
    return st;
}

void st_table_release(st_table *table)
{
    for (int i = 0; i < table->count; i++) free((char *)(uintptr_t)table->views[i].name);
    free(table->views);
    *table = (st_table){0};
}

const dit_tensor_view *st_table_find(const st_table *table, const char *name)
{
    const dit_tensor_view key = {.name = name};
    if (table->count == 0) return NULL;
    return bsearch(&key, table->views, (size_t)table->count, sizeof *table->views, st_compare_names);
}

#include "base/safetensors.h"

#include "base/buffer.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/safetensors_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a folder may hold, the first that is there: whole, or in shards with an index. */
static const char *const whole_files[] = {"diffusion_pytorch_model.safetensors", "model.safetensors"};
#define INDEX_SUFFIX ".index.json"

struct dit_safetensors {
    char *path; /* as given; for messages */
    st_mapping *files;
    st_table *tables; /* one for each file; they own the names */
    int file_count;
    st_table all; /* all tables merged, sorted by name; borrows the names */
};

/* ---- mappings -------------------------------------------------------------------------------------------------- */

static void mapping_release(st_mapping *file)
{
    if (file->mapping) munmap(file->mapping, file->length);
    free(file->path);
    *file = (st_mapping){0};
}

static dit_status map_descriptor(int descriptor, st_mapping *out)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) return DIT_FAIL(DIT_ERR_IO, "%s: %s", out->path, strerror(errno));
    if (!S_ISREG(facts.st_mode)) return DIT_FAIL(DIT_ERR_IO, "%s: not a regular file", out->path);
    out->length = (size_t)facts.st_size;
    if (out->length == 0) return DIT_OK; /* refused later, as too short */
    void *mapping = mmap(NULL, out->length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be mapped: %s", out->path, strerror(errno));
    out->mapping = mapping;
    out->bytes = mapping;
    return DIT_OK;
}

static dit_status mapping_init(st_mapping *out, const char *path)
{
    *out = (st_mapping){.path = strdup(path)};
    if (!out->path) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for its name", path);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: a pipe of that name must not hang */
    if (descriptor < 0) {
        dit_status st = DIT_FAIL(DIT_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
        mapping_release(out);
        return st;
    }
    dit_status st = map_descriptor(descriptor, out);
    close(descriptor);
    if (st != DIT_OK) mapping_release(out);
    return st;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static dit_status create(const char *path, int file_count, dit_safetensors **out)
{
    dit_safetensors *file = calloc(1, sizeof *file);
    *out = file;
    if (file) {
        file->path = strdup(path);
        file->files = calloc((size_t)file_count + 1, sizeof *file->files);
        file->tables = calloc((size_t)file_count + 1, sizeof *file->tables);
        if (file->path && file->files && file->tables) return DIT_OK;
    }
    dit_safetensors_close(file);
    *out = NULL;
    return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory to open it", path);
}

void dit_safetensors_close(dit_safetensors *file)
{
    if (!file) return;
    for (int i = 0; i < file->file_count; i++) {
        st_table_release(&file->tables[i]);
        mapping_release(&file->files[i]);
    }
    free(file->all.views);
    free(file->tables);
    free(file->files);
    free(file->path);
    free(file);
}

/* Merges the tables of all files. A name that two files have is refused. */
static dit_status merge(dit_safetensors *file)
{
    int64_t count = 0;
    for (int i = 0; i < file->file_count; i++) count += file->tables[i].count;
    file->all.views = count < INT32_MAX ? malloc(((size_t)count + 1) * sizeof *file->all.views) : NULL;
    if (!file->all.views) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for its table of tensors", file->path);
    for (int i = 0; i < file->file_count; i++) {
        const st_table *table = &file->tables[i];
        if (table->count)
            memcpy(file->all.views + file->all.count, table->views, (size_t)table->count * sizeof *table->views);
        file->all.count += table->count;
    }
    qsort(file->all.views, (size_t)file->all.count, sizeof *file->all.views, st_compare_names);
    for (int i = 1; i < file->all.count; i++)
        if (st_compare_names(&file->all.views[i - 1], &file->all.views[i]) == 0)
            return DIT_FAIL(DIT_ERR_SAFETENSORS_HEADER, "%s: tensor \"%s\" is in two shards", file->path,
                            file->all.views[i].name);
    return DIT_OK;
}

/* Maps and checks one more file. */
static dit_status add_file(dit_safetensors *file, const char *path)
{
    st_mapping *mapping = &file->files[file->file_count];
    DIT_TRY(mapping_init(mapping, path));
    dit_status st = st_header_read(mapping, &file->tables[file->file_count]);
    if (st == DIT_OK)
        file->file_count++;
    else
        mapping_release(mapping);
    return st;
}

static dit_status open_single(const char *path, dit_safetensors **out)
{
    dit_safetensors *file;
    DIT_TRY(create(path, 1, &file));
    dit_status st = add_file(file, path);
    if (st == DIT_OK) st = merge(file);
    if (st != DIT_OK) {
        dit_safetensors_close(file);
        return st;
    }
    *out = file;
    return DIT_OK;
}

dit_status dit_safetensors_open_memory(const void *data, int64_t bytes, const char *name, dit_safetensors **out)
{
    dit_safetensors *file;
    *out = NULL;
    if (bytes < 0) return DIT_FAIL(DIT_ERR_SAFETENSORS_TRUNCATED, "%s: negative size", name);
    DIT_TRY(create(name, 1, &file));
    file->files[0] = (st_mapping){.path = strdup(name), .bytes = data, .length = (size_t)bytes};
    file->file_count = 1;
    dit_status st = file->files[0].path ? st_header_read(&file->files[0], &file->tables[0])
                                        : DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for its name", name);
    if (st == DIT_OK) st = merge(file);
    if (st != DIT_OK) {
        dit_safetensors_close(file);
        return st;
    }
    *out = file;
    return DIT_OK;
}

/* ---- shards ---------------------------------------------------------------------------------------------------- */

/* True for a plain file name: a hostile index must not reach outside of its folder. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && !strpbrk(name, "/\\");
}

static dit_status join(const char *folder, const char *name, char *out, size_t size)
{
    int length = snprintf(out, size, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= size) return DIT_FAIL(DIT_ERR_IO, "%s: path too long", folder);
    return DIT_OK;
}

static int compare_items(const void *left, const void *right)
{
    return strcmp((*(const cJSON *const *)left)->valuestring, (*(const cJSON *const *)right)->valuestring);
}

/* Lists the members of weight_map, sorted by shard; all must have plain names. The caller frees *out. */
static dit_status list_shards(const dit_json *index, const cJSON *map, const cJSON ***out, int *count)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, map)
    {
        char pointer[256];
        snprintf(pointer, sizeof pointer, "/weight_map/%.200s", item->string);
        if (!cJSON_IsString(item))
            return dit_json_fail(index, pointer, DIT_ERR_JSON_TYPE, "expected the file name of a shard");
        if (!is_plain_name(item->valuestring))
            return dit_json_fail(index, pointer, DIT_ERR_SAFETENSORS_HEADER,
                                 "shard \"%.100s\" is not a plain file name; an index may not leave its folder",
                                 item->valuestring);
    }
    *count = cJSON_GetArraySize(map);
    const cJSON **items = malloc(((size_t)*count + 1) * sizeof *items);
    if (!items) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for its shards", index->path);
    int i = 0;
    cJSON_ArrayForEach(item, map) items[i++] = item;
    qsort(items, (size_t)*count, sizeof *items, compare_items);
    *out = items;
    return DIT_OK;
}

/* Checks that the newest shard holds exactly the tensors that items[0..count) place in it. */
static dit_status check_shard(const dit_safetensors *file, const cJSON *const *items, int count)
{
    const st_mapping *shard = &file->files[file->file_count - 1];
    const st_table *table = &file->tables[file->file_count - 1];
    for (int i = 0; i < count; i++)
        if (!st_table_find(table, items[i]->string))
            return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "%s: tensor \"%s\" is absent, but the index in %s places it there",
                            shard->path, items[i]->string, file->path);
    if (table->count != count)
        return DIT_FAIL(DIT_ERR_SAFETENSORS_HEADER, "%s: %d tensors, but the index in %s lists %d of them", shard->path,
                        table->count, file->path, count);
    return DIT_OK;
}

static dit_status open_shards(dit_safetensors *file, const cJSON *const *items, int count)
{
    char path[4096];
    for (int i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && compare_items(&items[i], &items[next]) == 0;) next++;
        DIT_TRY(join(file->path, items[i]->valuestring, path, sizeof path));
        DIT_TRY(add_file(file, path));
        DIT_TRY(check_shard(file, items + i, next - i));
    }
    return merge(file);
}

static dit_status open_index(const char *folder, const dit_json *index, dit_safetensors **out)
{
    static const char *const keys[] = {"metadata", "weight_map", NULL};
    const cJSON *map = NULL, **items = NULL;
    int count = 0;
    DIT_TRY(dit_json_only_keys(index, index->root, "", keys));
    DIT_TRY(dit_json_require_object(index, index->root, "", "weight_map", &map));
    DIT_TRY(list_shards(index, map, &items, &count));
    dit_safetensors *file;
    dit_status st = create(folder, count, &file);
    if (st == DIT_OK) st = open_shards(file, items, count);
    free(items);
    if (st != DIT_OK) {
        dit_safetensors_close(file);
        return st;
    }
    *out = file;
    return DIT_OK;
}

static dit_status open_indexed(const char *folder, const char *path, dit_safetensors **out)
{
    dit_json index;
    DIT_TRY(dit_json_read_file(path, &index));
    dit_status st = open_index(folder, &index, out);
    dit_json_release(&index);
    return st;
}

static dit_status open_folder(const char *folder, dit_safetensors **out)
{
    char path[4096], name[128];
    for (size_t i = 0; i < sizeof whole_files / sizeof *whole_files; i++) {
        DIT_TRY(join(folder, whole_files[i], path, sizeof path));
        if (access(path, F_OK) == 0) return open_single(path, out);
        snprintf(name, sizeof name, "%s" INDEX_SUFFIX, whole_files[i]);
        DIT_TRY(join(folder, name, path, sizeof path));
        if (access(path, F_OK) == 0) return open_indexed(folder, path, out);
    }
    return DIT_FAIL(DIT_ERR_IO, "%s: holds neither %s nor %s, nor an " INDEX_SUFFIX " of either", folder,
                    whole_files[0], whole_files[1]);
}

dit_status dit_safetensors_open(const char *path, dit_safetensors **out)
{
    struct stat facts;
    *out = NULL;
    if (stat(path, &facts) != 0) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    return S_ISDIR(facts.st_mode) ? open_folder(path, out) : open_single(path, out);
}

/* ---- looking up ------------------------------------------------------------------------------------------------ */

int dit_safetensors_count(const dit_safetensors *file)
{
    return file->all.count;
}

void dit_safetensors_at(const dit_safetensors *file, int index, dit_tensor_view *out)
{
    *out = file->all.views[index];
}

bool dit_safetensors_find(const dit_safetensors *file, const char *name, dit_tensor_view *out)
{
    const dit_tensor_view *view = st_table_find(&file->all, name);
    if (view) *out = *view;
    return view != NULL;
}

bool dit_safetensors_locate(const dit_safetensors *file, const dit_tensor_view *view, const char **path,
                            int64_t *offset)
{
    const unsigned char *data = view->data;
    for (int i = 0; i < file->file_count; i++) {
        const st_mapping *mapped = &file->files[i];
        if (!mapped->mapping || data < mapped->bytes || data + view->bytes > mapped->bytes + mapped->length) continue;
        *path = mapped->path;
        *offset = data - mapped->bytes;
        return true;
    }
    return false;
}

void dit_safetensors_forget(const dit_safetensors *file)
{
    for (int i = 0; i < file->file_count; i++)
        if (file->files[i].mapping) madvise(file->files[i].mapping, file->files[i].length, MADV_DONTNEED);
}

static void print_shape(int rank, const int64_t *shape, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && used + 24 < size; i++) {
        const char *comma = i ? ", " : "";
        used += (size_t)(shape[i] < 0 ? snprintf(out + used, size - used, "%s*", comma)
                                      : snprintf(out + used, size - used, "%s%lld", comma, (long long)shape[i]));
    }
    snprintf(out + used, size - used, "]");
}

dit_status dit_safetensors_require(const dit_safetensors *file, const char *name, int rank, const int64_t *shape,
                                   dit_tensor_view *out)
{
    char found[256], wanted[256];
    if (!dit_safetensors_find(file, name, out))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "%s: tensor \"%s\" is absent", file->path, name);
    bool same = out->rank == rank;
    for (int i = 0; same && i < rank; i++) same = shape[i] < 0 || shape[i] == out->shape[i];
    if (same) return DIT_OK;
    print_shape(out->rank, out->shape, found, sizeof found);
    print_shape(rank, shape, wanted, sizeof wanted);
    return DIT_FAIL(DIT_ERR_SHAPE, "%s: tensor \"%s\" has shape %s, expected %s", file->path, name, found, wanted);
}

dit_status dit_safetensors_digest(const dit_safetensors *file, char out[48])
{
    dit_buffer list = {0};
    char hash[DIT_HASH_HEX];
    for (int i = 0; i < dit_safetensors_count(file); i++) {
        dit_tensor_view view;
        dit_safetensors_at(file, i, &view);
        dit_hash(view.data, (size_t)view.bytes, hash);
        dit_buffer_printf(&list, "%s %s %s\n", view.name, dit_stored_dtype_name(view.dtype), hash);
    }
    dit_hash(list.used ? list.data : "", list.used, hash);
    snprintf(out, 48, "xxh3:%s", hash);
    dit_status st = list.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a digest") : DIT_OK;
    dit_buffer_release(&list);
    return st;
}

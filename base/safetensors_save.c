#include "base/safetensors_save.h"

#include "base/json_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEM "diffusion_pytorch_model"
enum { PIECE = 4 << 20, MAX_SHARDS = 99999, PATH_BYTES = 4096 };

uint16_t dit_bf16_round(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

static int64_t elements_of(const dit_tensor_plan *tensor)
{
    int64_t elements = 1;
    for (int i = 0; i < tensor->rank; i++) elements *= tensor->shape[i];
    return elements;
}

static int64_t bytes_of(const dit_safetensors_plan *plan, int index)
{
    return elements_of(&plan->tensors[index]) * dit_stored_dtype_bytes(plan->dtype);
}

/* Returns the tensor after the last one of the shard that begins with tensor `first`. */
static int end_of_shard(const dit_safetensors_plan *plan, int first)
{
    int64_t bytes = bytes_of(plan, first);
    int end = first + 1;
    while (end < plan->count && bytes + bytes_of(plan, end) <= plan->shard_bytes) bytes += bytes_of(plan, end++);
    return end;
}

static int count_shards(const dit_safetensors_plan *plan)
{
    int shards = 0;
    for (int first = 0; first < plan->count; first = end_of_shard(plan, first)) shards++;
    return shards;
}

static void name_shard(int shard, int shards, char out[96])
{
    if (shards == 1)
        snprintf(out, 96, STEM ".safetensors");
    else
        snprintf(out, 96, STEM "-%05d-of-%05d.safetensors", shard + 1, shards);
}

/* ---- one shard --------------------------------------------------------------------------------------------------- */

typedef struct {
    const dit_safetensors_plan *plan;
    int descriptor;
    char path[PATH_BYTES];
    float *values;    /* [PIECE] */
    uint16_t *halves; /* [PIECE] */
} shard_writer;

static dit_status write_all(const shard_writer *w, const void *data, size_t bytes)
{
    for (const char *at = data; bytes;) {
        ssize_t done = write(w->descriptor, at, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be written: %s", w->path, strerror(errno));
        at += done, bytes -= (size_t)done;
    }
    return DIT_OK;
}

static dit_status make_header(const dit_safetensors_plan *plan, int first, int end, char **out)
{
    dit_json_writer w = {0};
    cJSON *header = dit_json_new_object(&w);
    int64_t begin = 0;
    for (int i = first; i < end; i++) {
        cJSON *entry = dit_json_put_object(&w, header, plan->tensors[i].name);
        dit_json_put_string(&w, entry, "dtype", dit_stored_dtype_name(plan->dtype));
        cJSON *shape = dit_json_put_array(&w, entry, "shape");
        for (int k = 0; k < plan->tensors[i].rank; k++) dit_json_put_int(&w, shape, NULL, plan->tensors[i].shape[k]);
        cJSON *offsets = dit_json_put_array(&w, entry, "data_offsets");
        dit_json_put_int(&w, offsets, NULL, begin);
        dit_json_put_int(&w, offsets, NULL, begin += bytes_of(plan, i));
    }
    if (w.status == DIT_OK) dit_json_put_status(&w, dit_json_canonical(header, out));
    cJSON_Delete(header);
    return w.status;
}

static dit_status write_header(const shard_writer *w, int first, int end)
{
    char *header;
    DIT_TRY(make_header(w->plan, first, end, &header));
    size_t length = strlen(header), padded = (length + 7) / 8 * 8; /* so that the data is aligned */
    uint64_t prefix = padded;
    dit_status st = write_all(w, &prefix, sizeof prefix);
    if (st == DIT_OK) st = write_all(w, header, length);
    if (st == DIT_OK) st = write_all(w, "        ", padded - length);
    free(header);
    return st;
}

static dit_status write_tensor(const shard_writer *w, int index)
{
    const dit_safetensors_plan *plan = w->plan;
    int64_t elements = elements_of(&plan->tensors[index]);
    for (int64_t first = 0; first < elements; first += PIECE) {
        int64_t count = elements - first < PIECE ? elements - first : PIECE;
        DIT_TRY(plan->source.make(plan->source.context, index, first, count, w->values));
        if (plan->dtype == DIT_STORED_F32) {
            DIT_TRY(write_all(w, w->values, (size_t)count * sizeof *w->values));
            continue;
        }
        for (int64_t i = 0; i < count; i++) w->halves[i] = dit_bf16_round(w->values[i]);
        DIT_TRY(write_all(w, w->halves, (size_t)count * sizeof *w->halves));
    }
    return DIT_OK;
}

/* Fills a new file, and sees to it that it is on the disk and not in the page cache. */
static dit_status fill_shard(shard_writer *w, int first, int end)
{
    DIT_TRY(write_header(w, first, end));
    for (int i = first; i < end; i++) DIT_TRY(write_tensor(w, i));
    if (fsync(w->descriptor) != 0) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be synced: %s", w->path, strerror(errno));
    posix_fadvise(w->descriptor, 0, 0, POSIX_FADV_DONTNEED);
    return DIT_OK;
}

static dit_status save_shard(shard_writer *w, const char *folder, const char *name, int first, int end)
{
    char final[PATH_BYTES - sizeof ".part"];
    if (snprintf(final, sizeof final, "%s/%s", folder, name) >= (int)sizeof final)
        return DIT_FAIL(DIT_ERR_IO, "%s: the path is too long", folder);
    snprintf(w->path, sizeof w->path, "%s.part", final);
    w->descriptor = open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->descriptor < 0) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be created: %s", w->path, strerror(errno));
    dit_status st = fill_shard(w, first, end);
    close(w->descriptor);
    if (st == DIT_OK && rename(w->path, final) != 0)
        st = DIT_FAIL(DIT_ERR_IO, "%s: cannot be renamed: %s", w->path, strerror(errno));
    if (st != DIT_OK) unlink(w->path);
    return st;
}

/* ---- all shards -------------------------------------------------------------------------------------------------- */

static dit_status save_shards(shard_writer *w, const char *folder, int shards, cJSON *map, int64_t *total)
{
    dit_json_writer json = {0};
    char name[96];
    for (int first = 0, shard = 0, end; first < w->plan->count; first = end, shard++) {
        end = end_of_shard(w->plan, first);
        name_shard(shard, shards, name);
        DIT_TRY(save_shard(w, folder, name, first, end));
        for (int i = first; i < end; i++) {
            dit_json_put_string(&json, map, w->plan->tensors[i].name, name);
            *total += bytes_of(w->plan, i);
        }
    }
    return json.status;
}

static dit_status save_all(shard_writer *w, const char *folder, int64_t *total)
{
    char path[PATH_BYTES];
    int shards = count_shards(w->plan);
    dit_json_writer json = {0};
    if (shards > MAX_SHARDS) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%d shards", shards);
    cJSON *index = dit_json_new_object(&json), *metadata = dit_json_put_object(&json, index, "metadata");
    cJSON *map = dit_json_put_object(&json, index, "weight_map");
    if (json.status == DIT_OK) dit_json_put_status(&json, save_shards(w, folder, shards, map, total));
    dit_json_put_int(&json, metadata, "total_size", *total);
    if (shards == 1) {
        cJSON_Delete(index);
        return json.status;
    }
    snprintf(path, sizeof path, "%s/" STEM ".safetensors.index.json", folder);
    return dit_json_finish_file(&json, index, path, false);
}

dit_status dit_safetensors_save(const dit_safetensors_plan *plan, const char *folder, int64_t *bytes)
{
    int64_t total = 0;
    if (plan->dtype != DIT_STORED_F32 && plan->dtype != DIT_STORED_BF16)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "weights are saved as F32 or BF16, not %s",
                        dit_stored_dtype_name(plan->dtype));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return DIT_FAIL(DIT_ERR_IO, "%s: cannot be created: %s", folder, strerror(errno));
    shard_writer w = {
        .plan = plan, .values = malloc(PIECE * sizeof *w.values), .halves = malloc(PIECE * sizeof *w.halves)};
    dit_status st = w.values && w.halves ? save_all(&w, folder, &total)
                                         : DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory to save weights", folder);
    free(w.values);
    free(w.halves);
    if (bytes) *bytes = total;
    return st;
}

#include "engine/runtime/stored.h"

#include "base/direct_file.h"

#include <stdlib.h>

struct dit_stored {
    const dit_safetensors *file;
    const char *path; /* of the open shard, which the file owns */
    dit_direct_file *shard;
    int64_t bytes; /* of shards that were open before */
    bool plain;    /* some shard has no direct reads  */
};

dit_status dit_stored_create(const dit_safetensors *file, dit_stored **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a reader of weights");
    (*out)->file = file;
    return DIT_OK;
}

static void close_shard(dit_stored *stored)
{
    if (stored->shard) stored->bytes += dit_direct_bytes(stored->shard);
    dit_direct_close(stored->shard);
    stored->shard = NULL, stored->path = NULL;
}

void dit_stored_free(dit_stored *stored)
{
    if (!stored) return;
    close_shard(stored);
    free(stored);
}

static dit_status open_shard(dit_stored *stored, const char *path)
{
    if (stored->path == path) return DIT_OK;
    close_shard(stored);
    DIT_TRY(dit_direct_open(path, &stored->shard));
    stored->path = path;
    stored->plain = stored->plain || !dit_direct_is_direct(stored->shard);
    return DIT_OK;
}

typedef struct {
    const dit_tensor_view *view;
    int64_t first;
    float *out;
    int failed;
} convert_job;

static void convert_task(void *context, int64_t begin, int64_t end, int worker)
{
    convert_job *job = context;
    (void)worker;
    if (dit_tensor_read(job->view, job->first + begin, end - begin, job->out + begin) != DIT_OK)
        __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
}

/* Converts elements that lie at `bytes`. An error is a thread's own: after one the caller's thread reads again and raises
 * it. */
static dit_status convert(dit_pool *pool, const dit_tensor_view *view, const void *bytes, int64_t first, int64_t count,
                          float *out)
{
    dit_tensor_view here = *view;
    convert_job job = {.view = &here, .first = first, .out = out};
    here.data = (const void *)((uintptr_t)bytes - (uintptr_t)(first * dit_stored_dtype_bytes(view->dtype)));
    dit_pool_run(pool, count, 1 << 16, convert_task, &job);
    return job.failed ? dit_tensor_read(&here, first, count, out) : DIT_OK;
}

dit_status dit_stored_read(dit_stored *stored, dit_pool *pool, const dit_tensor_view *view, int64_t first,
                           int64_t count, int64_t last, float *out)
{
    const char *path;
    const void *bytes;
    int64_t offset, each = dit_stored_dtype_bytes(view->dtype), most = DIT_DIRECT_BUFFER_BYTES / each;
    if (!dit_safetensors_locate(stored->file, view, &path, &offset)) /* bytes in memory */
        return dit_tensor_read(view, first, count, out);
    if (first < 0 || count < 0 || first > view->elements || count > view->elements - first || last > view->elements)
        return dit_tensor_read(view, first, count, out); /* which refuses it */
    DIT_TRY(open_shard(stored, path));
    for (int64_t done = 0; done < count; done += most) {
        int64_t part = count - done < most ? count - done : most, at = offset + (first + done) * each;
        DIT_TRY(dit_direct_fetch(stored->shard, at, part * each, offset + last * each, &bytes));
        DIT_TRY(convert(pool, view, bytes, first + done, part, out + done));
    }
    return DIT_OK;
}

int64_t dit_stored_bytes(const dit_stored *stored)
{
    return stored->bytes + (stored->shard ? dit_direct_bytes(stored->shard) : 0);
}

bool dit_stored_is_direct(const dit_stored *stored)
{
    return !stored->plain;
}

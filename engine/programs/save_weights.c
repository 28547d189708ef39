/* save_weights: saves the seeded weights of a case as safetensors, in shards, as diffusers names them.
 *
 * The document is {"schema", "program": "save_weights", "case": a denoise case with seeded weights, "element": "bf16" or
 * "fp32", "shard_bytes"?: most bytes of a file, 5e9 unless said}. The files lie in the folder `weights` of the output.
 * The record has "parameters", "bytes", "seconds" and "bytes_per_s", to the disk and not to the page cache. One rank.
 */
#include "base/clock.h"
#include "base/json_writer.h"
#include "engine/case/pipeline.h"
#include "engine/programs/program.h"
#include "engine/runtime/weight_save.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const cJSON *kase;
    dit_stored_dtype dtype;
    int64_t shard_bytes;
} wishes;

static dit_status read_wishes(const dit_json *doc, wishes *out)
{
    static const char *const keys[] = {"schema", "program", "case", "element", "shard_bytes", "platform", NULL};
    static const char *const elements[] = {"bf16", "fp32", NULL};
    const char *element = "bf16";
    out->shard_bytes = INT64_C(5000000000);
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "case", &out->kase));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "element", &element));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "shard_bytes", 1, INT64_C(1) << 50, &out->shard_bytes));
    if (strcmp(element, elements[0]) != 0 && strcmp(element, elements[1]) != 0)
        return dit_json_fail_word(doc, "/element", "element", element, elements);
    out->dtype = strcmp(element, elements[0]) == 0 ? DIT_STORED_BF16 : DIT_STORED_F32;
    return DIT_OK;
}

static dit_status save(const dit_json *doc, const wishes *wanted, const char *folder, dit_pool *pool, cJSON *record)
{
    dit_weight_catalogue catalogue = {0};
    dit_json_writer w = {0};
    int64_t bytes = 0, parameters = 0, began = dit_clock_ns();
    uint64_t seed = 0;
    const char *path;
    DIT_TRY(dit_case_read_weights(doc, dit_json_member(dit_json_member(doc->root, "model"), "weights"),
                                  "/case/model/weights", &path, &seed));
    if (path)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "the weights of the case lie in %s: only seeded ones are saved", path);
    dit_status st = dit_pipeline_list_parameters(doc, 0, &catalogue);
    if (st == DIT_OK) st = dit_weight_save(&catalogue, pool, seed, wanted->dtype, wanted->shard_bytes, folder, &bytes);
    dit_weight_catalogue_release(&catalogue);
    parameters = bytes / dit_stored_dtype_bytes(wanted->dtype);
    double seconds = (double)(dit_clock_ns() - began) / 1e9;
    dit_json_put_int(&w, record, "parameters", parameters);
    dit_json_put_int(&w, record, "bytes", bytes);
    dit_json_put_number(&w, record, "seconds", seconds);
    dit_json_put_number(&w, record, "bytes_per_s", (double)bytes / seconds);
    return st == DIT_OK ? w.status : st;
}

static dit_status save_weights_run(const dit_program_args *args, bool *skipped)
{
    dit_json_writer w = {0};
    wishes wanted;
    dit_json view = *args->doc;
    char path[4096], folder[4096];
    dit_pool *pool;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    (void)skipped;
    DIT_TRY(read_wishes(args->doc, &wanted));
    if (dit_comm_size(dit_comm_world()) > 1) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "one rank saves weights");
    snprintf(path, sizeof path, "%s/record.json", args->out_folder);
    snprintf(folder, sizeof folder, "%s/weights", args->out_folder);
    view.root = (cJSON *)(uintptr_t)wanted.kase;
    DIT_TRY(dit_pool_create(cores > 0 ? (int)cores : 1, true, &pool));
    cJSON *record = dit_json_new_object(&w);
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "program", "save_weights");
    if (w.status == DIT_OK) dit_json_put_status(&w, save(&view, &wanted, folder, pool, record));
    dit_pool_free(pool);
    return dit_json_finish_file(&w, record, path, false);
}

const dit_program dit_program_save_weights = {
    .name = "save_weights",
    .help = "seeded weights as safetensors in shards",
    .run = save_weights_run,
};

/* quality: measures sets of pictures beside a reference, on one rank.
 *
 * The case has `reference` and `sets`, paths of pictures (engine/quality/picture_set.h), and may have `features`, a
 * network's file or folder, and `prompts`: "names" (NAME-0, NAME-1 are of one prompt) or "each". */
#include "base/json_writer.h"
#include "engine/comm/comm.h"
#include "engine/programs/program.h"
#include "engine/quality/comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 256, PATH_BYTES = 4096 };

typedef struct {
    const dit_json *doc;
    const char *reference, *network_path;
    const char *paths[MOST_SETS];
    int count;
    bool prompt_each;
    dit_features *network;
    dit_judged_set right, *sets; /* [count] */
} judgement;

static dit_status read_sets(judgement *j)
{
    const cJSON *list = NULL, *item;
    char at[32];
    DIT_TRY(dit_json_optional_array(j->doc, j->doc->root, "", "sets", &list));
    cJSON_ArrayForEach(item, list)
    {
        snprintf(at, sizeof at, "/sets/%d", j->count);
        if (!cJSON_IsString(item)) return dit_json_fail(j->doc, at, DIT_ERR_JSON_TYPE, "a path is expected");
        if (j->count == MOST_SETS) return dit_json_fail(j->doc, at, DIT_ERR_JSON_VALUE, "more than %d sets", MOST_SETS);
        j->paths[j->count++] = item->valuestring;
    }
    if (j->count) return DIT_OK;
    return dit_json_fail(j->doc, "/sets", DIT_ERR_JSON_MISSING, "at least one set is expected");
}

static dit_status read_case(judgement *j)
{
    static const char *const keys[] = {"schema",  "program",  "reference", "sets",      "features",
                                       "prompts", "platform", "parallel",  "attention", NULL};
    static const char *const rules[] = {"names", "each", NULL};
    const char *prompts = "names";
    DIT_TRY(dit_json_only_keys(j->doc, j->doc->root, "", keys));
    DIT_TRY(dit_json_require_string(j->doc, j->doc->root, "", "reference", &j->reference));
    DIT_TRY(read_sets(j));
    DIT_TRY(dit_json_optional_string(j->doc, j->doc->root, "", "features", &j->network_path));
    DIT_TRY(dit_json_optional_string(j->doc, j->doc->root, "", "prompts", &prompts));
    j->prompt_each = strcmp(prompts, "each") == 0;
    if (!j->prompt_each && strcmp(prompts, "names") != 0)
        return dit_json_fail_word(j->doc, "/prompts", "rule", prompts, rules);
    if (dit_comm_size(dit_comm_world()) == 1) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "pictures are compared by one rank"), "start one process");
}

static dit_status load(judgement *j)
{
    if (j->network_path) DIT_TRY(dit_features_open(j->network_path, &j->network));
    DIT_TRY(dit_judged_set_read(j->reference, j->prompt_each, j->network, &j->right));
    j->sets = calloc((size_t)j->count, sizeof *j->sets);
    if (!j->sets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d sets", j->count);
    for (int i = 0; i < j->count; i++)
        DIT_TRY(dit_judged_set_read(j->paths[i], j->prompt_each, j->network, &j->sets[i]));
    return DIT_OK;
}

static void describe_network(dit_json_writer *w, const judgement *j, cJSON *out)
{
    if (!j->network) return;
    cJSON *features = dit_json_put_object(w, out, "features");
    dit_json_put_string(w, features, "path", j->network_path);
    dit_json_put_int(w, features, "width", dit_features_width(j->network));
    dit_json_put_string(w, features, "digest", dit_features_digest(j->network));
}

static dit_status judge(judgement *j, cJSON *out)
{
    dit_json_writer w = {0};
    cJSON *right = dit_json_put_object(&w, out, "reference");
    dit_json_put_string(&w, right, "path", j->reference);
    dit_json_put_status(&w, dit_judged_set_describe(&j->right, right));
    describe_network(&w, j, out);
    cJSON *list = dit_json_put_array(&w, out, "sets");
    for (int i = 0; i < j->count && w.status == DIT_OK; i++) {
        cJSON *set = dit_json_put_object(&w, list, NULL);
        dit_json_put_string(&w, set, "path", j->paths[i]);
        dit_json_put_status(&w, dit_judged_set_describe(&j->sets[i], set));
        dit_json_put_status(&w, dit_judged_set_pairs(&j->sets[i], &j->right, set));
        dit_json_put_status(&w, dit_judged_set_whole(&j->sets[i], &j->right, set));
        if (i == 0 || w.status != DIT_OK) continue;
        cJSON *difference = dit_json_put_object(&w, set, "less_first");
        dit_json_put_status(&w, dit_judged_set_difference(&j->sets[i], &j->sets[0], difference));
    }
    return w.status;
}

static dit_status run(judgement *j, const char *out_folder)
{
    char path[PATH_BYTES];
    dit_json_writer w = {0};
    DIT_TRY(read_case(j));
    DIT_TRY(load(j));
    if (snprintf(path, sizeof path, "%s/record.json", out_folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of the record is too long");
    cJSON *record = dit_json_new_object(&w);
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "program", "quality");
    cJSON *quality = dit_json_put_object(&w, record, "quality");
    if (w.status == DIT_OK) dit_json_put_status(&w, judge(j, quality));
    return dit_json_finish_file(&w, record, path, false);
}

static dit_status quality_run(const dit_program_args *args, bool *skipped)
{
    judgement j = {.doc = args->doc};
    (void)skipped;
    dit_status st = run(&j, args->out_folder);
    for (int i = 0; i < j.count && j.sets; i++) dit_judged_set_release(&j.sets[i]);
    free(j.sets);
    dit_judged_set_release(&j.right);
    dit_features_close(j.network);
    return st;
}

const dit_program dit_program_quality = {
    .name = "quality",
    .help = "compare sets of pictures: fidelity, distances, variety",
    .run = quality_run,
};

/* ditbench plan: the order of all processes, with the predicted bytes and memory of each. */
#include "base/json_writer.h"
#include "base/mesh.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/session/plan.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/load.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/settings.h"
#include "suite/workload/workload.h"

#include <stdio.h>
#include <stdlib.h>

static cJSON *item_json(dit_json_writer *w, const suite_workload *workload, const suite_run_item *item)
{
    const suite_case *one = &workload->cases[item->case_index];
    cJSON *entry = dit_json_new_object(w);
    dit_json_put_number(w, entry, "order", item->order);
    dit_json_put_number(w, entry, "block", item->block);
    dit_json_put_number(w, entry, "process", item->process);
    dit_json_put_string(w, entry, "case_id", one->case_id);
    dit_json_put_string(w, entry, "label", one->label);
    dit_json_put_number(w, entry, "world_size", one->world_size);
    dit_json_put_int(w, entry, "predicted_bytes", one->predicted_bytes);
    if (one->predicted_least_bytes != one->predicted_bytes)
        dit_json_put_int(w, entry, "predicted_least_bytes", one->predicted_least_bytes);
    if (one->predicted_memory_bytes) dit_json_put_int(w, entry, "predicted_memory_bytes", one->predicted_memory_bytes);
    dit_json_put_int(w, entry, "deadline_s", one->deadline_s);
    if (one->is_simulated) dit_json_put_bool(w, entry, "is_simulated", true);
    return entry;
}

static dit_status print_json(const suite_workload *workload, const suite_run_item *items, int count)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "workload", workload->name);
    dit_json_put_string(&w, document, "hash", workload->hash);
    dit_json_put_number(&w, document, "seed", (double)workload->plan_seed);
    dit_json_put_number(&w, document, "cases", workload->case_count);
    dit_json_put_number(&w, document, "dropped", workload->dropped_count);
    cJSON *runs = dit_json_put_array(&w, document, "runs");
    for (int i = 0; i < count; i++) dit_json_put_item(&w, runs, NULL, item_json(&w, workload, &items[i]));
    return suite_cli_finish_json(&w, "plan", document);
}

static void print_text(const suite_workload *workload, const suite_run_item *items, int count)
{
    printf("%5s %5s  %-12s %5s %14s %10s  %s\n", "order", "block", "case", "ranks", "bytes/rank", "MiB/rank", "label");
    for (int i = 0; i < count; i++) {
        const suite_case *one = &workload->cases[items[i].case_index];
        char memory[32] = "-";
        if (one->predicted_memory_bytes)
            snprintf(memory, sizeof memory, "%.1f", (double)one->predicted_memory_bytes / (1024.0 * 1024.0));
        printf("%5d %5d  %.12s %5d %14lld %10s  %s%s\n", items[i].order, items[i].block, one->case_id, one->world_size,
               (long long)one->predicted_bytes, memory, one->label, one->is_simulated ? "  (simulated)" : "");
    }
    printf("%s: %d run%s of %d case%s, seed %llu\n", workload->name, count, suite_plural(count), workload->case_count,
           suite_plural(workload->case_count), (unsigned long long)workload->plan_seed);
}

/* "12", or "10..12" where ranks differ. */
static void write_range(int64_t least, int64_t most, char out[48])
{
    if (least == most)
        snprintf(out, 48, "%lld", (long long)most);
    else
        snprintf(out, 48, "%lld..%lld", (long long)least, (long long)most);
}

static void print_volumes(const suite_predict_range *range)
{
    char messages[48], bytes[48];
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        const dit_volume *least = DIT_VOLUME_AT(&range->least, at), *most = DIT_VOLUME_AT(&range->most, at);
        if (most->messages == 0) continue;
        write_range(least->messages, most->messages, messages);
        write_range(least->bytes, most->bytes, bytes);
        printf("  %-10s %-10s %-6s %10s messages %14s bytes a rank\n", dit_axis_name(at.axis),
               dit_collective_name(at.collective), dit_phase_name(at.phase), messages, bytes);
    }
}

/* Who works with whom, and what each sends over one image: without running anything. */
static dit_status print_meshes(const suite_workload *workload)
{
    for (int i = 0; i < workload->case_count; i++) {
        const suite_case *one = &workload->cases[i];
        const dit_json doc = {.root = one->document, .path = (char *)"<case>"};
        suite_prediction prediction;
        suite_predict_range range;
        if (!cJSON_HasObjectItem(one->document, "parallel")) continue; /* vae_decode: one rank */
        DIT_TRY(suite_predict_case(&doc, NULL, &prediction));
        suite_predict_ranks(&prediction, &range);
        printf("%s\n", one->label);
        dit_mesh_print(&prediction.parallel, stdout);
        print_volumes(&range);
    }
    return DIT_OK;
}

static dit_status plan_workload(const suite_cli *cli, const suite_strings *settings, int64_t seed, bool mesh)
{
    suite_workload workload;
    suite_run_item *items = NULL;
    int count = 0;
    DIT_TRY(suite_workload_load_set(cli->operands[0], settings, &workload));
    if (seed >= 0) workload.plan_seed = (uint64_t)seed;
    dit_status st = suite_workload_require_cases(&workload);
    if (st == DIT_OK) st = suite_plan(&workload, &items, &count);
    if (st == DIT_OK && cli->json) st = print_json(&workload, items, count);
    if (st == DIT_OK && !cli->json && mesh) st = print_meshes(&workload);
    if (st == DIT_OK && !cli->json) print_text(&workload, items, count);
    free(items);
    suite_workload_release(&workload);
    return st;
}

int suite_verb_plan(int argc, char **argv)
{
    int64_t seed = -1; /* the workload's own */
    bool mesh = false;
    suite_strings settings = {.count = 0};
    const suite_option options[] = {
        {"seed", 0, SUITE_OPTION_INT, "N", "order of the runs (default: the workload's repeat.seed)", &seed, 0,
         INT64_C(9007199254740991)},
        {"mesh", 0, SUITE_OPTION_FLAG, NULL, "first show the mesh of every case and what each axis sends", &mesh, 0, 0},
        SUITE_OPTION_SET(&settings),
        {0},
    };
    const suite_cli_spec spec = {
        .verb = "plan",
        .operands = "WORKLOAD",
        .purpose =
            "Shows the order in which every process of every case would run. Each repetition is one randomised\n"
            "block. The first block begins with the one-rank references and the oracles of approximate methods,\n"
            "which run only once. Simulated cases also run once, behind the first block, those that send the most\n"
            "bytes first. \"Bytes\" is what the closed form of the method says that the busiest rank sends per image,\n"
            "in the case's element (with --mesh, the least and the most of any rank). \"Memory\" estimates the peak\n"
            "of a rank. The same seed gives the same output, byte for byte.",
        .examples = "ditbench plan smoke\nditbench plan cpu/methods --seed 11 --json\nditbench plan smoke --mesh",
        .options = options,
        .min_operands = 1,
        .max_operands = 1,
    };
    suite_cli cli;
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = plan_workload(&cli, &settings, seed, mesh);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&cli, st);
    suite_cli_release(&cli);
    return code;
}

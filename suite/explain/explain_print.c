#include "suite/explain/explain_print.h"

#include "suite/console/table.h"
#include "suite/console/terminal.h"

#include <stdio.h>
#include <string.h>

static const double GIB = 1024.0 * 1024 * 1024;

/* The software of a simulated platform; NULL: there is none. */
static const char *profile_of(const cJSON *answer)
{
    return dit_json_text_or(answer, "profile", NULL);
}

/* ---- all meshes -------------------------------------------------------------------------------------------------- */

static void print_mesh(const cJSON *mesh)
{
    const cJSON *memory = dit_json_member(mesh, "memory");
    double bytes = dit_json_number_or(mesh, "bytes_per_step", 0);
    printf("%-19s %-9s %12.3f%s %11.3f %9.0f %10.3f %9.2f %8.2f %8.2f %8.2f %8.2f\n",
           dit_json_text_or(mesh, "mesh", "-"), dit_json_text_or(mesh, "attention", "-"), bytes / 1e6,
           bytes == dit_json_number_or(mesh, "predicted_bytes_per_step", 0) ? " " : "*",
           dit_json_number_or(mesh, "least_bytes_per_step", 0) / 1e6, dit_json_number_or(mesh, "messages_per_step", 0),
           dit_json_number_or(mesh, "flops_per_step", 0) / 1e12, dit_json_number_or(mesh, "memory_bytes", 0) / GIB,
           dit_json_number_or(memory, "weights", 0) / GIB, dit_json_number_or(memory, "state", 0) / GIB,
           dit_json_number_or(memory, "activations", 0) / GIB, dit_json_number_or(memory, "communication", 0) / GIB);
}

/* Where, and with which software. */
static void print_place(const cJSON *answer)
{
    const char *platform = dit_json_text_or(answer, "platform", NULL), *profile = profile_of(answer);
    if (platform) printf(", %s", platform);
    if (profile) printf(", software %s", profile);
}

static void print_title(const cJSON *answer)
{
    const cJSON *run = dit_json_member(answer, "run");
    double devices = dit_json_number_or(answer, "devices", 0), frames = dit_json_number_or(run, "num_frames", 0);
    double steps = dit_json_number_or(run, "num_inference_steps", 0);
    printf("%s on %.0f device%s in %s", dit_json_text_or(answer, "model", "-"), devices, devices == 1 ? "" : "s",
           dit_json_text_or(answer, "element", "-"));
    if (!run) return;
    printf(", %.0fx%.0f", dit_json_number_or(run, "width_px", 0), dit_json_number_or(run, "height_px", 0));
    if (frames > 1) printf(", %.0f frames", frames);
    printf(", %.0f step%s", steps, steps == 1 ? "" : "s");
    print_place(answer);
}

static bool lacks_memory(const cJSON *rejected)
{
    return strcmp(dit_json_text_or(rejected, "code", ""), dit_status_name(DIT_ERR_CONSTRAINT_MEMORY)) == 0;
}

static void print_refused(const cJSON *rejected, bool memory, const char *heading)
{
    const cJSON *item;
    bool any = false;
    cJSON_ArrayForEach(item, rejected)
    {
        if (lacks_memory(item) != memory) continue;
        if (!any) printf("\n%s:\n", heading);
        any = true;
        printf("%-19s %s: %s\n", dit_json_text_or(item, "mesh", "-"), dit_json_text_or(item, "code", "-"),
               dit_json_text_or(item, "reason", "-"));
    }
}

/* The text encoders, which run and are freed before the transformer. */
static void print_texts(const cJSON *answer)
{
    const cJSON *rows = dit_json_member(answer, "text_encoders"), *item;
    if (!rows) return;
    printf("\ntext encoders, before the transformer:\n%-22s %6s %7s  %-22s %19s %10s\n", "encoder", "tokens", "prompts",
           "text_encoder_parallel", "GiB of weights/rank", "MB sent");
    cJSON_ArrayForEach(item, rows)
    {
        printf("%-22s %6.0f %7.0f  %-22s ", dit_json_text_or(item, "name", "-"), dit_json_number_or(item, "tokens", 0),
               dit_json_number_or(item, "prompts", 0), dit_json_text_or(item, "text_encoder_parallel", "-"));
        if (dit_json_member(item, "code"))
            printf("%s\n", dit_json_text_or(item, "reason", "-"));
        else
            printf("%19.2f %10.3f\n", dit_json_number_or(item, "weights_bytes", 0) / GIB,
                   dit_json_number_or(item, "sent_bytes", 0) / 1e6);
    }
}

static void print_rejected(const cJSON *rejected)
{
    print_refused(rejected, true, "out of memory");
    print_refused(rejected, false, "not legal");
}

static void print_counted(const cJSON *answer)
{
    const cJSON *item;
    printf("\n\n%-19s %-9s %12s  %11s %9s %10s %9s %8s %8s %8s %8s\n", "mesh", "attention", "MB/step", "least",
           "msgs/step", "TFLOP/step", "GiB", "weights", "state", "activ.", "comm.");
    cJSON_ArrayForEach(item, dit_json_member(answer, "meshes")) print_mesh(item);
}

/* ---- all meshes, with times -------------------------------------------------------------------------------------- */

enum { MESH, ATTENTION, SECONDS, VERDICT, BINDS, BOUND, WHOLE, BYTES, MESSAGES, FLOPS, MEMORY, COLUMNS };

static dit_status set_number(suite_table *table, int column, const char *format, const cJSON *object, const char *key,
                             double unit)
{
    char text[48];
    const cJSON *number = dit_json_member(object, key);
    if (!cJSON_IsNumber(number)) return DIT_OK;
    snprintf(text, sizeof text, format, number->valuedouble / unit);
    return suite_table_set(table, column, text);
}

static dit_status add_timed(suite_table *table, const cJSON *mesh)
{
    DIT_TRY(suite_table_add_row(table));
    DIT_TRY(suite_table_set(table, MESH, dit_json_text_or(mesh, "mesh", "-")));
    DIT_TRY(suite_table_set(table, ATTENTION, dit_json_text_or(mesh, "attention", "-")));
    DIT_TRY(set_number(table, SECONDS, "%.4g", mesh, "seconds", 1));
    DIT_TRY(suite_table_set(table, VERDICT, dit_json_text_or(mesh, "verdict", "")));
    DIT_TRY(suite_table_set(table, BINDS, dit_json_text_or(mesh, "binds", "")));
    DIT_TRY(set_number(table, BOUND, "%.4g", mesh, "bound_s", 1));
    DIT_TRY(set_number(table, WHOLE, "%.2f", mesh, "request_memory_bytes", GIB));
    double bytes = dit_json_number_or(mesh, "bytes_per_step", 0);
    bool as_formula = bytes == dit_json_number_or(mesh, "predicted_bytes_per_step", 0);
    DIT_TRY(set_number(table, BYTES, as_formula ? "%.3f" : "%.3f*", mesh, "bytes_per_step", 1e6));
    DIT_TRY(set_number(table, MESSAGES, "%.0f", mesh, "messages_per_step", 1));
    DIT_TRY(set_number(table, FLOPS, "%.3f", mesh, "flops_per_step", 1e12));
    return set_number(table, MEMORY, "%.2f", mesh, "memory_bytes", GIB);
}

/* Those that are exact, or the others. */
static dit_status print_timed_part(const cJSON *answer, bool exact, const char *heading)
{
    char seconds[96];
    const suite_column columns[COLUMNS] = {
        [MESH] = {"mesh", "mesh", true, 0},
        [ATTENTION] = {"attention", "attention", true, 3},
        [SECONDS] = {"seconds", seconds, false, 0},
        [VERDICT] = {"verdict", "verdict", true, 0},
        [BINDS] = {"binds", "bound by", true, 1},
        [BOUND] = {"bound_s", "no less than s", false, 2},
        [WHOLE] = {"request_gib", "GiB", false, 4},
        [BYTES] = {"mb_per_step", "MB/step", false, 6},
        [MESSAGES] = {"messages_per_step", "msgs/step", false, 8},
        [FLOPS] = {"tflop_per_step", "TFLOP/step", false, 9},
        [MEMORY] = {"gib", "GiB of it denoising", false, 7},
    };
    suite_table table = {.columns = columns, .column_count = COLUMNS};
    const cJSON *mesh;
    dit_status st = DIT_OK;
    snprintf(seconds, sizeof seconds, "s, %s", profile_of(answer));
    cJSON_ArrayForEach(mesh, dit_json_member(answer, "meshes"))
    {
        if (st == DIT_OK && dit_json_is_true(mesh, "exact") == exact) st = add_timed(&table, mesh);
    }
    if (st == DIT_OK && table.row_count) {
        printf("\n%s:\n", heading);
        suite_table_print(&table, stdout, suite_terminal_width(stdout));
    }
    suite_table_release(&table);
    return st;
}

static void print_software(const cJSON *answer)
{
    const char *profile = profile_of(answer), *projection = dit_json_text_or(answer, "projection", NULL);
    if (!profile) return;
    printf("\nsoftware %s (%s)%s%s", profile, dit_json_text_or(dit_json_member(answer, "software"), "title", "-"),
           projection ? "; " : "", projection ? projection : "");
}

static dit_status print_timed(const cJSON *answer)
{
    bool simulated = strcmp(dit_json_text_or(answer, "times", ""), "simulated") == 0;
    printf("\ntimes of a request (%s) are %s, and so is its memory a rank\n", dit_json_text_or(answer, "scope", "-"),
           simulated ? "simulated" : "bounds of simulations");
    DIT_TRY(print_timed_part(answer, true, "exact"));
    return print_timed_part(answer, false,
                            "approximate (other latents than one device gives; how good they are is not said here)");
}

static dit_status print_all(const cJSON *answer, const char *no_times)
{
    bool timed = dit_json_member(answer, "times") != NULL;
    print_title(answer);
    print_software(answer);
    if (no_times) printf("\nno times: %s", no_times);
    if (timed)
        DIT_TRY(print_timed(answer));
    else
        print_counted(answer);
    print_texts(answer);
    print_rejected(dit_json_member(answer, "rejected"));
    return DIT_OK;
}

/* ---- one mesh in full -------------------------------------------------------------------------------------------- */

static void print_rank(const cJSON *rank)
{
    const cJSON *memory = dit_json_member(rank, "memory"), *terms = dit_json_member(rank, "terms");
    double bytes = dit_json_number_or(rank, "bytes_per_step", 0);
    printf("%4.0f %5.0f %6.0f %12.3f%s %9.2f %10.3f %9.3f %8.3f %8.3f %8.3f %8.3f  %9.3f %9.3f %9.3f\n",
           dit_json_number_or(rank, "rank", 0), dit_json_number_or(rank, "stage", 0),
           dit_json_number_or(rank, "blocks", 0), bytes / 1e6,
           bytes == dit_json_number_or(rank, "predicted_bytes_per_step", 0) ? " " : "*",
           dit_json_number_or(rank, "messages_per_step", 0), dit_json_number_or(rank, "flops_per_step", 0) / 1e12,
           dit_json_number_or(rank, "memory_bytes", 0) / GIB, dit_json_number_or(memory, "weights", 0) / GIB,
           dit_json_number_or(memory, "state", 0) / GIB, dit_json_number_or(memory, "activations", 0) / GIB,
           dit_json_number_or(memory, "communication", 0) / GIB, dit_json_number_or(terms, "parameters_bytes", 0) / GIB,
           dit_json_number_or(terms, "kv_store_bytes", 0) / GIB, dit_json_number_or(terms, "stream_bytes", 0) / GIB);
}

static void print_ranks(const cJSON *mesh)
{
    const cJSON *item;
    printf("\n%4s %5s %6s %12s  %9s %10s %9s %8s %8s %8s %8s  %9s %9s %9s\n", "rank", "stage", "blocks", "MB/step",
           "msgs/step", "TFLOP/step", "GiB", "weights", "state", "activ.", "comm.", "parameters", "K,V store",
           "stream");
    cJSON_ArrayForEach(item, dit_json_member(mesh, "ranks")) print_rank(item);
    printf("Each kind of rank has a row. To check by hand: parameters times bytes of the dtype; K, V store\n"
           "2 B S C/(u t) for each layer of the stage, where S is the rows kept; stream: three buffers of B S C,\n"
           "two that arrive and one that leaves.\n");
    const cJSON *terms = dit_json_member(cJSON_GetArrayItem(dit_json_member(mesh, "ranks"), 0), "terms");
    if (dit_json_member(terms, "shard_bytes"))
        printf("Of its blocks' weights rank %.0f keeps a shard of %.3f GiB, and has up to %.3f GiB of whole blocks at "
               "once.\n",
               dit_json_number_or(cJSON_GetArrayItem(dit_json_member(mesh, "ranks"), 0), "rank", 0),
               dit_json_number_or(terms, "shard_bytes", 0) / GIB, dit_json_number_or(terms, "gathered_bytes", 0) / GIB);
}

static void print_exchanges(const cJSON *mesh)
{
    const cJSON *item;
    int index = 1;
    if (cJSON_GetArraySize(dit_json_member(mesh, "exchanges"))) printf("\na block, in order:\n");
    cJSON_ArrayForEach(item, dit_json_member(mesh, "exchanges")) printf("%3d. %s\n", index++, item->valuestring);
}

static void print_stale_steps(const cJSON *schedule)
{
    const cJSON *row;
    double stale = dit_json_number_or(schedule, "stale_steps", 0), stages = dit_json_number_or(schedule, "stages", 0);
    double bands = dit_json_number_or(schedule, "bands", 0), ticks = dit_json_number_or(schedule, "ticks", 0);
    if (stale == 0) {
        printf("  all steps are synchronous: the result is exact, and the pipeline is as slow as one rank\n");
        return;
    }
    printf("  then %.0f steps of %.0f patches: %.0f ticks, %s; efficiency %.3f\n", stale, bands, ticks,
           bands >= stages ? "(T-W) M + P-1" : "(T-W-1) P + M + P-1, for M < P",
           dit_json_number_or(schedule, "efficiency", 0));
    printf("  a tick is T1/(P M), where T1 is a step on one rank: speed-up %.3f, bound T/(W + (T-W)/P) = %.3f\n",
           dit_json_number_or(schedule, "speed_up", 0), dit_json_number_or(schedule, "speed_up_bound", 0));
    if (bands == stages) printf("  M = P: latents must be back at stage 0 without delay; more patches give slack\n");
    printf("  the first stale steps, as step.patch:\n");
    cJSON_ArrayForEach(row, dit_json_member(schedule, "rows")) printf("  %s\n", row->valuestring);
}

static void print_schedule(const cJSON *schedule)
{
    const cJSON *item;
    printf("\nschedule: %.0f stages of", dit_json_number_or(schedule, "stages", 0));
    cJSON_ArrayForEach(item, dit_json_member(schedule, "stage_blocks")) printf(" %.0f", item->valuedouble);
    printf(" blocks\n");
    if (cJSON_IsTrue(dit_json_member(schedule, "fill")))
        printf("  first a synchronous forward through all stages in turn, which is no step and fills the stores\n");
    if (dit_json_number_or(schedule, "warmup_steps", 0) > 0)
        printf("  steps 0..%.0f: synchronous, all rows through all stages in turn\n",
               dit_json_number_or(schedule, "warmup_steps", 0) - 1);
    print_stale_steps(schedule);
}

static void print_time(const cJSON *answer, const cJSON *mesh)
{
    const cJSON *seconds = dit_json_member(mesh, "seconds"), *bound = dit_json_member(mesh, "bound_s");
    if (!dit_json_member(mesh, "verdict")) return;
    printf("\na request (%s, %s): ", dit_json_text_or(answer, "scope", "-"), profile_of(answer));
    if (cJSON_IsNumber(seconds)) printf("%.4g s simulated, ", seconds->valuedouble);
    if (cJSON_IsNumber(bound))
        printf("no less than %.4g s, bound by %s, %.2f GiB a rank; ", bound->valuedouble,
               dit_json_text_or(mesh, "binds", "-"), dit_json_number_or(mesh, "request_memory_bytes", 0) / GIB);
    printf("%s\n", dit_json_text_or(mesh, "verdict", ""));
}

static void print_one(const cJSON *answer, const char *no_times)
{
    const cJSON *mesh = dit_json_member(answer, "meshes")->child;
    print_title(answer);
    if (mesh) {
        printf(", mesh %s (%s)", dit_json_text_or(mesh, "mesh", "-"), dit_json_text_or(mesh, "method", "-"));
        print_software(answer);
        if (no_times) printf("\nno times: %s", no_times);
        printf("\n");
        print_time(answer, mesh);
        print_ranks(mesh);
        print_exchanges(mesh);
        if (dit_json_member(mesh, "schedule")) print_schedule(dit_json_member(mesh, "schedule"));
        print_texts(answer);
    } else {
        printf("\n");
    }
    print_rejected(dit_json_member(answer, "rejected"));
}

dit_status suite_explain_print(const cJSON *answer, bool one, const char *no_times)
{
    if (!one) return print_all(answer, no_times);
    print_one(answer, no_times);
    return DIT_OK;
}

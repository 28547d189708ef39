/* ditbench quality: how near are sets of pictures to a reference, picture by picture and as sets? */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"
#include "suite/launch/one_case.h"
#include "suite/paths.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Compares sets of pictures or clips with a reference. A set is a folder, or one file: .png files, folders of\n"
    "frame-0000.png, and .safetensors files with colours (`ditbench generate --pixels`), which are not rounded to 8\n"
    "bits. Pictures of one name are pairs: PSNR (mean, 5th percentile, least) and SSIM. With --features, a trained\n"
    "network, the sets are compared as sets: kernel distance (kid, without bias), Frechet distance (fd_shapes, of\n"
    "sets of equal size) and its limit (fd_inf), and how much the pictures of a prompt differ (diversity); of clips\n"
    "also how much frames change. shapes:test:512 stands for renders of captions, as a reference; the words of\n"
    "captions that pictures show are counted by a rule, where records tell their captions (`generate --prompt`).\n"
    "Intervals are 95 %, over prompts: NAME-0, NAME-1 are of one prompt. With several sets each later one is also\n"
    "compared with the first, pair by pair.\n"
    "Exit: 0; 2 usage; 4 a file that cannot be read; 6 damaged files, or pictures that are not of one size.";

static const char examples[] = "ditbench quality uncached cached\n"
                               "ditbench quality uncached fbcache teacache --features shapes-features --json\n"
                               "ditbench quality one.png other.png";

typedef struct {
    suite_cli cli;
    suite_single_params single;
    const char *features, *prompts;
} quality_call;

/* ---- the case ---------------------------------------------------------------------------------------------------- */

/* Renders of shapes are no files. */
static bool is_rendered(const char *path)
{
    return strncmp(path, "shapes:", 7) == 0 || strncmp(path, "shapes-clips:", 13) == 0;
}

static dit_status put_path(dit_json_writer *w, cJSON *parent, const char *key, const char *path)
{
    char full[SUITE_PATH];
    if (is_rendered(path)) {
        suite_text_put(w, parent, key, path);
        return w->status;
    }
    if (!realpath(path, full)) return DIT_FAIL(DIT_ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    dit_json_put_string(w, parent, key, full);
    return w->status;
}

static dit_status make_case(const quality_call *call, cJSON *kase)
{
    dit_json_writer w = {0};
    dit_json_put_string(&w, kase, "schema", "ditbench.case/1");
    dit_json_put_string(&w, kase, "program", "quality");
    DIT_TRY(put_path(&w, kase, "reference", call->cli.operands[0]));
    cJSON *sets = dit_json_put_array(&w, kase, "sets");
    for (int i = 1; i < call->cli.operand_count; i++) DIT_TRY(put_path(&w, sets, NULL, call->cli.operands[i]));
    if (call->features) DIT_TRY(put_path(&w, kase, "features", call->features));
    if (call->prompts) suite_text_put(&w, kase, "prompts", call->prompts);
    return w.status;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* How a measure is printed. */
typedef struct {
    const char *key, *title, *value, *format;
    bool in_features; /* needs a network */
} quality_line;

static const quality_line lines[] = {
    {"psnr_db", "PSNR, dB", "mean", "%.2f", false},
    {"ssim", "SSIM", "mean", "%.4f", false},
    {"kid", "KID", "value", "%.5f", true},
    {"fd_shapes", "FD", "value", "%.4f", true},
    {"fd_inf", "FD, limit", "value", "%.4f", true},
    {"diversity", "diversity", "ratio", "%.3f", true},
    {"change", "change of frames", "ratio", "%.3f", false},
    {"fd_motion", "FD of motion", "value", "%.4f", true},
};

static void write_number(const cJSON *object, const char *key, const char *format, char *out, size_t size)
{
    const cJSON *number = dit_json_member(object, key);
    out[0] = 0;
    if (cJSON_IsNumber(number)) snprintf(out, size, format, number->valuedouble);
}

static void write_bounds(const cJSON *object, const char *format, char *out, size_t size)
{
    char low[32], high[32];
    write_number(object, "low", format, low, sizeof low);
    write_number(object, "high", format, high, sizeof high);
    out[0] = 0;
    if (low[0]) snprintf(out, size, "%s to %s", low, high);
}

static dit_status add_line(suite_table *table, const quality_line *line, const cJSON *set)
{
    const cJSON *measure = dit_json_member(set, line->key);
    char value[32], bounds[80], low[32], least[32];
    if (!measure) return DIT_OK;
    write_number(measure, line->value, line->format, value, sizeof value);
    write_bounds(measure, line->format, bounds, sizeof bounds);
    write_number(dit_json_member(measure, "p05"), "value", line->format, low, sizeof low);
    write_number(measure, "min", line->format, least, sizeof least);
    const char *reason = dit_json_text_or(measure, "reason", "");
    return suite_table_add_cells(table, (const char *const[]){line->title, value, bounds, low, least, "", reason}, 7);
}

static dit_status add_difference(suite_table *table, const quality_line *line, const cJSON *set)
{
    const cJSON *measure = dit_json_member(dit_json_member(set, "less_first"), line->key);
    char value[32], bounds[80], title[64];
    if (!measure || !dit_json_member(measure, "mean")) return DIT_OK;
    snprintf(title, sizeof title, "%s, less the first set's", line->title);
    write_number(measure, "mean", line->format, value, sizeof value);
    write_bounds(measure, line->format, bounds, sizeof bounds);
    return suite_table_add_cells(table, (const char *const[]){title, value, bounds}, 3);
}

static void print_head(const char *path, const cJSON *set)
{
    int pictures = (int)dit_json_int_or(set, "pictures", 0), prompts = (int)dit_json_int_or(set, "prompts", 0);
    printf("%s: %d picture%s of %d prompt%s%s\n", path, pictures, pictures == 1 ? "" : "s", prompts,
           prompts == 1 ? "" : "s", dit_json_is_true(set, "rounded") ? ", 8 bits a colour" : "");
}

/* Adds whole captions and each attribute, and beside them what chance gives. */
static dit_status add_accuracy(suite_table *table, const cJSON *accuracy, const cJSON *shuffled)
{
    const cJSON *share;
    char value[32], bounds[80], chance[32], title[64];
    const char *reason = dit_json_text_or(accuracy, "reason", NULL);
    if (reason)
        return suite_table_add_cells(table, (const char *const[]){"captions right", "", "", "", "", "", reason}, 7);
    cJSON_ArrayForEach(share, accuracy)
    {
        bool whole = strcmp(share->string, "all") == 0;
        snprintf(title, sizeof title, "%s right", whole ? "captions" : share->string);
        write_number(share, "value", "%.3f", value, sizeof value);
        write_bounds(share, "%.3f", bounds, sizeof bounds);
        write_number(dit_json_member(shuffled, share->string), "value", "%.3f", chance, sizeof chance);
        DIT_TRY(suite_table_add_cells(table, (const char *const[]){title, value, bounds, "", "", chance}, 6));
    }
    return DIT_OK;
}

static dit_status print_set(const cJSON *set, const char *path, bool features)
{
    static const suite_column columns[] = {
        {"measure", "measure", true, 0},     {"value", "value", false, 0}, {"bounds", "95 % interval", false, 0},
        {"p05", "5th percentile", false, 2}, {"min", "least", false, 1},   {"chance", "other captions", false, 2},
        {"reason", "why not", true, 0}};
    suite_table table = {.columns = columns, .column_count = sizeof columns / sizeof *columns};
    dit_status st = DIT_OK;
    print_head(path, set);
    for (size_t i = 0; i < sizeof lines / sizeof *lines && st == DIT_OK; i++) {
        if (lines[i].in_features && !features) continue;
        st = add_line(&table, &lines[i], set);
        if (st == DIT_OK) st = add_difference(&table, &lines[i], set);
    }
    if (st == DIT_OK)
        st = add_accuracy(&table, dit_json_member(set, "accuracy"), dit_json_member(set, "accuracy_shuffled"));
    if (st == DIT_OK) suite_table_print(&table, stdout, suite_terminal_width(stdout));
    suite_table_release(&table);
    printf("\n");
    return st;
}

static dit_status print_answer(const quality_call *call, const cJSON *answer)
{
    const cJSON *set;
    int i = 1;
    bool features = call->features != NULL;
    printf("reference ");
    print_head(call->cli.operands[0], dit_json_member(answer, "reference"));
    printf("\n");
    cJSON_ArrayForEach(set, dit_json_member(answer, "sets")) DIT_TRY(print_set(set, call->cli.operands[i++], features));
    if (!features) printf("--features PATH names a network, in whose features the sets are compared as sets\n");
    return DIT_OK;
}

/* The engine's error, as if it were ours: it is about the files that the user named. */
static dit_status raise_outcome(const suite_outcome *outcome)
{
    suite_failure failure = suite_outcome_failure(outcome);
    dit_status st = DIT_FAIL(failure.status, "%s", failure.message);
    return failure.hint[0] ? dit_error_hint(st, "%s", failure.hint) : st;
}

/* The record's part with the paths as they were given. */
static dit_status answer_of(const quality_call *call, const suite_outcome *outcome, cJSON **out)
{
    dit_json_writer w = {0};
    const cJSON *quality = dit_json_member(outcome->record, "quality");
    if (!quality) return DIT_FAIL(DIT_ERR_INTERNAL, "the engine wrote no measures");
    *out = cJSON_Duplicate(quality, true);
    cJSON *sets = cJSON_GetObjectItemCaseSensitive(*out, "sets"), *set;
    cJSON *reference = cJSON_GetObjectItemCaseSensitive(*out, "reference");
    int i = 1;
    if (!*out || !sets || !reference) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an answer");
    cJSON_DeleteItemFromObjectCaseSensitive(reference, "path");
    suite_text_put(&w, reference, "path", call->cli.operands[0]);
    cJSON_ArrayForEach(set, sets)
    {
        cJSON_DeleteItemFromObjectCaseSensitive(set, "path");
        suite_text_put(&w, set, "path", call->cli.operands[i++]);
    }
    return w.status;
}

static dit_status run(quality_call *call, const cJSON *kase)
{
    suite_outcome outcome = {0};
    cJSON *answer = NULL;
    dit_status st = suite_single_run(kase, &call->single, &outcome);
    if (st == DIT_OK && outcome.status != DIT_OUTCOME_OK) st = raise_outcome(&outcome);
    if (st == DIT_OK) st = answer_of(call, &outcome, &answer);
    if (st == DIT_OK) st = call->cli.json ? suite_cli_print_json("quality", answer) : print_answer(call, answer);
    cJSON_Delete(answer);
    suite_outcome_release(&outcome);
    return st;
}

static dit_status compare(quality_call *call)
{
    dit_json_writer w = {0};
    cJSON *kase = dit_json_new_object(&w);
    dit_status st = kase ? make_case(call, kase) : w.status;
    if (st == DIT_OK) st = call->cli.dry_run ? suite_cli_print_json("quality", kase) : run(call, kase);
    cJSON_Delete(kase);
    return st;
}

int suite_verb_quality(int argc, char **argv)
{
    quality_call call = {.single = {.world_size = 1, .threads_per_rank = 1, .launcher = "local"}};
    const suite_option options[] = {
        {"features", 0, SUITE_OPTION_STRING, "PATH", "a features network: its .safetensors file or folder",
         &call.features, 0, 0},
        {"prompts", 0, SUITE_OPTION_STRING, "RULE",
         "names (default): NAME-0, NAME-1 are of one prompt; each: every picture is of its own", &call.prompts, 0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline (10m)", &call.single.deadline_s, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.single.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"quality", "REFERENCE SET...", purpose, examples, options, 2, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.single.output = call.cli.output;
    dit_status st = compare(&call);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call.cli, st);
    suite_cli_release(&call.cli);
    return code;
}

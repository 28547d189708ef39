#include "base/json_writer.h"
#include "suite/run/state.h"

#include "suite/console/terminal.h"
#include "suite/paths.h"
#include "suite/session/plan.h"
#include "suite/simulate/simulated_cases.h"
#include "suite/text.h"
#include "suite/workload/workload.h"

#include <stdlib.h>
#include <string.h>

static char *command_text(const suite_launcher *launcher, const suite_launch_plan *plan)
{
    suite_command command = {0};
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    if (file && launcher->command(plan, &command) == DIT_OK) suite_command_print(&command, file);
    if (file) fclose(file);
    suite_command_release(&command);
    return text;
}

/* A printed command can be run: unless nothing is to be written, what a simulation starts from is left for it. */
static dit_status preview_simulated(const suite_run_state *run, const suite_case *one, const char *out_dir, char **text)
{
    const suite_launcher *launcher;
    suite_launch_plan plan;
    char engine[SUITE_PATH];
    DIT_TRY(suite_launcher_find("smpirun", &launcher));
    DIT_TRY(suite_batch_plan(one, out_dir, engine, &plan));
    if (!run->params->dry_run) DIT_TRY(suite_path_make(out_dir));
    if (!run->params->dry_run) DIT_TRY(suite_batch_prepare(one, &run->calibration, out_dir));
    *text = suite_batch_is_planned(one) ? strdup("# computed by ditbench itself, no command")
                                        : command_text(launcher, &plan);
    return DIT_OK;
}

static dit_status preview_item(const suite_run_state *run, const suite_run_item *item, cJSON *list)
{
    dit_json_writer w = {0};
    const suite_case *one = &run->schedule.cases[item->case_index];
    suite_run_paths paths;
    suite_launch_plan plan;
    char *text = NULL;
    DIT_TRY(suite_run_make_launch_plan(run, item, &paths, &plan));
    if (one->is_simulated)
        DIT_TRY(preview_simulated(run, one, paths.out_dir, &text));
    else
        text = command_text(suite_run_launcher_of(run, one), &plan);
    if (run->params->previews) {
        cJSON *row = dit_json_put_object(&w, list, NULL);
        dit_json_put_int(&w, row, "order", item->order);
        dit_json_put_int(&w, row, "process", item->process);
        dit_json_put_int(&w, row, "block", item->block);
        dit_json_put_string(&w, row, "case_id", one->case_id);
        suite_text_put(&w, row, "label", one->label);
        suite_text_put(&w, row, "command", text);
    } else {
        printf("# %d  %s  process %d\n%s\n", item->order, one->label, item->process, text ? text : "");
    }
    free(text);
    return w.status;
}

/* Prints the plan with its commands; an unwritten session is called SESSION. */
dit_status suite_run_preview(suite_run_state *run)
{
    dit_json_writer w = {0};
    dit_status st = DIT_OK;
    if (run->launcher->writes_script && !run->params->dry_run) return suite_run_print_script(run);
    cJSON *document = dit_json_new_object(&w), *list = dit_json_put_array(&w, document, "runs");
    if (!run->session->dir[0]) strcpy(run->session->dir, "SESSION");
    suite_run_fill_summary(run);
    dit_json_put_string(&w, document, "workload", run->summary->workload);
    if (!run->params->previews) {
        printf("# workload %s: %d run%s of %d case%s, %d cell%s dropped\n", run->summary->workload,
               run->schedule.item_count, suite_plural(run->schedule.item_count), run->schedule.case_count,
               suite_plural(run->schedule.case_count), run->summary->dropped, suite_plural(run->summary->dropped));
    }
    for (int i = 0; i < run->schedule.item_count && st == DIT_OK; i++)
        st = preview_item(run, &run->schedule.items[i], list);
    dit_json_put_copy(&w, document, "dropped", run->schedule.dropped);
    if (run->params->previews)
        dit_json_put_item(&w, run->params->previews, NULL, document);
    else
        cJSON_Delete(document);
    return st == DIT_OK ? w.status : st;
}

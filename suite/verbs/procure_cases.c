#include "suite/verbs/procure_cases.h"

#include "base/json_writer.h"
#include "suite/paths.h"

#include <stdio.h>
#include <string.h>

/* The lists that the workload ties together. */
typedef struct {
    dit_json_writer w;
    cJSON *platforms, *profiles, *images, *degrees[DIT_AXIS_COUNT];
    int count;
} case_lists;

/* Splits on several numbers of devices may have the same replica, which is one case. */
static bool is_told(const suite_procured *procured, int index, bool base)
{
    const suite_split *split = &procured->splits[index];
    const char *id = (base ? split->base : split->chosen)->kase->case_id;
    for (int i = 0; i < index; i++) {
        const suite_search_candidate *other = base ? procured->splits[i].base : procured->splits[i].chosen;
        if (other && strcmp(other->kase->case_id, id) == 0) return true;
    }
    return false;
}

static void add(case_lists *lists, const suite_procure_request *request, const suite_split *split, bool base)
{
    const suite_search_candidate *one = base ? split->base : split->chosen;
    const cJSON *run = dit_json_member(one->kase->document, "run");
    dit_json_writer *w = &lists->w;
    dit_json_put_string(w, lists->platforms, NULL, request->machines[split->machine].priced.machine.name);
    dit_json_put_string(w, lists->profiles, NULL, base ? request->base : request->search.profile);
    dit_json_put_int(w, lists->images, NULL, dit_json_int_or(run, "num_images", 1));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        dit_json_put_int(w, lists->degrees[axis], NULL, dit_parallel_degree(&one->parallel, (dit_axis)axis));
    lists->count++;
}

static void put_defaults(dit_json_writer *w, cJSON *workload, const suite_search_request *search)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"num_frames", search->num_frames},
                   {"text_tokens", search->text_tokens},
                   {"num_inference_steps", search->steps}};
    char resolution[48];
    cJSON *defaults = dit_json_put_object(w, workload, "defaults");
    dit_json_put_string(w, defaults, "model", search->model);
    dit_json_put_string(w, defaults, "element", search->element ? search->element : "fp16");
    dit_json_put_int(w, defaults, "threads_per_rank", 1);
    snprintf(resolution, sizeof resolution, "%lldx%lld", (long long)search->width_px, (long long)search->height_px);
    if (search->width_px) dit_json_put_string(w, defaults, "resolution", resolution);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value) dit_json_put_int(w, defaults, numbers[i].key, numbers[i].value);
    cJSON *measure = dit_json_put_object(w, workload, "measure");
    dit_json_put_string(w, measure, "scope", search->scope ? search->scope : "pipeline");
}

static void put_cells(case_lists *lists, cJSON *workload, const suite_procure_request *request,
                      const suite_procured *procured)
{
    dit_json_writer *w = &lists->w;
    cJSON *zip = dit_json_put_array(w, workload, "zip"), *tied = dit_json_put_object(w, zip, NULL);
    lists->platforms = dit_json_put_array(w, tied, "platform");
    lists->profiles = dit_json_put_array(w, tied, "profile");
    lists->images = dit_json_put_array(w, tied, "num_images");
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        lists->degrees[axis] = dit_json_put_array(w, tied, dit_axis_key((dit_axis)axis));
    for (int i = 0; i < procured->count; i++) {
        const suite_split *split = &procured->splits[i];
        if (split->chosen && !is_told(procured, i, false)) add(lists, request, split, false);
        if (split->base && !is_told(procured, i, true)) add(lists, request, split, true);
    }
}

dit_status procure_cases_write(const suite_procure_request *request, const suite_procured *procured, const char *folder)
{
    case_lists lists = {.count = 0};
    dit_json_writer *w = &lists.w;
    char path[SUITE_PATH];
    DIT_TRY(suite_path(path, "%s/workload.json", folder));
    cJSON *workload = dit_json_new_object(w);
    dit_json_put_string(w, workload, "schema", "ditbench.workload/1");
    dit_json_put_string(w, workload, "name", "procure");
    dit_json_put_string(w, workload, "title", "What procure chose");
    dit_json_put_string(w, workload, "description", request->command);
    dit_json_put_string(w, workload, "program", "denoise");
    put_defaults(w, workload, &request->search);
    put_cells(&lists, workload, request, procured);
    if (lists.count) return dit_json_finish_file(w, workload, path, false);
    cJSON_Delete(workload);
    return w->status;
}

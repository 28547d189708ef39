/* A batch script for Slurm: it begins the session in its allocation, and in every later one runs what is left. */
#include "suite/run/state.h"

#include "suite/cases/document.h"
#include "suite/console/terminal.h"
#include "suite/paths.h"
#include "suite/session/plan.h"
#include "suite/text.h"
#include "suite/workload/workload.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The most that any measured case needs of an allocation. */
typedef struct {
    int tasks, cores, gpus; /* of a task: cores, gpus */
    int64_t deadlines_s;    /* of all runs together   */
} allocation;

static allocation needed(const suite_schedule *schedule)
{
    allocation out = {.tasks = 1, .cores = 1};
    for (int i = 0; i < schedule->item_count; i++) {
        const suite_case *one = &schedule->cases[schedule->items[i].case_index];
        const int cores = suite_case_threads(one->document);
        out.deadlines_s += one->deadline_s;
        if (one->is_simulated) continue;
        if (one->world_size > out.tasks) out.tasks = one->world_size;
        if (cores > out.cores) out.cores = cores;
        if (strcmp(suite_case_platform(one->document, "backend"), "cuda") == 0) out.gpus = 1;
    }
    return out;
}

static dit_status print_head(const suite_run_state *run)
{
    const suite_strings *without = &run->params->without;
    const allocation need = needed(&run->schedule);
    char nodes[SUITE_PATH];
    DIT_TRY(suite_launch_node_list(without, nodes));
    printf("#!/bin/bash\n#SBATCH --job-name=ditbench-%s\n#SBATCH --ntasks=%d\n#SBATCH --cpus-per-task=%d\n",
           run->summary->workload, need.tasks, need.cores);
    if (need.gpus) printf("#SBATCH --gpus-per-task=%d\n", need.gpus);
    if (without->count) printf("#SBATCH --exclude=%s\n", nodes);
    printf(
        "#SBATCH --signal=B:TERM@60\n#SBATCH --open-mode=append\n"
        "# %d run%s of %d case%s; their deadlines add up to %lld min. An allocation may be shorter (sbatch --time):\n"
        "# submit the script again, and it runs what is left.\n",
        run->schedule.item_count, suite_plural(run->schedule.item_count), run->schedule.case_count,
        suite_plural(run->schedule.case_count), (long long)(need.deadlines_s + 59) / 60);
    return DIT_OK;
}

static void print_cases(const suite_run_state *run)
{
    for (int i = 0; i < run->schedule.case_count; i++)
        printf("# %s  %s\n", run->schedule.cases[i].case_id, run->schedule.cases[i].label);
}

/* True for "--NAME VALUE", which is two words, and "--NAME=VALUE". */
static bool is_option(const char *word, const char *name, int *words)
{
    const size_t length = strlen(name);
    if (strncmp(word, name, length) != 0) return false;
    *words = word[length] == '=' ? 1 : 2;
    return word[length] == '\0' || word[length] == '=';
}

/* What every allocation is told again. */
static dit_status resume_words(const suite_run_params *params, suite_command *out)
{
    const char *const again[] = {"resume", params->output, "--launcher", "srun", NULL};
    DIT_TRY(suite_command_words(out, again));
    for (int i = 0; i < params->without.count; i++) {
        const char *const node[] = {"--without", params->without.items[i], NULL};
        DIT_TRY(suite_command_words(out, node));
    }
    const char *const engine[] = {"--engine", params->engine, NULL};
    return params->engine ? suite_command_words(out, engine) : DIT_OK;
}

/* The command line that was given, with the launcher that starts ranks in an allocation. */
static dit_status given_words(const suite_run_params *params, suite_command *out)
{
    for (int i = 0, words; i < params->argc; i++) {
        if (is_option(params->argv[i], "--launcher", &words) || is_option(params->argv[i], "--output", &words))
            i += words - 1;
        else
            DIT_TRY(suite_command_word(out, "%s", params->argv[i]));
    }
    const char *const own[] = {"--output", params->output, "--launcher", "srun", NULL};
    return suite_command_words(out, own);
}

static dit_status print_command(const suite_run_params *params, const char *before, bool resumes)
{
    suite_command command = {0};
    char self[SUITE_PATH];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    dit_status st = suite_command_word(&command, "%s", self);
    if (st == DIT_OK) st = resumes ? resume_words(params, &command) : given_words(params, &command);
    printf("%s", before);
    if (st == DIT_OK) suite_command_print(&command, stdout);
    printf("\n");
    suite_command_release(&command);
    return st;
}

dit_status suite_run_print_script(suite_run_state *run)
{
    const suite_run_params *params = run->params;
    suite_command journal = {0};
    if (!params->output)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "launcher sbatch needs --output FOLDER"),
                              "every allocation goes on with the session in that folder");
    if (params->previews) return DIT_FAIL(DIT_ERR_USAGE, "launcher sbatch prints a script, not JSON");
    suite_run_fill_summary(run);
    DIT_TRY(print_head(run));
    print_cases(run);
    DIT_TRY(suite_command_word(&journal, "%s/journal.jsonl", params->output));
    printf("if [ -e ");
    suite_command_print(&journal, stdout);
    suite_command_release(&journal);
    printf(" ]; then\n");
    DIT_TRY(print_command(params, "    exec ", true));
    printf("fi\n");
    return print_command(params, "exec ", false);
}

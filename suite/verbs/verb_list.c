/* ditbench list: the sessions of this folder. */
#include "suite/cli.h"
#include "suite/index.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Lists the sessions under results/local, newest first. With --output DIR, those under DIR.";
static const char examples[] = "ditbench list\nditbench list --json";

static const char *state_of(const suite_index_session *row)
{
    if (row->damage[0]) return "damaged";
    if (row->running) return "running";
    return row->complete ? "complete" : "unfinished";
}

static void print_row(void *context, const suite_index_session *row)
{
    (void)context;
    int bad = row->failed + row->timeout + row->oom + row->invalid;
    printf("%-44s %-16s %-10s %5d/%-5d %5d %5d\n", row->name, row->workload, state_of(row), row->done, row->planned,
           bad, row->skipped);
    if (row->damage[0]) printf("  %s\n", row->damage);
}

static void add_row(void *context, const suite_index_session *row)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(context, item);
    cJSON_AddStringToObject(item, "session", row->name);
    cJSON_AddStringToObject(item, "path", row->dir);
    cJSON_AddStringToObject(item, "workload", row->workload);
    cJSON_AddStringToObject(item, "state", state_of(row));
    cJSON_AddStringToObject(item, "started", row->started);
    if (row->ended[0]) cJSON_AddStringToObject(item, "ended", row->ended);
    if (row->damage[0]) cJSON_AddStringToObject(item, "damage", row->damage);
    cJSON_AddStringToObject(item, "hardware_id", row->hardware_id);
    cJSON_AddStringToObject(item, "version", row->version);
    const struct {
        const char *key;
        int value;
    } numbers[] = {{"planned", row->planned}, {"done", row->done},       {"ok", row->ok},
                   {"failed", row->failed},   {"timeout", row->timeout}, {"oom", row->oom},
                   {"skipped", row->skipped}, {"invalid", row->invalid}, {"dropped", row->dropped}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cJSON_AddNumberToObject(item, numbers[i].key, numbers[i].value);
}

static dit_status list(const suite_cli *cli)
{
    char root[SUITE_PATH];
    suite_index *index = NULL;
    DIT_TRY(cli->output ? suite_path(root, "%s", cli->output) : suite_session_root(root));
    DIT_TRY(suite_index_open(root, &index));
    cJSON *document = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(document, "sessions");
    if (!cli->json) printf("%-44s %-16s %-10s %11s %5s %5s\n", "session", "workload", "state", "runs", "bad", "skip");
    dit_status st = suite_index_sessions(index, cli->json ? add_row : print_row, rows);
    if (st == DIT_OK && cli->json) suite_cli_print_json(document);
    cJSON_Delete(document);
    suite_index_close(index);
    return st;
}

int suite_verb_list(int argc, char **argv)
{
    suite_cli cli;
    const suite_cli_spec spec = {"list", NULL, purpose, examples, NULL, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = list(&cli);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&cli, st);
    suite_cli_release(&cli);
    return code;
}

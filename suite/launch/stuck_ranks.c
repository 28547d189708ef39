#include "suite/launch/stuck_ranks.h"

#include "base/json_writer.h"
#include "suite/launch/process.h"
#include "suite/paths.h"
#include "suite/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ASK_MS = 1000, ASK_PAUSE_MS = 10, POSITIONS_NAMED = 4 };

/* The line that a rank has written about itself, without its newline; false when it has not, or not to its end. */
static bool read_position(const suite_positions *positions, int rank, char line[SUITE_POSITION])
{
    char path[SUITE_PATH];
    line[0] = '\0';
    if (suite_path(path, "%s/position-%d.txt", positions->out_dir, rank) != DIT_OK) return false;
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool whole = fgets(line, SUITE_POSITION, file) && strchr(line, '\n');
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return whole;
}

static bool all_answered(const suite_positions *positions)
{
    char line[SUITE_POSITION];
    for (int rank = 0; rank < positions->world_size; rank++)
        if (!read_position(positions, rank, line)) return false;
    return true;
}

/* What a rank that does not answer is doing, as far as the kernel knows. */
static const char *silence(char state)
{
    switch (state) {
    case 'T': return "does not answer: its process is stopped";
    case 'D': return "does not answer: its process is inside the kernel";
    case 0: return "does not answer: it has no process";
    default: return "does not answer";
    }
}

/* Line of every rank; any: whether one is by a rank itself. */
static cJSON *collect(dit_json_writer *w, const suite_positions *positions, bool *any)
{
    char line[SUITE_POSITION];
    cJSON *lines = dit_json_new_array(w);
    *any = false;
    for (int rank = 0; rank < positions->world_size; rank++) {
        bool answered = read_position(positions, rank, line);
        if (!answered)
            snprintf(line, sizeof line, "rank %d %s", rank,
                     silence(suite_process_state(positions->out_dir, "OMPI_COMM_WORLD_RANK", rank)));
        *any |= answered;
        suite_text_clean(line);
        dit_json_put_string(w, lines, NULL, line);
    }
    return lines;
}

void suite_positions_ask(void *context, pid_t leader)
{
    dit_json_writer w = {0};
    suite_positions *positions = context;
    char path[SUITE_PATH];
    bool any;
    for (int rank = 0; rank < positions->world_size; rank++) /* somebody may have asked before */
        if (suite_path(path, "%s/position-%d.txt", positions->out_dir, rank) == DIT_OK) unlink(path);
    kill(leader, SIGUSR1);
    for (int waited = 0; waited < ASK_MS && !all_answered(positions); waited += ASK_PAUSE_MS)
        nanosleep(&(struct timespec){0, ASK_PAUSE_MS * 1000000L}, NULL);
    positions->lines = collect(&w, positions, &any);
    if (any) return;
    cJSON_Delete(positions->lines);
    positions->lines = NULL;
}

static bool waits(const char *line)
{
    return strstr(line, " waits for ") && !strstr(line, " waits for nothing");
}

void suite_positions_name(const cJSON *lines, dit_buffer *message)
{
    int named = 0, all = cJSON_GetArraySize(lines);
    for (int waiting = 0; waiting < 2; waiting++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, lines)
        {
            if (waits(item->valuestring) != (waiting == 1) || named == POSITIONS_NAMED) continue;
            dit_buffer_printf(message, "; %s", item->valuestring);
            named++;
        }
    }
    if (all > named) dit_buffer_printf(message, "; and %d more", all - named);
}

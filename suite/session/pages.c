#include "suite/session/pages.h"

#include "suite/console/cli.h"
#include "suite/paths.h"
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGES_NEIGHBOURS = 24 };

bool suite_pages_root(const suite_session *session, char out[SUITE_PATH])
{
    char root[SUITE_PATH], real[SUITE_PATH];
    snprintf(out, SUITE_PATH, "%s", session->dir);
    char *slash = strrchr(out, '/');
    if (!slash || slash == out) return false;
    *slash = '\0';
    if (suite_session_root(root) != DIT_OK) return dit_error_clear(), false;
    return realpath(root, real) && strcmp(real, out) == 0;
}

/* ---- one page ---------------------------------------------------------------------------------------------------- */

static const char *title_of(const report_session *session)
{
    const char *title = report_session_fact(session, "title");
    if (!title[0]) title = report_session_fact(session, "workload");
    return title[0] ? title : session->name;
}

static int list_neighbours(const suite_session *session, const report_sessions *sessions, bool all,
                           report_neighbour out[PAGES_NEIGHBOURS])
{
    int count = 0;
    for (int i = 0; sessions && i < sessions->count && count < PAGES_NEIGHBOURS; i++) {
        const report_session *other = &sessions->rows[i];
        if (strcmp(other->name, session->name) == 0 || (!other->facts.root && !(all && other->head.root))) continue;
        char *href = report_session_href(other, false);
        if (!href) break;
        out[count++] = (report_neighbour){title_of(other), report_session_fact(other, "started"), href};
    }
    return count;
}

dit_status suite_pages_write(const suite_session *session, const report_sessions *sessions, bool all,
                             report_options options, report_summary *out)
{
    report_neighbour neighbours[PAGES_NEIGHBOURS];
    options.session_folder = session->dir;
    options.program = DITBENCH_VERSION;
    options.neighbours = neighbours;
    options.neighbour_count = list_neighbours(session, sessions, all, neighbours);
    options.index = sessions ? "../../index.html" : NULL;
    dit_status st = report_write(&options, out);
    for (int i = 0; i < options.neighbour_count; i++) free((char *)neighbours[i].href);
    return st;
}

dit_status suite_pages_index(const char *root, char path[REPORT_PATH])
{
    report_sessions sessions;
    DIT_TRY(report_sessions_read(root, DITBENCH_VERSION, &sessions));
    dit_status st = report_index_write(&sessions, path);
    report_sessions_release(&sessions);
    return st;
}

/* ---- since ------------------------------------------------------------------------------------------------------- */

/* "7d" and all that suite_cli_duration takes. */
static dit_status read_age(const char *text, double *seconds)
{
    char *end = NULL;
    double days = strtod(text, &end);
    if (end != text && strcmp(end, "d") == 0 && days > 0 && days < 1e5) return *seconds = days * 86400, DIT_OK;
    return suite_cli_duration(text, seconds);
}

static bool is_date(const char *text)
{
    for (int i = 0; i < 10; i++) {
        bool dash = i == 4 || i == 7;
        if (dash ? text[i] != '-' : !isdigit((unsigned char)text[i])) return false;
    }
    return strlen(text) < 25 && strspn(text + 10, "T0123456789:.Z") == strlen(text + 10);
}

dit_status suite_pages_since(const char *since, char out[32])
{
    double seconds = 0;
    struct tm utc;
    out[0] = '\0';
    if (!since) return DIT_OK;
    if (is_date(since)) return snprintf(out, 32, "%s", since), DIT_OK;
    if (read_age(since, &seconds) != DIT_OK) {
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--since %.60s is neither a date nor an age", since),
                              "2026-01-31, 2026-01-31T12:00, 90m, 2h, 7d");
    }
    time_t from = time(NULL) - (time_t)seconds;
    gmtime_r(&from, &utc);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return DIT_OK;
}

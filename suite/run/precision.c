#include "suite/run/precision.h"

#include "base/stats.h"

#include <stdlib.h>

dit_status suite_precision_init(const suite_schedule *schedule, suite_precision *out)
{
    const cJSON *repeat = dit_json_member(schedule->workload, "repeat");
    *out = (suite_precision){.until = dit_json_number_or(repeat, "until", 0),
                             .least = (int)dit_json_int_or(repeat, "least", 1),
                             .cases = schedule->case_count};
    for (int i = 0; i < schedule->item_count; i++)
        if (schedule->items[i].process >= out->most) out->most = schedule->items[i].process + 1;
    if (!(out->until > 0)) return DIT_OK;
    out->seconds = calloc((size_t)out->cases * (size_t)out->most + 1, sizeof *out->seconds);
    out->count = calloc((size_t)out->cases + 1, sizeof *out->count);
    if (out->seconds && out->count) return DIT_OK;
    suite_precision_release(out);
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times of %d cases", schedule->case_count);
}

void suite_precision_release(suite_precision *precision)
{
    free(precision->seconds);
    free(precision->count);
    *precision = (suite_precision){0};
}

static double *times_of(const suite_precision *p, int case_index)
{
    return p->seconds + (size_t)case_index * (size_t)p->most;
}

void suite_precision_note(suite_precision *p, int case_index, double latency_ns)
{
    if (!(p->until > 0) || latency_ns < 0 || p->count[case_index] >= p->most) return;
    times_of(p, case_index)[p->count[case_index]++] = latency_ns * 1e-9;
}

double suite_precision_of(const suite_precision *p, int case_index)
{
    dit_summary s = dit_stats_summarise(times_of(p, case_index), p->count[case_index]);
    return s.low_n || !(s.median > 0) ? 1 : (s.high - s.low) / 2 / s.median;
}

bool suite_precision_is_enough(const suite_precision *p, const suite_run_item *item)
{
    if (!(p->until > 0) || item->process < p->least) return false;
    return suite_precision_of(p, item->case_index) <= p->until;
}

void suite_precision_put(const suite_precision *p, const suite_schedule *schedule, dit_json_writer *w, cJSON *line)
{
    if (!(p->until > 0)) return;
    cJSON *stop = dit_json_put_object(w, line, "stop");
    dit_json_put_number(w, stop, "until", p->until);
    dit_json_put_int(w, stop, "most", p->most);
    cJSON *cases = dit_json_put_array(w, stop, "cases");
    for (int i = 0; i < p->cases; i++) {
        const suite_case *one = &schedule->cases[i];
        if (one->is_oracle || one->is_simulated) continue;
        double reached = suite_precision_of(p, i);
        cJSON *row = dit_json_put_object(w, cases, NULL);
        dit_json_put_string(w, row, "case_id", one->case_id);
        dit_json_put_int(w, row, "n", p->count[i]);
        dit_json_put_number(w, row, "interval", reached);
        dit_json_put_string(w, row, "reason",
                            reached <= p->until      ? "precision"
                            : p->count[i] >= p->most ? "count"
                                                     : "budget");
    }
}

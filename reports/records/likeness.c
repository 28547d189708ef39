#include "reports/records/likeness.h"

#include "reports/records/probe.h"

#include <math.h>
#include <stdlib.h>

enum { PAPER_POINTS = 3 }; /* keys, values and outputs of attention */

static dit_status compare_pair(const report_probe *one, const report_probe *other, bool on_noise, report_likeness *out)
{
    for (int point = 0; point < PAPER_POINTS; point++) {
        const dit_redundancy_map a = report_probe_map(one, point, on_noise);
        const dit_redundancy_map b = report_probe_map(other, point, on_noise);
        dit_interval rho;
        DIT_TRY(dit_redundancy_rank_correlation(&a, &b, &rho));
        out->low = fmin(out->low, rho.low), out->high = fmax(out->high, rho.high);
        out->least = fmin(out->least, rho.value), out->most = fmax(out->most, rho.value);
    }
    out->pairs++;
    return DIT_OK;
}

static dit_status read_and_compare(const report_case *const *cases, int count, bool on_noise, report_probe *probes,
                                   report_likeness *out)
{
    for (int i = 0; i < count; i++) {
        DIT_TRY(report_probe_read(cases[i], &probes[i]));
        for (int k = 0; k < i; k++) {
            dit_status st = compare_pair(&probes[k], &probes[i], on_noise, out);
            if (st != DIT_OK) return dit_error_note(st, "comparing %s with %s", cases[k]->label, cases[i]->label);
        }
    }
    return DIT_OK;
}

dit_status report_likeness_of(const report_case *const *cases, int count, bool on_noise, report_likeness *out)
{
    *out = (report_likeness){.low = 1, .high = -1, .least = 1, .most = -1};
    if (count < 2) return DIT_FAIL(DIT_ERR_NOT_FOUND, "a rank correlation needs two cases, %d match", count);
    report_probe *probes = calloc((size_t)count, sizeof *probes);
    if (!probes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d probes", count);
    dit_status st = read_and_compare(cases, count, on_noise, probes, out);
    for (int i = 0; i < count; i++) report_probe_release(&probes[i]);
    free(probes);
    return st;
}

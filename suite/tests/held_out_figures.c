/* Prints what the held-out errors support, for tests that compute it a second time: bounds of classes, coverage, pairs.
 * Usage: suite_held_out_figures FILE */
#include "suite/confidence/pair_calls.h"

#include <stdio.h>

static int fail(void)
{
    fprintf(stderr, "%s\n", dit_error_last()->message);
    return 1;
}

static bool print_class(const suite_held_out *held, const suite_error_class *of)
{
    suite_error_sample sample;
    char text[96];
    double nine[SUITE_ERROR_QUANTILES];
    if (suite_error_sample_take(held, of, NULL, &sample) != DIT_OK) return false;
    suite_error_class_text(of, text, sizeof text);
    suite_error_bounds bounds = suite_error_bounds_of(&sample, SUITE_COVERAGE_LEVEL);
    suite_error_nine(&sample, SUITE_COVERAGE_LEVEL, nine);
    if (sample.count) {
        printf("class|%s|%d|%d|%.4f|%.4f|%.6f|%.4f", text, sample.count, sample.group_count, bounds.low, bounds.high,
               bounds.level, suite_error_widest_gap(&sample));
        for (int i = 0; i < SUITE_ERROR_QUANTILES; i++) printf("|%.4f", nine[i]);
        printf("\n");
    }
    suite_error_sample_release(&sample);
    return true;
}

static bool print_classes(const suite_held_out *held)
{
    for (int fitted = 0; fitted < 2; fitted++)
        for (int reach = SUITE_CLASS_ANY; reach < SUITE_REACH_COUNT; reach++)
            for (int kind = SUITE_CLASS_ANY; kind < SUITE_KIND_COUNT; kind++)
                for (int software = SUITE_CLASS_ANY; software < SUITE_SOFTWARE_COUNT; software++) {
                    const suite_error_class of = {fitted, reach, kind, software};
                    if (!print_class(held, &of)) return false;
                }
    return true;
}

static void print_licence(const suite_verdict_licence *licence)
{
    for (int fitted = 0; fitted < 2; fitted++) {
        const suite_coverage *c = &licence->coverage[fitted];
        const suite_pair_calls *p = &licence->calls[fitted];
        const char *who = fitted ? "fitted" : "left out";
        printf("coverage|%s|%d|%d|%d|%.6f|%.6f|%.6f|%.6f\n", who, c->points, c->groups, c->alone, c->by_group,
               c->by_point, c->least_level, c->mean_level);
        printf("pairs|%s|%d|%d|%d|%d|%d|%d|%d|%.6f|%.6f\n", who, p->pairs, p->ordered, p->called, p->right,
               p->kept_back, p->clusters, p->right_clusters, p->bound, p->bound_by_pair);
        printf("verdicts|%s|%s|%s\n", who, licence->allowed[fitted] ? "yes" : "no", licence->why[fitted]);
    }
}

int main(int argc, char **argv)
{
    suite_held_out held;
    suite_verdict_licence licence;
    if (suite_held_out_read(argc > 1 ? argv[1] : NULL, &held) != DIT_OK) return fail();
    bool fine = print_classes(&held) && suite_verdict_licence_of(&held, &licence) == DIT_OK;
    if (fine) print_licence(&licence);
    suite_held_out_release(&held);
    return fine ? 0 : fail();
}

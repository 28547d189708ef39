/* Fuzz target of the reader of published numbers, and of what makes cases of them. Run by ci/fuzz.sh, which names the
 * data files through DITBENCH_WORKLOADS. Beyond not crashing: what is refused says why, and what is accepted is
 * understood or skipped with a reason, and its errors can be written as JSON. */
#include "suite/simulate/points_answer.h"
#include "suite/simulate/published_points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool good)
{
    if (!good) abort();
}

static dit_status predict(const suite_point_case *one, double *seconds, void *context)
{
    (void)context;
    check(one->kase != NULL && one->platform != NULL && one->mesh != NULL);
    *seconds = 1.5;
    return DIT_OK;
}

static void check_point(const suite_published_names *names, const suite_published_point *published,
                        suite_point_result *out)
{
    suite_point point = {0};
    check(suite_point_understand(names, published, NULL, &point) == DIT_OK);
    check(point.skip == SUITE_SKIP_NONE ? point.case_count > 0 : suite_skip_text(point.skip)[0] != '\0');
    check(suite_point_predict(&point, predict, NULL, out) == DIT_OK);
    suite_point_release(&point);
}

static void check_points(const suite_published_names *names, const suite_published *published)
{
    suite_point_result *results = calloc((size_t)published->count + 1, sizeof *results);
    cJSON *document = NULL;
    check(results != NULL);
    for (int i = 0; i < published->count; i++) check_point(names, &published->points[i], &results[i]);
    dit_status st = suite_points_json(results, published->count, &document);
    if (st != DIT_OK) fprintf(stderr, "%s\n", dit_error_last()->message);
    check(st == DIT_OK);
    cJSON_Delete(document);
    free(results);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static suite_published_names names;
    suite_published published = {0};
    if (!names.catalogue) check(suite_published_names_load(NULL, &names) == DIT_OK);
    dit_error_clear();
    if (suite_published_parse((const char *)data, size, "fuzz.json", &published) == DIT_OK)
        check_points(&names, &published);
    else
        check(dit_error_last()->message[0] != '\0');
    suite_published_release(&published);
    return 0;
}

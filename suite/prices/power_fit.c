#include "suite/prices/power_fit.h"

#include "base/stats.h"
#include "suite/platform/cluster.h"
#include "suite/published/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run: what one device drew, and how busy it was. */
typedef struct {
    const suite_published_point *point; /* the time */
    char accelerator[64];
    double rate, watts, busy; /* rate: images or clips per second and device */
    int model;                /* index of the first run of the same model and accelerator */
} run;

typedef struct {
    suite_published published;
    suite_published_names names;
    run *runs;
    int count;
    double *errors; /* [count], scratch */
} material;

/* ---- runs ------------------------------------------------------------------------------------------------------------ */

static bool same_model(const suite_published_point *a, const suite_published_point *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->resolution, b->resolution) == 0 && a->frames == b->frames &&
           a->steps == b->steps;
}

static bool same_run(const suite_published_point *a, const suite_published_point *b)
{
    return same_model(a, b) && a->gpus == b->gpus && a->batch == b->batch && strcmp(a->hardware, b->hardware) == 0 &&
           strcmp(a->method, b->method) == 0 && memcmp(a->degree, b->degree, sizeof a->degree) == 0;
}

static const suite_published_point *power_of(const suite_published *published, const suite_published_point *time)
{
    for (int i = 0; i < published->count; i++) {
        const suite_published_point *point = &published->points[i];
        if (strcmp(point->metric, "power") == 0 && point->has_value && same_run(point, time)) return point;
    }
    return NULL;
}

/* False where the machine is none that we know. */
static bool find_accelerator(const material *all, const suite_published_point *point, char out[64])
{
    const char *platform;
    suite_cluster cluster;
    if (suite_published_platform(&all->names, point->hardware, point->interconnect, point->gpus, &platform) !=
        SUITE_PUBLISHED_PLATFORM)
        return false;
    if (suite_cluster_load(platform, &cluster) != DIT_OK) {
        dit_error_clear();
        return false;
    }
    snprintf(out, 64, "%s", cluster.accelerator);
    suite_cluster_release(&cluster);
    return true;
}

static void add_run(material *all, const suite_published_point *time)
{
    run *next = &all->runs[all->count];
    if (strcmp(time->metric, "latency") != 0 || !time->has_value || time->value <= 0 || time->gpus < 1) return;
    if (!suite_published_counts(time)) return;
    const suite_published_point *power = power_of(&all->published, time);
    *next = (run){.point = time, .model = all->count};
    if (!power || power->value <= 0 || !find_accelerator(all, time, next->accelerator)) return;
    next->rate = (double)(time->batch > 0 ? time->batch : 1) / time->value / (double)time->gpus;
    next->watts = power->value / (double)time->gpus;
    for (int i = 0; i < all->count && next->model == all->count; i++)
        if (strcmp(all->runs[i].accelerator, next->accelerator) == 0 && same_model(all->runs[i].point, time))
            next->model = all->runs[i].model;
    all->count++;
}

/* Runs of a model that nobody timed on one device have no busy share, and are left out. */
static void find_busy(material *all)
{
    int kept = 0;
    for (int i = 0; i < all->count; i++) {
        double best = 0;
        for (int j = 0; j < all->count; j++)
            if (all->runs[j].model == all->runs[i].model && all->runs[j].point->gpus == 1)
                best = fmax(best, all->runs[j].rate);
        all->runs[i].busy = best > 0 ? all->runs[i].rate / best : 0;
    }
    for (int i = 0; i < all->count; i++)
        if (all->runs[i].busy > 0) all->runs[kept++] = all->runs[i];
    all->count = kept;
}

/* ---- least squares ------------------------------------------------------------------------------------------------------ */

static bool takes(const run *one, const char *accelerator, int without)
{
    return strcmp(one->accelerator, accelerator) == 0 && one->model != without;
}

/* Fits the runs of an accelerator but for those of model `without` (-1: all). Returns their number. */
static int fit(const material *all, const char *accelerator, int without, double *idle, double *slope)
{
    double busy = 0, watts = 0, square = 0, product = 0;
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        if (!takes(&all->runs[i], accelerator, without)) continue;
        busy += all->runs[i].busy;
        watts += all->runs[i].watts;
        count++;
    }
    for (int i = 0; i < all->count && count; i++) {
        if (!takes(&all->runs[i], accelerator, without)) continue;
        double off = all->runs[i].busy - busy / count;
        square += off * off;
        product += off * (all->runs[i].watts - watts / count);
    }
    *slope = square > 0 ? product / square : 0;
    *idle = count ? (watts - *slope * busy) / count : 0;
    return count;
}

static void percentiles(const material *all, int count, double *median, double *p90)
{
    *median = dit_stats_percentile(all->errors, count, 0.5);
    *p90 = dit_stats_percentile(all->errors, count, 0.9);
}

static double error_of(const run *one, double idle, double slope)
{
    return fabs((idle + slope * one->busy) / one->watts - 1);
}

static void find_errors(const material *all, suite_power_fit *out)
{
    int count = 0;
    for (int i = 0; i < all->count; i++)
        if (takes(&all->runs[i], out->accelerator, -1))
            all->errors[count++] = error_of(&all->runs[i], out->idle_w, out->slope_w);
    percentiles(all, count, &out->fit_median, &out->fit_p90);
    count = 0;
    for (int model = 0; model < all->count; model++) {
        double idle = 0, slope = 0;
        bool fitted = false;
        for (int i = 0; i < all->count; i++) {
            if (all->runs[i].model != model || !takes(&all->runs[i], out->accelerator, -1)) continue;
            if (!fitted) fit(all, out->accelerator, model, &idle, &slope);
            out->models += !fitted;
            fitted = true;
            all->errors[count++] = error_of(&all->runs[i], idle, slope);
        }
    }
    percentiles(all, count, &out->error_median, &out->error_p90);
}

static void find_limit(const material *all, suite_power_fit *out)
{
    suite_accelerator accelerator;
    int count = 0;
    if (suite_accelerator_load(out->accelerator, &accelerator) != DIT_OK) {
        dit_error_clear();
        return;
    }
    double limit = dit_json_number_or(accelerator.source.root, "power_w", 0);
    suite_accelerator_release(&accelerator);
    for (int i = 0; i < all->count; i++)
        if (takes(&all->runs[i], out->accelerator, -1)) all->errors[count++] = limit / all->runs[i].watts;
    percentiles(all, count, &out->limit_median, &out->limit_p90);
}

/* ---- all accelerators ------------------------------------------------------------------------------------------------- */

static bool is_first(const material *all, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(all->runs[i].accelerator, all->runs[index].accelerator) == 0) return false;
    return true;
}

static dit_status read_material(const char *path, material *all)
{
    char folder[SUITE_PATH], shipped[SUITE_PATH];
    if (!path) {
        DIT_TRY(suite_published_folder(folder));
        DIT_TRY(suite_path(shipped, "%s/mlenergy.json", folder));
    }
    DIT_TRY(suite_published_read(path ? path : shipped, &all->published));
    DIT_TRY(suite_published_names_load(NULL, &all->names));
    all->runs = calloc((size_t)all->published.count + 1, sizeof *all->runs);
    all->errors = calloc((size_t)all->published.count + 1, sizeof *all->errors);
    if (!all->runs || !all->errors) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for published runs");
    for (int i = 0; i < all->published.count; i++) add_run(all, &all->published.points[i]);
    find_busy(all);
    return DIT_OK;
}

static void release_material(material *all)
{
    if (all->published.points) suite_published_release(&all->published);
    suite_published_names_release(&all->names);
    free(all->runs);
    free(all->errors);
}

dit_status suite_power_fit_published(const char *path, suite_power_fit **out, int *count)
{
    material all = {.count = 0};
    *out = NULL;
    *count = 0;
    dit_status st = read_material(path, &all);
    if (st == DIT_OK) *out = calloc((size_t)all.count + 1, sizeof **out);
    if (st == DIT_OK && !*out) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a fit of power");
    for (int i = 0; st == DIT_OK && i < all.count; i++) {
        if (!is_first(&all, i)) continue;
        suite_power_fit one = {.points = 0};
        snprintf(one.accelerator, sizeof one.accelerator, "%s", all.runs[i].accelerator);
        one.points = fit(&all, one.accelerator, -1, &one.idle_w, &one.slope_w);
        find_errors(&all, &one);
        find_limit(&all, &one);
        if (one.models > 1) (*out)[(*count)++] = one;
    }
    release_material(&all);
    return st;
}

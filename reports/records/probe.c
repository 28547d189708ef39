#include "reports/records/probe.h"

#include "base/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBE_MOST = 4096 /* prompts, steps, layers */, LAYERS_RANK = 7 };

const char *const report_probe_points[REPORT_PROBE_POINTS] = {"K", "V", "attention", "block"};

void report_probe_release(report_probe *probe)
{
    for (int point = 0; point < REPORT_PROBE_POINTS; point++)
        for (int measure = 0; measure < REPORT_PROBE_MEASURES; measure++) free(probe->change[point][measure]);
    free(probe->input);
    free(probe->output);
    free(probe->ratios);
    free(probe->cost);
    free(probe->places);
    free(probe->noise);
    *probe = (report_probe){0};
}

/* Reads a tensor whole; from malloc. */
static dit_status read_all(const dit_tensor_view *view, float **out)
{
    *out = malloc(((size_t)view->elements + 1) * sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld numbers of a probe", (long long)view->elements);
    dit_status st = dit_tensor_read(view, 0, view->elements, *out);
    if (st != DIT_OK) free(*out), *out = NULL;
    return st;
}

static dit_status take_room(report_probe *p)
{
    size_t count = (size_t)p->prompts * (size_t)p->layers * (size_t)(p->steps - 1);
    bool full = false;
    for (int point = 0; point < REPORT_PROBE_POINTS; point++)
        for (int measure = 0; measure < REPORT_PROBE_MEASURES; measure++) {
            p->change[point][measure] = malloc(count * sizeof(double));
            full = full || !p->change[point][measure];
        }
    size_t changes = (size_t)p->prompts * (size_t)(p->steps - 1);
    p->input = malloc(changes * sizeof *p->input);
    p->output = malloc(changes * sizeof *p->output);
    p->ratios = calloc((size_t)p->steps, sizeof *p->ratios);
    full = full || !p->input || !p->output || !p->ratios;
    p->cost = calloc((size_t)p->steps * (size_t)p->steps, sizeof *p->cost);
    p->places = malloc((size_t)p->steps * sizeof *p->places);
    p->noise = malloc((size_t)p->steps * sizeof *p->noise);
    full = full || !p->cost || !p->places || !p->noise;
    return full ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a probe of %zu changes", count) : DIT_OK;
}

/* The file has [prompts, changes, layers, points, rows, branches, measures]: image rows come first among rows, all
 * guidance branches together last. */
static dit_status read_layers(const dit_tensor_view *view, report_probe *p)
{
    float *all;
    int64_t changes = p->steps - 1, rows = view->shape[4], columns = view->shape[5];
    DIT_TRY(read_all(view, &all));
    for (int64_t prompt = 0; prompt < p->prompts; prompt++)
        for (int64_t step = 0; step < changes; step++)
            for (int64_t layer = 0; layer < p->layers; layer++)
                for (int64_t point = 0; point < REPORT_PROBE_POINTS; point++) {
                    int64_t at = ((prompt * changes + step) * p->layers + layer) * REPORT_PROBE_POINTS + point;
                    const float *measures = all + (at * rows * columns + columns - 1) * REPORT_PROBE_MEASURES;
                    for (int measure = 0; measure < REPORT_PROBE_MEASURES; measure++)
                        p->change[point][measure][(prompt * p->layers + layer) * changes + step] = measures[measure];
                }
    free(all);
    return DIT_OK;
}

static dit_status read_cost(const dit_safetensors *file, report_probe *p)
{
    dit_tensor_view view;
    float *all;
    int64_t cells = (int64_t)p->steps * p->steps;
    DIT_TRY(dit_safetensors_require(file, "cost", 3, (const int64_t[]){p->prompts, p->steps, p->steps}, &view));
    DIT_TRY(read_all(&view, &all));
    for (int64_t i = 0; i < p->prompts * cells; i++) p->cost[i % cells] += (double)all[i] / p->prompts;
    free(all);
    return DIT_OK;
}

/* Relative changes over all branches of a tensor [prompts, changes, branches, measures]. */
static dit_status read_changes(const dit_safetensors *file, const char *name, const report_probe *p, double *out)
{
    dit_tensor_view view;
    float *all;
    const int64_t shape[] = {p->prompts, p->steps - 1, -1, REPORT_PROBE_MEASURES};
    DIT_TRY(dit_safetensors_require(file, name, 4, shape, &view));
    int64_t columns = view.shape[2], changes = (int64_t)p->prompts * (p->steps - 1);
    if (columns < 1) return DIT_FAIL(DIT_ERR_SHAPE, "%s of a probe has no guidance branch", name);
    DIT_TRY(read_all(&view, &all));
    for (int64_t i = 0; i < changes; i++)
        out[i] = all[(i * columns + columns - 1) * REPORT_PROBE_MEASURES + REPORT_PROBE_RELATIVE];
    free(all);
    return DIT_OK;
}

static dit_status read_ratios(const dit_safetensors *file, report_probe *p)
{
    dit_tensor_view view;
    float *all;
    int64_t changes = p->steps - 1;
    DIT_TRY(dit_safetensors_require(file, "ratios", 2, (const int64_t[]){p->prompts, changes}, &view));
    DIT_TRY(read_all(&view, &all));
    for (int64_t i = 0; i < p->prompts * changes; i++) p->ratios[i % changes] += (double)all[i] / p->prompts;
    free(all);
    return DIT_OK;
}

static dit_status read_places(const dit_safetensors *file, report_probe *p)
{
    dit_tensor_view view;
    float *sigmas;
    DIT_TRY(dit_safetensors_require(file, "sigmas", 1, (const int64_t[]){p->steps}, &view));
    DIT_TRY(read_all(&view, &sigmas));
    for (int i = 0; i + 1 < p->steps; i++) {
        p->places[i] = (i + 1.0) / (p->steps - 1);
        p->noise[i] = sigmas[i + 1];
    }
    free(sigmas);
    return DIT_OK;
}

static dit_status read_file(const dit_safetensors *file, report_probe *p)
{
    dit_tensor_view view;
    const int64_t shape[LAYERS_RANK] = {-1, -1, -1, REPORT_PROBE_POINTS, -1, -1, REPORT_PROBE_MEASURES};
    DIT_TRY(dit_safetensors_require(file, "layers", LAYERS_RANK, shape, &view));
    bool empty = view.elements < 1 || view.shape[4] < 1 || view.shape[5] < 1;
    if (empty || view.shape[0] > PROBE_MOST || view.shape[1] >= PROBE_MOST || view.shape[2] > PROBE_MOST)
        return DIT_FAIL(DIT_ERR_SHAPE, "a probe of %lld prompts, %lld changes and %lld layers: each is 1 to %d",
                        (long long)view.shape[0], (long long)view.shape[1], (long long)view.shape[2], PROBE_MOST - 1);
    p->prompts = (int)view.shape[0], p->steps = (int)view.shape[1] + 1, p->layers = (int)view.shape[2];
    DIT_TRY(take_room(p));
    DIT_TRY(read_layers(&view, p));
    DIT_TRY(read_changes(file, "input", p, p->input));
    DIT_TRY(read_changes(file, "output", p, p->output));
    DIT_TRY(read_ratios(file, p));
    DIT_TRY(read_cost(file, p));
    return read_places(file, p);
}

dit_status report_probe_digest(const char *path, char out[48])
{
    dit_safetensors *file;
    DIT_TRY(dit_safetensors_open(path, &file));
    dit_status st = dit_safetensors_digest(file, out);
    dit_safetensors_close(file);
    return st;
}

dit_status report_probe_read(const report_case *kase, report_probe *out)
{
    dit_safetensors *file;
    char digest[48];
    *out = (report_probe){0};
    if (!kase->probe.path)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%.200s left no probe", kase->label),
                              "set \"probe\": true in the workload's \"measure\"");
    if (access(kase->probe.path, F_OK) != 0) /* records travel without their files */
        return DIT_FAIL(DIT_ERR_NOT_FOUND,
                        "%.400s is not there: it lies in the session's folder on the machine that ran the session",
                        kase->probe.path);
    DIT_TRY(dit_safetensors_open(kase->probe.path, &file));
    dit_status st = dit_safetensors_digest(file, digest);
    if (st == DIT_OK && strcmp(digest, kase->probe.digest) != 0)
        st = DIT_FAIL(DIT_ERR_INTEGRITY, "%.400s has digest %s, its record says %.60s", kase->probe.path, digest,
                      kase->probe.digest);
    if (st == DIT_OK) st = read_file(file, out);
    dit_safetensors_close(file);
    if (st != DIT_OK) report_probe_release(out);
    return st;
}

dit_redundancy_map report_probe_map(const report_probe *probe, int point, bool on_noise)
{
    return (dit_redundancy_map){.values = probe->change[point][REPORT_PROBE_L1],
                                .places = on_noise ? probe->noise : probe->places,
                                .prompts = probe->prompts,
                                .layers = probe->layers,
                                .steps = probe->steps - 1};
}

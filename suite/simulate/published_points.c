#include "suite/simulate/published_points.h"

#include "base/json_writer.h"
#include "base/label.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/model.h"
#include "suite/catalogue/parameter.h"
#include "suite/catalogue/vae.h"
#include "suite/platform/cluster.h"
#include "suite/platform/profile.h"
#include "suite/text.h"
#include "suite/workload/load.h"
#include "suite/workload/programs/program.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code, *text;
} skips[] = {
#define SKIP_ROW(name, code, text) {code, text},
    SUITE_SKIP_LIST(SKIP_ROW)
#undef SKIP_ROW
};

const char *suite_skip_code(suite_skip skip)
{
    return skips[skip].code;
}

const char *suite_skip_text(suite_skip skip)
{
    return skips[skip].text;
}

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for published points");
}

/* ---- what a point says ------------------------------------------------------------------------------------------- */

/* Takes a reason down and returns false, for `return skip(...)` out of a check. */
static bool __attribute__((format(printf, 3, 4))) skip(suite_point *out, suite_skip why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->detail, sizeof out->detail, format, arguments);
    va_end(arguments);
    out->skip = why;
    return false;
}

/* Forwards of a layer in a second. */
static bool check_rate(const suite_published_point *point, suite_point *out)
{
    if (strcmp(point->metric, "throughput") != 0)
        return skip(out, SUITE_SKIP_METRIC, "the metric of a layer must be throughput, not %s", point->metric);
    if (!point->has_value) return skip(out, SUITE_SKIP_VALUE, "printed as %s", point->unit);
    if (strcmp(point->unit, "iter/s") != 0)
        return skip(out, SUITE_SKIP_METRIC, "throughput in %s, not in iterations a second", point->unit);
    if (point->value <= 0) return skip(out, SUITE_SKIP_VALUE, "%g iterations a second is not a rate", point->value);
    return true;
}

static bool is_energy(const suite_published_point *point)
{
    return strcmp(point->metric, "energy") == 0 || strcmp(point->metric, "power") == 0;
}

static bool is_memory(const suite_published_point *point)
{
    return strcmp(point->metric, "peak_memory") == 0;
}

static bool is_decode(const suite_published_point *point)
{
    return strcmp(point->metric, "latency_vae_decode") == 0;
}

/* What the device that needs most holds. */
static bool check_memory(const suite_published_point *point, suite_point *out)
{
    double gigabytes = strcmp(point->unit, "GB") == 0, megabytes = strcmp(point->unit, "MB") == 0;
    if (!point->has_value) return skip(out, SUITE_SKIP_VALUE, "printed as %s", point->unit);
    if (point->value <= 0) return skip(out, SUITE_SKIP_VALUE, "%g %s is no memory", point->value, point->unit);
    out->ask = SUITE_ASK_MEMORY_BYTES;
    out->loops = 1e9 * gigabytes + 1e6 * megabytes;
    return out->loops > 0 || skip(out, SUITE_SKIP_METRIC, "peak_memory in %s", point->unit);
}

/* Times of the whole loop, of one of its steps, and of the decode. */
static bool check_metric(const suite_published_point *point, suite_point *out)
{
    if (is_energy(point)) return skip(out, SUITE_SKIP_ENERGY, "%s in %s", point->metric, point->unit);
    if (is_memory(point)) return check_memory(point, out);
    bool whole = strcmp(point->metric, "latency") == 0 || strcmp(point->metric, "latency_dit_forward") == 0;
    bool step = strcmp(point->metric, "latency_per_step") == 0, decode = is_decode(point);
    if (!whole && !step && !decode) return skip(out, SUITE_SKIP_METRIC, "metric %s", point->metric);
    if (!point->has_value) return skip(out, SUITE_SKIP_VALUE, "printed as %s", point->unit);
    if (strcmp(point->unit, "s") != 0)
        return skip(out, SUITE_SKIP_METRIC, "%s in %s, not in seconds", point->metric, point->unit);
    if (point->value <= 0) return skip(out, SUITE_SKIP_VALUE, "%g s is no time", point->value);
    out->loops = step && point->steps ? (double)point->steps : 1;
    if (decode) out->ask = SUITE_ASK_DECODE_SECONDS;
    return true;
}

static bool check_method(const suite_published_point *point, const suite_published_method *method, suite_point *out)
{
    bool other = method->word[0] && !point->cache; /* of a cache that the config has */
    if (other && method->why) return skip(out, SUITE_SKIP_METHOD_OTHER, "%s: %s", point->method, method->why);
    if (other)
        return skip(out, SUITE_SKIP_METHOD_UNKNOWN, "\"%s\" of method \"%s\" is in no table", method->word,
                    point->method);
    if ((method->layout || method->packed) && !out->is_layer)
        return skip(out, SUITE_SKIP_SETTING, "\"%s\" means one attention layer", point->method);
    return true;
}

static bool check_model(const suite_published_names *names, const suite_published_point *point, suite_point *out)
{
    const char *why;
    out->model = suite_published_model(names, point->model, &why);
    return out->model || skip(out, SUITE_SKIP_MODEL_UNKNOWN, "%s: %s", point->model, why);
}

static bool check_size(const suite_published_point *point, bool video, suite_point *out)
{
    if (!point->resolution[0]) return skip(out, SUITE_SKIP_RESOLUTION, "the point has no resolution");
    if (!suite_resolution_from_text(point->resolution, &out->width_px, &out->height_px))
        return skip(out, SUITE_SKIP_RESOLUTION, "\"%s\" is not WIDTHxHEIGHT", point->resolution);
    if (video && !point->frames) return skip(out, SUITE_SKIP_FRAMES, "%s makes clips", out->model);
    return point->steps || is_memory(point) || skip(out, SUITE_SKIP_STEPS, "the point has no steps");
}

/* Memory does not depend on the machine, so where none is named it is counted on one. */
static const char memory_platform[] = "8xa100-sxm";
enum { MEMORY_DEVICES = 8, MEMORY_STEPS = 20 };

static bool check_platform(const suite_published_names *names, const suite_published_point *point, suite_point *out)
{
    const char *hardware = point->hardware, *interconnect = point->interconnect;
    const char *platform = NULL;
    suite_published_place found = suite_published_platform(names, hardware, interconnect, point->gpus, &platform);
    bool unstated = found == SUITE_PUBLISHED_HARDWARE_UNSTATED || found == SUITE_PUBLISHED_INTERCONNECT;
    if (is_memory(point) && unstated && point->gpus <= MEMORY_DEVICES) {
        out->platform = memory_platform;
        return true;
    }
    if (found == SUITE_PUBLISHED_HARDWARE_UNSTATED)
        return skip(out, SUITE_SKIP_HARDWARE_UNSTATED, "hardware is \"%s\"", hardware);
    if (found == SUITE_PUBLISHED_HARDWARE_UNKNOWN)
        return skip(out, SUITE_SKIP_HARDWARE_UNKNOWN, "\"%s\" is in no row of the table", hardware);
    if (found == SUITE_PUBLISHED_INTERCONNECT)
        return skip(out, SUITE_SKIP_INTERCONNECT, "%d devices of %s, interconnect \"%s\"", (int)point->gpus, hardware,
                    interconnect);
    if (found == SUITE_PUBLISHED_DEVICES)
        return skip(out, SUITE_SKIP_DEVICES, "%d devices, %s has fewer", (int)point->gpus, platform);
    out->platform = dit_json_text_or(out->habits.platforms, platform, platform);
    return true;
}

static bool check_profile(const suite_published_names *names, const suite_published_point *point, const char *asked,
                          suite_point *out)
{
    const char *runtime = point->runtime[0] || !out->habits.runtime ? point->runtime : out->habits.runtime;
    const char *own = suite_published_profile(names, runtime);
    if (!own) return skip(out, SUITE_SKIP_RUNTIME, "run time \"%s\"", point->runtime);
    out->family = own;
    own = dit_json_text_or(out->habits.profiles, own, own);
    out->profile = asked ? asked : own;
    return true;
}

/* ---- its mesh ---------------------------------------------------------------------------------------------------- */

/* Degrees of config and of the method's name; what neither says is 0. */
static bool take_degrees(const suite_published_point *point, const suite_published_method *method, suite_point *out)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int stated = point->degree[axis], named = method->degree[axis];
        if (stated && named && stated != named)
            return skip(out, SUITE_SKIP_DISAGREE, "method \"%s\", but config has %d for %s", point->method, stated,
                        dit_axis_key((dit_axis)axis));
        out->parallel.degree[axis] = stated ? stated : named;
    }
    return true;
}

/* Several devices, a hybrid, and not one degree. */
static bool is_search(const suite_published_point *point, const suite_published_method *method, const suite_point *out)
{
    int stated = 0;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) stated += out->parallel.degree[axis] > 0;
    return (point->search || method->search) && stated == 0 && point->gpus > 1;
}

/* Axes that nothing was said of have one rank when the others account for every device, or there is just one. */
static bool close_degrees(const suite_published_point *point, suite_point *out)
{
    bool open = false;
    int64_t product = 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int degree = out->parallel.degree[axis];
        open = open || !degree;
        if (degree) product *= degree;
        if (!degree) out->parallel.degree[axis] = 1;
        if (product > point->gpus) break;
    }
    if (product == point->gpus) return true;
    if (open) return skip(out, SUITE_SKIP_DEGREES, "\"%s\" on %d devices", point->method, (int)point->gpus);
    return skip(out, SUITE_SKIP_PRODUCT, "the degrees of %d devices multiply to %s%d", (int)point->gpus,
                product > point->gpus ? "at least " : "", (int)product);
}

static void write_method(suite_point *out)
{
    const dit_parallel *parallel = &out->parallel;
    bool displaced = parallel->degree[DIT_AXIS_PIPEFUSION] > 1 || parallel->degree[DIT_AXIS_PATCH] > 1;
    char label[64], bands[16] = "", warmup[16] = "";
    dit_parallel_label(parallel, label);
    if (parallel->num_pipeline_patch)
        snprintf(bands, sizeof bands, " %s%d", dit_label_get(DIT_LABEL_BANDS).prefix, parallel->num_pipeline_patch);
    if (displaced)
        snprintf(warmup, sizeof warmup, " %s%d", dit_label_get(DIT_LABEL_WARMUP).prefix, parallel->warmup_steps);
    snprintf(out->method, sizeof out->method, "%.33s%s%s", label, bands, warmup);
}

/* What is said of this point, else what its source does with pipelines, else xDiT's default. */
static int stated_warmup_steps(const suite_published_names *names, const suite_published_point *point,
                               const suite_published_method *method, const suite_point *out)
{
    bool pipeline = out->search || out->parallel.degree[DIT_AXIS_PIPEFUSION] > 1;
    if (point->warmup_steps >= 0) return point->warmup_steps;
    if (method->warmup_steps >= 0) return method->warmup_steps;
    if (pipeline && out->habits.pipefusion_warmup_steps >= 0) return out->habits.pipefusion_warmup_steps;
    return names->warmup_steps;
}

/* Synchronous steps, of which some sources make more than they tell of. */
static int warmup_steps_of(const suite_published_names *names, const suite_published_point *point,
                           const suite_published_method *method, const suite_point *out)
{
    bool patches = out->parallel.degree[DIT_AXIS_PATCH] > 1;
    bool displaced = out->search || patches || out->parallel.degree[DIT_AXIS_PIPEFUSION] > 1;
    return stated_warmup_steps(names, point, method, out) + (displaced ? out->habits.synchronous_more : 0);
}

static bool check_degrees(const suite_published_names *names, const suite_published_point *point,
                          const suite_published_method *method, suite_point *out)
{
    dit_parallel *parallel = &out->parallel;
    if (point->beyond) return skip(out, SUITE_SKIP_SETTING, "config has %s", point->beyond);
    if (!take_degrees(point, method, out)) return false;
    snprintf(out->method, sizeof out->method, "hybrid");
    out->search = is_search(point, method, out);
    if (out->search && is_memory(point))
        return skip(out, SUITE_SKIP_DEGREES, "the fastest mesh of \"%s\" is not that of least memory", point->method);
    parallel->warmup_steps = warmup_steps_of(names, point, method, out);
    if (out->search) return true;
    if (!close_degrees(point, out)) return false;
    if (parallel->degree[DIT_AXIS_PIPEFUSION] > 1) parallel->num_pipeline_patch = point->num_pipeline_patch;
    write_method(out);
    return true;
}

/* What a layer needs beside its degrees. */
static bool check_layer(const suite_published_point *point, const suite_published_method *method, suite_point *out)
{
    if (!point->seq_len) return skip(out, SUITE_SKIP_LAYER, "the point has no seq_len");
    if (!point->heads || !point->head_dim) return skip(out, SUITE_SKIP_LAYER, "the point has no heads or head_dim");
    if (point->kv_groups && point->heads % point->kv_groups)
        return skip(out, SUITE_SKIP_NOT_LEGAL, "%d heads cannot be grouped by %d", (int)point->heads,
                    (int)point->kv_groups);
    out->layout = method->layout ? method->layout : "basic";
    out->packed = method->packed;
    return true;
}

/* ---- its cases --------------------------------------------------------------------------------------------------- */

/* Its degrees; of a search every legal mesh. */
static void add_mesh(dit_json_writer *w, const suite_point *point, cJSON *defaults)
{
    if (point->search) {
        dit_json_put_string(w, defaults, "method", "hybrid");
        dit_json_put_int(w, defaults, "world_size", point->published->gpus);
        return;
    }
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int degree = point->parallel.degree[axis];
        if (point->is_layer && degree == 1) continue; /* most axes mean nothing to a layer */
        dit_json_put_int(w, defaults, dit_axis_key((dit_axis)axis), degree);
    }
}

static void add_layer(dit_json_writer *w, const suite_point *point, cJSON *defaults)
{
    const suite_published_point *published = point->published;
    int64_t group = published->kv_groups ? published->kv_groups : 1;
    dit_json_put_int(w, defaults, "tokens", published->seq_len);
    dit_json_put_int(w, defaults, "heads", published->heads);
    dit_json_put_int(w, defaults, "kv_heads", published->heads / group);
    dit_json_put_int(w, defaults, "head_dim", published->head_dim);
    dit_json_put_int(w, defaults, "batch", published->batch ? published->batch : 1);
    dit_json_put_string(w, defaults, "layout", point->layout);
    dit_json_put_bool(w, defaults, "causal", point->is_causal);
    dit_json_put_bool(w, defaults, "packed", point->packed);
}

/* Whether ranks share the rows of an image. */
static bool is_cut(const suite_point *point)
{
    return point->search || dit_parallel_sequence_degree(&point->parallel) > 1;
}

static bool is_latency(const suite_point *point)
{
    const suite_published_point *published = point->published;
    return strcmp(published->metric, "latency") == 0 || is_decode(published) || is_memory(published);
}

static void add_defaults(dit_json_writer *w, const suite_point *point, bool video, cJSON *workload)
{
    const suite_published_point *published = point->published;
    cJSON *defaults = dit_json_put_object(w, workload, "defaults");
    dit_json_put_string(w, defaults, "platform", point->platform);
    dit_json_put_string(w, defaults, "profile", point->profile);
    dit_json_put_string(w, defaults, "element", "fp16");
    add_mesh(w, point, defaults);
    if (point->is_layer) {
        add_layer(w, point, defaults);
        return;
    }
    dit_json_put_string(w, defaults, "model", point->model);
    dit_json_put_string(w, defaults, "resolution", published->resolution);
    dit_json_put_int(w, defaults, "num_inference_steps", published->steps ? published->steps : MEMORY_STEPS);
    dit_json_put_int(w, defaults, "num_images", published->batch ? published->batch : 1);
    dit_json_put_int(w, defaults, "warmup_steps", point->parallel.warmup_steps);
    if (published->cache) dit_json_put_item(w, defaults, "cache", cJSON_Duplicate(published->cache, true));
    if (video) dit_json_put_int(w, defaults, "num_frames", published->frames);
    if (point->is_joint && is_cut(point) && point->habits.text_replicated)
        dit_json_put_string(w, defaults, "joint_text", "replicate");
    if (video && point->habits.tiling && is_latency(point)) dit_json_put_bool(w, defaults, "tiling", true);
    if (point->parallel.num_pipeline_patch)
        dit_json_put_int(w, defaults, "num_pipeline_patch", point->parallel.num_pipeline_patch);
}

/* A latency is printed of a whole pipeline, text encoders and, where its source decodes, the VAE included; other times
 * are of its loop. Layers whose q, k and v travel apart are timed by a script that waits for the device after every
 * forward (yunchang's benchmark_longctx.py), packed ones by one that does not (benchmark_longctx_qkvpacked.py). */
static void add_measure(dit_json_writer *w, const suite_point *point, cJSON *workload)
{
    cJSON *measure = dit_json_put_object(w, workload, "measure");
    if (point->is_layer)
        dit_json_put_bool(w, measure, "waits", !point->packed);
    else
        dit_json_put_string(w, measure, "scope", is_latency(point) ? point->habits.scope : "denoise");
    if (is_latency(point) && point->published->batch > 1 && point->habits.prompts_differ)
        dit_json_put_bool(w, measure, "prompts_differ", true);
}

static dit_status write_workload(const suite_point *point, bool video, cJSON *workload)
{
    dit_json_writer w = {0};
    dit_json_put_string(&w, workload, "schema", "ditbench.workload/1");
    dit_json_put_string(&w, workload, "name", "published");
    dit_json_put_string(&w, workload, "program",
                        (point->is_layer ? &suite_program_attention : &suite_program_denoise)->name);
    add_defaults(&w, point, video, workload);
    add_measure(&w, point, workload);
    return w.status;
}

static dit_status expand(const suite_point *point, bool video, suite_workload *out)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_status st = document ? write_workload(point, video, document) : w.status;
    char *text = st == DIT_OK ? cJSON_PrintUnformatted(document) : NULL;
    if (st == DIT_OK && !text) st = fail_memory();
    if (st == DIT_OK) st = suite_workload_parse(text, strlen(text), "published point", out);
    free(text);
    cJSON_Delete(document);
    return st;
}

static const char *tag_of(const suite_case *one, const char *tag)
{
    const char *text = dit_json_text_or(one->tags, tag, NULL);
    return text ? text : "";
}

static dit_status take_cases(suite_point *out)
{
    out->cases = calloc((size_t)out->workload.case_count + 1, sizeof *out->cases);
    if (!out->cases) return fail_memory();
    for (int i = 0; i < out->workload.case_count; i++) {
        suite_case *one = &out->workload.cases[i];
        out->cases[out->case_count++] =
            (suite_point_case){out->published, out->platform, out->profile, tag_of(one, "mesh"), one, out->ask};
    }
    return DIT_OK;
}

static void skip_dropped(suite_point *out)
{
    const suite_dropped *dropped = out->workload.dropped;
    bool unbuilt = dropped->code == DIT_ERR_UNSUPPORTED;
    skip(out, unbuilt ? SUITE_SKIP_MODEL_NOT_BUILT : SUITE_SKIP_NOT_LEGAL, "%s: %.300s", dit_status_name(dropped->code),
         dropped->reason);
}

/* A value that no workload may have is the point's fault: the model's file was read before. */
static dit_status skip_refused(dit_status st, suite_point *out)
{
    out->workload = (suite_workload){0};
    if (st == DIT_ERR_MEMORY || st == DIT_ERR_IO || st == DIT_ERR_ENVIRONMENT) return st;
    skip(out, SUITE_SKIP_NOT_LEGAL, "%s: %.300s", dit_status_name(st), dit_error_last()->message);
    dit_error_clear();
    return DIT_OK;
}

/* "u4 r2 zigzag packed": what makes a difference on this mesh. */
static void write_layer_method(suite_point *out)
{
    const suite_case *one = out->cases[0].kase;
    bool ring = out->parallel.degree[DIT_AXIS_RING] > 1, packed = strcmp(tag_of(one, "packed"), "on") == 0;
    snprintf(out->method, sizeof out->method, "%.33s%s%.12s%s", tag_of(one, "mesh"), ring ? " " : "",
             ring ? tag_of(one, "layout") : "", packed ? " packed" : "");
}

static dit_status make_cases(bool video, suite_point *out)
{
    dit_status st = expand(out, video, &out->workload);
    if (st != DIT_OK) return skip_refused(st, out);
    st = take_cases(out);
    if (st == DIT_OK && out->case_count == 0) skip_dropped(out);
    if (st == DIT_OK && out->case_count && out->is_layer && !out->search) write_layer_method(out);
    return st;
}

/* ---- understanding ----------------------------------------------------------------------------------------------- */

/* Says so where the printed time has a decode and the prediction will not. */
static dit_status look_at_decode(suite_point *out)
{
    suite_model model;
    suite_vae vae = {0};
    bool decodes = false;
    if (!is_latency(out) || strcmp(out->habits.scope, "pipeline") != 0) return DIT_OK;
    DIT_TRY(suite_model_load(out->model, &model));
    dit_status st = model.vae ? suite_vae_load(model.vae, &vae) : DIT_OK;
    if (st == DIT_OK && model.vae) st = suite_profile_decodes(out->profile, &vae, &decodes);
    out->no_decode = !decodes;
    suite_vae_release(&vae);
    suite_model_release(&model);
    return st;
}

/* Whether the model makes clips, and can be run at all; the rest of its file is read again by the expansion. */
static dit_status look_at_model(suite_point *out, bool *video, bool *built)
{
    suite_model model;
    DIT_TRY(suite_model_load(out->model, &model));
    *video = model.video;
    *built = model.config && model.scheduler;
    out->is_joint = strcmp(dit_json_text_or(model.text, "injection", ""), "joint") == 0;
    suite_model_release(&model);
    return DIT_OK;
}

static dit_status look_at_machine(suite_point *out)
{
    suite_cluster cluster;
    if (out->published->gpus <= 1) return DIT_OK;
    DIT_TRY(suite_cluster_load(out->platform, &cluster));
    out->several_nodes = out->published->gpus > cluster.devices;
    suite_cluster_release(&cluster);
    return DIT_OK;
}

static dit_status finish(bool video, suite_point *out)
{
    dit_status st = look_at_machine(out);
    if (st == DIT_OK) st = make_cases(video, out);
    if (st != DIT_OK) suite_point_release(out);
    return st;
}

static dit_status understand_layer(const suite_published_names *names, const suite_published_point *published,
                                   const char *profile, suite_point *out)
{
    suite_published_method method;
    suite_published_method_read(names, published->method, &method);
    if (!check_rate(published, out) || !check_method(published, &method, out) ||
        !check_layer(published, &method, out) || !check_platform(names, published, out) ||
        !check_profile(names, published, profile, out) || !check_degrees(names, published, &method, out))
        return DIT_OK;
    return finish(false, out);
}

dit_status suite_point_understand(const suite_published_names *names, const suite_published_point *published,
                                  const char *profile, suite_point *out)
{
    suite_published_method method;
    bool video, built;
    *out = (suite_point){.published = published, .loops = 1};
    out->is_layer = suite_published_layer(names, published->model, &out->is_causal);
    if (out->is_layer) return understand_layer(names, published, profile, out);
    suite_published_habits_of(names, published, &out->habits);
    suite_published_method_read(names, published->method, &method);
    if (!check_metric(published, out) || !check_method(published, &method, out) || !check_model(names, published, out))
        return DIT_OK;
    DIT_TRY(look_at_model(out, &video, &built));
    if (!built && !skip(out, SUITE_SKIP_MODEL_NOT_BUILT, "%s: architecture facts only", out->model)) return DIT_OK;
    if (!check_size(published, video, out) || !check_platform(names, published, out) ||
        !check_profile(names, published, profile, out) || !check_degrees(names, published, &method, out))
        return DIT_OK;
    DIT_TRY(look_at_decode(out));
    return finish(video, out);
}

void suite_point_release(suite_point *point)
{
    free(point->cases);
    suite_workload_release(&point->workload);
    *point = (suite_point){0};
}

const char *suite_point_mesh(const suite_point *point)
{
    return point->case_count == 1 ? point->cases[0].mesh : "";
}

/* ---- predicting -------------------------------------------------------------------------------------------------- */

/* "layer:32x128 S8192 causal, u4 r2 zigzag packed on 8 of 8xA100-SXM4-80GB" */
static void write_layer_label(const suite_point *point, suite_point_result *out)
{
    const suite_published_point *published = point->published;
    const char *model = point->case_count ? tag_of(point->cases[0].kase, "model") : "layer";
    snprintf(out->label, sizeof out->label, "%.60s S%lld%s, %.60s on %d of %.60s", model, (long long)published->seq_len,
             point->is_causal ? " causal" : "", point->method[0] ? point->method : published->method,
             (int)published->gpus, published->hardware);
}

static void write_label(const suite_point *point, suite_point_result *out)
{
    const suite_published_point *published = point->published;
    if (point->is_layer) {
        write_layer_label(point, out);
        return;
    }
    const char *model = point->model ? point->model : published->model;
    char clip[32] = "";
    if (published->frames) snprintf(clip, sizeof clip, "x%d", (int)published->frames);
    snprintf(out->label, sizeof out->label, "%.60s %.20s%s, %.40s on %d of %.40s", model,
             published->resolution[0] ? published->resolution : "?", clip,
             point->method[0] ? point->method : published->method, (int)published->gpus, published->hardware);
}

/* Points with one panel differ in method alone, as far as their source says. Layers whose q, k and v travel packed were
 * timed by another program than those whose do not, and the two are not compared. */
static void write_panel(const suite_point *point, suite_point_result *out)
{
    const suite_published_point *published = point->published;
    if (point->is_layer) {
        snprintf(out->panel, sizeof out->panel, "%.60s|%d|%d|%d|%.60s|%.60s|%.30s|%.30s|%s",
                 tag_of(point->cases[0].kase, "model"), (int)published->seq_len, (int)published->batch,
                 (int)published->gpus, published->hardware, published->interconnect, published->metric, point->profile,
                 point->packed ? "packed" : "apart");
        return;
    }
    snprintf(out->panel, sizeof out->panel, "%.60s|%.20s|%d|%d|%d|%d|%.60s|%.60s|%.30s|%.30s", point->model,
             published->resolution, (int)published->frames, (int)published->steps, (int)published->batch,
             (int)published->gpus, published->hardware, published->interconnect, published->metric, point->profile);
}

bool suite_point_is_countable(const suite_point *point)
{
    return !point->skip && point->ask != SUITE_ASK_MEMORY_BYTES && point->published->has_value &&
           suite_published_counts(point->published);
}

static suite_point_result result_of(const suite_point *point)
{
    const suite_published_point *published = point->published;
    suite_point_result result = {.index = published->index,
                                 .skip = point->skip,
                                 .is_memory = point->ask == SUITE_ASK_MEMORY_BYTES,
                                 .no_decode = point->no_decode && point->ask == SUITE_ASK_SECONDS,
                                 .doubtful = strcmp(published->status, SUITE_PUBLISHED_DOUBTFUL) == 0,
                                 .repeated = strcmp(published->status, SUITE_PUBLISHED_REPEATED) == 0,
                                 .has_published = published->has_value,
                                 .published = published->value,
                                 .rounding = published->rounding};
    snprintf(result.detail, sizeof result.detail, "%s", point->detail);
    snprintf(result.method, sizeof result.method, "%s", point->method);
    snprintf(result.mesh, sizeof result.mesh, "%s", suite_point_mesh(point));
    if (!point->skip) snprintf(result.profile, sizeof result.profile, "%s", point->profile);
    write_label(point, &result);
    suite_text_clean(result.label);
    suite_text_clean(result.detail);
    if (!point->skip) write_panel(point, &result);
    return result;
}

static bool ends_everything(dit_status st)
{
    return st == DIT_ERR_INTERRUPTED || st == DIT_ERR_ENVIRONMENT || st == DIT_ERR_IO;
}

/* Asks about one case; the result keeps the least time, or why there is none. */
static dit_status predict_case(const suite_point *point, int index, suite_predictor predict, void *context,
                               suite_point_result *out)
{
    const suite_point_case *one = &point->cases[index];
    double seconds = 0;
    dit_status st = predict(one, &seconds, context);
    if (ends_everything(st)) return st;
    if (st == DIT_OK && !(isfinite(seconds) && seconds > 0))
        st = DIT_FAIL(DIT_ERR_NONFINITE, "%g s is no time", seconds);
    if (st != DIT_OK && out->predicted == 0)
        snprintf(out->detail, sizeof out->detail, "%s: %s: %.280s", one->mesh, dit_status_name(st),
                 dit_error_last()->message);
    if (st != DIT_OK) {
        dit_error_clear();
        return DIT_OK;
    }
    seconds /= point->loops;
    if (out->predicted > 0 && out->predicted <= seconds) return DIT_OK;
    out->predicted = seconds;
    snprintf(out->mesh, sizeof out->mesh, "%s", one->mesh);
    return DIT_OK;
}

dit_status suite_point_predict(const suite_point *point, suite_predictor predict, void *context,
                               suite_point_result *out)
{
    *out = result_of(point);
    out->is_rate = point->is_layer;
    if (point->skip || !predict) return DIT_OK;
    for (int i = 0; i < point->case_count; i++) DIT_TRY(predict_case(point, i, predict, context, out));
    if (out->predicted > 0 && point->is_layer) out->predicted = 1 / out->predicted; /* forwards a second */
    if (out->predicted > 0)
        out->detail[0] = '\0';
    else
        out->skip = SUITE_SKIP_PREDICTION;
    return DIT_OK;
}

/* ---- the fit ----------------------------------------------------------------------------------------------------- */

bool suite_point_in_fit(const suite_point *point, const suite_calibration *calibration)
{
    for (int i = 0; i < point->case_count; i++) {
        const suite_point_case *one = &point->cases[i];
        if (suite_calibration_has(calibration, one->kase->case_id, one->platform, one->profile)) return true;
    }
    return false;
}

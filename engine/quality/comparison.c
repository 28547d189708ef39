#include "engine/quality/comparison.h"

#include "base/json_writer.h"
#include "engine/quality/accuracy.h"
#include "base/bootstrap.h"
#include "engine/quality/frechet.h"
#include "engine/quality/kernel_distance.h"
#include "engine/quality/spread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double low_share = 0.05; /* of the 5th percentile */

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static dit_status take_features(const dit_features *network, dit_judged_set *s)
{
    const dit_picture_set *p = &s->pictures;
    int64_t width = dit_features_width(network), frames = p->size.frames;
    float *all = malloc((size_t)(frames * width) * sizeof *all);
    dit_status st = all ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for features");
    for (int i = 0; i < p->count && st == DIT_OK; i++) {
        for (int64_t t = 0; t < frames && st == DIT_OK; t++)
            st = dit_features_of(network, dit_picture_set_at(p, i), p->size, t, all + t * width);
        for (int64_t k = 0; k < width && st == DIT_OK; k++) {
            double sum = 0;
            for (int64_t t = 0; t < frames; t++) sum += all[t * width + k];
            s->features[i * width + k] = (float)(sum / (double)frames);
            if (!s->motion) continue;
            s->motion[2 * i * width + k] = s->features[i * width + k];
            s->motion[(2 * i + 1) * width + k] = all[(frames - 1) * width + k] - all[k];
        }
    }
    free(all);
    return st;
}

static dit_status add_features(const dit_features *network, dit_judged_set *s)
{
    s->width = dit_features_width(network);
    size_t floats = (size_t)(s->pictures.count * s->width);
    s->features = malloc(floats * sizeof *s->features);
    if (s->pictures.size.frames > 1) s->motion = malloc(2 * floats * sizeof *s->motion);
    if (!s->features || (s->pictures.size.frames > 1 && !s->motion))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the features of %d pictures", s->pictures.count);
    dit_status st = take_features(network, s);
    if (st == DIT_OK || st == DIT_ERR_MEMORY) return st;
    snprintf(s->reason, sizeof s->reason, "%s", dit_error_last()->message);
    dit_error_clear();
    free(s->features);
    free(s->motion);
    s->features = s->motion = NULL;
    return DIT_OK;
}

static dit_status read_set(const char *path, bool prompt_each, const dit_features *network, dit_judged_set *s)
{
    DIT_TRY(dit_picture_set_read(path, prompt_each, &s->pictures));
    s->prompt = malloc((size_t)s->pictures.count * sizeof *s->prompt);
    if (!s->prompt) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d pictures", s->pictures.count);
    for (int i = 0; i < s->pictures.count; i++) s->prompt[i] = s->pictures.labels[i].prompt;
    if (network) return add_features(network, s);
    snprintf(s->reason, sizeof s->reason, "no features network was given");
    return DIT_OK;
}

dit_status dit_judged_set_read(const char *path, bool prompt_each, const dit_features *network, dit_judged_set *out)
{
    *out = (dit_judged_set){0};
    dit_status st = read_set(path, prompt_each, network, out);
    if (st != DIT_OK) dit_judged_set_release(out);
    return st;
}

void dit_judged_set_release(dit_judged_set *set)
{
    dit_picture_set_release(&set->pictures);
    free(set->prompt);
    free(set->features);
    free(set->motion);
    free(set->psnr);
    free(set->ssim);
    *set = (dit_judged_set){0};
}

static void put_share(dit_json_writer *w, cJSON *out, const char *key, int64_t right, int64_t asked)
{
    double low, high;
    if (!asked) return;
    dit_accuracy_bounds(right, asked, &low, &high);
    cJSON *object = dit_json_put_object(w, out, key);
    dit_json_put_number(w, object, "value", (double)right / (double)asked);
    dit_json_put_number(w, object, "low", low);
    dit_json_put_number(w, object, "high", high);
    dit_json_put_int(w, object, "asked", asked);
}

static void put_shares(dit_json_writer *w, cJSON *object, const dit_reading_tally *tally)
{
    put_share(w, object, "all", tally->whole, tally->captions);
    for (int a = 0; a < DIT_ATTRIBUTES; a++)
        put_share(w, object, dit_attribute_name((dit_attribute)a), tally->right[a], tally->asked[a]);
}

/* Puts "accuracy" where captions are known: of whole captions, and of each attribute; and "accuracy_shuffled", what
 * chance gives. */
static void put_accuracy(dit_json_writer *w, cJSON *out, const dit_picture_set *pictures)
{
    dit_reading_tally tally, shuffled;
    bool known = false;
    for (int i = 0; i < pictures->count; i++) known |= pictures->labels[i].caption[0] != 0;
    if (!known) return;
    cJSON *object = dit_json_put_object(w, out, "accuracy");
    if (dit_accuracy_count(pictures, &tally, &shuffled) != DIT_OK) {
        dit_json_put_string(w, object, "reason", dit_error_last()->message);
        dit_error_clear();
        return;
    }
    put_shares(w, object, &tally);
    if (shuffled.captions) put_shares(w, dit_json_put_object(w, out, "accuracy_shuffled"), &shuffled);
}

dit_status dit_judged_set_describe(const dit_judged_set *set, cJSON *out)
{
    dit_json_writer w = {0};
    const dit_picture_set *p = &set->pictures;
    dit_json_put_int(&w, out, "pictures", p->count);
    dit_json_put_int(&w, out, "prompts", p->prompts);
    cJSON *size = dit_json_put_object(&w, out, "size");
    dit_json_put_int(&w, size, "width_px", p->size.width);
    dit_json_put_int(&w, size, "height_px", p->size.height);
    dit_json_put_int(&w, size, "num_frames", p->size.frames);
    dit_json_put_bool(&w, out, "rounded", p->rounded);
    dit_json_put_string(&w, out, "digest", p->digest);
    put_accuracy(&w, out, p);
    return w.status;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static void put_reason(dit_json_writer *w, cJSON *out, const char *key, const char *reason)
{
    cJSON *object = dit_json_put_object(w, out, key);
    dit_json_put_string(w, object, "reason", reason);
}

/* Puts what a failed measure said; a lack of memory fails the document. */
static void put_failure(dit_json_writer *w, cJSON *out, const char *key, dit_status st)
{
    if (st == DIT_ERR_MEMORY) {
        dit_json_put_status(w, st);
        return;
    }
    put_reason(w, out, key, dit_error_last()->message);
    dit_error_clear();
}

static void put_bounds(dit_json_writer *w, cJSON *object, const char *value_key, dit_interval interval)
{
    dit_json_put_number(w, object, value_key, interval.value);
    if (!interval.bounded) return;
    dit_json_put_number(w, object, "low", interval.low);
    dit_json_put_number(w, object, "high", interval.high);
}

static void put_interval(dit_json_writer *w, cJSON *out, const char *key, dit_status st, const char *value_key,
                         dit_interval interval)
{
    if (st != DIT_OK) {
        put_failure(w, out, key, st);
        return;
    }
    put_bounds(w, dit_json_put_object(w, out, key), value_key, interval);
}

/* ---- fidelity ---------------------------------------------------------------------------------------------------- */

typedef dit_status (*pair_measure)(const float *a, const float *b, dit_picture_size size, double *out);

static dit_grouped grouped(const dit_judged_set *set, const double *values)
{
    return (dit_grouped){values, set->prompt, set->pictures.count, set->pictures.prompts};
}

/* Fills values[count], the measure of every pair. */
static dit_status measure_pairs(const dit_judged_set *set, const dit_judged_set *reference, pair_measure measure,
                                double *values)
{
    DIT_TRY(dit_picture_set_pairs(&set->pictures, &reference->pictures));
    for (int i = 0; i < set->pictures.count; i++) {
        dit_status st = measure(dit_picture_set_at(&set->pictures, i), dit_picture_set_at(&reference->pictures, i),
                                set->pictures.size, &values[i]);
        if (st != DIT_OK) return dit_error_note(st, "picture %s", set->pictures.labels[i].name);
    }
    return DIT_OK;
}

static double least_of(const double *values, int count)
{
    double least = values[0];
    for (int i = 1; i < count; i++) least = fmin(least, values[i]);
    return least;
}

/* Puts mean and 5th percentile with intervals, and the least. Keeps the values in *kept. */
static dit_status put_pairs(dit_json_writer *w, cJSON *out, const char *key, const dit_judged_set *set,
                            const dit_judged_set *reference, pair_measure measure, double **kept)
{
    dit_interval mean, low;
    free(*kept);
    *kept = malloc((size_t)set->pictures.count * sizeof **kept);
    if (!*kept) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d values", set->pictures.count);
    const dit_grouped sample = grouped(set, *kept);
    dit_status st = measure_pairs(set, reference, measure, *kept);
    if (st == DIT_OK) st = dit_bootstrap_mean(&sample, &mean);
    if (st == DIT_OK) st = dit_bootstrap_percentile(&sample, low_share, &low);
    if (st != DIT_OK) {
        free(*kept);
        *kept = NULL;
        put_failure(w, out, key, st);
        return DIT_OK;
    }
    cJSON *object = dit_json_put_object(w, out, key);
    put_bounds(w, object, "mean", mean);
    put_bounds(w, dit_json_put_object(w, object, "p05"), "value", low);
    dit_json_put_number(w, object, "min", least_of(sample.values, sample.count));
    return DIT_OK;
}

/* ---- sets against sets ------------------------------------------------------------------------------------------- */

static dit_feature_rows rows_of(const dit_judged_set *set)
{
    return (dit_feature_rows){set->features, set->pictures.count, set->width};
}

static dit_feature_rows motion_of(const dit_judged_set *set)
{
    return (dit_feature_rows){set->motion, set->pictures.count, 2 * set->width};
}

/* Puts the distance, the number of pictures it hangs on, and the spread over blocks where they are large enough. */
static void put_frechet(dit_json_writer *w, cJSON *out, const char *key, dit_feature_rows a, dit_feature_rows b)
{
    double distance;
    dit_frechet_spread blocks;
    if (a.count != b.count) {
        char reason[160];
        snprintf(reason, sizeof reason,
                 "%lld and %lld pictures: the bias depends on the number, so only equal ones are "
                 "compared",
                 (long long)a.count, (long long)b.count);
        put_reason(w, out, key, reason);
        return;
    }
    dit_status st = dit_frechet(a, b, &distance);
    if (st != DIT_OK) {
        put_failure(w, out, key, st);
        return;
    }
    cJSON *object = dit_json_put_object(w, out, key);
    dit_json_put_number(w, object, "value", distance);
    dit_json_put_int(w, object, "pictures", a.count);
    st = dit_frechet_blocks(a, b, &blocks);
    if (st == DIT_OK) {
        cJSON *spread = dit_json_put_object(w, object, "blocks");
        dit_json_put_number(w, spread, "mean", blocks.mean);
        dit_json_put_number(w, spread, "deviation", blocks.deviation);
        dit_json_put_int(w, spread, "pictures", blocks.rows);
    } else if (st == DIT_ERR_MEMORY) {
        dit_json_put_status(w, st);
    } else {
        dit_error_clear();
    }
}

static void put_infinity(dit_json_writer *w, cJSON *out, dit_feature_rows a, dit_feature_rows b)
{
    double distance;
    dit_status st = dit_frechet_infinity(a, b, &distance);
    if (st != DIT_OK)
        put_failure(w, out, "fd_inf", st);
    else
        dit_json_put_number(w, dit_json_put_object(w, out, "fd_inf"), "value", distance);
}

/* Checks that pictures have the same names, and prompts the same numbers, in both sets. Names alone do not say so: a
 * record tells a caption, and another caption is another prompt. */
static dit_status check_prompts(const dit_judged_set *a, const dit_judged_set *b)
{
    DIT_TRY(dit_picture_set_pairs(&a->pictures, &b->pictures));
    for (int i = 0; i < a->pictures.count; i++)
        if (a->prompt[i] != b->prompt[i])
            return DIT_FAIL(DIT_ERR_SHAPE,
                            "the pictures of the sets have other prompts: %s is of prompt %d, and of %d in the "
                            "reference; give both their records, or neither",
                            a->pictures.labels[i].name, a->prompt[i] + 1, b->prompt[i] + 1);
    return DIT_OK;
}

static void put_diversity(dit_json_writer *w, cJSON *out, const dit_judged_set *set, const dit_judged_set *reference)
{
    dit_interval ratio = {0};
    if (set->pictures.count == set->pictures.prompts) {
        put_reason(w, out, "diversity", "each prompt has one picture; variety is among several of a prompt");
        return;
    }
    dit_status st = check_prompts(set, reference);
    if (st == DIT_OK)
        st = dit_diversity(rows_of(set), set->prompt, rows_of(reference), reference->prompt, set->pictures.prompts,
                           &ratio);
    put_interval(w, out, "diversity", st, "ratio", ratio);
}

static void put_in_features(dit_json_writer *w, cJSON *out, const dit_judged_set *set, const dit_judged_set *reference)
{
    static const char *const keys[] = {"kid", "fd_shapes", "fd_inf", "diversity"};
    const char *reason = set->features ? reference->reason : set->reason;
    dit_interval kid = {0};
    if (!set->features || !reference->features) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) put_reason(w, out, keys[i], reason);
        if (set->pictures.size.frames > 1) put_reason(w, out, "fd_motion", reason);
        return;
    }
    dit_status st =
        dit_kernel_distance_interval(rows_of(set), set->prompt, rows_of(reference), reference->prompt, &kid);
    put_interval(w, out, "kid", st, "value", kid);
    put_frechet(w, out, "fd_shapes", rows_of(set), rows_of(reference));
    put_infinity(w, out, rows_of(set), rows_of(reference));
    put_diversity(w, out, set, reference);
    if (set->motion && reference->motion)
        put_frechet(w, out, "fd_motion", motion_of(set), motion_of(reference));
    else if (set->motion)
        put_reason(w, out, "fd_motion", "the reference has single pictures, in which nothing moves");
}

/* ---- change of frames -------------------------------------------------------------------------------------------- */

static dit_status measure_change(const dit_judged_set *set, double **out)
{
    *out = malloc((size_t)set->pictures.count * sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d values", set->pictures.count);
    for (int i = 0; i < set->pictures.count; i++)
        DIT_TRY(dit_frame_change(dit_picture_set_at(&set->pictures, i), set->pictures.size, &(*out)[i]));
    return DIT_OK;
}

static int index_of_caption(const dit_picture_set *set, const char *caption, const bool *taken)
{
    for (int i = 0; i < set->count; i++)
        if (!taken[i] && strcmp(set->labels[i].caption, caption) == 0) return i;
    return -1;
}

/* Finds for each picture the one of the reference that it is held against: that of its name, or, where the sets name theirs
 * otherwise, one of its caption. */
static dit_status find_partners(const dit_judged_set *set, const dit_judged_set *reference, int *partner)
{
    const dit_picture_size a = set->pictures.size, b = reference->pictures.size;
    dit_status st = check_prompts(set, reference);
    for (int i = 0; i < set->pictures.count; i++) partner[i] = i;
    if (st == DIT_OK || a.frames != b.frames || a.height != b.height || a.width != b.width) return st;
    bool *taken = calloc((size_t)reference->pictures.count, sizeof *taken);
    if (!taken) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d pictures", reference->pictures.count);
    bool found = true;
    for (int i = 0; i < set->pictures.count && found; i++) {
        const char *caption = set->pictures.labels[i].caption;
        int k = caption[0] ? index_of_caption(&reference->pictures, caption, taken) : -1;
        found = k >= 0;
        if (found) taken[k] = true, partner[i] = k;
    }
    free(taken);
    if (found) dit_error_clear();
    return found ? DIT_OK : st;
}

static dit_status compare_change(const dit_judged_set *set, const dit_judged_set *reference, dit_interval *ratio)
{
    int count = set->pictures.count;
    double *above = NULL, *below = NULL, *paired = malloc((size_t)count * sizeof *paired);
    int *partner = malloc((size_t)count * sizeof *partner);
    dit_status st = paired && partner ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d pictures", count);
    if (st == DIT_OK) st = find_partners(set, reference, partner);
    if (st == DIT_OK) st = measure_change(set, &above);
    if (st == DIT_OK) st = measure_change(reference, &below);
    if (st == DIT_OK) {
        for (int i = 0; i < count; i++) paired[i] = below[partner[i]];
        const dit_grouped a = grouped(set, above), b = grouped(set, paired);
        st = dit_ratio_of_means(&a, &b, ratio);
    }
    free(above);
    free(below);
    free(paired);
    free(partner);
    return st;
}

static void put_change(dit_json_writer *w, cJSON *out, const dit_judged_set *set, const dit_judged_set *reference)
{
    dit_interval ratio = {0};
    if (set->pictures.size.frames == 1) return;
    put_interval(w, out, "change", compare_change(set, reference, &ratio), "ratio", ratio);
}

dit_status dit_judged_set_pairs(dit_judged_set *set, const dit_judged_set *reference, cJSON *out)
{
    dit_json_writer w = {0};
    dit_json_put_status(&w, put_pairs(&w, out, "psnr_db", set, reference, dit_psnr, &set->psnr));
    dit_json_put_status(&w, put_pairs(&w, out, "ssim", set, reference, dit_ssim, &set->ssim));
    return w.status;
}

dit_status dit_judged_set_whole(const dit_judged_set *set, const dit_judged_set *reference, cJSON *out)
{
    dit_json_writer w = {0};
    put_in_features(&w, out, set, reference);
    put_change(&w, out, set, reference);
    return w.status;
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

dit_status dit_judged_set_difference(const dit_judged_set *set, const dit_judged_set *other, cJSON *out)
{
    const struct {
        const char *key;
        const double *own, *others;
    } measures[] = {{"psnr_db", set->psnr, other->psnr}, {"ssim", set->ssim, other->ssim}};
    dit_json_writer w = {0};
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        dit_interval difference = {0};
        if (!measures[i].own || !measures[i].others) {
            put_reason(&w, out, measures[i].key, "one of the sets could not be compared with the reference");
            continue;
        }
        const dit_grouped sample = grouped(set, measures[i].own);
        dit_status st = dit_bootstrap_paired(&sample, measures[i].others, &difference);
        put_interval(&w, out, measures[i].key, st, "mean", difference);
    }
    return w.status;
}

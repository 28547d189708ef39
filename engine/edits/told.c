#include "engine/edits/told.h"

#include "engine/quality/accuracy.h"
#include "engine/shapes/edit.h"

#include <math.h>

void dit_edits_put_run(dit_json_writer *w, const dit_edit_plan *plan, const dit_facts *facts, const dit_edit_log *log,
                       cJSON *record)
{
    char label[64];
    cJSON *edit = dit_json_put_object(w, record, "edit");
    dit_edit_plan_label(plan, label, sizeof label);
    dit_json_put_string(w, edit, "label", label);
    dit_edit_plan_to_json(w, plan, dit_json_put_object(w, edit, "settings"));
    dit_json_put_bool(w, edit, "dense", log->dense);
    dit_json_put_int(w, edit, "first_row", log->rows.first);
    dit_json_put_int(w, edit, "rows", log->rows.count);
    dit_json_put_int(w, edit, "changed_tokens", log->changed);
    dit_json_put_number(w, edit, "computed_share", log->computed);
    dit_json_put_int(w, edit, "kept_differ", log->differs);
    dit_json_put_int(w, edit, "kept_bytes", dit_edit_plan_kept_bytes(facts));
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Puts how often the rule finds the word that the edit brought, where its object lies. */
static dit_status put_word(dit_json_writer *w, const dit_edited *edited, cJSON *edits)
{
    const dit_picture_set *pictures = &edited->own->pictures;
    int64_t right = 0, asked = pictures->count;
    double low, high;
    for (int64_t i = 0; i < asked; i++) {
        dit_edit edit;
        bool found;
        dit_edit_draw(edited->split, (uint64_t)i, &edit);
        const int *is = edit.after.objects[edit.object].is;
        DIT_TRY(dit_accuracy_finds(pictures, dit_picture_set_numbered(pictures, i), is[DIT_PLACE], edit.attribute,
                                   is[edit.attribute], &found));
        right += found;
    }
    cJSON *word = dit_json_put_object(w, edits, "word");
    dit_accuracy_bounds(right, asked, &low, &high);
    dit_json_put_number(w, word, "value", (double)right / (double)asked);
    dit_json_put_number(w, word, "low", low);
    dit_json_put_number(w, word, "high", high);
    dit_json_put_int(w, word, "asked", asked);
    return w->status;
}

static void put_shares(dit_json_writer *w, const dit_edited *edited, cJSON *edits)
{
    const dit_edit_log *logs = edited->logs;
    int64_t batches = edited->batches, dense = 0, differ = 0;
    int64_t tokens = edited->facts->image_tokens * edited->facts->num_images;
    double computed = 0, changed = 0, least = 1, most = 0;
    for (int64_t i = 0; i < batches; i++) {
        computed += logs[i].computed / (double)batches;
        changed += (double)logs[i].changed / (double)(tokens * batches);
        least = fmin(least, logs[i].computed), most = fmax(most, logs[i].computed);
        dense += logs[i].dense, differ += logs[i].differs;
    }
    cJSON *share = dit_json_put_object(w, edits, "computed_share");
    dit_json_put_number(w, share, "mean", computed);
    dit_json_put_number(w, share, "least", least);
    dit_json_put_number(w, share, "most", most);
    dit_json_put_number(w, edits, "changed_share", changed);
    dit_json_put_int(w, edits, "dense", dense);
    dit_json_put_int(w, edits, "kept_differ", differ);
}

/* Adds up squared differences of a picture's colours inside and outside the region, and counts colours. */
static void add_squares(const float *a, const float *b, const uint8_t *region, double sum[2], int64_t count[2])
{
    for (int i = 0; i < 3 * DIT_PICTURE_PLANE; i++) {
        bool inside = region[i % DIT_PICTURE_PLANE];
        double difference = (double)a[i] - (double)b[i];
        sum[inside] += difference * difference;
        count[inside]++;
    }
}

static double psnr_of(double sum, int64_t count)
{
    static const double most = 100; /* as dit_psnr has it */
    return sum > 0 ? fmin(most, 10 * log10((double)count / sum)) : most;
}

/* Puts means over pictures of the distance to those that were drawn from nothing. */
static dit_status put_regions(dit_json_writer *w, const dit_edited *edited, cJSON *edits)
{
    const dit_picture_set *pictures = &edited->own->pictures, *from_nothing = &edited->reference->pictures;
    double psnr[2] = {0};
    int64_t having[2] = {0};
    DIT_TRY(dit_picture_set_pairs(pictures, from_nothing));
    for (int64_t i = 0; i < pictures->count; i++) {
        int at = dit_picture_set_numbered(pictures, i);
        uint8_t region[DIT_PICTURE_PLANE];
        double sum[2] = {0};
        int64_t count[2] = {0};
        dit_edit edit;
        dit_edit_draw(edited->split, (uint64_t)i, &edit);
        dit_edit_region(&edit, edited->split, (uint64_t)i, region);
        add_squares(dit_picture_set_at(pictures, at), dit_picture_set_at(from_nothing, at), region, sum, count);
        for (int inside = 0; inside < 2; inside++) {
            if (!count[inside]) continue;
            psnr[inside] += psnr_of(sum[inside], count[inside]);
            having[inside]++;
        }
    }
    static const char *const keys[] = {"outside_psnr_db", "inside_psnr_db"};
    for (int inside = 0; inside < 2; inside++)
        if (having[inside]) dit_json_put_number(w, edits, keys[inside], psnr[inside] / (double)having[inside]);
    return w->status;
}

dit_status dit_edits_put_pictures(dit_json_writer *w, const dit_edited *edited, cJSON *quality)
{
    cJSON *edits = dit_json_put_object(w, quality, "edits");
    DIT_TRY(put_word(w, edited, edits));
    if (!edited->logs) return w->status;
    put_shares(w, edited, edits);
    return edited->reference ? put_regions(w, edited, edits) : w->status;
}

/* Contact sheet: the first pictures of each case, so that a person sees them, beside those of the reference. */
#include "reports/figures/figure.h"

#include <stdio.h>

static void measure_contact(const report_case *kase, report_bar *out)
{
    const cJSON *row;
    int right = 0;
    if (!kase->shown.rows) {
        snprintf(out->reason, sizeof out->reason, "the case made no pictures of captions");
        return;
    }
    cJSON_ArrayForEach(row, kase->shown.rows)
    {
        const cJSON *read = cJSON_GetObjectItemCaseSensitive(row, "read");
        const cJSON *wrong = cJSON_GetObjectItemCaseSensitive(row, "wrong");
        right += read && cJSON_GetArraySize(wrong) == 0;
    }
    out->n = 1;
    out->part[0] = right;
}

const report_figure_kind report_figure_contact = {
    .kind = "contact",
    .defaults =
        {.id = "contact", .title = "Pictures", .where = "", .x = "cache, steps", .series = "method", .panel = "model"},
    .drawing = REPORT_DRAW_CONTACT,
    .unit = REPORT_UNIT_COUNT,
    .y_label = "pictures whose words are all right, of those that the record tells",
    .reading =
        "A row for each caption, a column for each case; the first column is what the others are compared with. Under "
        "each picture stand its PSNR to that one and the words that an exact rule reads in it; [words in "
        "brackets] are not the caption's. Clips show four frames, from the first to the last. A few pictures show what "
        "numbers mean, and prove nothing.",
    .on_request = true,
    .measure = measure_contact,
};

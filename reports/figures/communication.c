/* Bytes one rank sends in one iteration, stacked by what they are for, with the closed form as a marker. */
#include "reports/figures/figure.h"

#include <stdio.h>
#include <string.h>

static const char *const communication_parts[] = {
    "ulysses", "ring", "cfg", "pipefusion", "patch", "tensor", "data", "gather of latents", "other", NULL};

enum { COMMUNICATION_GATHER = DIT_AXIS_COUNT }; /* behind the axes */
_Static_assert(sizeof communication_parts / sizeof *communication_parts == DIT_AXIS_COUNT + 3, "a part for each axis");

static int part_of(const report_traffic *traffic)
{
    int part = 0;
    if (strcmp(traffic->phase, "gather") == 0) return COMMUNICATION_GATHER;
    while (part < COMMUNICATION_GATHER && strcmp(communication_parts[part], traffic->axis) != 0) part++;
    return part < COMMUNICATION_GATHER ? part : COMMUNICATION_GATHER + 1;
}

static void measure_communication(const report_case *kase, report_bar *out)
{
    out->n = kase->metric[REPORT_COMMUNICATION_BYTES].n;
    for (int i = 0; i < kase->traffic_count; i++) {
        out->part[part_of(&kase->traffic[i])] += kase->traffic[i].bytes;
        out->marker += kase->traffic[i].predicted_bytes;
    }
    out->has_marker = out->n > 0;
}

const report_figure_kind report_figure_communication = {
    .kind = "communication",
    .defaults = {.id = "communication",
                 .title = "Bytes sent: counted and predicted",
                 .where = "world_size > 1",
                 .x = "mesh",
                 .series = "",
                 .panel = "model, resolution"},
    .unit = REPORT_UNIT_BYTES,
    .y_label = "sent per rank",
    .parts = communication_parts,
    .marker = "predicted by the closed form",
    .reading =
        "Bars: bytes counted on the rank that sends most, one iteration. They must equal the prediction exactly.",
    .measure = measure_communication,
};

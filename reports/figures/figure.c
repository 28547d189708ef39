#include "reports/figures/figure.h"

#include "base/method.h"
#include "reports/draw/palette.h"

#include <stdio.h>
#include <string.h>

static const report_figure_kind *const kinds[] = {
#define KIND_ROW(name) &report_figure_##name,
    REPORT_FIGURE_KIND_LIST(KIND_ROW)
#undef KIND_ROW
        NULL,
};

const report_figure_kind *const *report_figure_kinds(void)
{
    return kinds;
}

const char *const *report_figure_kind_names(void)
{
    static const char *const names[] = {
#define KIND_NAME(name) #name,
        REPORT_FIGURE_KIND_LIST(KIND_NAME)
#undef KIND_NAME
            NULL,
    };
    return names;
}

const char *const *report_axis_names(void)
{
    static const char *const names[] = {"even", "linear", "log", NULL};
    return names;
}

const report_figure_kind *report_figure_kind_find(const char *kind)
{
    for (int i = 0; kinds[i]; i++) {
        if (strcmp(kinds[i]->kind, kind) == 0) return kinds[i];
    }
    return NULL;
}

const report_figure_kind *report_figure_kind_of(const report_figure_kind *kind, const char *y)
{
    const char *own = kind ? kind->defaults.y : NULL;
    if (!kind || !y || (own && strcmp(own, y) == 0)) return kind;
    for (int i = 0; kind->others && kind->others[i]; i++)
        if (strcmp(kind->others[i]->defaults.y, y) == 0) return kind->others[i];
    return NULL;
}

void report_measure_bar(const report_case *kase, report_metric metric, report_bar *out)
{
    const dit_summary *summary = &kase->metric[metric];
    out->n = summary->n;
    out->part[0] = summary->median;
    out->has_interval = summary->n > 1;
    out->low = summary->low;
    out->high = summary->high;
    out->low_n = summary->low_n;
}

void report_measure_point(const report_case *kase, report_metric metric, report_bar *out)
{
    report_measure_bar(kase, metric, out);
    if (!(out->low > 0)) out->n = 0;
}

void report_measure_probe(const report_case *kase, report_bar *out)
{
    if (kase->probe.path)
        report_measure_bar(kase, REPORT_CHANGE_K, out);
    else
        snprintf(out->reason, sizeof out->reason, "the case left no probe: set measure.probe");
}

void report_figure_files_release(report_figure_files *files)
{
    dit_buffer_release(&files->data);
    dit_buffer_release(&files->script);
    dit_buffer_release(&files->csv);
}

static const char *report_tag_title(const char *tag)
{
    static const char *const titles[][2] = {
        {"world_size", "ranks"},
        {"mesh", "parallel configuration"},
        {"num_layers", "layers"},
        {"height_px", "height [px]"},
        {"width_px", "width [px]"},
        {"image_tokens", "image tokens"},
        {"text_tokens", "text tokens"},
        {"threads_per_rank", "threads per rank"},
        {"steps", "denoising steps"},
        {"num_inference_steps", "denoising steps"},
        {"num_frames", "frames"},
        {"num_images", "images"},
        {"warmup_steps", "synchronous first steps"},
        {"text_encoder_parallel", "text encoders"},
        {"num_pipeline_patch", "bands"},
        {"patch_fraction", "fraction of a neighbour's rows"},
        {"halo_frames", "frames of each neighbour"},
        {"block_frames", "frames of a block"},
        {"context_frames", "frames of blocks beside it"},
        {"global_frames", "frames that all ranks see"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (strcmp(titles[i][0], tag) == 0) return titles[i][1];
    }
    return tag;
}

const char *report_grid_tag_title(const report_grid *grid, const char *tag)
{
    return grid->devices && strcmp(tag, "world_size") == 0 ? "GPUs" : report_tag_title(tag);
}

const char *report_colour_known(const char *name)
{
    static const struct {
        const char *name;
        int colour;
    } known[] = {
        {"patch", PALETTE_WINE},
        {"compute", PALETTE_BLUE},
        {"exposed communication", PALETTE_VERMILLION},
        {"other", PALETTE_GREY},
        {"weights", PALETTE_BLUE},
        {"state", PALETTE_GREEN},
        {"activations", PALETTE_ORANGE},
        {"communication buffers", PALETTE_VERMILLION},
        {"gather of latents", PALETTE_GREY},
        {"hybrid", PALETTE_INK},
        {"tokenizers", PALETTE_GREEN},
        {"files", PALETTE_GREY},
        {"text encoders", PALETTE_SKY},
        {"denoising", PALETTE_BLUE},
        {"VAE decode", PALETTE_ORANGE},
        {"decoding", PALETTE_PURPLE},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) return palette_get(known[i].colour)->light;
    }
    const dit_method_row *method = dit_method_row_find(name);
    return method && method->colour ? palette_named(method->colour)->light : NULL;
}

const char *report_colour_at(int position)
{
    static const int palette[] = {PALETTE_BLUE, PALETTE_ORANGE, PALETTE_GREEN, PALETTE_VERMILLION,
                                  PALETTE_SKY,  PALETTE_PURPLE, PALETTE_BROWN, PALETTE_GREY};
    return palette_get(palette[(unsigned)position % (sizeof palette / sizeof palette[0])])->light;
}

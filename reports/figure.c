#include "reports/figure.h"

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

const report_figure_kind *report_figure_kind_find(const char *kind)
{
    for (int i = 0; kinds[i]; i++) {
        if (strcmp(kinds[i]->kind, kind) == 0) return kinds[i];
    }
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

void report_figure_files_release(report_figure_files *files)
{
    dit_buffer_release(&files->data);
    dit_buffer_release(&files->script);
    dit_buffer_release(&files->csv);
}

const char *report_tag_title(const char *tag)
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
        {"num_pipeline_patch", "bands"},
        {"patch_fraction", "fraction of a neighbour's rows"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (strcmp(titles[i][0], tag) == 0) return titles[i][1];
    }
    return tag;
}

/* Okabe and Ito, "Color Universal Design"; their black is a grey here, for what is not a method. */
#define GREY       "#8c8c8c"
#define BLUE       "#0072b2"
#define ORANGE     "#e69f00"
#define GREEN      "#009e73"
#define VERMILLION "#d55e00"
#define SKY        "#56b4e9"
#define PURPLE     "#cc79a7"
#define YELLOW     "#f0e442"
/* Of Paul Tol's muted scheme, for methods beyond those eight. */
#define WINE  "#882255"
#define TEAL  "#44aa99"
#define OLIVE "#999933"
#define INK   "#333333"

const char *report_colour_known(const char *name)
{
    static const char *const known[][2] = {
        {"single", GREY},
        {"ulysses", BLUE},
        {"ring", ORANGE},
        {"usp", GREEN},
        {"cfg", PURPLE},
        {"data", SKY},
        {"tensor", YELLOW},
        {"pipefusion", VERMILLION},
        {"patch", WINE},
        {"distrifusion", WINE},
        {"pcpp", TEAL},
        {"naive-patch", OLIVE},
        {"compute", BLUE},
        {"exposed communication", VERMILLION},
        {"other", GREY},
        {"weights", BLUE},
        {"state", GREEN},
        {"activations", ORANGE},
        {"communication buffers", VERMILLION},
        {"gather of latents", GREY},
        {"hybrid", INK},
        {"text encoders", SKY},
        {"denoising", BLUE},
        {"VAE decode", ORANGE},
        {"decoding", PURPLE},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i][0], name) == 0) return known[i][1];
    }
    return NULL;
}

const char *report_colour_at(int position)
{
    static const char *const palette[] = {BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW, GREY};
    return palette[(unsigned)position % (sizeof palette / sizeof palette[0])];
}

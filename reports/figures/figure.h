/* Figure: declares the kinds of pictures, and the grid of cases that one picture shows.
 *
 * A kind is a constant description in its own file (latency_bars.c, ...) and one row in the list below. It says which
 * cases it wants by default, and measures one case at a time into a bar. All kinds share layout, scripts, CSV and gaps.
 */
#ifndef DIT_REPORTS_FIGURES_FIGURE_H
#define DIT_REPORTS_FIGURES_FIGURE_H

#include "base/axis.h"
#include "reports/draw/style.h"
#include "reports/records/records.h"

enum { REPORT_PARTS = DIT_AXIS_COUNT + 2, REPORT_TAG_TEXT = 160, REPORT_REASON_TEXT = 256 };

/* What a workload declares under "plots". Keys that are absent come from the kind. */
typedef struct {
    const char *id, *kind, *title, *where, *x, *series, *panel; /* tags; panel and series may list several: "a, b" */
    const char *axis; /* "even", "linear" or "log", of lines; NULL: even where x are few growing counts, else linear  */
    const char *best; /* one more series: the least over all cases of a panel at each x; NULL: none                 */
    const char *y;    /* the metric that is drawn, of kinds that draw several; NULL: the kind's own                 */
    const char *over; /* of a pareto, the metric along x: one of report_pareto_costs(); NULL: the first of them     */
    const char *pair; /* tags in which a simulated case and its measured twin may differ, beside evidence           */
} report_plot;

/* One case as drawn. A stacked kind fills several parts, from the axis upward; a grouped one fills part 0. */
typedef struct {
    double part[REPORT_PARTS];
    bool has_interval, low_n;
    double low, high; /* of the sum */
    bool has_marker;
    double marker;
    int n;                           /* processes behind it; 0: a gap */
    char reason[REPORT_REASON_TEXT]; /* why there is a gap */
} report_bar;

typedef enum {
    REPORT_DRAW_BARS,
    REPORT_DRAW_LINES,
    REPORT_DRAW_AGREEMENT,
    REPORT_DRAW_ERROR,
    REPORT_DRAW_TIMELINE,
    REPORT_DRAW_SCHEDULE,
    REPORT_DRAW_PARETO,
    REPORT_DRAW_HEATMAP,
    REPORT_DRAW_PROFILE,
    REPORT_DRAW_CONTACT,
    REPORT_DRAW_DECISIONS
} report_drawing;

#define REPORT_EXACT_TOLERANCE 1e-5 /* relative L2 that the engine allows an exact method */

typedef struct report_figure_kind {
    const char *kind;
    report_plot defaults; /* title, where, x, series, panel; where may be NULL */
    report_drawing drawing;
    report_unit unit;
    const char *y_label;
    const char *const *parts; /* names of the stacked parts, NULL-terminated; NULL: one part, coloured by series */
    const char *marker;       /* what the marker is, or NULL */
    bool lines;               /* the marker is a line across the panel, and so is the value of seeded weights */
    const char *whiskers;     /* what intervals are of; NULL: of the median over processes */
    const char *reading;      /* one sentence for the caption: how to read it */
    bool on_request;          /* drawn when a workload asks for it, not by itself */
    bool takes_published;     /* published points of this metric stand in it, too */
    report_metric published;
    /* Fills `out` (zeroed by the caller); leaves n at 0 and a reason when the case has no such numbers. */
    void (*measure)(const report_case *kase, report_bar *out);
    /* The same drawing of other metrics, whose names their defaults.y has; NULL-terminated. NULL: it draws one thing. */
    const struct report_figure_kind *const *others;
} report_figure_kind;

/* clang-format off */
#define REPORT_FIGURE_KIND_LIST(X) \
    X(latency_bars) \
    X(scaling) \
    X(time_split) \
    X(communication) \
    X(memory) \
    X(balance) \
    X(error) \
    X(psnr) \
    X(timeline) \
    X(schedule) \
    X(latency) \
    X(speedup) \
    X(product) \
    X(throughput) \
    X(of_gemm) \
    X(weights_read) \
    X(phases) \
    X(pareto) \
    X(heatmap) \
    X(profile_grid) \
    X(contact) \
    X(decisions) \
    X(quality_bars) \
    X(agreement)
/* clang-format on */
#define REPORT_FIGURE_DECLARE(name) extern const report_figure_kind report_figure_##name;
REPORT_FIGURE_KIND_LIST(REPORT_FIGURE_DECLARE)
#undef REPORT_FIGURE_DECLARE

/* For `measure`: writes the median of a metric, with its interval, into part 0. The second function makes a gap of a
 * value that is not above zero, because lines may stand on a logarithmic axis. */
void report_measure_bar(const report_case *kase, report_metric metric, report_bar *out);
void report_measure_point(const report_case *kase, report_metric metric, report_bar *out);
/* For kinds that draw probes: how much K changes, or why there is no probe. */
void report_measure_probe(const report_case *kase, report_bar *out);

/* Return all kinds, NULL-terminated, and the kind of a name, or NULL. */
const report_figure_kind *const *report_figure_kinds(void);
const report_figure_kind *report_figure_kind_find(const char *kind);
/* Returns the metrics that a pareto may stand over, NULL-terminated; and the one of a plot. */
const char *const *report_pareto_costs(void);
report_metric report_pareto_cost(const report_plot *plot);
/* Returns the kind as it draws metric `y` (NULL: its own), or NULL where it does not. */
const report_figure_kind *report_figure_kind_of(const report_figure_kind *kind, const char *y);
/* What a plot's "kind" and "axis" may say; NULL-terminated. */
const char *const *report_figure_kind_names(void);
const char *const *report_axis_names(void);

/* A case placed in a picture; how it is drawn follows from its evidence. */
typedef struct {
    const report_case *kase;           /* a published point has its own */
    const report_published *published; /* NULL: none; in an agreement what the case is compared with */
    const report_case *twin;           /* in an agreement the measured twin; NULL: none */
    char *panel, *x, *series;          /* as shown */
    double x_number;                   /* x as a number, else NAN; in an agreement the reference's value */
    double x_low, x_high;              /* its interval */
    bool best;                         /* the least of a search, for the mesh it has */
    bool shares;                       /* published, at the place of the cell before it */
    int series_index;
    report_bar bar;
} report_cell;

/* A published point that has no place in a picture. */
typedef struct {
    const report_published *point;
    char reason[REPORT_REASON_TEXT];
} report_unplaced;

/* The cells of a picture, sorted by panel, x and series, so that each panel and each group is a run of cells. */
typedef struct {
    report_cell *cells;
    int count;
    char **series; /* distinct, in drawing order */
    int series_count;
    int panel_count, drawn_count;        /* drawn: cells that are no gap */
    int left_out;                        /* selected, but beyond what one picture holds */
    bool low_n, oversubscribed;          /* of any drawn cell */
    bool measured, simulated, published; /* evidence of any cell */
    bool devices;                        /* each case ran on GPUs, or is simulated on GPUs */
    int n_min, n_max;                    /* of the measured ones */
    report_unplaced *unplaced;
    int unplaced_count;
} report_grid;

/* Selects cases by `where`, places and measures them. When two cases fall on one place, tags that tell them apart are
 * added to the series or the panel. Published points go where their tags put them, into panels that have cases.
 * Errors: DIT_ERR_EXPRESSION in `where`; DIT_ERR_MEMORY. release accepts a zeroed grid. */
dit_status report_grid_build(const report_table *table, const report_plot *plot, const report_figure_kind *kind,
                             report_grid *out);
void report_grid_release(report_grid *grid);
/* True for the cell of a case that ran out of memory and is drawn as such. */
bool report_cell_is_oom(const report_cell *cell);

/* Files of one figure, as text. */
typedef struct {
    dit_buffer data, script, csv;
    int width, height; /* pixels */
} report_figure_files;
void report_figure_files_release(report_figure_files *files);

/* Writes script, data and CSV of the grid. `id` is a safe file name; `footer` lines stand under the picture; `style`
 * NULL: a picture for a page. */
dit_status report_figure_compose(const report_grid *grid, const report_plot *plot, const report_figure_kind *kind,
                                 const char *id, const char *footer, const report_style *style,
                                 report_figure_files *out);

/* The published points of a grid, each once; from malloc, *count of them. Errors: DIT_ERR_MEMORY. */
dit_status report_grid_published(const report_grid *grid, const report_published ***out, int *count);

/* Returns words for a tag on an axis: "world_size" becomes "ranks", or "GPUs" where all cases of the grid run on
 * GPUs. */
const char *report_grid_tag_title(const report_grid *grid, const char *tag);
/* Return the colour of a method or part by its name (NULL for an unknown name), and the palette's colour at a position:
 * light colours of palette.h, "#rrggbb". */
const char *report_colour_known(const char *name);
const char *report_colour_at(int position);

#endif

/* Figures: what the page of a procured answer draws, one function each. Inside the room only. */
#ifndef DIT_REPORTS_PROCUREMENT_FIGURES_H
#define DIT_REPORTS_PROCUREMENT_FIGURES_H

#include "reports/procurement/splits.h"
#include "reports/chart/chart.h"

/* What all figures are made of, and where they go. */
typedef struct {
    const cJSON *document;
    const split_row *rows;
    int count;
    const char *folder, *gnuplot, *footer;
} figure_room;

/* A figure on the page. */
typedef struct {
    const char *id;
    char title[160], words[512]; /* words: what it shows */
    chart_pictures pictures;
} figure_drawn;

/* Draws a figure; leaves its pictures empty where the answer has nothing for it. Errors: those of chart.h. */
typedef dit_status (*figure_draw)(const figure_room *room, figure_drawn *out);

/* ID and what it is. */
typedef struct {
    const char *id, *title, *reading;
    figure_draw draw;
} figure_kind;
/* The list of figures; ended by a zeroed one. */
const figure_kind *figure_kinds(void);

#endif

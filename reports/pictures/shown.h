/* Shown: reads what a record tells of the first pictures of a case (results/schema/record.md, "shown"), and the pixels
 * that the case left beside its latents. Nothing in either is trusted. */
#ifndef DIT_REPORTS_PICTURES_SHOWN_H
#define DIT_REPORTS_PICTURES_SHOWN_H

#include "base/json.h"

#include <stdint.h>

enum { SHOWN_MOST = 12, SHOWN_WORDS = 48, SHOWN_TEXT = 200, SHOWN_EDGE = 128 };

/* What a case tells of its first pictures. */
typedef struct {
    cJSON *rows; /* {"caption", "read": [word], "wrong": [index], "psnr_db"?, "converged_psnr_db"?}, checked; NULL */
    char *path;  /* of the file that has their pixels; NULL: unknown */
    char *reference_id; /* the case with which they were compared; NULL: none */
    bool converged;     /* that is a converged reference */
    int64_t process;    /* which made them */
} report_shown;
void report_shown_release(report_shown *shown); /* accepts a zeroed one */

/* Fills *out from a line of the journal, whose record made pictures in `process`; leaves it as it is where the record
 * tells of none. The path is completed when the journal's place is known. Errors: DIT_ERR_JSON_*, DIT_ERR_MEMORY. */
dit_status report_shown_read(const dit_json *doc, const cJSON *record, int64_t process, report_shown *out);

/* Whether word `index` of what was read in a picture, a row of report_shown, is not the caption's. */
bool report_shown_is_wrong(const cJSON *row, int index);

/* Colours of 8 bits, [count][height][width][3]; of a clip four frames, from the first to the last, in two rows with a
 * white line between (of less than four the middle one). release accepts a zeroed one. */
typedef struct {
    int count;
    int64_t width, height;
    unsigned char *rgb;
} report_pixels;
void report_pixels_release(report_pixels *pixels);
/* Reads the first pictures of the tensor `pixels` [count, 3, (frames,) height, width] in -1 to 1, SHOWN_MOST at most.
 * Errors: DIT_ERR_NOT_FOUND where the file is not there; DIT_ERR_SHAPE for another shape, or an edge above SHOWN_EDGE;
 * DIT_ERR_NONFINITE; those of dit_safetensors_open; DIT_ERR_MEMORY. */
dit_status report_pixels_read(const char *path, report_pixels *out);

#endif

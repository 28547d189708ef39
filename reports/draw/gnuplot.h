/* Gnuplot: runs the program gnuplot on a script, as a process. Nothing of gnuplot is linked. */
#ifndef DIT_REPORTS_DRAW_GNUPLOT_H
#define DIT_REPORTS_DRAW_GNUPLOT_H

#include "base/status.h"

/* Returns DIT_OK when `program` ("gnuplot") starts. Errors: DIT_ERR_ENVIRONMENT with what to install. */
dit_status gnuplot_check(const char *program);
/* Returns the error of a `program` that does not start. */
dit_status gnuplot_missing(const char *program);
/* Runs FOLDER/ID.gp in FOLDER with format set to "svg" or "png"; the script writes ID.svg or ID.png beside itself.
 * Personal start-up files are not read. Errors: DIT_ERR_ENVIRONMENT; DIT_ERR_IO with what gnuplot said. */
dit_status gnuplot_run(const char *program, const char *folder, const char *id, const char *format);

#endif

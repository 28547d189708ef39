/* Picture: reads a drawn PNG back with libpng. A drawing program may succeed and leave a white page, for want of a
 * font; a picture that nobody can read must not stand in a report. */
#ifndef DIT_REPORTS_DRAW_PICTURE_H
#define DIT_REPORTS_DRAW_PICTURE_H

#include "base/status.h"

/* Decodes the PNG at `path`. DIT_OK when it has ink: at least 1 pixel in 1000 differs from the corner's colour.
 * Errors: DIT_ERR_IO when it cannot be opened or is no whole PNG of at most 64 megapixels; DIT_ERR_ENVIRONMENT when it
 * is blank. Safe on hostile files. */
dit_status report_picture_check(const char *path);

#endif

/* Picture case: the case that a picture of `ditbench generate` carries in a text chunk, so that it can be run again. */
#ifndef DIT_SUITE_GENERATE_PICTURE_CASE_H
#define DIT_SUITE_GENERATE_PICTURE_CASE_H

#include "base/json.h"
#include <stddef.h>

/* Reads the case of a PNG file; the caller releases *out. The file is not trusted. Errors: DIT_ERR_IO; DIT_ERR_SHAPE for
 * what is no PNG; DIT_ERR_NOT_FOUND for one without a case; DIT_ERR_JSON_*. All of them name the file. */
dit_status suite_picture_case_read(const char *path, dit_json *out);
/* The same of a file's bytes. */
dit_status suite_picture_case_parse(const char *name, const void *bytes, size_t length, dit_json *out);

#endif

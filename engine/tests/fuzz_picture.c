/* Fuzz target of the pictures that people give, PNG and JPEG. Run by ci/fuzz.sh. Beyond not crashing: what is read can be
 * resized, and what is refused is told by its name. */
#include "engine/files/picture_read.h"
#include "engine/files/picture_resize.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RESIZED = 1 << 18 };

static void check(bool good)
{
    if (!good) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static uint8_t small[9 * 7 * 3];
    int64_t height, width;
    uint8_t *rgb;
    if (dit_picture_parse("fuzz", data, size, &height, &width, &rgb) != DIT_OK) {
        check(!rgb && strncmp(dit_error_last()->message, "fuzz ", 5) == 0);
        return 0;
    }
    check(height > 0 && width > 0);
    if (height * width < MOST_RESIZED)
        check(dit_picture_resize(DIT_RESIZE_LANCZOS, rgb, height, width, 9, 7, small) == DIT_OK);
    free(rgb);
    return 0;
}

#include "engine/text/pictures/places.h"

static dit_status fail(const dit_text_pictures *pictures)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "the text does not show %d pictures of %lld embeddings",
                                   pictures->count, (long long)dit_text_picture_rows(pictures)),
                          "a prompt must not have the token that stands for a picture");
}

/* Places one picture's tokens from `at` on. */
static void place_picture(int64_t height, int64_t width, int32_t at, int32_t *places)
{
    for (int64_t i = 0; i < height * width; i++, places += 3) {
        places[0] = at;
        places[1] = at + (int32_t)(i / width);
        places[2] = at + (int32_t)(i % width);
    }
}

dit_status text_places_make(const int32_t *ids, int64_t tokens, int64_t picture_token,
                            const dit_text_pictures *pictures, int32_t *places)
{
    int32_t at = 0;
    int picture = 0;
    for (int64_t i = 0; i < tokens;) {
        if (!picture_token || ids[i] != picture_token) {
            for (int axis = 0; axis < 3; axis++) places[i * 3 + axis] = at;
            at++, i++;
            continue;
        }
        if (picture == pictures->count) return fail(pictures);
        int64_t height = pictures->height[picture], width = pictures->width[picture];
        if (i + height * width > tokens) return fail(pictures);
        for (int64_t j = 0; j < height * width; j++)
            if (ids[i + j] != picture_token) return fail(pictures);
        place_picture(height, width, at, places + i * 3);
        at += (int32_t)(height > width ? height : width);
        i += height * width;
        picture++;
    }
    return picture == pictures->count ? DIT_OK : fail(pictures);
}

#include "reports/pictures/shown.h"

#include "base/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the record tells --------------------------------------------------------------------------------------- */

static dit_status check_words(const dit_json *doc, const cJSON *row, const char *at)
{
    const cJSON *read = NULL, *wrong = NULL, *item;
    DIT_TRY(dit_json_optional_array(doc, row, at, "read", &read));
    DIT_TRY(dit_json_optional_array(doc, row, at, "wrong", &wrong));
    int words = cJSON_GetArraySize(read);
    if (words > SHOWN_WORDS || cJSON_GetArraySize(wrong) > words)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE,
                             "a picture has at most %d words, and no more wrong ones than it has", SHOWN_WORDS);
    cJSON_ArrayForEach(item, read)
    {
        if (!cJSON_IsString(item) || strlen(item->valuestring) >= SHOWN_TEXT)
            return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "words that were read must be short texts");
    }
    cJSON_ArrayForEach(item, wrong)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < words))
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "wrong words are numbers of words, from 0");
    }
    return DIT_OK;
}

static dit_status check_row(const dit_json *doc, const cJSON *row, const char *at)
{
    const double most = 1000;
    double psnr = 0;
    const char *caption = "";
    if (!cJSON_IsObject(row)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_require_string(doc, row, at, "caption", &caption));
    if (strlen(caption) >= SHOWN_TEXT)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a caption has less than %d bytes", SHOWN_TEXT);
    DIT_TRY(dit_json_optional_number(doc, row, at, "psnr_db", -most, most, &psnr));
    DIT_TRY(dit_json_optional_number(doc, row, at, "converged_psnr_db", -most, most, &psnr));
    return check_words(doc, row, at);
}

void report_shown_release(report_shown *shown)
{
    cJSON_Delete(shown->rows);
    free(shown->path);
    free(shown->reference_id);
    *shown = (report_shown){0};
}

static dit_status keep_text(const char *text, char **out)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    free(*out);
    *out = copy;
    return DIT_OK;
}

dit_status report_shown_read(const dit_json *doc, const cJSON *record, int64_t process, report_shown *out)
{
    const cJSON *quality = NULL, *rows = NULL, *row;
    const char *converged = NULL, *reference = NULL;
    char at[64];
    int count = 0;
    DIT_TRY(dit_json_optional_object(doc, record, "/record", "quality", &quality));
    if (quality) DIT_TRY(dit_json_optional_array(doc, quality, "/record/quality", "shown", &rows));
    if (!rows) return DIT_OK;
    if (cJSON_GetArraySize(rows) > SHOWN_MOST)
        return dit_json_fail(doc, "/record/quality/shown", DIT_ERR_JSON_VALUE, "at most %d pictures are shown",
                             SHOWN_MOST);
    cJSON_ArrayForEach(row, rows)
    {
        snprintf(at, sizeof at, "/record/quality/shown/%d", count++);
        DIT_TRY(check_row(doc, row, at));
    }
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "converged_case", &converged));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "reference_case", &reference));
    report_shown_release(out);
    out->rows = cJSON_Duplicate(rows, true);
    out->process = process;
    out->converged = converged != NULL;
    if (!out->rows) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    return keep_text(converged ? converged : reference, &out->reference_id);
}

bool report_shown_is_wrong(const cJSON *row, int index)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, dit_json_member(row, "wrong")) if (item->valuedouble == index) return true;
    return false;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

void report_pixels_release(report_pixels *pixels)
{
    free(pixels->rgb);
    *pixels = (report_pixels){0};
}

static dit_status check_shape(const char *path, const dit_tensor_view *view)
{
    int last = view->rank - 1;
    bool fits = (view->rank == 4 || view->rank == 5) && view->elements > 0 && view->shape[1] == 3;
    for (int i = last - 1; i <= last && fits; i++) fits = view->shape[i] <= SHOWN_EDGE;
    if (fits) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE,
                    "%.400s: pixels are not [count, 3, (frames,) height, width] with edges of at most %d", path,
                    SHOWN_EDGE);
}

/* How frames of a clip lie in its picture: four of them, from the first to the last, in two rows with a white line
 * between. Less than four show the middle one. */
typedef struct {
    int64_t frames, width, height; /* of the file */
    int edge;                      /* frames along a side: 1 or 2 */
} frame_tiles;

static int64_t frame_of_tile(const frame_tiles *t, int tile)
{
    return t->edge == 1 ? t->frames / 2 : tile * (t->frames - 1) / (t->edge * t->edge - 1);
}

/* Bytes from a picture's first pixel to the first of a tile. */
static int64_t place_of_tile(const frame_tiles *t, int tile, int64_t row_pixels)
{
    return 3 * (tile / t->edge * (t->height + 1) * row_pixels + tile % t->edge * (t->width + 1));
}

/* One colour of one frame, into bytes that are three apart. */
static dit_status read_plane(const dit_tensor_view *view, int64_t first, const frame_tiles *t, float *plane,
                             int64_t row_pixels, unsigned char *out)
{
    DIT_TRY(dit_tensor_read(view, first, t->height * t->width, plane));
    for (int64_t y = 0; y < t->height; y++)
        for (int64_t x = 0; x < t->width; x++) {
            double shade = fmin(fmax((plane[y * t->width + x] + 1.0) / 2.0, 0.0), 1.0);
            out[3 * (y * row_pixels + x)] = (unsigned char)lround(255.0 * shade);
        }
    return DIT_OK;
}

static dit_status read_picture(const dit_tensor_view *view, int64_t number, const frame_tiles *t, float *plane,
                               const report_pixels *out)
{
    unsigned char *rgb = out->rgb + 3 * out->width * out->height * number;
    for (int tile = 0; tile < t->edge * t->edge; tile++)
        for (int c = 0; c < 3; c++)
            DIT_TRY(read_plane(view, ((number * 3 + c) * t->frames + frame_of_tile(t, tile)) * t->height * t->width, t,
                               plane, out->width, rgb + place_of_tile(t, tile, out->width) + c));
    return DIT_OK;
}

static dit_status read_pictures(const char *path, const dit_tensor_view *view, report_pixels *out)
{
    DIT_TRY(check_shape(path, view));
    frame_tiles t = {.frames = view->rank == 5 ? view->shape[2] : 1,
                     .height = view->shape[view->rank - 2],
                     .width = view->shape[view->rank - 1]};
    t.edge = t.frames < 4 ? 1 : 2;
    out->height = t.edge * t.height + t.edge - 1, out->width = t.edge * t.width + t.edge - 1;
    out->count = view->shape[0] < SHOWN_MOST ? (int)view->shape[0] : SHOWN_MOST;
    size_t bytes = (size_t)(3 * out->width * out->height * out->count);
    float *plane = malloc((size_t)(t.height * t.width) * sizeof *plane);
    out->rgb = malloc(bytes);
    dit_status st = plane && out->rgb ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for pictures");
    if (st == DIT_OK) memset(out->rgb, 255, bytes);
    for (int i = 0; i < out->count && st == DIT_OK; i++) st = read_picture(view, i, &t, plane, out);
    free(plane);
    return st;
}

dit_status report_pixels_read(const char *path, report_pixels *out)
{
    dit_safetensors *file;
    dit_tensor_view view;
    *out = (report_pixels){0};
    if (access(path, R_OK) != 0) /* records travel without their latents */
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "%.400s is not there: it lies in the session's folder where the session ran",
                        path);
    DIT_TRY(dit_safetensors_open(path, &file));
    dit_status st = dit_safetensors_find(file, "pixels", &view)
                        ? read_pictures(path, &view, out)
                        : DIT_FAIL(DIT_ERR_NOT_FOUND, "%.400s has no tensor pixels", path);
    dit_safetensors_close(file);
    if (st != DIT_OK) report_pixels_release(out);
    return st;
}

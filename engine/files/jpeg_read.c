#include "engine/files/jpeg_read.h"

#include "base/picture_size.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

/* A scan of a progressive file costs a pass over all pixels, and a few bytes say one. */
enum { MOST_SCANS = 100, MOST_MEMORY = 1 << 30, UPRIGHT = 1 };

typedef struct {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct codec;
    jmp_buf leave;
    const char *name;
    const uint8_t *bytes;
    size_t length;
    int64_t most_pixels;
    uint8_t *rgb; /* as it lies in the file */
    int orientation;
    dit_status status;
} jpeg_job;

bool dit_is_jpeg(const void *bytes, size_t length)
{
    return length >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
}

/* ---- what libjpeg says ------------------------------------------------------------------------------------------- */

static void leave(j_common_ptr codec)
{
    jpeg_job *job = codec->client_data;
    char problem[JMSG_LENGTH_MAX];
    codec->err->format_message(codec, problem);
    bool memory = codec->err->msg_code == JERR_OUT_OF_MEMORY;
    job->status = DIT_FAIL(memory ? DIT_ERR_MEMORY : DIT_ERR_SHAPE, "%s is no readable JPEG: %s", job->name, problem);
    longjmp(job->leave, 1);
}

/* Bytes between markers harm nothing; any other warning means that pixels are guessed. */
static void take_message(j_common_ptr codec, int level)
{
    if (level < 0 && codec->err->msg_code != JWRN_EXTRANEOUS_DATA && codec->err->msg_code != JWRN_ADOBE_XFORM)
        leave(codec);
}

static void print_nothing(j_common_ptr codec)
{
    (void)codec;
}

static void watch_scans(j_common_ptr codec)
{
    jpeg_job *job = codec->client_data;
    if (job->codec.input_scan_number <= MOST_SCANS) return;
    job->status = DIT_FAIL(DIT_ERR_SHAPE, "%s has more than %d scans, and is not read", job->name, MOST_SCANS);
    longjmp(job->leave, 1);
}

/* ---- EXIF -------------------------------------------------------------------------------------------------------- */

/* Returns which pixel of [height, width] of the file is shown at (y, x). Orientation 2: mirrored; 3: by half a turn; 4:
 * upside down; 5 to 8: rows and columns swapped, then the same four. */
static size_t source_of(int orientation, size_t height, size_t width, size_t y, size_t x)
{
    switch (orientation) {
    case 2: return y * width + (width - 1 - x);
    case 3: return (height - 1 - y) * width + (width - 1 - x);
    case 4: return (height - 1 - y) * width + x;
    case 5: return x * width + y;
    case 6: return (height - 1 - x) * width + y;
    case 7: return (height - 1 - x) * width + (width - 1 - y);
    case 8: return x * width + (width - 1 - y);
    default: return y * width + x;
    }
}

static dit_status turn(jpeg_job *job, int64_t *shown_height, int64_t *shown_width, uint8_t **out)
{
    size_t height = job->codec.output_height, width = job->codec.output_width;
    bool swapped = job->orientation >= 5;
    size_t rows = swapped ? width : height, columns = swapped ? height : width;
    *shown_height = (int64_t)rows, *shown_width = (int64_t)columns;
    *out = job->rgb;
    if (job->orientation == UPRIGHT) return DIT_OK;
    *out = malloc(rows * columns * 3);
    if (*out)
        for (size_t y = 0; y < rows; y++)
            for (size_t x = 0; x < columns; x++)
                memcpy(*out + (y * columns + x) * 3, job->rgb + source_of(job->orientation, height, width, y, x) * 3,
                       3);
    free(job->rgb);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the pixels of %s", job->name);
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

static bool accept(jpeg_job *job)
{
    const struct jpeg_decompress_struct *codec = &job->codec;
    int64_t pixels = (int64_t)codec->image_width * codec->image_height;
    if (pixels > job->most_pixels)
        job->status = DIT_FAIL(DIT_ERR_SHAPE, "%s has %u x %u pixels, more than are read", job->name,
                               codec->image_width, codec->image_height);
    else if (codec->jpeg_color_space == JCS_CMYK || codec->jpeg_color_space == JCS_YCCK)
        job->status = dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is made of four inks (CMYK)", job->name),
                                     "save it as RGB");
    else if (!(job->rgb = malloc((size_t)pixels * 3)))
        job->status = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the pixels of %s", job->name);
    return job->rgb != NULL;
}

static void read_orientation(jpeg_job *job)
{
    job->orientation = UPRIGHT;
    for (jpeg_saved_marker_ptr marker = job->codec.marker_list; marker; marker = marker->next)
        if (marker->marker == JPEG_APP0 + 1 && job->orientation == UPRIGHT)
            job->orientation = dit_exif_orientation(marker->data, marker->data_length);
}

/* Leaves by longjmp on an error; everything that changes lies in the job. */
static void decode(jpeg_job *job)
{
    struct jpeg_decompress_struct *codec = &job->codec;
    if (setjmp(job->leave)) return;
    jpeg_create_decompress(codec);
    codec->client_data = job;
    codec->mem->max_memory_to_use = MOST_MEMORY;
    codec->progress = &job->progress;
    jpeg_mem_src(codec, job->bytes, job->length);
    jpeg_save_markers(codec, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(codec, TRUE);
    if (!accept(job)) return;
    codec->out_color_space = JCS_RGB;
    jpeg_start_decompress(codec);
    while (codec->output_scanline < codec->output_height) {
        JSAMPROW row = job->rgb + (size_t)codec->output_scanline * codec->output_width * 3;
        jpeg_read_scanlines(codec, &row, 1);
    }
    read_orientation(job);
    jpeg_finish_decompress(codec);
    job->status = DIT_OK;
}

dit_status dit_jpeg_parse(const char *name, const void *bytes, size_t length, int64_t most_pixels, int64_t *height,
                          int64_t *width, uint8_t **rgb)
{
    jpeg_job *job = calloc(1, sizeof *job);
    *rgb = NULL;
    if (!job) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to read %s", name);
    job->codec.err = jpeg_std_error(&job->errors);
    job->codec.client_data = job;
    job->errors.error_exit = leave, job->errors.emit_message = take_message, job->errors.output_message = print_nothing;
    job->progress.progress_monitor = watch_scans;
    job->name = name, job->bytes = bytes, job->length = length, job->most_pixels = most_pixels;
    job->status = DIT_ERR_INTERNAL;
    decode(job);
    dit_status st = job->status;
    if (st == DIT_OK)
        st = turn(job, height, width, rgb);
    else
        free(job->rgb);
    jpeg_destroy_decompress(&job->codec);
    free(job);
    return st;
}

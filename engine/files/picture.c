#include "engine/files/picture.h"

#include "base/buffer.h"
#include "base/file.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LONGEST_EDGE = 1 << 20, MAX_FRAMES = 1 << 20, MAX_TEXTS = 16, CHUNK_OVERHEAD = 12, SIGNATURE = 8 };

uint8_t dit_picture_level(float x)
{
    float unit = x * 0.5f + 0.5f;
    unit = unit < 0.0f ? 0.0f : unit > 1.0f ? 1.0f : unit;
    return (uint8_t)lrintf(unit * 255.0f);
}

dit_status dit_picture_quantize(const float *planes, int64_t frames, int64_t height, int64_t width, uint8_t *rgb)
{
    int64_t plane = frames * height * width;
    for (int64_t channel = 0; channel < 3; channel++) {
        for (int64_t i = 0; i < plane; i++) {
            float x = planes[channel * plane + i];
            if (!isfinite(x))
                return DIT_FAIL(DIT_ERR_NONFINITE, "pixel %lld of colour %lld is not finite", (long long)i,
                                (long long)channel);
            rgb[i * 3 + channel] = dit_picture_level(x);
        }
    }
    return DIT_OK;
}

/* ---- one frame, by libpng ---------------------------------------------------------------------------------------- */

typedef struct {
    const dit_picture *picture;
    int64_t frame;
    bool with_texts;
    dit_buffer *out;
    char problem[160];
    png_text texts[MAX_TEXTS];
} frame_encoder;

static void take_bytes(png_structp png, png_bytep bytes, size_t count)
{
    frame_encoder *encoder = png_get_io_ptr(png);
    dit_buffer_append(encoder->out, bytes, count);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void note_problem(png_structp png, png_const_charp message)
{
    frame_encoder *encoder = png_get_error_ptr(png);
    snprintf(encoder->problem, sizeof encoder->problem, "%s", message);
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80) return false;
    return true;
}

static void set_texts(png_structp png, png_infop info, frame_encoder *encoder)
{
    int count = encoder->picture->text_count < MAX_TEXTS ? encoder->picture->text_count : MAX_TEXTS;
    for (int i = 0; i < count; i++) {
        const dit_picture_text *text = &encoder->picture->texts[i];
        encoder->texts[i] = (png_text){
            .compression = is_ascii(text->text) ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE,
            .key = (char *)(uintptr_t)text->keyword,
            .text = (char *)(uintptr_t)text->text,
            .text_length = strlen(text->text),
        };
    }
    png_set_text(png, info, encoder->texts, count);
}

/* Encodes. libpng leaves by longjmp on an error, so no local changes after setjmp. */
static bool encode(png_structp png, png_infop info, frame_encoder *encoder)
{
    const dit_picture *picture = encoder->picture;
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_write_fn(png, encoder, take_bytes, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (encoder->with_texts) set_texts(png, info, encoder);
    png_write_info(png, info);
    for (int64_t row = 0; row < picture->height; row++)
        png_write_row(png, picture->rgb + (encoder->frame * picture->height + row) * picture->width * 3);
    png_write_end(png, NULL);
    return true;
}

/* Appends a whole PNG of one frame to `out`. */
static dit_status encode_frame(const dit_picture *picture, int64_t frame, bool with_texts, dit_buffer *out)
{
    frame_encoder encoder = {.picture = picture, .frame = frame, .with_texts = with_texts, .out = out};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoder, note_problem, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool done = info && encode(png, info, &encoder);
    png_destroy_write_struct(&png, &info);
    if (!info && !done && !encoder.problem[0]) snprintf(encoder.problem, sizeof encoder.problem, "no memory");
    if (out->failed)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a PNG of %lld x %lld pixels", (long long)picture->width,
                        (long long)picture->height);
    return done ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "libpng: %s", encoder.problem);
}

/* ---- an animated file -------------------------------------------------------------------------------------------- */

static void put_u32(uint8_t out[4], uint64_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> (24 - 8 * i));
}

static size_t get_u32(const uint8_t *bytes)
{
    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Writes a chunk: length, type, `head` and `body` as one run of data, CRC. */
static void put_chunk(dit_buffer *out, const char *type, const void *head, size_t head_bytes, const void *body,
                      size_t body_bytes)
{
    uint8_t word[4];
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);
    if (head_bytes) crc = crc32(crc, head, (uInt)head_bytes);
    if (body_bytes) crc = crc32(crc, body, (uInt)body_bytes);
    put_u32(word, head_bytes + body_bytes);
    dit_buffer_append(out, word, sizeof word);
    dit_buffer_append(out, type, 4);
    if (head_bytes) dit_buffer_append(out, head, head_bytes);
    if (body_bytes) dit_buffer_append(out, body, body_bytes);
    put_u32(word, crc);
    dit_buffer_append(out, word, sizeof word);
}

/* Writes acTL: the number of frames, and 0 for repeating for ever. */
static void put_animation(dit_buffer *out, int64_t frames)
{
    uint8_t data[8] = {0};
    put_u32(data, (uint64_t)frames);
    put_chunk(out, "acTL", data, sizeof data, NULL, 0);
}

/* Writes fcTL: a frame covers the whole image, is shown for 1 / frames_per_s seconds, and replaces the one before. */
static void put_frame_control(dit_buffer *out, const dit_picture *picture, uint32_t sequence)
{
    uint8_t data[26] = {0};
    put_u32(data, sequence);
    put_u32(data + 4, (uint64_t)picture->width);
    put_u32(data + 8, (uint64_t)picture->height);
    data[21] = 1; /* bytes 20, 21: delay_num; bytes 22, 23: delay_den */
    data[22] = (uint8_t)(picture->frames_per_s >> 8);
    data[23] = (uint8_t)picture->frames_per_s;
    put_chunk(out, "fcTL", data, sizeof data, NULL, 0);
}

/* Copies a PNG chunk by chunk: acTL after its header, fcTL before its data. */
static void put_first_frame(dit_buffer *out, const dit_picture *picture, const dit_buffer *png)
{
    const uint8_t *bytes = (const uint8_t *)png->data;
    bool controlled = false;
    dit_buffer_append(out, bytes, SIGNATURE);
    for (size_t at = SIGNATURE; at + CHUNK_OVERHEAD <= png->used;) {
        const uint8_t *chunk = bytes + at;
        size_t whole = get_u32(chunk) + CHUNK_OVERHEAD;
        if (memcmp(chunk + 4, "IEND", 4) == 0) return;
        if (memcmp(chunk + 4, "IDAT", 4) == 0 && !controlled) {
            put_frame_control(out, picture, 0);
            controlled = true;
        }
        dit_buffer_append(out, chunk, whole);
        if (memcmp(chunk + 4, "IHDR", 4) == 0) put_animation(out, picture->frames);
        at += whole;
    }
}

/* Writes fcTL, then the frame's IDATs as fdATs. */
static void put_next_frame(dit_buffer *out, const dit_picture *picture, const dit_buffer *png, uint32_t *sequence)
{
    const uint8_t *bytes = (const uint8_t *)png->data;
    put_frame_control(out, picture, (*sequence)++);
    for (size_t at = SIGNATURE; at + CHUNK_OVERHEAD <= png->used;) {
        const uint8_t *chunk = bytes + at;
        size_t length = get_u32(chunk);
        if (memcmp(chunk + 4, "IDAT", 4) == 0) {
            uint8_t number[4];
            put_u32(number, (*sequence)++);
            put_chunk(out, "fdAT", number, sizeof number, chunk + 8, length);
        }
        at += length + CHUNK_OVERHEAD;
    }
}

static dit_status encode_clip(const dit_picture *picture, dit_buffer *out)
{
    dit_buffer png = {0};
    uint32_t sequence = 1;
    dit_status st = encode_frame(picture, 0, true, &png);
    if (st == DIT_OK) put_first_frame(out, picture, &png);
    for (int64_t frame = 1; frame < picture->frames && st == DIT_OK; frame++) {
        dit_buffer_reset(&png);
        st = encode_frame(picture, frame, false, &png);
        if (st == DIT_OK) put_next_frame(out, picture, &png, &sequence);
    }
    dit_buffer_release(&png);
    put_chunk(out, "IEND", NULL, 0, NULL, 0);
    if (st == DIT_OK && out->failed)
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld frames", (long long)picture->frames);
    return st;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static dit_status check(const dit_picture *picture)
{
    bool fits = picture->width >= 1 && picture->width <= LONGEST_EDGE && picture->height >= 1 &&
                picture->height <= LONGEST_EDGE && picture->frames >= 1 && picture->frames <= MAX_FRAMES;
    if (!fits)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld frames of %lld x %lld pixels cannot be written as PNG",
                        (long long)picture->frames, (long long)picture->width, (long long)picture->height);
    if (picture->frames > 1 && (picture->frames_per_s < 1 || picture->frames_per_s > 1000))
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld frames per second are outside 1..1000", (long long)picture->frames_per_s);
    return DIT_OK;
}

dit_status dit_picture_write(const char *path, const dit_picture *picture)
{
    dit_buffer file = {0};
    DIT_TRY(check(picture));
    dit_status st = picture->frames == 1 ? encode_frame(picture, 0, true, &file) : encode_clip(picture, &file);
    if (st == DIT_OK) st = dit_file_write(path, &(dit_file_piece){file.data, file.used}, 1);
    dit_buffer_release(&file);
    return st;
}

dit_status dit_picture_write_frames(const char *folder, const dit_picture *picture)
{
    char path[4096];
    DIT_TRY(check(picture));
    for (int64_t frame = 0; frame < picture->frames; frame++) {
        dit_picture one = *picture;
        one.frames = 1;
        one.rgb = picture->rgb + frame * picture->height * picture->width * 3;
        if (snprintf(path, sizeof path, "%s/frame-%04lld.png", folder, (long long)frame) >= (int)sizeof path)
            return DIT_FAIL(DIT_ERR_IO, "the path of frame %lld is too long", (long long)frame);
        DIT_TRY(dit_picture_write(path, &one));
    }
    return DIT_OK;
}

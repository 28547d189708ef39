#include "engine/prompts/seen.h"

#include "base/clock.h"
#include "engine/comm/comm.h"
#include "engine/files/image_processor.h"
#include "engine/files/picture_read.h"
#include "engine/files/picture_resize.h"
#include "engine/results/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, CHANNELS = 3 };

static dit_status path_of(const dit_seen_params *p, const char *part, char out[PATH_BYTES])
{
    int length = snprintf(out, PATH_BYTES, "%s/%s", p->folder, part);
    return length < PATH_BYTES ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "the path of %s is too long", part);
}

/* Reads the facts of what sees, and the id that stands for what is seen. */
static dit_status read_encoder(const dit_seen_params *p, dit_text_encoder_facts *tower, int64_t *token)
{
    char path[PATH_BYTES];
    dit_json doc;
    dit_text_encoder_facts reads;
    DIT_TRY(path_of(p, "text_encoder/config.json", path));
    DIT_TRY(dit_config_read_file(path, &doc));
    const dit_config config = {.doc = &doc, .object = doc.root, .pointer = ""};
    dit_status st = dit_text_encoder_read_tower_facts(&config, tower);
    if (st == DIT_OK) st = dit_text_encoder_read_facts(&config, &reads);
    if (st == DIT_OK) *token = reads.picture_token;
    if (st == DIT_OK && tower->out_width != reads.width)
        st = DIT_FAIL(DIT_ERR_SHAPE, "%s: what is seen has %lld channels, what is read %lld", path,
                      (long long)tower->out_width, (long long)reads.width);
    dit_json_release(&doc);
    return st;
}

/* Reads the picture and resizes it as the pipeline does. */
static dit_status read_picture(const dit_seen_picture *p, uint8_t **out)
{
    int64_t height, width;
    uint8_t *given;
    DIT_TRY(dit_picture_read(p->path, &height, &width, &given));
    *out = malloc((size_t)(p->height * p->width * CHANNELS));
    dit_status st = *out ? dit_picture_resize(DIT_RESIZE_LANCZOS, given, height, width, p->height, p->width, *out)
                         : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture");
    free(given);
    return st;
}

/* Puts a picture's embeddings behind those that there are. */
static dit_status append(const dit_text_encoding *made, int64_t height, int64_t width, dit_seen *out)
{
    dit_text_pictures *pictures = &out->pictures;
    int64_t rows = dit_text_picture_rows(pictures);
    float *all = malloc((size_t)((rows + made->tokens) * made->width) * sizeof *all);
    if (!all) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the embeddings of a picture");
    if (rows) memcpy(all, pictures->rows, (size_t)(rows * made->width) * sizeof *all);
    memcpy(all + rows * made->width, made->hidden, (size_t)(made->tokens * made->width) * sizeof *all);
    free((void *)(uintptr_t)pictures->rows);
    pictures->rows = all;
    pictures->height[pictures->count] = height, pictures->width[pictures->count] = width;
    pictures->count++;
    return DIT_OK;
}

static dit_status run_tower(const dit_seen_params *p, const dit_text_encoder_facts *tower, const float *planes,
                            int64_t height, int64_t width, dit_seen *out)
{
    char folder[PATH_BYTES];
    dit_text_encoding made;
    int64_t rows = height / tower->patch, columns = width / tower->patch;
    DIT_TRY(path_of(p, "text_encoder", folder));
    dit_status st =
        dit_text_encode(&(dit_text_encode_params){.folder = folder,
                                                  .seeded = p->seeded,
                                                  .seed = p->seed,
                                                  .backend = p->backend,
                                                  .dtype = p->dtype,
                                                  .threads = p->threads,
                                                  .way = p->way == DIT_TEXT_CFG ? DIT_TEXT_REPLICATED : p->way,
                                                  .streamed = p->streamed,
                                                  .batch = 1,
                                                  .tokens = rows * columns,
                                                  .input = {.pixels = planes},
                                                  .sees = true,
                                                  .grid_height = rows,
                                                  .grid_width = columns},
                        &made);
    if (st == DIT_OK) st = dit_volume_check(&made.sent, &made.predicted, dit_comm_rank(dit_comm_world()), 0);
    if (made.total_peak_bytes > out->peak_bytes) out->peak_bytes = made.total_peak_bytes;
    if (st == DIT_OK) st = append(&made, rows / tower->merge, columns / tower->merge, out);
    dit_text_encoding_release(&made);
    return st;
}

static dit_status encode_one(const dit_seen_params *p, const dit_text_encoder_facts *tower, const char *processor,
                             const dit_seen_picture *picture, dit_seen *out)
{
    uint8_t *rgb = NULL;
    float *planes = NULL;
    int64_t height = 0, width = 0;
    dit_status st = read_picture(picture, &rgb);
    if (st == DIT_OK)
        st = dit_image_process_area(processor, rgb, picture->height, picture->width, tower->patch * tower->merge,
                                    &height, &width, &planes);
    if (st == DIT_OK) st = run_tower(p, tower, planes, height, width, out);
    free(rgb);
    free(planes);
    return st;
}

static dit_status encode(const dit_seen_params *p, dit_seen *out)
{
    char processor[PATH_BYTES];
    dit_text_encoder_facts tower;
    DIT_TRY(path_of(p, "processor", processor));
    DIT_TRY(read_encoder(p, &tower, &out->token));
    for (int i = 0; i < p->count; i++) DIT_TRY(encode_one(p, &tower, processor, &p->pictures[i], out));
    return DIT_OK;
}

dit_status dit_seen_encode(const dit_seen_params *params, dit_seen *out)
{
    int64_t began = dit_clock_ns();
    *out = (dit_seen){0};
    dit_status st = encode(params, out);
    out->encode_ns = dit_clock_ns() - began;
    return st == DIT_OK ? st : dit_error_note(st, "seeing the picture that the prompt is about");
}

void dit_seen_release(dit_seen *seen)
{
    free((void *)(uintptr_t)seen->pictures.rows);
    *seen = (dit_seen){0};
}

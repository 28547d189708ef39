#include "kernels/cost/decode.h"

typedef struct {
    const dit_census *census;
    const dit_census_schedule *schedule;
    const dit_cost_device *device;
    const dit_cost_profile *profile;
    dit_census_time time;
} decoding;

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Frames that so many frames of latents become: the first of an odd number becomes one. */
static double decoded_frames(const decoding *d, int64_t frames)
{
    int64_t times = d->schedule->frames;
    if (times == 1) return (double)frames;
    return (double)(frames % 2 || d->schedule->chunk != 2 ? (frames - 1) * times + 1 : frames * times);
}

static void add(decoding *d, const char *part, double frames, double height, double width, double decoded, double times)
{
    const dit_census_size size = {.batch = 1, .frames = frames, .rows = height, .columns = width, .decoded = decoded};
    dit_census_time one = dit_census_part_time(d->census, d->device, d->profile, part, &size);
    if (times > 0) dit_census_add_time(&d->time, &one, times);
}

static bool has(const decoding *d, const char *part)
{
    const dit_census_size size = {.batch = 1, .frames = 1, .rows = 1, .columns = 1, .decoded = 1};
    dit_census_time one = dit_census_part_time(d->census, d->device, d->profile, part, &size);
    return one.time.kernels > 0;
}

/* The calls of one tile's decoder, `times` of such tiles. */
static void add_calls(decoding *d, int64_t frames, int64_t height, int64_t width, double times)
{
    int64_t chunk = d->schedule->chunk ? d->schedule->chunk : frames;
    int64_t first = frames < chunk ? frames : chunk + frames % chunk, calls = 1 + (frames - first) / chunk;
    double h = (double)height, w = (double)width, of = (double)chunk;
    const char *whole = frames == 1 && !d->schedule->chunk && has(d, "single") ? "single" : "first";
    add(d, whole, (double)first, h, w, 0, times);
    if (calls > 1) add(d, "second", of, h, w, 0, times);
    if (calls > 2) add(d, has(d, "next") ? "next" : "second", of, h, w, 0, times * (double)(calls - 2));
}

/* A picture that grows by each call's frames is copied anew with each. */
static void add_growth(decoding *d, int64_t frames, int64_t height, int64_t width)
{
    for (int64_t i = 2; i <= frames && d->schedule->chunk == 1; i++)
        add(d, "grow", 0, (double)height, (double)width, decoded_frames(d, i), 1);
}

/* One axis of tiles: how many there are, and the last one's extent; the others have `tile`. */
typedef struct {
    int64_t count, tile, last;
} tiles;

static tiles tiles_of(int64_t extent, int64_t tile, int64_t step)
{
    tiles out = {.count = (extent + step - 1) / step, .tile = lesser(tile, extent)};
    out.last = lesser(tile, extent - (out.count - 1) * step);
    return out;
}

/* All tiles of a picture of so many frames of latents. Those before the last may be cut off, too, where a tile is
 * longer than two steps are apart: they count as whole. */
static void add_tiles(decoding *d, int64_t frames, int64_t height, int64_t width)
{
    const dit_census_schedule *s = d->schedule;
    tiles rows = tiles_of(height, s->tile[0], s->step[0]), columns = tiles_of(width, s->tile[1], s->step[1]);
    double decoded = decoded_frames(d, frames), blend_rows, blend_columns;
    for (int bottom = 0; bottom < 2; bottom++)
        for (int right = 0; right < 2; right++) {
            int64_t h = bottom ? rows.last : rows.tile, w = right ? columns.last : columns.tile;
            double times = (double)(bottom ? 1 : rows.count - 1) * (double)(right ? 1 : columns.count - 1);
            if (times > 0) add_calls(d, frames, h, w, times);
        }
    blend_rows = (double)s->blend[0] * (double)(rows.count - 1) * (double)columns.count;
    blend_columns = (double)s->blend[1] * (double)(columns.count - 1) * (double)rows.count;
    add(d, "blend_rows", 0, 0, (double)columns.tile, decoded, blend_rows);
    add(d, "blend_columns", 0, (double)rows.tile, 0, decoded, blend_columns);
    if (s->chunk)
        add(d, "join", 0, (double)rows.tile, (double)columns.tile, decoded, (double)(rows.count * columns.count));
    add(d, "join", 0, (double)height, (double)width, decoded, 2);
}

/* One tile in time, or all. */
static void add_clip(decoding *d, int64_t frames, const dit_cost_decode *decode)
{
    const dit_census_schedule *s = d->schedule;
    bool large = s->tile[0] && (decode->height > s->tile[0] || decode->width > s->tile[1]);
    add(d, "before", (double)frames, (double)decode->height, (double)decode->width, 0, 1);
    if (decode->tiling && large)
        add_tiles(d, frames, decode->height, decode->width);
    else {
        add_calls(d, frames, decode->height, decode->width, 1);
        add_growth(d, frames, decode->height, decode->width);
    }
}

static void add_clips(decoding *d, const dit_cost_decode *decode)
{
    const dit_census_schedule *s = d->schedule;
    double h = (double)decode->height, w = (double)decode->width;
    int64_t count = 0;
    for (int64_t first = 0; first < decode->frames; first += s->step_frames, count++)
        add_clip(d, lesser(s->tile_frames, decode->frames - first), decode);
    add(d, "blend_frames", 0, h, w, 1, (double)(s->blend_frames * (count - 1)));
    add(d, "join", 0, h, w, decoded_frames(d, decode->frames), 1);
}

dit_census_time dit_cost_decode_time(const dit_census *census, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const dit_cost_decode *decode)
{
    decoding d = {.census = census, .schedule = dit_census_get_schedule(census), .device = device, .profile = profile};
    if (d.schedule->tile_frames && decode->frames > d.schedule->tile_frames - 1)
        add_clips(&d, decode);
    else
        add_clip(&d, decode->frames, decode);
    add(&d, "after", 0, (double)decode->height, (double)decode->width, decoded_frames(&d, decode->frames), 1);
    return d.time;
}

#include "engine/shapes/object_rule.h"
#include "engine/shapes/rule.h"

#include <math.h>
#include <string.h>

enum { EDGE = DIT_PICTURE_EDGE, BLOBS = 4, MIDDLE = DIT_CLIP_FRAMES / 2 };
static const float LONGEST_STEP = 4.0f, SLOWEST = 0.5f; /* pixels a frame: of a track, and of what moves */

/* The connected pixels of a frame's objects, the largest first. */
typedef struct {
    int count;
    dit_mask masks[BLOBS];
    float x[BLOBS], y[BLOBS];
} blobs;

/* Puts a mask behind the larger ones; the smallest falls out. */
static void insert_blob(blobs *all, const dit_mask *mask, int count)
{
    int at = all->count;
    while (at > 0 && dit_mask_count(&all->masks[at - 1]) < count) at--;
    if (at == BLOBS) return;
    if (all->count < BLOBS) all->count++;
    memmove(&all->masks[at + 1], &all->masks[at], (size_t)(all->count - 1 - at) * sizeof *all->masks);
    all->masks[at] = *mask;
}

static void find_blobs(const dit_sight *s, blobs *out)
{
    dit_mask left;
    dit_sight_objects(s, &left);
    out->count = 0;
    for (int y = 0; y < EDGE; y++) {
        while (left.rows[y]) {
            dit_mask part = {{0}};
            part.rows[y] = left.rows[y] & -left.rows[y];
            dit_mask_grow(&left, &part);
            for (int row = 0; row < EDGE; row++) left.rows[row] &= ~part.rows[row];
            int count = dit_mask_count(&part);
            if (count >= DIT_SIGHT_LEAST_PIXELS) insert_blob(out, &part, count);
        }
    }
    for (int k = 0; k < out->count; k++) dit_mask_centre(&out->masks[k], &out->x[k], &out->y[k]);
}

/* The blob nearest to (x, y) that one frame's movement can reach; -1 when there is none. */
static int nearest_blob(const blobs *frame, float x, float y)
{
    float least = LONGEST_STEP * LONGEST_STEP;
    int nearest = -1;
    for (int k = 0; k < frame->count; k++) {
        float dx = frame->x[k] - x, dy = frame->y[k] - y;
        if (dx * dx + dy * dy < least) least = dx * dx + dy * dy, nearest = k;
    }
    return nearest;
}

/* Follows blob `k` of the middle frame both ways and fills its centres. False when it is lost in a frame. */
static bool follow(const blobs *frames, int k, float x[DIT_CLIP_FRAMES], float y[DIT_CLIP_FRAMES])
{
    for (int way = -1; way <= 1; way += 2) {
        int blob = k;
        for (int frame = MIDDLE; frame >= 0 && frame < DIT_CLIP_FRAMES; frame += way) {
            if (frame != MIDDLE) blob = nearest_blob(&frames[frame], x[frame - way], y[frame - way]);
            if (blob < 0) return false;
            x[frame] = frames[frame].x[blob], y[frame] = frames[frame].y[blob];
        }
    }
    return true;
}

/* The slope of the line through values at 0, 1, ... */
static float slope(const float values[DIT_CLIP_FRAMES])
{
    float sum = 0, squares = 0;
    for (int t = 0; t < DIT_CLIP_FRAMES; t++) {
        float at = (float)t - 0.5f * (DIT_CLIP_FRAMES - 1);
        sum += at * values[t];
        squares += at * at;
    }
    return sum / squares;
}

static int motion_of(const float x[DIT_CLIP_FRAMES], const float y[DIT_CLIP_FRAMES])
{
    float vx = slope(x), vy = slope(y);
    if (fabsf(vx) < SLOWEST && fabsf(vy) < SLOWEST) return DIT_STILL;
    if (fabsf(vx) > fabsf(vy)) return vx < 0 ? DIT_LEFT : DIT_RIGHT;
    return vy < 0 ? DIT_UP : DIT_DOWN;
}

/* A blob and what lies around it, without the other blobs. */
static void blob_window(const blobs *frame, int k, dit_mask *window)
{
    *window = frame->masks[k];
    dit_mask_widen(window);
    dit_mask_widen(window);
    for (int other = 0; other < frame->count; other++)
        for (int y = 0; other != k && y < EDGE; y++) window->rows[y] &= ~frame->masks[other].rows[y];
}

void dit_shapes_read_clip(const float *planes, dit_reading *out)
{
    dit_sight sights[2], *middle = &sights[0]; /* the other one is of each other frame in turn */
    blobs frames[DIT_CLIP_FRAMES];
    for (int frame = 0; frame < DIT_CLIP_FRAMES; frame++) {
        dit_sight *sight = &sights[frame != MIDDLE];
        dit_sight_take(planes + frame * DIT_PICTURE_VALUES, sight);
        find_blobs(sight, &frames[frame]);
    }
    *out = (dit_reading){.background = dit_sight_background(middle)};
    for (int k = 0; k < frames[MIDDLE].count; k++) {
        float x[DIT_CLIP_FRAMES], y[DIT_CLIP_FRAMES];
        bool followed = follow(frames, k, x, y);
        float at_x = followed ? 0.5f * (x[MIDDLE - 1] + x[MIDDLE]) : frames[MIDDLE].x[k];
        float at_y = followed ? 0.5f * (y[MIDDLE - 1] + y[MIDDLE]) : frames[MIDDLE].y[k];
        int place = (at_x >= EDGE / 2) | (at_y >= EDGE / 2) << 1;
        if (out->found[place]) continue; /* the larger one stands for the place */
        dit_mask window;
        blob_window(&frames[MIDDLE], k, &window);
        out->found[place] = true;
        dit_shapes_read_object(middle, &frames[MIDDLE].masks[k], &window, &out->objects[place]);
        out->objects[place].is[DIT_PLACE] = place;
        out->objects[place].is[DIT_MOTION] = followed ? motion_of(x, y) : -1;
    }
}

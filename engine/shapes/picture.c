#include "engine/shapes/picture.h"

#include <math.h>

enum { EDGE = DIT_PICTURE_EDGE };
static const float DARK = 0.35f; /* of the colour, in the dark part of a texture */

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static float smaller(float a, float b)
{
    return a < b ? a : b;
}

static float positive(float x)
{
    return x > 0 ? x : -x;
}

static float length_of(float x, float y)
{
    return sqrtf(x * x + y * y);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static float box_distance(float half_width, float half_height, float x, float y)
{
    float dx = positive(x) - half_width, dy = positive(y) - half_height;
    return length_of(larger(dx, 0), larger(dy, 0)) + smaller(larger(dx, dy), 0);
}

/* An equilateral triangle that points up, 1.1 radius from its centre to a corner, lowered so that it fills its
 * quadrant. Outside a corner this is less than the distance: corners stay sharp. */
static float triangle_distance(float radius, float x, float y)
{
    const float half = 0.5f, root = 0.8660254f;
    float below = y - 0.2f * radius;
    return larger(root * positive(x) - half * below, below) - 0.55f * radius;
}

float dit_picture_distance(int shape, float radius, float x, float y)
{
    switch (shape) {
    case DIT_CIRCLE: return length_of(x, y) - radius;
    case DIT_SQUARE: return box_distance(0.9f * radius, 0.9f * radius, x, y);
    case DIT_TRIANGLE: return triangle_distance(radius, x, y);
    case DIT_RING: return positive(length_of(x, y) - 0.75f * radius) - 0.25f * radius;
    default: {
        float arm = 0.33f * radius;
        return smaller(box_distance(radius, arm, x, y), box_distance(arm, radius, x, y));
    }
    }
}

/* ---- textures ---------------------------------------------------------------------------------------------------- */

static float unit(float x)
{
    return smaller(larger(x, 0), 1);
}

float dit_picture_dark_share(float at, float phase)
{
    float t = at + phase + 32.0f; /* positive for every pixel */
    float in_wave = t - 4.0f * (float)(int)(t * 0.25f);
    return unit(1.5f - positive(in_wave - 2.0f));
}

float dit_picture_light(int texture, float dark_u, float dark_v)
{
    if (texture == DIT_PLAIN) return 1.0f;
    float dark = texture == DIT_STRIPED ? dark_v : dark_v + dark_u - 2.0f * dark_v * dark_u;
    return 1.0f - (1.0f - DARK) * dark;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static void render_background(const dit_scene *scene, float *planes)
{
    for (int i = 0; i < DIT_PICTURE_PLANE; i++) {
        float x = ((float)(i % EDGE) - 15.5f) * 0.0625f, y = ((float)(i / EDGE) - 15.5f) * 0.0625f;
        float level = scene->level + (scene->slope_x * x + scene->slope_y * y);
        for (int c = 0; c < 3; c++) planes[c * DIT_PICTURE_PLANE + i] = level;
    }
}

/* Where a pixel lies in the frame of an object, whose centre is moved by `t` frames. */
static void to_object(const dit_scene_object *o, float t, int pixel, float *u, float *v)
{
    float x = (float)(pixel % EDGE) + 0.5f - (o->x + t * o->vx), y = (float)(pixel / EDGE) + 0.5f - (o->y + t * o->vy);
    *u = o->cosine * x + o->sine * y;
    *v = o->cosine * y - o->sine * x;
}

static float coverage(const dit_scene_object *o, float u, float v)
{
    return unit(0.5f - dit_picture_distance(o->shape, o->radius, u, v));
}

static void render_object(const dit_scene_object *o, float t, float *planes)
{
    for (int i = 0; i < DIT_PICTURE_PLANE; i++) {
        float u, v;
        to_object(o, t, i, &u, &v);
        float far = 1.3f * o->radius + 1.0f;
        if (u * u + v * v > far * far) continue;
        float share = coverage(o, u, v);
        if (share <= 0) continue;
        float light =
            dit_picture_light(o->texture, dit_picture_dark_share(u, o->phase_u), dit_picture_dark_share(v, o->phase_v));
        for (int c = 0; c < 3; c++) {
            float *value = &planes[c * DIT_PICTURE_PLANE + i];
            *value = *value + share * (light * o->colour[c] - *value);
        }
    }
}

void dit_picture_render_frame(const dit_scene *scene, int frame, float *planes)
{
    float t = (float)frame - 0.5f * (DIT_CLIP_FRAMES - 1);
    render_background(scene, planes);
    for (int k = 0; k < scene->count; k++) render_object(&scene->objects[k], t, planes);
}

void dit_picture_coverage(const dit_scene_object *object, float *share)
{
    for (int i = 0; i < DIT_PICTURE_PLANE; i++) {
        float u, v;
        to_object(object, 0, i, &u, &v);
        share[i] = coverage(object, u, v);
    }
}

void dit_picture_to_object(const dit_scene_object *object, int pixel, float *u, float *v)
{
    to_object(object, 0, pixel, u, v);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* A clip whose objects would meet takes the caption and the scene of an index that no sample has. */
static void draw_sample(dit_split split, bool clip, uint64_t index, dit_caption *caption, dit_scene *scene)
{
    for (uint64_t attempt = 0;; attempt++) {
        uint64_t at = index | attempt << 48;
        dit_split_caption(split, clip, at, caption);
        dit_scene_draw(caption, split, at, scene);
        if (!clip || dit_scene_stays_apart(scene)) return;
    }
}

void dit_picture_samples(dit_split split, bool clip, uint64_t first, int64_t count, float *pictures, uint8_t *slots)
{
    int frames = clip ? DIT_CLIP_FRAMES : 1;
    for (int64_t i = 0; i < count; i++) {
        dit_caption caption;
        dit_scene scene;
        draw_sample(split, clip, first + (uint64_t)i, &caption, &scene);
        if (slots) dit_caption_slots(&caption, slots + i * DIT_CAPTION_SLOTS);
        for (int frame = 0; pictures && frame < frames; frame++)
            dit_picture_render_frame(&scene, frame, pictures + (i * frames + frame) * DIT_PICTURE_VALUES);
    }
}

#include "engine/shapes/scene.h"

#include "engine/shapes/draws.h"

static const float hues[DIT_COLOURS] = {0, 30, 60, 120, 180, 240, 275, 315};
static const float levels[DIT_BACKGROUNDS] = {0.05f, 0.45f, 0.85f};

/* Radius, its spread and how far the centre may lie from the quadrant's: no object leaves its quadrant. */
static const struct {
    float radius, spread, shift;
} sizes[DIT_SIZES] = {{6.5f, 0.5f, 1.0f}, {4.0f, 0.4f, 2.0f}};

static const float LARGEST_HALF_ANGLE = 0.0874887f; /* tan(5 degrees) */

float dit_scene_hue(int colour)
{
    return hues[colour];
}

/* RGB of hue (0..360), saturation and value (0..1). */
static void rgb_of(float hue, float saturation, float value, float rgb[3])
{
    float sixth = hue / 60.0f;
    int sector = (int)sixth;
    float part = sixth - (float)sector, low = value * (1.0f - saturation);
    float falling = value * (1.0f - saturation * part), rising = value * (1.0f - saturation * (1.0f - part));
    const float table[6][3] = {{value, rising, low},  {falling, value, low}, {low, value, rising},
                               {low, falling, value}, {rising, low, value},  {value, low, falling}};
    for (int c = 0; c < 3; c++) rgb[c] = table[sector % 6][c];
}

/* Shifts the path of a moving object so that it is inside the picture at both ends. */
static float keep_inside(float middle, float speed, float radius)
{
    float reach = radius + (speed < 0 ? -speed : speed) * 0.5f * (DIT_CLIP_FRAMES - 1);
    if (middle < reach) return reach;
    return middle > DIT_PICTURE_EDGE - reach ? DIT_PICTURE_EDGE - reach : middle;
}

static void draw_motion(dit_draws *draws, int motion, dit_scene_object *o)
{
    static const int directions[DIT_MOTIONS][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    float speed = dit_draw_between(draws, 1.0f, 1.5f);
    if (motion <= DIT_STILL || motion >= DIT_MOTIONS) return;
    o->vx = (float)directions[motion][0] * speed;
    o->vy = (float)directions[motion][1] * speed;
    o->x = keep_inside(o->x, o->vx, o->radius);
    o->y = keep_inside(o->y, o->vy, o->radius);
}

/* Every object takes the same number of draws, whatever its words are. */
static void draw_object(dit_draws *draws, const dit_shape_object *object, dit_scene_object *o)
{
    const int *is = object->is;
    float shift = sizes[is[DIT_SIZE]].shift, quarter = DIT_PICTURE_EDGE / 4;
    *o = (dit_scene_object){.shape = is[DIT_SHAPE], .texture = is[DIT_TEXTURE]};
    o->x = quarter * (float)(is[DIT_PLACE] & 1 ? 3 : 1) + shift * dit_draw_between(draws, -1.0f, 1.0f);
    o->y = quarter * (float)(is[DIT_PLACE] & 2 ? 3 : 1) + shift * dit_draw_between(draws, -1.0f, 1.0f);
    o->radius = sizes[is[DIT_SIZE]].radius + sizes[is[DIT_SIZE]].spread * dit_draw_between(draws, -1.0f, 1.0f);
    /* By the half angle's tangent: no sine of a library, so that every machine has these bits. */
    float t = LARGEST_HALF_ANGLE * dit_draw_between(draws, -1.0f, 1.0f), scale = 1.0f / (1.0f + t * t);
    o->cosine = (1.0f - t * t) * scale;
    o->sine = 2.0f * t * scale;
    float hue = hues[is[DIT_COLOUR]] + dit_draw_between(draws, -4.0f, 4.0f);
    float saturation = dit_draw_between(draws, 0.85f, 0.95f), value = dit_draw_between(draws, 0.85f, 0.95f);
    rgb_of(hue < 0 ? hue + 360.0f : hue, saturation, value, o->colour);
    o->phase_u = dit_draw_between(draws, 0.0f, 4.0f);
    o->phase_v = dit_draw_between(draws, 0.0f, 4.0f);
    draw_motion(draws, is[DIT_MOTION], o);
}

void dit_scene_draw(const dit_caption *caption, dit_split split, uint64_t index, dit_scene *out)
{
    dit_draws draws = dit_draws_of((int)split, caption->clip ? "shapes.scene.clip" : "shapes.scene", index);
    *out = (dit_scene){.count = caption->count};
    out->level = levels[caption->background] + dit_draw_between(&draws, -0.03f, 0.03f);
    out->slope_x = dit_draw_between(&draws, -0.0125f, 0.0125f);
    out->slope_y = dit_draw_between(&draws, -0.0125f, 0.0125f);
    for (int k = 0; k < caption->count; k++) draw_object(&draws, &caption->objects[k], &out->objects[k]);
}

bool dit_scene_stays_apart(const dit_scene *scene)
{
    const dit_scene_object *a = &scene->objects[0], *b = &scene->objects[1];
    if (scene->count < 2) return true;
    float apart = a->radius + b->radius + 2.0f;
    for (int frame = 0; frame < DIT_CLIP_FRAMES; frame++) {
        float t = (float)frame - 0.5f * (DIT_CLIP_FRAMES - 1);
        float x = a->x - b->x + t * (a->vx - b->vx), y = a->y - b->y + t * (a->vy - b->vy);
        if (x * x + y * y < apart * apart) return false;
    }
    return true;
}

/* Scene: where the objects of one sample lie and what they look like, in numbers.
 *
 * A caption leaves free what a scene draws: centres, radii, rotations, hues, phases of textures, speeds. What is
 * drawn for an object depends on (split, index) and on its place in the caption only, so that two captions which
 * differ in one word give scenes that differ where the word says. Units are pixels of a 32 x 32 picture; y points
 * down.
 */
#ifndef DIT_ENGINE_SHAPES_SCENE_H
#define DIT_ENGINE_SHAPES_SCENE_H

#include "engine/shapes/split.h"

enum { DIT_PICTURE_EDGE = 32, DIT_CLIP_FRAMES = 8 };

typedef struct {
    int shape, texture;
    float x, y;   /* centre in the middle of the clip */
    float vx, vy; /* pixels a frame */
    float radius;
    float cosine, sine;     /* of the rotation, within 10 degrees */
    float colour[3];        /* RGB of the bright part */
    float phase_u, phase_v; /* of the texture, 0..4 */
} dit_scene_object;

typedef struct {
    float level, slope_x, slope_y; /* grey of the background in the middle, and its change over half an edge */
    int count;
    dit_scene_object objects[DIT_CAPTION_OBJECTS];
} dit_scene;

/* Hue of a colour, degrees. */
float dit_scene_hue(int colour);
/* Fills the scene of a caption as sample `index` of a split would draw it. */
void dit_scene_draw(const dit_caption *caption, dit_split split, uint64_t index, dit_scene *out);
/* Whether the objects stay apart in every frame of a clip. */
bool dit_scene_stays_apart(const dit_scene *scene);

#endif

/* Picture: renders scenes as RGB, 32 x 32 pixels, antialiased. The same bits on every machine: only sums, products,
 * quotients and square roots of single precision, which IEEE 754 rounds in one way. */
#ifndef DIT_ENGINE_SHAPES_PICTURE_H
#define DIT_ENGINE_SHAPES_PICTURE_H

#include "engine/shapes/scene.h"

enum { DIT_PICTURE_PLANE = DIT_PICTURE_EDGE * DIT_PICTURE_EDGE, DIT_PICTURE_VALUES = 3 * DIT_PICTURE_PLANE };

/* Signed distance from (x, y) to the edge of a shape of this radius around (0, 0), in pixels; negative inside.
 * Circles have this radius; other shapes are sized to look as large and stay within 1.3 of it. */
float dit_picture_distance(int shape, float radius, float x, float y);
/* Renders a frame, 0 <= frame < DIT_CLIP_FRAMES, into planes [3][32][32], values 0..1. Nothing moves in the scene of a
 * picture: all its frames are equal. */
void dit_picture_render_frame(const dit_scene *scene, int frame, float *planes);
/* Fills share[32][32] with how much of each pixel an object covers in the middle of its path, 0..1. */
void dit_picture_coverage(const dit_scene_object *object, float *share);
/* Where a pixel (row times 32 plus column) lies in the frame of an object in the middle of its path. */
void dit_picture_to_object(const dit_scene_object *object, int pixel, float *u, float *v);
/* The share of a pixel at `at`, |at| < 32, that lies in the dark half of a wave of 4 pixels; phase 0..4. */
float dit_picture_dark_share(float at, float phase);
/* What a texture multiplies a colour with, 0.35..1, where its waves have these dark shares across u and v. */
float dit_picture_light(int texture, float dark_u, float dark_v);

/* Fills `count` samples of a split from `first` on: pictures [count][3][32][32], or clips [count][8][3][32][32], and
 * the slots of their captions [count][16]. Either pointer may be NULL. Clips whose objects would meet are drawn
 * again. */
void dit_picture_samples(dit_split split, bool clip, uint64_t first, int64_t count, float *pictures, uint8_t *slots);

#endif

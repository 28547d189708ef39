#include "suite/generate/binning.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- PixArt and Sana: shapes by height / width --------------------------------------------------------------------- */

enum { TABLE_SIDE = 1024 };

/* One shape of ASPECT_RATIO_1024_BIN. Those of 256, 512, 2048 and 4096 pixels are a quarter, half, two and four times as large. */
typedef struct {
    double ratio; /* rounded, as the pipelines look it up */
    int64_t height, width;
    bool large_only; /* of 2048 pixels and more alone */
} shape;

/* clang-format off */
static const shape shapes[] = {
    {0.25, 512, 2048, false}, {0.26, 512, 1984, true}, {0.27, 512, 1920, true}, {0.28, 512, 1856, false}, {0.32, 576, 1792, false},
    {0.33, 576, 1728, false}, {0.35, 576, 1664, false}, {0.4, 640, 1600, false}, {0.42, 640, 1536, false}, {0.48, 704, 1472, false},
    {0.5, 704, 1408, false}, {0.52, 704, 1344, false}, {0.57, 768, 1344, false}, {0.6, 768, 1280, false}, {0.68, 832, 1216, false},
    {0.72, 832, 1152, false}, {0.78, 896, 1152, false}, {0.82, 896, 1088, false}, {0.88, 960, 1088, false}, {0.94, 960, 1024, false},
    {1.0, 1024, 1024, false}, {1.07, 1024, 960, false}, {1.13, 1088, 960, false}, {1.21, 1088, 896, false}, {1.29, 1152, 896, false},
    {1.38, 1152, 832, false}, {1.46, 1216, 832, false}, {1.67, 1280, 768, false}, {1.75, 1344, 768, false}, {2.0, 1408, 704, false},
    {2.09, 1472, 704, false}, {2.4, 1536, 640, false}, {2.5, 1600, 640, false}, {2.89, 1664, 576, true}, {3.0, 1728, 576, false},
    {3.11, 1792, 576, true}, {3.62, 1856, 512, true}, {3.75, 1920, 512, true}, {3.88, 1984, 512, true}, {4.0, 2048, 512, false},
};
/* clang-format on */

static void take_nearest_shape(int64_t side, int64_t *height, int64_t *width)
{
    double asked = (double)*height / (double)*width;
    const shape *best = NULL;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].large_only && side <= TABLE_SIDE) continue;
        if (!best || fabs(shapes[i].ratio - asked) < fabs(best->ratio - asked)) best = &shapes[i];
    }
    *height = best->height * side / TABLE_SIDE;
    *width = best->width * side / TABLE_SIDE;
}

/* A pipeline that has such tables. */
typedef struct {
    const char *name;
    int64_t latent_px, least_side, most_side; /* of its tables */
} table_user;

static const table_user table_users[] = {
    {"PixArtAlphaPipeline", 8, 256, 1024}, {"PixArtSigmaPipeline", 8, 256, 2048}, {"SanaPipeline", 32, 512, 4096}};

static bool apply_tables(const table_user *user, int64_t sample_size, int64_t *height, int64_t *width)
{
    for (int64_t side = user->least_side; side <= user->most_side; side *= 2) {
        if (sample_size * user->latent_px != side) continue;
        take_nearest_shape(side, height, width);
        return true;
    }
    return false;
}

/* ---- HunyuanDiT: shapes by width / height, then by area ---------------------------------------------------------- */

static const struct {
    double ratio; /* of the group, which a row's own may differ from */
    int64_t width, height;
} standards[] = {
    {1.0, 1024, 1024},       {1.0, 1280, 1280},       {4.0 / 3.0, 1024, 768}, {4.0 / 3.0, 1152, 864},
    {4.0 / 3.0, 1280, 960},  {3.0 / 4.0, 768, 1024},  {3.0 / 4.0, 864, 1152}, {3.0 / 4.0, 960, 1280},
    {16.0 / 9.0, 1280, 768}, {9.0 / 16.0, 768, 1280},
};
enum { STANDARDS = sizeof standards / sizeof *standards, GRID = 16 };

static bool is_standard(int64_t height, int64_t width)
{
    for (int i = 0; i < STANDARDS; i++)
        if (standards[i].width == width && standards[i].height == height) return true;
    return false;
}

static bool apply_hunyuan(int64_t *height, int64_t *width)
{
    int64_t high = *height / GRID * GRID, wide = *width / GRID * GRID;
    int best = 0;
    if (high < 1 || wide < 1) return false;
    double ratio = (double)wide / (double)high, area = (double)wide * (double)high;
    *height = high, *width = wide;
    if (is_standard(high, wide)) return true;
    for (int i = 1; i < STANDARDS; i++) {
        double far = fabs(standards[i].ratio - ratio), near = fabs(standards[best].ratio - ratio);
        double larger = fabs((double)(standards[i].width * standards[i].height) - area);
        double smaller = fabs((double)(standards[best].width * standards[best].height) - area);
        bool alike = standards[i].ratio == standards[best].ratio;
        if (alike ? larger < smaller : far < near) best = i;
    }
    *height = standards[best].height, *width = standards[best].width;
    return true;
}

/* ---- HunyuanVideo 1.5: the area of a square ------------------------------------------------------------------------ */

bool suite_binning_target(int64_t target, int64_t cell, int64_t *height, int64_t *width)
{
    enum { MOST_TARGET = 1 << 14, MOST_RATIO = 4 };
    const double digits = 1e5; /* ratios are rounded */
    double sides = cell > 0 && target > 0 && target <= MOST_TARGET ? (double)target / (double)cell : 0;
    int64_t cells = (int64_t)nearbyint(sides * sides), rows = cells, columns = 1;
    double best = INFINITY;
    while (rows > 0) {
        double ratio = nearbyint((double)rows / (double)columns * digits) / digits, over = ratio - 9.0 / 16.0;
        bool allowed = rows <= MOST_RATIO * columns && columns <= MOST_RATIO * rows;
        if (allowed && over >= 0 && over < best) {
            best = over;
            *height = rows * cell, *width = columns * cell;
        }
        if ((columns + 1) * rows <= cells)
            columns++;
        else
            rows--;
    }
    return isfinite(best);
}

/* ---- pipelines --------------------------------------------------------------------------------------------------- */

bool suite_binning_apply(const char *pipeline, int64_t sample_size, int64_t *height, int64_t *width, bool *fits)
{
    *fits = true;
    for (size_t i = 0; i < sizeof table_users / sizeof *table_users; i++)
        if (strcmp(pipeline, table_users[i].name) == 0)
            return apply_tables(&table_users[i], sample_size, height, width);
    *fits = false;
    return strcmp(pipeline, "HunyuanDiTPipeline") == 0 && apply_hunyuan(height, width);
}

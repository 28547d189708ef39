/* Source: the model cards and the examples of the pipelines: CogVideoX 8 (1.5: 16), HunyuanVideo 24, LTX-Video 25, LTX-2 24, Mochi
 * 30, Wan 16 (2.2 TI2V-5B: 24), Latte 8. */
#include "suite/generate/clip_rate.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *transformer;
    int rate;
} row;

/* clang-format off */
static const row rows[] = {
    {"CogVideoXTransformer3DModel", 8},
    {"HunyuanVideoTransformer3DModel", 24},
    {"HunyuanVideo15Transformer3DModel", 24},
    {"LTX2VideoTransformer3DModel", 24},
    {"LTXVideoTransformer3DModel", 25},
    {"LatteTransformer3DModel", 8},
    {"MochiTransformer3DModel", 30},
    {"WanTransformer3DModel", 16},
};
/* clang-format on */
enum { TI2V_CHANNELS = 48, COGVIDEOX_1_5 = 16, TI2V = 24 };

int suite_clip_rate(const cJSON *config, double frame_rate)
{
    const char *name = dit_json_text_or(config, "_class_name", "");
    int rate = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].transformer, name) == 0) rate = rows[i].rate;
    if (strncmp(name, "LTX", 3) == 0 && frame_rate >= 1 && frame_rate <= 1000) return (int)lround(frame_rate);
    if (strncmp(name, "CogVideoX", 9) == 0 && cJSON_IsNumber(dit_json_member(config, "patch_size_t")))
        return COGVIDEOX_1_5;
    if (strncmp(name, "Wan", 3) == 0 && dit_json_number_or(config, "in_channels", 16) == TI2V_CHANNELS) return TI2V;
    return rate;
}

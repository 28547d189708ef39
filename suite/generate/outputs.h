/* Outputs: decides where the files of `ditbench generate` go, and moves them there.
 *
 * FILE.png means FILE.png, FILE.json (the record), FILE.safetensors (the latents) and FILE.trace.json: the engine
 * writes into a folder of ours beside them, and a rename gives each whole file its name. FILE.safetensors means the
 * latents without an image, FILE.mp4 and FILE.webm a clip instead of an animated PNG. A name without an ending, a name that ends in '/', and a folder that exists mean a folder
 * of the user's that keeps all files. Other endings are refused, because no such file can be written.
 */
#ifndef DIT_SUITE_GENERATE_OUTPUTS_H
#define DIT_SUITE_GENERATE_OUTPUTS_H

#include "base/json.h"
#include "suite/paths.h"

typedef struct {
    char stem[SUITE_PATH];   /* the output without its ending; "" for a folder of the user's */
    char folder[SUITE_PATH]; /* where the engine writes                                      */
    bool latents;            /* FILE.safetensors: no picture is wanted                       */
    const char *clip;        /* "mp4", "webm"; NULL: a PNG                                   */
} suite_delivery;

/* Decides where files go, and makes nothing. Errors: DIT_ERR_USAGE for an ending that cannot be written, DIT_ERR_IO
 * when the place cannot. */
dit_status suite_delivery_init(const char *output, suite_delivery *out);
/* Makes the folder that the engine writes into if it is ours. Errors: DIT_ERR_IO. */
dit_status suite_delivery_open(suite_delivery *delivery);
/* Moves everything to its name and adds "pictures" (with "path"), "latents", "record" and "trace" to `answer`. Numbered
 * frames go into a folder, which loses the frames of an earlier clip and nothing else. Errors: DIT_ERR_IO,
 * DIT_ERR_MEMORY. */
dit_status suite_delivery_place(const suite_delivery *delivery, const cJSON *record, cJSON *answer);
/* Removes the folder if it is ours, with all that was not moved. */
void suite_delivery_close(const suite_delivery *delivery);

#endif

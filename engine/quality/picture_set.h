/* Picture set: pictures or clips of one size, with their names and prompts, from files that are not trusted.
 *
 * A path is a file or a folder of files. NAME.safetensors with a tensor `pixels` [count, 3, (frames,) height, width] has
 * colours in [-1, 1] as a VAE gives them (`ditbench generate --pixels`); its pictures are called NAME, or NAME-0, NAME-1,
 * ... of several. NAME.png is a picture whose colours were rounded to 8 bits, a folder NAME of frame-0000.png, ... a
 * clip. Where a name has colours, its PNG or folder is not read. Other files are left alone.
 *
 * The record beside a picture, NAME.json as `ditbench generate --prompt` writes it, tells its caption. The path
 * "shapes:SPLIT:COUNT" stands for the first renders of a split (engine/shapes/split.h), "shapes-clips:SPLIT:COUNT" for
 * clips, which have their captions.
 *
 * Pictures called NAME-0, NAME-1, ... are of one prompt and differ by their seed, unless their captions differ; or each
 * is of its own, if one says so.
 */
#ifndef DIT_ENGINE_PICTURE_SET_H
#define DIT_ENGINE_PICTURE_SET_H

#include "engine/quality/fidelity.h"
#include "engine/shapes/caption.h"

enum { DIT_PICTURE_NAME = 192 };

typedef struct {
    char name[DIT_PICTURE_NAME];
    char caption[DIT_CAPTION_TEXT]; /* "": unknown */
    int prompt;                     /* from 0, in order of name */
} dit_picture_label;

typedef struct {
    dit_picture_size size;
    int count, prompts;
    bool rounded;              /* some picture is of 8 bits */
    dit_picture_label *labels; /* [count], by name          */
    float *pixels;             /* [count][3, frames, height, width] in [0, 1] */
    char digest[48];           /* of sizes, names, captions, prompts and pixels */
} dit_picture_set;

/* Reads all pictures at `path`. Errors: DIT_ERR_NOT_FOUND when there are none; DIT_ERR_SHAPE when sizes differ, two
 * pictures have one name, a name has more than 175 bytes, or they are more than fit into 32 GiB; DIT_ERR_USAGE for a path
 * of renders that is none; DIT_ERR_NONFINITE, DIT_ERR_MEMORY; as dit_picture_read and dit_safetensors_open. */
dit_status dit_picture_set_read(const char *path, bool prompt_each, dit_picture_set *out);
void dit_picture_set_release(dit_picture_set *set); /* accepts a zeroed one */

/* Gives NAME-0, NAME-1, ... (or NAME, alone) their captions [count], by number, or all the only one, and the set its digest
 * with them. A caption has less than DIT_CAPTION_TEXT bytes. */
void dit_picture_set_tell(dit_picture_set *set, const char *const *captions, int64_t count);
/* Returns which picture is NAME-`number`, or NAME alone where the number is 0; -1: none. Pictures lie by name, so NAME-10 before
 * NAME-2. */
int dit_picture_set_numbered(const dit_picture_set *set, int64_t number);
/* Returns the pixels of a picture. */
const float *dit_picture_set_at(const dit_picture_set *set, int index);
/* Returns DIT_OK where both sets have pictures of the same names and size, else why they are no pairs. */
dit_status dit_picture_set_pairs(const dit_picture_set *a, const dit_picture_set *b);

#endif

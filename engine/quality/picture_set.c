#include "engine/quality/picture_set.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/list.h"
#include "base/safetensors.h"
#include "base/words.h"
#include "engine/files/picture_read.h"
#include "engine/shapes/picture.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, MOST_PICTURES = 1 << 20, MOST_FRAMES = 1 << 14 };
static const int64_t most_floats = INT64_C(1) << 33;

typedef enum { SOURCE_NONE, SOURCE_PIXELS, SOURCE_PNG, SOURCE_FRAMES } source_kind;

/* Where pictures come from. */
typedef struct {
    source_kind kind;
    char stem[DIT_PICTURE_NAME - 16];
    char path[PATH_BYTES];
} source;

typedef struct {
    source *items;
    int count;
} source_list;

/* One picture while a set is gathered. */
typedef struct {
    char name[DIT_PICTURE_NAME];
    bool rounded;
    dit_picture_size size;
    float *pixels;
} picture;

typedef struct {
    picture *items;
    int count;
} picture_list;

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* ---- which files ------------------------------------------------------------------------------------------------- */

/* Returns what kind of source a path is by its name `file`, and how long the part is that names its pictures. */
static source_kind kind_of(const char *path, const char *file, size_t *stem)
{
    size_t length = strlen(file);
    char frame[PATH_BYTES + 16];
    static const struct {
        const char *ending;
        source_kind kind;
    } kinds[] = {{".safetensors", SOURCE_PIXELS}, {".png", SOURCE_PNG}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t ending = strlen(kinds[i].ending);
        if (length <= ending || strcmp(file + length - ending, kinds[i].ending) != 0 || is_folder(path)) continue;
        *stem = length - ending;
        return kinds[i].kind;
    }
    *stem = length;
    snprintf(frame, sizeof frame, "%s/frame-0000.png", path);
    return is_folder(path) && exists(frame) ? SOURCE_FRAMES : SOURCE_NONE;
}

/* Adds the source at `path`, which has less than PATH_BYTES; what is none is left alone. */
static dit_status add_source(source_list *list, const char *path, const char *file)
{
    size_t stem;
    source_kind kind = kind_of(path, file, &stem);
    if (kind == SOURCE_NONE) return DIT_OK;
    if (stem >= sizeof list->items->stem)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                       "%.300s: the name of a picture has %zu bytes, at most %zu are read", file, stem,
                                       sizeof list->items->stem - 1),
                              "rename it");
    if (list->count == MOST_PICTURES) return DIT_FAIL(DIT_ERR_SHAPE, "more than %d files of pictures", MOST_PICTURES);
    DIT_TRY(dit_list_grow((void **)&list->items, list->count, sizeof *list->items));
    source *added = &list->items[list->count++];
    *added = (source){.kind = kind};
    snprintf(added->stem, sizeof added->stem, "%.*s", (int)stem, file);
    snprintf(added->path, sizeof added->path, "%s", path);
    return DIT_OK;
}

static int by_path(const void *a, const void *b)
{
    const source *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* Lists a folder, in an order that does not depend on the file system. */
static dit_status list_folder(const char *folder, source_list *out)
{
    char path[PATH_BYTES];
    dit_status st = DIT_OK;
    DIR *dir = opendir(folder);
    if (!dir) return DIT_FAIL(DIT_ERR_IO, "cannot read the folder %s: %s", folder, strerror(errno));
    for (struct dirent *entry; st == DIT_OK && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            st = add_source(out, path, entry->d_name);
        else
            st = DIT_FAIL(DIT_ERR_IO, "the path of %s is too long, in the folder %s", entry->d_name, folder);
    }
    closedir(dir);
    if (out->count) qsort(out->items, (size_t)out->count, sizeof *out->items, by_path);
    return st;
}

/* Lists the sources at a path, and names the folder in which records stand beside them. */
static dit_status list_sources(const char *path, source_list *out, char folder[PATH_BYTES])
{
    if (!exists(path)) return DIT_FAIL(DIT_ERR_NOT_FOUND, "there is nothing at %s", path);
    if (snprintf(folder, PATH_BYTES, "%s", path) >= PATH_BYTES)
        return DIT_FAIL(DIT_ERR_IO, "the path of a set of pictures is too long");
    for (size_t end = strlen(folder); end > 1 && folder[end - 1] == '/';) folder[--end] = 0;
    char *slash = strrchr(folder, '/');
    DIT_TRY(add_source(out, folder, slash ? slash + 1 : folder));
    if (out->count == 0 && is_folder(folder)) return list_folder(folder, out);
    if (out->count == 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s is neither a .png nor a .safetensors file", path),
                              "give a folder of pictures, or one file");
    if (slash)
        slash[slash == folder] = 0;
    else
        snprintf(folder, PATH_BYTES, ".");
    return DIT_OK;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* Checks that so many pictures of so many values are not more than are read. */
static dit_status check_amount(int64_t pictures, int64_t floats)
{
    if (pictures <= MOST_PICTURES && floats <= most_floats / pictures) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "more than %d pictures, or %lld values, are more than are read", MOST_PICTURES,
                    (long long)most_floats);
}

static dit_status add_picture(picture_list *list, const char *stem, int64_t number, dit_picture_size size, bool rounded,
                              float **pixels)
{
    int64_t floats = dit_picture_floats(size);
    DIT_TRY(check_amount(list->count + 1, floats));
    DIT_TRY(dit_list_grow((void **)&list->items, list->count, sizeof *list->items));
    picture *added = &list->items[list->count];
    *added = (picture){.size = size, .rounded = rounded, .pixels = malloc((size_t)floats * sizeof(float))};
    if (!added->pixels) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture");
    if (number < 0)
        snprintf(added->name, sizeof added->name, "%s", stem);
    else
        snprintf(added->name, sizeof added->name, "%s-%lld", stem, (long long)number);
    list->count++;
    *pixels = added->pixels;
    return DIT_OK;
}

/* Copies levels [height, width, 3] to frame `frame` of the planes. */
static void place_levels(const uint8_t *rgb, dit_picture_size size, int64_t frame, float *pixels)
{
    int64_t plane = size.height * size.width;
    for (int64_t c = 0; c < DIT_RGB; c++)
        for (int64_t i = 0; i < plane; i++)
            pixels[(c * size.frames + frame) * plane + i] = (float)rgb[i * DIT_RGB + c] / 255.0f;
}

static dit_status read_png(const source *from, picture_list *out)
{
    dit_picture_size size = {.frames = 1};
    uint8_t *rgb;
    float *pixels;
    DIT_TRY(dit_picture_read(from->path, &size.height, &size.width, &rgb));
    dit_status st = add_picture(out, from->stem, -1, size, true, &pixels);
    if (st == DIT_OK) place_levels(rgb, size, 0, pixels);
    free(rgb);
    return st;
}

/* Names frame `frame`; false when there is none. */
static bool frame_path(const source *from, int64_t frame, char out[PATH_BYTES + 32])
{
    snprintf(out, PATH_BYTES + 32, "%s/frame-%04lld.png", from->path, (long long)frame);
    return exists(out);
}

static dit_status read_frames(const source *from, picture_list *out)
{
    char path[PATH_BYTES + 32];
    dit_picture_size size = {0};
    float *pixels = NULL;
    while (size.frames < MOST_FRAMES && frame_path(from, size.frames, path)) size.frames++;
    for (int64_t frame = 0; frame < size.frames; frame++) {
        int64_t height, width;
        uint8_t *rgb;
        frame_path(from, frame, path);
        DIT_TRY(dit_picture_read(path, &height, &width, &rgb));
        dit_status st = DIT_OK;
        if (!pixels) {
            size.height = height, size.width = width;
            st = add_picture(out, from->stem, -1, size, true, &pixels);
        }
        if (st == DIT_OK && (height != size.height || width != size.width))
            st = DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld x %lld pixels, but the clip's first frame has %lld x %lld", path,
                          (long long)width, (long long)height, (long long)size.width, (long long)size.height);
        if (st == DIT_OK) place_levels(rgb, size, frame, pixels);
        free(rgb);
        DIT_TRY(st);
    }
    return DIT_OK;
}

/* Reads colours in [-1, 1]; dit_tensor_read refuses what is not finite. */
static dit_status read_tensor(const source *from, const dit_tensor_view *view, picture_list *out)
{
    int last = view->rank - 1;
    if (view->rank < 4 || view->rank > 5 || view->elements < 1 || view->shape[1] != DIT_RGB)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s: pixels is not [count, 3, (frames,) height, width]", from->path);
    dit_picture_size size = {view->rank == 5 ? view->shape[2] : 1, view->shape[last - 1], view->shape[last]};
    int64_t floats = dit_picture_floats(size);
    for (int64_t i = 0; i < view->shape[0]; i++) {
        float *pixels;
        DIT_TRY(add_picture(out, from->stem, view->shape[0] > 1 ? i : -1, size, false, &pixels));
        dit_status st = dit_tensor_read(view, i * floats, floats, pixels);
        if (st != DIT_OK) return dit_error_note(st, "reading %s", from->path);
        for (int64_t k = 0; k < floats; k++) pixels[k] = fminf(1, fmaxf(0, pixels[k] * 0.5f + 0.5f));
    }
    return DIT_OK;
}

/* A file of latents alone has no pixels: it stands beside its picture. */
static dit_status read_colours(const source *from, bool only, picture_list *out)
{
    dit_safetensors *file;
    dit_tensor_view view;
    DIT_TRY(dit_safetensors_open(from->path, &file));
    dit_status st = DIT_OK;
    if (dit_safetensors_find(file, "pixels", &view))
        st = read_tensor(from, &view, out);
    else if (only)
        st = dit_error_hint(DIT_FAIL(DIT_ERR_TENSOR_MISSING, "%s has no tensor called pixels", from->path),
                            "ditbench generate --pixels writes it");
    dit_safetensors_close(file);
    return st;
}

static int by_name(const void *a, const void *b)
{
    const picture *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* True if one of the first `count` pictures, which are sorted, has this name. */
static bool has_name(const picture_list *list, int count, const char *name)
{
    picture key = {.pixels = NULL};
    snprintf(key.name, sizeof key.name, "%s", name);
    return count && bsearch(&key, list->items, (size_t)count, sizeof *list->items, by_name);
}

static void sort_pictures(picture_list *list)
{
    if (list->count) qsort(list->items, (size_t)list->count, sizeof *list->items, by_name);
}

/* Reads colours, then what has no colours: an animated PNG beside them is no reason to refuse them. */
static dit_status read_sources(const source_list *sources, picture_list *out)
{
    for (int i = 0; i < sources->count; i++)
        if (sources->items[i].kind == SOURCE_PIXELS)
            DIT_TRY(read_colours(&sources->items[i], sources->count == 1, out));
    sort_pictures(out);
    int coloured = out->count;
    for (int i = 0; i < sources->count; i++) {
        const source *from = &sources->items[i];
        if (from->kind == SOURCE_PIXELS || has_name(out, coloured, from->stem)) continue;
        DIT_TRY(from->kind == SOURCE_PNG ? read_png(from, out) : read_frames(from, out));
    }
    sort_pictures(out);
    for (int i = 1; i < out->count; i++)
        if (strcmp(out->items[i - 1].name, out->items[i].name) == 0)
            return DIT_FAIL(DIT_ERR_SHAPE, "two pictures are called %s", out->items[i].name);
    return DIT_OK;
}

/* ---- the set ----------------------------------------------------------------------------------------------------- */

static bool same_size(dit_picture_size a, dit_picture_size b)
{
    return a.frames == b.frames && a.height == b.height && a.width == b.width;
}

static dit_status check_sizes(const picture_list *list, const char *path)
{
    if (list->count == 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "there are no pictures at %s", path),
                              "pictures are .png files, folders of frame-0000.png, or .safetensors files with pixels");
    for (int i = 1; i < list->count; i++) {
        dit_picture_size a = list->items[0].size, b = list->items[i].size;
        if (same_size(a, b)) continue;
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_SHAPE, "%s: %s has %lld frames of %lld x %lld pixels, but %s has %lld of %lld x %lld",
                     path, list->items[0].name, (long long)a.frames, (long long)a.width, (long long)a.height,
                     list->items[i].name, (long long)b.frames, (long long)b.width, (long long)b.height),
            "a set has pictures of one size");
    }
    return DIT_OK;
}

/* Returns how much of a name says which prompt it is of: all but an ending -0, -1, ... */
static size_t prompt_length(const char *name, bool prompt_each)
{
    size_t length = strlen(name), at = length;
    while (at > 0 && isdigit((unsigned char)name[at - 1])) at--;
    return prompt_each || at == length || at < 2 || name[at - 1] != '-' ? length : at - 1;
}

/* Numbers prompts in order of name. Names that begin alike are neighbours, but pictures of one prompt need not be:
 * "a-1" "a-1x" "a-2". */
static void number_prompts(dit_picture_set *set, bool prompt_each)
{
    for (int i = 0; i < set->count; i++) {
        const char *name = set->labels[i].name;
        size_t length = prompt_length(name, prompt_each);
        int found = -1;
        for (int k = i - 1; k >= 0 && found < 0 && strncmp(set->labels[k].name, name, length) == 0; k--)
            if (prompt_length(set->labels[k].name, prompt_each) == length &&
                strcmp(set->labels[k].caption, set->labels[i].caption) == 0)
                found = set->labels[k].prompt;
        set->labels[i].prompt = found >= 0 ? found : set->prompts++;
    }
}

static void find_digest(dit_picture_set *set)
{
    char hashes[2 * DIT_HASH_HEX + 96] = "", pixels[DIT_HASH_HEX], labels[DIT_HASH_HEX];
    dit_hash(set->pixels, (size_t)(set->count * dit_picture_floats(set->size)) * sizeof *set->pixels, pixels);
    dit_hash(set->labels, (size_t)set->count * sizeof *set->labels, labels);
    int used = snprintf(hashes, sizeof hashes, "%d %lld %lld %lld %s %s", set->count, (long long)set->size.frames,
                        (long long)set->size.height, (long long)set->size.width, labels, pixels);
    dit_hash(hashes, (size_t)used, labels);
    snprintf(set->digest, sizeof set->digest, "xxh3:%s", labels);
}

/* The record that was read last: pictures of one prompt share theirs, and follow each other. */
typedef struct {
    char path[PATH_BYTES + DIT_PICTURE_NAME + 8];
    bool open;
    dit_json doc;
} last_record;

static void close_record(last_record *last)
{
    if (last->open) dit_json_release(&last->doc);
    last->open = false;
}

/* Returns the captions that the record at `path` tells; NULL where there is none. The file is not trusted. */
static const cJSON *captions_at(const char *path, last_record *last)
{
    if (strcmp(last->path, path) != 0) {
        if (!exists(path)) return NULL;
        close_record(last);
        snprintf(last->path, sizeof last->path, "%s", path);
        last->open = dit_json_read_file(path, &last->doc) == DIT_OK;
    }
    const cJSON *list = last->open ? dit_json_member(last->doc.root, "conditioning") : NULL;
    list = dit_json_member(list, "captions");
    return cJSON_IsArray(list) ? list : NULL;
}

/* Takes caption `index` of the record at `path`, or its only one; false where there is none. */
static bool take_caption(const char *path, int64_t index, last_record *last, char caption[DIT_CAPTION_TEXT])
{
    dit_caption parsed;
    const cJSON *list = captions_at(path, last);
    int count = list ? cJSON_GetArraySize(list) : 0;
    const cJSON *said = count == 1 || index < count ? cJSON_GetArrayItem(list, count == 1 ? 0 : (int)index) : NULL;
    if (!cJSON_IsString(said) || dit_caption_parse(said->valuestring, &parsed) != DIT_OK) return false;
    dit_caption_print(&parsed, caption);
    return true;
}

/* Looks for the caption of a picture in FOLDER/NAME.json, or of NAME-3 as the fourth one in FOLDER/NAME.json. */
static void find_caption(const char *folder, dit_picture_label *label, last_record *last)
{
    char path[sizeof last->path];
    size_t length = prompt_length(label->name, false);
    snprintf(path, sizeof path, "%s/%s.json", folder, label->name);
    bool found = take_caption(path, 0, last, label->caption);
    if (!found && label->name[length]) {
        snprintf(path, sizeof path, "%s/%.*s.json", folder, (int)length, label->name);
        take_caption(path, strtoll(label->name + length + 1, NULL, 10), last, label->caption);
    }
    dit_error_clear();
}

static dit_status fill_set(const picture_list *list, bool prompt_each, const char *folder, dit_picture_set *out)
{
    int64_t floats = dit_picture_floats(list->items[0].size);
    last_record record = {.open = false};
    *out = (dit_picture_set){.size = list->items[0].size, .count = list->count};
    out->labels = calloc((size_t)list->count, sizeof *out->labels);
    out->pixels = malloc((size_t)(list->count * floats) * sizeof *out->pixels);
    if (!out->labels || !out->pixels) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d pictures", list->count);
    for (int i = 0; i < list->count; i++) {
        snprintf(out->labels[i].name, sizeof out->labels[i].name, "%s", list->items[i].name);
        memcpy(out->pixels + i * floats, list->items[i].pixels, (size_t)floats * sizeof *out->pixels);
        out->rounded |= list->items[i].rounded;
        find_caption(folder, &out->labels[i], &record);
    }
    close_record(&record);
    number_prompts(out, prompt_each);
    find_digest(out);
    return DIT_OK;
}

/* The 3 of NAME-3; 0 of NAME alone. */
static int64_t number_of(const dit_picture_label *label)
{
    size_t length = prompt_length(label->name, false);
    return label->name[length] ? strtoll(label->name + length + 1, NULL, 10) : 0;
}

int dit_picture_set_numbered(const dit_picture_set *set, int64_t number)
{
    for (int i = 0; i < set->count; i++)
        if (number_of(&set->labels[i]) == number) return i;
    return -1;
}

void dit_picture_set_tell(dit_picture_set *set, const char *const *captions, int64_t count)
{
    for (int i = 0; i < set->count; i++)
        snprintf(set->labels[i].caption, sizeof set->labels[i].caption, "%s",
                 captions[number_of(&set->labels[i]) % count]);
    find_digest(set);
}

/* ---- renders ----------------------------------------------------------------------------------------------------- */

static const char pictures_prefix[] = "shapes:", clips_prefix[] = "shapes-clips:";

static bool is_rendered(const char *path)
{
    return strncmp(path, pictures_prefix, sizeof pictures_prefix - 1) == 0 ||
           strncmp(path, clips_prefix, sizeof clips_prefix - 1) == 0;
}

/* Reads "shapes:SPLIT:COUNT". */
static dit_status read_rendered_path(const char *path, bool *clip, int *split, int *count)
{
    char name[32] = "", rest = 0;
    *clip = strncmp(path, clips_prefix, sizeof clips_prefix - 1) == 0;
    int found = sscanf(strchr(path, ':') + 1, "%31[^:]:%7d%c", name, count, &rest);
    *split = dit_words_find(dit_split_names, name);
    if (*split < 0) return dit_fail_word(DIT_ERR_USAGE, "split", name, dit_split_names);
    if (found == 2 && *count >= 1) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s does not say how many renders", path),
                          "write for example shapes:test:512");
}

/* Renders one sample; a clip's frames follow each other there, and its colours here. */
static dit_status render(dit_split split, bool clip, int index, dit_picture_set *out)
{
    uint8_t slots[DIT_CAPTION_SLOTS];
    float sample[DIT_CLIP_FRAMES * DIT_PICTURE_VALUES];
    dit_caption caption;
    float *pixels = out->pixels + index * dit_picture_floats(out->size);
    dit_picture_label *label = &out->labels[index];
    dit_picture_samples(split, clip, (uint64_t)index, 1, sample, slots);
    for (int64_t t = 0; t < out->size.frames; t++)
        for (int64_t c = 0; c < DIT_RGB; c++)
            memcpy(pixels + (c * out->size.frames + t) * DIT_PICTURE_PLANE,
                   sample + t * DIT_PICTURE_VALUES + c * DIT_PICTURE_PLANE, DIT_PICTURE_PLANE * sizeof *pixels);
    snprintf(label->name, sizeof label->name, "%s%07d", dit_split_names[split], index);
    label->prompt = index;
    DIT_TRY(dit_caption_of_slots(slots, &caption));
    dit_caption_print(&caption, label->caption);
    return DIT_OK;
}

static dit_status render_set(const char *path, dit_picture_set *out)
{
    int split, count = 0;
    bool clip;
    DIT_TRY(read_rendered_path(path, &clip, &split, &count));
    const dit_picture_size size = {clip ? DIT_CLIP_FRAMES : 1, DIT_PICTURE_EDGE, DIT_PICTURE_EDGE};
    DIT_TRY(check_amount(count, dit_picture_floats(size)));
    *out = (dit_picture_set){.size = size, .count = count, .prompts = count};
    out->labels = calloc((size_t)count, sizeof *out->labels);
    out->pixels = malloc((size_t)(count * dit_picture_floats(out->size)) * sizeof *out->pixels);
    if (!out->labels || !out->pixels) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d renders", count);
    for (int i = 0; i < count; i++) DIT_TRY(render((dit_split)split, clip, i, out));
    find_digest(out);
    return DIT_OK;
}

static dit_status read_files(const char *path, bool prompt_each, dit_picture_set *out)
{
    source_list sources = {0};
    picture_list pictures = {0};
    char folder[PATH_BYTES];
    dit_status st = list_sources(path, &sources, folder);
    if (st == DIT_OK) st = read_sources(&sources, &pictures);
    if (st == DIT_OK) st = check_sizes(&pictures, path);
    if (st == DIT_OK) st = fill_set(&pictures, prompt_each, folder, out);
    for (int i = 0; i < pictures.count; i++) free(pictures.items[i].pixels);
    free(pictures.items);
    free(sources.items);
    return st;
}

dit_status dit_picture_set_read(const char *path, bool prompt_each, dit_picture_set *out)
{
    *out = (dit_picture_set){0};
    dit_status st = is_rendered(path) ? render_set(path, out) : read_files(path, prompt_each, out);
    if (st != DIT_OK) dit_picture_set_release(out);
    return st;
}

void dit_picture_set_release(dit_picture_set *set)
{
    free(set->labels);
    free(set->pixels);
    *set = (dit_picture_set){0};
}

const float *dit_picture_set_at(const dit_picture_set *set, int index)
{
    return set->pixels + index * dit_picture_floats(set->size);
}

dit_status dit_picture_set_pairs(const dit_picture_set *a, const dit_picture_set *b)
{
    int least = a->count < b->count ? a->count : b->count;
    if (!same_size(a->size, b->size))
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "pictures of %lld frames of %lld x %lld and of %lld of %lld x %lld pixels are no pairs",
                        (long long)a->size.frames, (long long)a->size.width, (long long)a->size.height,
                        (long long)b->size.frames, (long long)b->size.width, (long long)b->size.height);
    for (int i = 0; i < least; i++)
        if (strcmp(a->labels[i].name, b->labels[i].name) != 0)
            return DIT_FAIL(DIT_ERR_SHAPE, "%s has no partner: the other set has %s in its place", a->labels[i].name,
                            b->labels[i].name);
    if (a->count == b->count) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%d and %d pictures are no pairs: %s has no partner", a->count, b->count,
                    (a->count > least ? a : b)->labels[least].name);
}

#include "suite/generate/outputs.h"

#include "base/json_writer.h"
#include "suite/paths.h"
#include "suite/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENDING_MOST = 12 };

/* The ending of a file's name, with its dot: one to eleven letters and digits, a letter first. NULL: it has none. */
static const char *ending_of(const char *output)
{
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output, *dot = strrchr(name, '.');
    if (!dot || dot == name || !isalpha((unsigned char)dot[1]) || strlen(dot) > ENDING_MOST) return NULL;
    for (const char *c = dot + 1; *c; c++)
        if (!isalnum((unsigned char)*c)) return NULL;
    return dot;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static dit_status settle_file(const char *output, size_t stem, suite_delivery *out)
{
    char parent[SUITE_PATH];
    DIT_TRY(suite_path(out->stem, "%.*s", (int)stem, output));
    DIT_TRY(suite_path(parent, "%s", out->stem));
    char *slash = strrchr(parent, '/');
    if (slash) *slash = '\0';
    const char *place = !slash ? "." : slash == parent ? "/" : parent;
    if (access(place, W_OK) != 0 && errno != ENOENT) /* a folder that is not there is made when the run begins */
        return DIT_FAIL(DIT_ERR_IO, "cannot write %s: folder %s: %s", output, place, strerror(errno));
    return suite_path(out->folder, "%s/.ditbench-generate-XXXXXX", place);
}

dit_status suite_delivery_init(const char *output, suite_delivery *out)
{
    const char *ending = is_folder(output) ? NULL : ending_of(output);
    *out = (suite_delivery){0};
    if (!ending) return suite_path(out->folder, "%s", output);
    out->latents = strcmp(ending, ".safetensors") == 0;
    out->clip = strcmp(ending, ".mp4") == 0 ? "mp4" : strcmp(ending, ".webm") == 0 ? "webm" : NULL;
    if (!out->latents && !out->clip && strcmp(ending, ".png") != 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--output %s: cannot write %s", output, ending),
                              "name FILE.png for an image or an animated clip, FILE.mp4 or FILE.webm for a clip, "
                              "FILE.safetensors for the latents, FOLDER/ for all files");
    return settle_file(output, (size_t)(ending - output), out);
}

static bool is_frame(const char *name)
{
    int number, length = 0;
    return sscanf(name, "frame-%d.png%n", &number, &length) == 1 && length > 0 && !name[length];
}

/* Does `act` to every numbered frame of a folder. */
static dit_status each_frame(const char *folder, const char *to,
                             dit_status (*act)(const char *path, const char *target))
{
    char path[SUITE_PATH], target[SUITE_PATH];
    dit_status st = DIT_OK;
    DIR *dir = opendir(folder);
    if (!dir) return DIT_FAIL(DIT_ERR_IO, "cannot read the folder %s: %s", folder, strerror(errno));
    for (struct dirent *entry; st == DIT_OK && (entry = readdir(dir));) {
        if (!is_frame(entry->d_name)) continue;
        st = suite_path(path, "%s/%s", folder, entry->d_name);
        if (st == DIT_OK) st = suite_path(target, "%s/%s", to, entry->d_name);
        if (st == DIT_OK) st = act(path, target);
    }
    closedir(dir);
    return st;
}

static dit_status remove_file(const char *path, const char *target)
{
    (void)target;
    return unlink(path) == 0 ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot remove %s: %s", path, strerror(errno));
}

static dit_status rename_file(const char *path, const char *target)
{
    if (rename(path, target) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_IO, "cannot move %s to %s: %s", path, target, strerror(errno));
}

/* Into a folder of that name, which loses the frames of an earlier clip and nothing else. */
static dit_status move_frames(const char *from, const char *to)
{
    if (mkdir(to, 0777) != 0 && errno != EEXIST)
        return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", to, strerror(errno));
    DIT_TRY(each_frame(to, to, remove_file));
    return each_frame(from, to, rename_file);
}

/* Moves what the engine wrote to its name. */
static dit_status move(const suite_delivery *delivery, const char *from, const char *suffix, char to[SUITE_PATH])
{
    char source[SUITE_PATH];
    struct stat info;
    DIT_TRY(suite_path(source, "%s/%s", delivery->folder, from));
    DIT_TRY(suite_path(to, "%s%s", delivery->stem, suffix));
    if (stat(source, &info) != 0) return DIT_OK;
    return S_ISDIR(info.st_mode) ? move_frames(source, to) : rename_file(source, to);
}

/* The engine calls pictures image.png, image-0.png or (a folder) image; their paths go into `paths`. */
static dit_status place_pictures(const suite_delivery *delivery, const cJSON *record, cJSON *paths)
{
    dit_json_writer w = {0};
    static const size_t stem = sizeof "image" - 1;
    const cJSON *picture;
    char path[SUITE_PATH];
    cJSON_ArrayForEach(picture, dit_json_member(record, "pictures"))
    {
        const char *name = dit_json_text_or(picture, "file", NULL);
        if (!name || strlen(name) < stem) continue;
        if (delivery->stem[0])
            DIT_TRY(move(delivery, name, name + stem, path));
        else
            DIT_TRY(suite_path(path, "%s/%s", delivery->folder, name));
        cJSON *entry = cJSON_Duplicate(picture, true);
        cJSON_DeleteItemFromObjectCaseSensitive(entry, "file");
        suite_text_put(&w, entry, "path", path);
        dit_json_put_item(&w, paths, NULL, entry);
    }
    return w.status;
}

dit_status suite_delivery_place(const suite_delivery *delivery, const cJSON *record, cJSON *answer)
{
    dit_json_writer w = {0};
    char latents[SUITE_PATH], kept[SUITE_PATH], trace[SUITE_PATH], probe[SUITE_PATH];
    cJSON *pictures = dit_json_put_array(&w, answer, "pictures");
    DIT_TRY(place_pictures(delivery, record, pictures));
    if (delivery->stem[0]) {
        DIT_TRY(move(delivery, "latents.safetensors", ".safetensors", latents));
        DIT_TRY(move(delivery, "record.json", ".json", kept));
        DIT_TRY(move(delivery, "trace.json", ".trace.json", trace));
        DIT_TRY(move(delivery, "probe.safetensors", ".probe.safetensors", probe));
    } else {
        DIT_TRY(suite_path(latents, "%s/latents.safetensors", delivery->folder));
        DIT_TRY(suite_path(kept, "%s/record.json", delivery->folder));
        DIT_TRY(suite_path(trace, "%s/trace.json", delivery->folder));
        DIT_TRY(suite_path(probe, "%s/probe.safetensors", delivery->folder));
    }
    if (dit_json_member(record, "trace")) suite_text_put(&w, answer, "trace", trace);
    if (dit_json_member(record, "probe")) suite_text_put(&w, answer, "probe", probe);
    suite_text_put(&w, answer, "latents", latents);
    suite_text_put(&w, answer, "record", kept);
    return w.status;
}

dit_status suite_delivery_open(suite_delivery *delivery)
{
    char parent[SUITE_PATH];
    if (!delivery->stem[0]) return DIT_OK;
    DIT_TRY(suite_path(parent, "%s", delivery->folder));
    *strrchr(parent, '/') = '\0';
    if (parent[0]) DIT_TRY(suite_path_make(parent));
    if (mkdtemp(delivery->folder)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", delivery->folder, strerror(errno));
}

void suite_delivery_close(const suite_delivery *delivery)
{
    if (delivery->stem[0]) suite_path_remove(delivery->folder);
}

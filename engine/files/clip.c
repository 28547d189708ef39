#include "engine/files/clip_impl.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const names[DIT_CLIP_COUNT] = {"mp4", "webm"};

const char *dit_clip_name(dit_clip_format format)
{
    return names[format];
}

bool dit_clip_from_name(const char *name, dit_clip_format *out)
{
    for (int i = 0; i < DIT_CLIP_COUNT; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *out = (dit_clip_format)i;
        return true;
    }
    return false;
}

/* The library lies in ../lib from the program's folder. */
static dit_status load(const dit_clip_ops **out)
{
    static const dit_clip_ops *loaded;
    static const char hint[] =
        "run `ci/deps.sh clips` (libavcodec-dev libavformat-dev libswscale-dev) and `make`, or write "
        "FILE.png, an animated PNG";
    char program[PATH_MAX] = "", path[PATH_MAX];
    *out = loaded;
    if (loaded) return DIT_OK;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) program[length] = '\0';
    if (snprintf(path, sizeof path, "%s/../lib/ditbench-clip.so", dirname(program)) >= (int)sizeof path) path[0] = '\0';
    if (access(path, R_OK) != 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "this build has no libavcodec, which writes clips: there is no %s", path),
            "%s", hint);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *out = loaded = library ? dlsym(library, "dit_clip_library") : NULL;
    if (loaded) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s cannot be loaded: %s", path, dlerror()), "%s", hint);
}

dit_status dit_clip_check(dit_clip_format format)
{
    const dit_clip_ops *ops;
    DIT_TRY(load(&ops));
    return ops->check(format);
}

dit_status dit_clip_write(const char *path, dit_clip_format format, const dit_picture *picture)
{
    const dit_clip_ops *ops;
    DIT_TRY(load(&ops));
    return ops->write(path, format, picture);
}

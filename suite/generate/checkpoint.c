#include "suite/generate/checkpoint.h"

#include "base/json.h"
#include "base/lenient.h"
#include "suite/paths.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum { PART_MODEL, PART_SCHEDULER, PART_TOKENIZER, PART_PROCESSOR } part_kind;

/* The parts of pipelines that we read; a name that ends in '*' stands for "name", "name_2", "name_3". */
static const struct {
    const char *name;
    part_kind kind;
    const char *weights; /* without ".safetensors"; NULL: it has none */
    bool decodes, prompts;
} parts[] = {
    {"transformer*", PART_MODEL, "diffusion_pytorch_model", false, false},
    {"scheduler", PART_SCHEDULER, NULL, false, false},
    {"vae", PART_MODEL, "diffusion_pytorch_model", true, false},
    {"tokenizer*", PART_TOKENIZER, NULL, false, true},
    {"text_encoder*", PART_MODEL, "model", false, true},
    {"image_encoder", PART_MODEL, "model", false, true},
    {"image_processor", PART_PROCESSOR, NULL, false, true},
    {"processor", PART_PROCESSOR, NULL, false, true},
};

static bool there(const char *folder, const char *file)
{
    char path[SUITE_PATH];
    return suite_path(path, "%s/%s", folder, file) == DIT_OK && access(path, R_OK) == 0;
}

/* The first file of a folder with this ending; false: there is none. */
static bool find_ending(const char *folder, const char *ending, char name[256])
{
    bool found = false;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        found = length > tail && length < 256 && strcmp(entry->d_name + length - tail, ending) == 0;
        if (found) memcpy(name, entry->d_name, length + 1);
    }
    if (dir) closedir(dir);
    return found;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static dit_status fail_weights(const char *folder, const char *stem)
{
    static const struct {
        const char *ending, *what;
    } foreign[] = {{".bin", "a pickle of PyTorch"},
                   {".gguf", "quantised weights of llama.cpp"},
                   {".ckpt", "a pickle of PyTorch"},
                   {".pt", "a pickle of PyTorch"},
                   {".msgpack", "weights of Flax"}};
    char name[256];
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (find_ending(folder, foreign[i].ending, name))
            return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s/%s is %s, and %s.safetensors is not there", folder,
                                           name, foreign[i].what, stem),
                                  "download the safetensors files of this part, or save it again: "
                                  "part.save_pretrained(FOLDER, safe_serialization=True)");
    if (find_ending(folder, ".safetensors", name))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_NOT_FOUND, "%s has %s, but not %s.safetensors", folder, name, stem),
            "a file of one variant (fp16, bf16) is read under the plain name: rename it, or link to it");
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s/%s.safetensors is missing", folder, stem),
                          "the download is not complete: fetch this folder again (weights may also be shards with "
                          "%s.safetensors.index.json)",
                          stem);
}

/* Every shard that the index names must be there. */
static dit_status check_shards(const char *folder, const char *index)
{
    char path[SUITE_PATH];
    dit_json doc;
    const cJSON *entry;
    dit_status st = DIT_OK;
    DIT_TRY(suite_path(path, "%s/%s", folder, index));
    DIT_TRY(dit_json_read_lenient(path, &doc));
    cJSON_ArrayForEach(entry, dit_json_member(doc.root, "weight_map"))
    {
        if (!cJSON_IsString(entry) || there(folder, entry->valuestring)) continue;
        st = dit_error_hint(
            DIT_FAIL(DIT_ERR_NOT_FOUND, "%s/%s is missing, and %s names it", folder, entry->valuestring, index),
            "the download is not complete: fetch this shard");
        break;
    }
    dit_json_release(&doc);
    return st;
}

static dit_status check_weights(const char *folder, const char *stem)
{
    char file[128];
    snprintf(file, sizeof file, "%s.safetensors.index.json", stem);
    if (there(folder, file)) return check_shards(folder, file);
    snprintf(file, sizeof file, "%s.safetensors", stem);
    return there(folder, file) ? DIT_OK : fail_weights(folder, stem);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static dit_status fail_missing(const char *folder, const char *file, const char *what)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s/%s is missing", folder, file),
                          "it is %s; the download is not complete, or this folder is not in diffusers' layout", what);
}

/* True for ByT5's class, which needs no vocabulary. */
static bool spells_bytes(const char *folder)
{
    char path[SUITE_PATH];
    dit_json doc;
    if (!there(folder, "tokenizer_config.json") || suite_path(path, "%s/tokenizer_config.json", folder) != DIT_OK ||
        dit_json_read_lenient(path, &doc) != DIT_OK)
        return false;
    bool bytes = strcmp(dit_json_text_or(doc.root, "tokenizer_class", ""), "ByT5Tokenizer") == 0;
    dit_json_release(&doc);
    return bytes;
}

static dit_status check_tokenizer(const char *folder)
{
    static const char *const files[] = {"tokenizer.json", "spiece.model", "vocab.json", "vocab.txt"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (there(folder, files[i])) return DIT_OK;
    if (spells_bytes(folder)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s has no vocabulary", folder),
                          "one of tokenizer.json, spiece.model, vocab.json with merges.txt, or vocab.txt is expected");
}

/* A VAE without weights is a codec, whose config says all. */
static dit_status check_model(const char *folder, const char *weights)
{
    char path[SUITE_PATH];
    dit_json doc;
    if (!there(folder, "config.json")) return fail_missing(folder, "config.json", "the part's architecture");
    DIT_TRY(suite_path(path, "%s/config.json", folder));
    DIT_TRY(dit_json_read_lenient(path, &doc));
    bool codec = strcmp(dit_json_text_or(doc.root, "_class_name", ""), "PixelShuffle") == 0;
    dit_json_release(&doc);
    return codec ? DIT_OK : check_weights(folder, weights);
}

static dit_status check_part(const char *folder, const char *part, size_t row)
{
    char path[SUITE_PATH];
    struct stat info;
    DIT_TRY(suite_path(path, "%s/%s", folder, part));
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_NOT_FOUND, "%s has no %s/, and its model_index.json names one", folder, part),
            parts[row].prompts   ? "fetch this folder, or give embeddings with --inputs"
            : parts[row].decodes ? "fetch this folder, name another VAE with --vae DIR, or make latents: "
                                   "--output FILE.safetensors"
                                 : "the download is not complete: fetch this folder");
    switch (parts[row].kind) {
    case PART_SCHEDULER:
        return there(path, "scheduler_config.json")
                   ? DIT_OK
                   : fail_missing(path, "scheduler_config.json", "the solver and its noise schedule");
    case PART_TOKENIZER: return check_tokenizer(path);
    case PART_PROCESSOR:
        return there(path, "preprocessor_config.json")
                   ? DIT_OK
                   : fail_missing(path, "preprocessor_config.json", "how pictures are resized for the image encoder");
    default: return check_model(path, parts[row].weights);
    }
}

/* Which row describes a member of model_index.json; -1: none, or the part is left out. */
static int row_of(const cJSON *member)
{
    if (!cJSON_IsArray(member) || !cJSON_IsString(cJSON_GetArrayItem(member, 0))) return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i].name);
        bool several = parts[i].name[length - 1] == '*';
        const char *rest = member->string + length - several;
        if (strncmp(member->string, parts[i].name, length - several) != 0) continue;
        if (!*rest || (several && rest[0] == '_' && strspn(rest + 1, "23") == 1 && !rest[2])) return (int)i;
    }
    return -1;
}

static dit_status check_parts(const char *folder, const dit_json *index, bool decodes, bool prompts)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, index->root)
    {
        int row = row_of(member);
        if (row < 0 || (parts[row].decodes && !decodes) || (parts[row].prompts && !prompts)) continue;
        DIT_TRY(check_part(folder, member->string, (size_t)row));
    }
    return DIT_OK;
}

dit_status suite_checkpoint_check(const char *folder, bool decodes, bool prompts)
{
    char path[SUITE_PATH];
    dit_json index;
    DIT_TRY(suite_path(path, "%s/model_index.json", folder));
    DIT_TRY(dit_json_read_lenient(path, &index));
    bool none = !there(folder, "transformer") && !dit_json_member(index.root, "transformer");
    dit_status st = none ? dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has no transformer/", folder),
                                          "a pipeline around a U-Net is not a diffusion transformer")
                         : check_parts(folder, &index, decodes, prompts);
    dit_json_release(&index);
    return st;
}

bool suite_checkpoint_reads_prompts(const char *folder)
{
    return there(folder, "model_index.json") && there(folder, "tokenizer") && there(folder, "text_encoder");
}

dit_status suite_checkpoint_refuse(const char *folder)
{
    char name[256];
    if (find_ending(folder, ".safetensors", name) || find_ending(folder, ".gguf", name))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED,
                     "%s has %s, but no model_index.json: it is a model in its authors' own layout", folder, name),
            "fetch the repository of the same model for diffusers (model_index.json, transformer/, vae/, "
            "scheduler/, ...)");
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_NOT_FOUND,
                 "%s holds neither model_index.json nor e2e.json, nor a config.json beside a scheduler_config.json",
                 folder),
        "give the folder of a transformer alone with --transformer, and its scheduler with --scheduler");
}

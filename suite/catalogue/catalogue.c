#include "suite/catalogue/catalogue.h"

#include "base/words.h"
#include "suite/paths.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

typedef struct {
    char **words;
    int count;
} name_list;

static dit_status list_add(name_list *list, const char *word)
{
    char **larger = realloc(list->words, (size_t)(list->count + 2) * sizeof *larger);
    char *copy = strdup(word);
    if (larger) list->words = larger;
    if (!larger || !copy) {
        free(copy);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of names");
    }
    list->words[list->count++] = copy;
    list->words[list->count] = NULL;
    return DIT_OK;
}

/* "smoke/smoke.json" in folder "smoke" is called "smoke", "cpu/methods.json" "cpu/methods", "papers/usp/usp.json"
 * "papers/usp". */
static dit_status list_add_file(name_list *list, const char *prefix, const char *file)
{
    char name[PATH_MAX + NAME_MAX];
    size_t length = strlen(file);
    if (length < 6 || file[0] == '.' || strcmp(file + length - 5, ".json") != 0) return DIT_OK;
    const char *slash = strrchr(prefix, '/'), *folder = slash ? slash + 1 : prefix;
    bool same = strlen(folder) == length - 5 && strncmp(folder, file, length - 5) == 0;
    if (same)
        snprintf(name, sizeof name, "%s", prefix);
    else if (!prefix[0])
        snprintf(name, sizeof name, "%.*s", (int)(length - 5), file);
    else
        snprintf(name, sizeof name, "%s/%.*s", prefix, (int)(length - 5), file);
    return list_add(list, name);
}

static dit_status list_folder(name_list *list, const char *folder, const char *prefix)
{
    dit_status st = DIT_OK;
    DIR *dir = opendir(folder);
    if (!dir) return DIT_FAIL(DIT_ERR_IO, "cannot read the folder %s", folder);
    for (struct dirent *entry; st == DIT_OK && (entry = readdir(dir));) st = list_add_file(list, prefix, entry->d_name);
    closedir(dir);
    return st;
}

static bool holds_workloads(const char *name)
{
    static const char *const others[] = {"models", "vaes",     "platforms",    "schema",        "accelerators",
                                         "links",  "profiles", "calibrations", "text_encoders", "prices",
                                         "sites",  "power",    "traffic"};
    if (name[0] == '.') return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0) return false;
    return true;
}

/* Files of the folder's folders; of those of "papers" one level further. */
static dit_status list_workloads(name_list *list, const char *folder, const char *prefix)
{
    dit_status st = DIT_OK;
    DIR *dir = opendir(folder);
    if (!dir) return DIT_FAIL(DIT_ERR_IO, "cannot read the folder %s", folder);
    for (struct dirent *entry; st == DIT_OK && (entry = readdir(dir));) {
        char inside[PATH_MAX], name[PATH_MAX];
        snprintf(inside, sizeof inside, "%s/%s", folder, entry->d_name);
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "/" : "", entry->d_name);
        if (!holds_workloads(entry->d_name) || !is_folder(inside)) continue;
        st = strcmp(name, "papers") == 0 ? list_workloads(list, inside, name) : list_folder(list, inside, name);
    }
    closedir(dir);
    return st;
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

dit_status suite_catalogue_names(const char *kind, char ***names)
{
    char folder[PATH_MAX];
    name_list list = {0};
    const char *root = suite_workloads_folder();
    *names = NULL;
    if (!root) return DIT_ERR_ENVIRONMENT;
    snprintf(folder, sizeof folder, "%s/%s", root, kind);
    dit_status st = strcmp(kind, "workloads") == 0 ? list_workloads(&list, root, "") : list_folder(&list, folder, "");
    if (st == DIT_OK && !list.words) {
        list.words = calloc(1, sizeof *list.words);
        if (!list.words) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of names");
    }
    if (st != DIT_OK) {
        suite_names_free(list.words);
        return st;
    }
    if (list.count) qsort(list.words, (size_t)list.count, sizeof *list.words, compare_words);
    *names = list.words;
    return DIT_OK;
}

void suite_names_free(char **names)
{
    for (char **word = names; word && *word; word++) free(*word);
    free(names);
}

/* "there is no KIND "NAME"", the hint naming the nearest, or all when none is near. */
static dit_status fail_not_found(const char *kind, const char *what, const char *name)
{
    char **names;
    dit_status st = suite_catalogue_names(kind, &names);
    if (st != DIT_OK) return st;
    st = DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no %s \"%s\"", what, name);
    dit_words_hint(st, name, (const char *const *)names);
    suite_names_free(names);
    return st;
}

static bool is_plain_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/');
}

bool suite_catalogue_local(const char *kind, const char *name, char path[SUITE_PATH])
{
    static const char *const kinds[] = {"accelerators", "profiles", "platforms", "links", NULL};
    char root[SUITE_PATH], file[SUITE_PATH];
    bool own = false;
    for (int i = 0; kinds[i]; i++) own = own || strcmp(kinds[i], kind) == 0;
    if (!own || suite_session_root(root) != DIT_OK) return false;
    if (suite_path(file, "%s/calibration/%s/%s.json", root, kind, name) != DIT_OK || !is_file(file)) return false;
    memcpy(path, file, sizeof file);
    return true;
}

dit_status suite_catalogue_open(const char *kind, const char *what, const char *name, dit_json *out)
{
    char path[SUITE_PATH];
    const char *root = suite_workloads_folder();
    if (!root) return DIT_ERR_ENVIRONMENT;
    snprintf(path, sizeof path, "%s/%s/%s.json", root, kind, name);
    if (is_plain_name(name)) suite_catalogue_local(kind, name, path);
    if (!is_plain_name(name) || !is_file(path)) return fail_not_found(kind, what, name);
    return dit_json_read_file(path, out);
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Names whose last part is `name`, or contains it; as one text, and the first of them. */
static int match_last_part(char *const *names, const char *name, bool whole, char all[600], const char **first)
{
    int count = 0;
    all[0] = '\0';
    for (; *names; names++) {
        const char *part = last_part(*names);
        if (whole ? strcmp(part, name) != 0 : !strstr(part, name)) continue;
        if (!count++) *first = *names;
        if (strlen(all) + strlen(*names) + 3 < 600)
            snprintf(all + strlen(all), 600 - strlen(all), "%s%s", count > 1 ? ", " : "", *names);
    }
    return count;
}

/* The workload whose last part is nearest to a misspelt one; NULL when none is near. */
static const char *nearest_last_part(char *const *names, const char *name)
{
    const char *parts[1000];
    int count = 0;
    while (names[count] && count < 999) parts[count] = last_part(names[count]), count++;
    parts[count] = NULL;
    const char *near = dit_nearest_word(name, parts);
    for (int i = 0; i < count; i++)
        if (near == parts[i]) return names[i];
    return NULL;
}

/* "xdit-scal-flux-16l40" alone, when no other workload ends so; else those that it may mean. */
static dit_status find_by_last_part(const char *root, const char *name, char *path, size_t size)
{
    char **names, all[600];
    const char *found = NULL;
    dit_status st = suite_catalogue_names("workloads", &names);
    if (st != DIT_OK) return st;
    int count = match_last_part(names, name, true, all, &found);
    if (count == 1) {
        snprintf(path, size, "%s/%s.json", root, found);
        if (!is_file(path)) snprintf(path, size, "%s/%s/%s.json", root, found, last_part(found));
    } else {
        if (!count) count = match_last_part(names, name, false, all, &found);
        const char *near = count ? NULL : nearest_last_part(names, name);
        st = DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no workload file or name \"%s\"", name);
        if (count)
            dit_error_hint(st, "there %s %s", count == 1 ? "is" : "are", all);
        else if (near)
            dit_error_hint(st, "did you mean \"%s\"?", near);
        else
            st = fail_not_found("workloads", "workload file or name", name);
    }
    suite_names_free(names);
    return st;
}

dit_status suite_workload_find(const char *name, char *path, size_t size)
{
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    snprintf(path, size, "%s", name);
    if (is_file(path)) return DIT_OK;
    const char *root = suite_workloads_folder();
    if (!root) return DIT_ERR_ENVIRONMENT;
    snprintf(path, size, "%s/%s.json", root, name);
    if (is_file(path)) return DIT_OK;
    snprintf(path, size, "%s/%s/%s.json", root, name, base);
    if (is_file(path)) return DIT_OK;
    return find_by_last_part(root, name, path, size);
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

dit_status suite_catalogue_read(const char *kind, const char *what, const char *name, const char *schema, dit_json *out)
{
    const char *own;
    *out = (dit_json){0};
    DIT_TRY(suite_catalogue_open(kind, what, name, out));
    dit_status st = dit_json_require_schema(out, schema);
    if (st == DIT_OK) st = dit_json_require_string(out, out->root, "", "name", &own);
    if (st == DIT_OK && strcmp(own, name) != 0)
        st = dit_json_fail(out, "/name", DIT_ERR_JSON_VALUE, "the file is called %s, but its %s is called \"%s\"", name,
                           what, own);
    if (st != DIT_OK) {
        dit_json_release(out);
        *out = (dit_json){0};
    }
    return st;
}

#include "suite/platform/profile.h"

#include "base/json_writer.h"
#include "suite/catalogue/catalogue.h"
#include "suite/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Members of `base` that `object` lacks. */
static void add_members(dit_json_writer *w, const cJSON *base, cJSON *object)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, base)
    {
        if (!dit_json_member(object, item->string)) dit_json_put_copy(w, object, item->string, item);
    }
}

/* Fitted values follow the base's, or whose the base's follow, but for numbers that the profile states itself. */
static void follow(dit_json_writer *w, const cJSON *base, cJSON *profile)
{
    static const char *const fitted[] = {"dispatch_s", "collective_dispatch_s", "conv_efficiency", "conv3d_efficiency",
                                         "indexed_elements_per_clock"};
    cJSON *like = cJSON_GetObjectItemCaseSensitive(profile, "like");
    if (!like) like = dit_json_put_object(w, profile, "like");
    for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++) {
        const char *whose =
            dit_json_text_or(dit_json_member(base, "like"), fitted[i], dit_json_text_or(base, "name", ""));
        if (!dit_json_member(profile, fitted[i]) && !dit_json_member(like, fitted[i]))
            dit_json_put_string(w, like, fitted[i], whose);
    }
}

static dit_status extend(const dit_json *base, cJSON *profile)
{
    static const char *const merged[] = {"parts", "evidence"};
    dit_json_writer w = {0};
    follow(&w, base->root, profile);
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) {
        cJSON *own = cJSON_GetObjectItemCaseSensitive(profile, merged[i]);
        if (own) add_members(&w, dit_json_member(base->root, merged[i]), own);
    }
    add_members(&w, base->root, profile);
    cJSON_DeleteItemFromObjectCaseSensitive(profile, "extends");
    return w.status;
}

dit_status suite_profile_read(const char *name, dit_json *out)
{
    const char *extended = "";
    dit_json base = {0};
    DIT_TRY(suite_catalogue_read("profiles", "profile", name, "ditbench.profile/1", out));
    dit_status st = dit_json_optional_string(out, out->root, "", "extends", &extended);
    if (st == DIT_OK && !extended[0]) return DIT_OK;
    if (st == DIT_OK) st = suite_catalogue_read("profiles", "profile", extended, "ditbench.profile/1", &base);
    if (st == DIT_OK && dit_json_member(base.root, "extends"))
        st = dit_json_fail(out, "/extends", DIT_ERR_JSON_VALUE, "%s extends another profile itself", extended);
    if (st == DIT_OK) st = extend(&base, out->root);
    dit_json_release(&base);
    if (st != DIT_OK) dit_json_release(out);
    return st;
}

/* ---- what the harness knows -------------------------------------------------------------------------------------- */

static void copy_text(const cJSON *text, size_t size, char *out)
{
    const char *word = cJSON_GetStringValue(text);
    snprintf(out, size, "%s", word ? word : "");
}

/* What the file and the session's line, which is at `pointer` of `doc`, say alike. */
static dit_status take_facts(const dit_json *doc, const cJSON *object, const char *pointer, const char *name,
                             suite_profile *out)
{
    *out = (suite_profile){.measured = cJSON_IsTrue(dit_json_member(object, "measured"))};
    snprintf(out->name, sizeof out->name, "%s", name);
    copy_text(dit_json_member(object, "title"), sizeof out->title, out->title);
    return dit_habits_read(doc, object, pointer, &out->habits);
}

static dit_status check_file(const dit_json *doc)
{
    const char *text;
    const cJSON *evidence;
    bool ignored = false;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "title", &text));
    if (!dit_json_member(doc->root, "measured"))
        return dit_error_hint(dit_json_fail(doc, "", DIT_ERR_JSON_MISSING, "\"measured\" is required"),
                              "say true or false: is enough of this software timed on GPUs to tell its errors?");
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "measured", &ignored));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "evidence", &evidence));
    return dit_json_require_string(doc, evidence, "/evidence", "measured", &text);
}

dit_status suite_profile_load(const char *name, suite_profile *out)
{
    dit_json doc = {0};
    *out = (suite_profile){0};
    DIT_TRY(suite_profile_read(name, &doc));
    dit_status st = check_file(&doc);
    if (st == DIT_OK) st = take_facts(&doc, doc.root, "", name, out);
    if (st == DIT_OK)
        copy_text(dit_json_member(dit_json_member(doc.root, "evidence"), "measured"), sizeof out->evidence,
                  out->evidence);
    dit_json_release(&doc);
    return st;
}

dit_status suite_profile_decodes(const char *name, const suite_vae *vae, bool *out)
{
    const char *class_name = dit_json_text_or(vae->config, "_class_name", "");
    dit_json profile = {0};
    char path[SUITE_PATH];
    *out = vae->built;
    if (*out || !name) return DIT_OK;
    DIT_TRY(suite_profile_read(name, &profile));
    const char *census = dit_json_text_or(profile.root, "census", NULL);
    dit_status st = DIT_OK;
    if (census) st = suite_path(path, "%s/profiles/census/%s/%s.json", suite_workloads_folder(), census, class_name);
    if (census && st == DIT_OK) *out = access(path, R_OK) == 0;
    dit_json_release(&profile);
    return st;
}

dit_status suite_profile_add(const suite_profile *profile, cJSON *profiles)
{
    dit_json_writer w = {0};
    cJSON *object = dit_json_put_object(&w, profiles, profile->name);
    dit_json_put_bool(&w, object, "measured", profile->measured);
    dit_habits_put(&w, object, &profile->habits);
    suite_text_put(&w, object, "title", profile->title);
    suite_text_put(&w, object, "evidence", profile->evidence);
    return w.status;
}

void suite_profile_put(dit_json_writer *w, cJSON *answer, const char *name)
{
    suite_profile profile;
    dit_status st = suite_profile_load(name, &profile);
    dit_json_put_status(w, st);
    if (st != DIT_OK) return;
    cJSON *software = dit_json_put_object(w, answer, "software");
    dit_json_put_string(w, software, "title", profile.title);
    dit_json_put_bool(w, software, "measured", profile.measured);
    dit_json_put_string(w, software, "evidence", profile.evidence);
    if (!profile.measured) dit_json_put_string(w, answer, "projection", SUITE_PROFILE_PROJECTION);
}

dit_status suite_profile_from_session(const cJSON *session, const char *name, suite_profile *out)
{
    const cJSON *object = dit_json_member(dit_json_member(dit_json_member(session, "simulation"), "profiles"), name);
    *out = (suite_profile){0};
    if (!cJSON_IsObject(object))
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "the session's first line does not describe the profile \"%s\"", name);
    const dit_json line = {.root = (cJSON *)(uintptr_t)session, .path = (char *)(uintptr_t) "session"};
    DIT_TRY(take_facts(&line, object, "/simulation/profiles", name, out));
    copy_text(dit_json_member(object, "evidence"), sizeof out->evidence, out->evidence);
    return DIT_OK;
}

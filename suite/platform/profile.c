#include "suite/platform/profile.h"

#include "base/json_writer.h"
#include "suite/catalogue/catalogue.h"
#include "suite/text.h"

#include <stdio.h>
#include <string.h>

static void copy_text(const cJSON *text, size_t size, char *out)
{
    const char *word = cJSON_GetStringValue(text);
    snprintf(out, size, "%s", word ? word : "");
}

/* What the file and the session's line say alike. */
static void take_facts(const cJSON *object, const char *name, suite_profile *out)
{
    *out = (suite_profile){
        .measured = cJSON_IsTrue(dit_json_member(object, "measured")),
        .habits = {.text_with_every_band = cJSON_IsTrue(dit_json_member(object, "text_with_every_band")),
                   .stores_filled = cJSON_IsTrue(dit_json_member(object, "stores_filled"))}};
    snprintf(out->name, sizeof out->name, "%s", name);
    copy_text(dit_json_member(object, "title"), sizeof out->title, out->title);
}

static dit_status check_file(const dit_json *doc)
{
    const char *text;
    const cJSON *evidence;
    bool ignored = false;
    dit_habits habits;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "title", &text));
    if (!dit_json_member(doc->root, "measured"))
        return dit_error_hint(dit_json_fail(doc, "", DIT_ERR_JSON_MISSING, "\"measured\" is required"),
                              "say true or false: has anybody timed this software on a GPU?");
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "measured", &ignored));
    DIT_TRY(dit_habits_read(doc, doc->root, "", &habits));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "evidence", &evidence));
    return dit_json_require_string(doc, evidence, "/evidence", "measured", &text);
}

dit_status suite_profile_load(const char *name, suite_profile *out)
{
    dit_json doc = {0};
    *out = (suite_profile){0};
    DIT_TRY(suite_catalogue_read("profiles", "profile", name, "ditbench.profile/1", &doc));
    dit_status st = check_file(&doc);
    if (st == DIT_OK) {
        take_facts(doc.root, name, out);
        copy_text(dit_json_member(dit_json_member(doc.root, "evidence"), "measured"), sizeof out->evidence,
                  out->evidence);
    }
    dit_json_release(&doc);
    return st;
}

dit_status suite_profile_add(const suite_profile *profile, cJSON *profiles)
{
    dit_json_writer w = {0};
    cJSON *object = dit_json_put_object(&w, profiles, profile->name);
    dit_json_put_bool(&w, object, "measured", profile->measured);
    dit_json_put_bool(&w, object, "text_with_every_band", profile->habits.text_with_every_band);
    dit_json_put_bool(&w, object, "stores_filled", profile->habits.stores_filled);
    suite_text_put(&w, object, "title", profile->title);
    suite_text_put(&w, object, "evidence", profile->evidence);
    return w.status;
}

dit_status suite_profile_from_session(const cJSON *session, const char *name, suite_profile *out)
{
    const cJSON *object = dit_json_member(dit_json_member(dit_json_member(session, "simulation"), "profiles"), name);
    *out = (suite_profile){0};
    if (!cJSON_IsObject(object))
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "the session's first line does not describe the profile \"%s\"", name);
    take_facts(object, name, out);
    copy_text(dit_json_member(object, "evidence"), sizeof out->evidence, out->evidence);
    return DIT_OK;
}

#include "suite/catalogue/vae.h"

#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"

#include <string.h>

static dit_status read_vae(suite_vae *vae)
{
    static const char *const keys[] = {"schema", "name", "title", "built", "config", "source", NULL};
    const dit_json *doc = &vae->source;
    const cJSON *source;
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.vae/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &vae->name));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "title", &vae->title));
    vae->built = true;
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "built", &vae->built));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "source", &source));
    return dit_json_require_object(doc, doc->root, "", "config", &vae->config);
}

dit_status suite_vae_load(const char *name, suite_vae *out)
{
    *out = (suite_vae){0};
    DIT_TRY(suite_catalogue_open("vaes", "VAE", name, &out->source));
    dit_status st = read_vae(out);
    if (st == DIT_OK && strcmp(out->name, name) != 0)
        st = dit_json_fail(&out->source, "/name", DIT_ERR_JSON_VALUE,
                           "the file is called %s, but its VAE is called \"%s\"", name, out->name);
    if (st != DIT_OK) suite_vae_release(out);
    return st;
}

void suite_vae_release(suite_vae *vae)
{
    dit_json_release(&vae->source);
    *vae = (suite_vae){0};
}

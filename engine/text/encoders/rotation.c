/* Rotary positions as configs of transformers tell of them. */
#include "engine/text/encoders/encoder_impl.h"

#include "base/words.h"

/* Reads the kind of rotation, under one of two keys. Of text alone the axes of "mrope" have one position, so that it is
 * the plain one. */
static dit_status require_plain(const dit_config *rotation, const char *key)
{
    static const char *const plain[] = {"default", "mrope", NULL};
    const char *type = plain[0];
    DIT_TRY(dit_json_optional_string(rotation->doc, rotation->object, rotation->pointer, key, &type));
    if (dit_words_find(plain, type) >= 0) return DIT_OK;
    return dit_words_hint_all(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s/%s is %.80s", rotation->pointer, key, type),
                              "implemented", plain);
}

/* Reads an object about rotations, which may be absent: newer releases of transformers write rope_theta into it. */
static dit_status read_rotation(const dit_config *config, const char *key, double *theta)
{
    const cJSON *object = NULL;
    char at[256];
    if (cJSON_IsNull(dit_json_member(config->object, key))) return DIT_OK;
    DIT_TRY(dit_json_optional_object(config->doc, config->object, config->pointer, key, &object));
    if (!object) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, config->pointer, key);
    const dit_config rotation = {config->doc, object, at};
    DIT_TRY(require_plain(&rotation, "rope_type"));
    DIT_TRY(require_plain(&rotation, "type"));
    return dit_json_optional_number(config->doc, object, at, "rope_theta", 1, 1e9, theta);
}

dit_status text_rotation_read(const dit_config *config, double *theta)
{
    DIT_TRY(read_rotation(config, "rope_scaling", theta));
    return read_rotation(config, "rope_parameters", theta);
}

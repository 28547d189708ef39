#include "base/habits.h"

dit_status dit_habits_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_habits *out)
{
    *out = (dit_habits){0};
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "text_with_every_band", &out->text_with_every_band));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "exchange_alone", &out->exchange_alone));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "stores_filled", &out->stores_filled));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "cross_attention_whole", &out->cross_attention_whole));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "gathers_copied", &out->gathers_copied));
    return dit_json_optional_bool(doc, object, pointer, "stages_wait", &out->stages_wait);
}

void dit_habits_put(dit_json_writer *w, cJSON *object, const dit_habits *habits)
{
    dit_json_put_bool(w, object, "text_with_every_band", habits->text_with_every_band);
    dit_json_put_bool(w, object, "exchange_alone", habits->exchange_alone);
    dit_json_put_bool(w, object, "stores_filled", habits->stores_filled);
    dit_json_put_bool(w, object, "cross_attention_whole", habits->cross_attention_whole);
    dit_json_put_bool(w, object, "gathers_copied", habits->gathers_copied);
    dit_json_put_bool(w, object, "stages_wait", habits->stages_wait);
}

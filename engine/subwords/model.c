#include "engine/subwords/model.h"

#include <stdio.h>
#include <stdlib.h>

void dit_token_model_release(dit_token_model *model)
{
    dit_vocabulary_release(&model->vocabulary);
    free(model->merges);
    free(model->prefix);
    free(model->suffix);
    free(model->scores);
    free(model->unk_piece);
    dit_sentence_piece_close(model->library);
    *model = (dit_token_model){0};
}

/* Adds the tokens of all bytes; false, and adds none, where one is missing. */
static bool add_bytes(const dit_token_model *model, dit_span text, dit_ids *out)
{
    char token[8];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < text.length; i++) {
            snprintf(token, sizeof token, "<0x%02X>", (unsigned char)text.at[i]);
            int32_t id = dit_vocabulary_find_text(&model->vocabulary, token);
            if (id < 0) return false;
            if (pass == 1) dit_ids_add(out, id);
        }
    }
    return true;
}

void dit_token_model_add_unknown(const dit_token_model *model, dit_span text, bool *in_run, dit_ids *out)
{
    if (model->byte_fallback && add_bytes(model, text, out)) {
        *in_run = false;
        return;
    }
    if (model->unk < 0 || (*in_run && model->fuse_unk)) return;
    dit_ids_add(out, model->unk);
    *in_run = true;
}

dit_status dit_word_level_encode(const dit_token_model *model, dit_span piece, dit_ids *out)
{
    int32_t id = dit_vocabulary_find(&model->vocabulary, piece);
    if (id < 0) id = model->unk;
    if (id >= 0) dit_ids_add(out, id);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text") : DIT_OK;
}

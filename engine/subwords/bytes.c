/* Bytes: a text is spelled by the bytes of its UTF-8, as ByT5 does; nothing is unknown. */
#include "engine/subwords/model.h"

dit_status dit_byte_encode(const dit_token_model *model, dit_span piece, dit_ids *out)
{
    (void)model;
    for (size_t i = 0; i < piece.length; i++) dit_ids_add(out, (unsigned char)piece.at[i] + DIT_BYTE_OFFSET);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text") : DIT_OK;
}

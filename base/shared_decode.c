#include "base/shared_decode.h"

#include "base/chunks.h"

dit_status dit_shared_decode_check(int degree, const dit_rows_facts *facts)
{
    return facts->split == DIT_SPLIT_FRAMES ? dit_chunks_check(degree, facts) : dit_rows_check(degree, facts);
}

void dit_shared_decode_predict(const dit_rows_facts *facts, int degree, int rank, dit_volume_table *out)
{
    if (facts->split == DIT_SPLIT_FRAMES)
        dit_chunks_predict(facts, degree, rank, out);
    else
        dit_rows_predict(facts, degree, rank, out);
}

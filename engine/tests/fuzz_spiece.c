/* Fuzz target of spiece.model: what the checks let through, the sentencepiece library must bear. Run by ci/fuzz.sh. */
#include "engine/tests/fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    fuzz_put("spiece.model", data, size);
    fuzz_open("T5Tokenizer");
    fuzz_open("T5TokenizerFast");
    return 0;
}

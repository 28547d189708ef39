/* Fuzz target of tokenizer.json. Run by ci/fuzz.sh. */
#include "engine/tests/fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    fuzz_put("tokenizer.json", data, size);
    fuzz_open("PreTrainedTokenizerFast");
    fuzz_open("T5TokenizerFast");
    return 0;
}

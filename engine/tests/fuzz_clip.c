/* Fuzz target of vocab.json and merges.txt: the input has both, with a zero byte between. Run by ci/fuzz.sh. */
#include "engine/tests/fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const unsigned char *zero = size ? memchr(data, 0, size) : NULL;
    size_t first = zero ? (size_t)(zero - data) : size, second = zero ? size - first - 1 : 0;
    fuzz_put("vocab.json", data, first);
    fuzz_put("merges.txt", zero ? zero + 1 : data, second);
    fuzz_open("CLIPTokenizer");
    fuzz_open("Qwen2Tokenizer");
    return 0;
}

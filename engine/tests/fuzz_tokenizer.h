/* What the fuzz targets of tokenizers share: a folder in memory whose files are what the fuzzer made. */
#ifndef DIT_ENGINE_TESTS_FUZZ_TOKENIZER_H
#define DIT_ENGINE_TESTS_FUZZ_TOKENIZER_H

#include "engine/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char fuzz_folder[64];

static void fuzz_path(const char *name, char path[128])
{
    if (!fuzz_folder[0]) {
        strcpy(fuzz_folder,
               access("/dev/shm", W_OK) == 0 ? "/dev/shm/ditbench-fuzz-XXXXXX" : "/tmp/ditbench-fuzz-XXXXXX");
        if (!mkdtemp(fuzz_folder)) abort();
    }
    snprintf(path, 128, "%s/%s", fuzz_folder, name);
}

static void fuzz_put(const char *name, const void *data, size_t size)
{
    char path[128];
    fuzz_path(name, path);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
}

static void fuzz_drop(const char *name)
{
    char path[128];
    fuzz_path(name, path);
    unlink(path);
}

/* Opens the folder and, where it is a tokenizer, gives it texts: all ids must be below the number that it states. */
static void fuzz_open(const char *class_name)
{
    static const char *const texts[] = {
        "",
        "a",
        "a red fox, don't </s> x",
        " \t\n<extra_id_0> [MASK]aa",
        "\xE5\xA5\xBD\xE2\x96\x81 \xF0\x9F\xA6\x8A\xCC\x81 \xEF\xAC\x81 A\xCC\x8A 12345",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    const dit_token_rule rule = {.length = 16};
    dit_tokenizer *tokenizer;
    dit_tokenizer_facts facts;
    if (dit_tokenizer_open(fuzz_folder, class_name, &tokenizer) != DIT_OK) {
        if (tokenizer || !dit_error_last()->message[0]) abort();
        return;
    }
    dit_tokenizer_describe(tokenizer, &facts);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t ids[16], mask[16];
        int64_t count;
        if (dit_tokenize(tokenizer, texts[i], &rule, ids, mask, &count) != DIT_OK) continue;
        for (int at = 0; at < 16; at++)
            if (ids[at] < 0 || ids[at] >= facts.ids || mask[at] < 0 || mask[at] > 1) abort();
    }
    dit_tokenizer_close(tokenizer);
}

/* libFuzzer ends with exit. */
static void __attribute__((destructor)) fuzz_clean(void)
{
    static const char *const names[] = {"tokenizer.json", "vocab.json", "merges.txt", "spiece.model"};
    for (size_t i = 0; i < sizeof names / sizeof *names && fuzz_folder[0]; i++) fuzz_drop(names[i]);
    if (fuzz_folder[0]) rmdir(fuzz_folder);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#endif

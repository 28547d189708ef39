/* Fuzz target of the safetensors reader. Run by ci/fuzz.sh.
 *
 * An input is a whole file; or, when it begins with 'H', a header up to the last '|' and the data behind it, so that
 * seeds are text and the fuzzer need not keep the length in step.
 */
#include "base/safetensors.h"

#include <stdlib.h>
#include <string.h>

static void check(bool good)
{
    if (!good) abort();
}

static unsigned char *build_file(const unsigned char *data, size_t size, size_t *length)
{
    const unsigned char *bar = memrchr(data, '|', size);
    uint64_t header = (uint64_t)((bar ? bar : data + size) - data);
    size_t rest = bar ? size - header - 1 : 0;
    *length = 8 + header + rest;
    unsigned char *file = malloc(*length);
    check(file != NULL);
    memcpy(file, &header, 8);
    memcpy(file + 8, data, header);
    if (rest) memcpy(file + 8 + header, bar + 1, rest);
    return file;
}

static void read_every_tensor(const dit_safetensors *open, const unsigned char *file, size_t length)
{
    for (int i = 0; i < dit_safetensors_count(open); i++) {
        dit_tensor_view view, found;
        dit_safetensors_at(open, i, &view);
        const unsigned char *data = view.data;
        check(data >= file && view.bytes >= 0 && (size_t)(data - file) + (size_t)view.bytes <= length);
        check(view.elements * dit_stored_dtype_bytes(view.dtype) == view.bytes);
        check(dit_safetensors_find(open, view.name, &found) && found.data == view.data);
        float *values = malloc((size_t)view.elements * sizeof *values + 1);
        check(values != NULL);
        (void)!dit_tensor_read(&view, 0, view.elements, values);
        free(values);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    dit_safetensors *open;
    size_t length = size;
    unsigned char *built = size && data[0] == 'H' ? build_file(data + 1, size - 1, &length) : NULL;
    const unsigned char *file = built ? built : data;
    if (dit_safetensors_open_memory(file, (int64_t)length, "fuzz", &open) == DIT_OK) {
        read_every_tensor(open, file, length);
        dit_safetensors_close(open);
    } else {
        check(strncmp(dit_error_last()->message, "fuzz: ", 6) == 0 && !open);
    }
    free(built);
    return 0;
}

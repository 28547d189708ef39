/* Fuzz target of `unpack`: an archive from outside. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why,
 * and what is accepted has a session's name. The bytes travel through a file in memory, and nothing is written. */
#include "suite/pack/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(bool good)
{
    if (!good) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static int file = -1;
    char path[64], name[SUITE_SESSION_NAME];
    suite_pack_summary summary;
    if (file < 0) file = memfd_create("session.tar", 0);
    check(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (suite_unpack(path, NULL, name, &summary) == DIT_OK)
        check(name[0] && summary.members > 1 && summary.bytes == size);
    else
        check(dit_error_last()->message[0] != '\0');
    return 0;
}

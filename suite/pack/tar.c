#include "suite/pack/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Places of the fields of a header (POSIX.1-1988). */
enum { NAME = 0, NAME_BYTES = 100, MODE = 100, OWNER = 108, GROUP = 116, SIZE = 124, TIME = 136, CHECKSUM = 148 };
enum { KIND = 156, MAGIC = 257, VERSION = 263, PREFIX = 345, PREFIX_BYTES = 155 };
static const uint64_t size_limit = UINT64_C(1) << 33; /* eleven octal digits */

bool suite_tar_name_is_safe(const char *name)
{
    for (const char *part = name;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || strncmp(part, ".", length) == 0 || strncmp(part, "..", length) == 0) return false;
        for (size_t i = 0; i < length; i++)
            if (part[i] < ' ' || part[i] > '~' || part[i] == '\\') return false;
        part += length;
        if (!*part) return true;
    }
}

/* Where a long name is cut in two: at the first slash that leaves a rest that fits. NULL: nowhere. */
static const char *cut_of(const char *name)
{
    const char *slash = name;
    while ((slash = strchr(slash, '/')) && strlen(slash + 1) > NAME_BYTES) slash++;
    return slash && slash - name <= PREFIX_BYTES ? slash : NULL;
}

static void put_octal(unsigned char *field, int digits, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%0*" PRIo64, digits, value);
    memcpy(field, text, (size_t)digits);
}

static void put_checksum(unsigned char out[SUITE_TAR_BLOCK])
{
    unsigned sum = 0;
    memset(out + CHECKSUM, ' ', 8);
    for (int i = 0; i < SUITE_TAR_BLOCK; i++) sum += out[i];
    put_octal(out + CHECKSUM, 6, sum);
    out[CHECKSUM + 6] = '\0';
}

dit_status suite_tar_header(const char *name, uint64_t bytes, unsigned char out[SUITE_TAR_BLOCK])
{
    size_t length = strlen(name);
    const char *cut = length > NAME_BYTES ? cut_of(name) : NULL, *rest = cut ? cut + 1 : name;
    if (!suite_tar_name_is_safe(name) || strlen(rest) > NAME_BYTES)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "the archive has no room for the name %.80s", name);
    if (bytes >= size_limit) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has 8 GiB or more", name);
    memset(out, 0, SUITE_TAR_BLOCK);
    memcpy(out + NAME, rest, strlen(rest));
    if (cut) memcpy(out + PREFIX, name, (size_t)(cut - name));
    put_octal(out + MODE, 7, 0644);
    put_octal(out + OWNER, 7, 0);
    put_octal(out + GROUP, 7, 0);
    put_octal(out + SIZE, 11, bytes);
    put_octal(out + TIME, 11, 0);
    out[KIND] = '0';
    memcpy(out + MAGIC, "ustar", 6);
    memcpy(out + VERSION, "00", 2);
    put_checksum(out);
    return DIT_OK;
}

static bool read_octal(const unsigned char *field, int digits, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++) {
        if (field[i] < '0' || field[i] > '7') return false;
        *out = *out * 8 + (uint64_t)(field[i] - '0');
    }
    return true;
}

dit_status suite_tar_read_header(const unsigned char block[SUITE_TAR_BLOCK], char name[SUITE_TAR_NAME], uint64_t *bytes)
{
    unsigned char ours[SUITE_TAR_BLOCK];
    const char *prefix = (const char *)block + PREFIX, *rest = (const char *)block + NAME;
    int prefix_length = (int)strnlen(prefix, PREFIX_BYTES), rest_length = (int)strnlen(rest, NAME_BYTES);
    snprintf(name, SUITE_TAR_NAME, "%.*s%s%.*s", prefix_length, prefix, prefix_length ? "/" : "", rest_length, rest);
    if (!suite_tar_name_is_safe(name)) {
        name[0] = '\0';
        return DIT_FAIL(DIT_ERR_INTEGRITY, "a member has a name that leaves its folder or cannot be read");
    }
    if (block[KIND] != '0') return DIT_FAIL(DIT_ERR_INTEGRITY, "%s is no plain file", name);
    bool sound = read_octal(block + SIZE, 11, bytes) && suite_tar_header(name, *bytes, ours) == DIT_OK &&
                 memcmp(ours, block, sizeof ours) == 0;
    return sound ? DIT_OK
                 : DIT_FAIL(DIT_ERR_INTEGRITY, "%s: its header was changed, or `ditbench pack` did not write it", name);
}

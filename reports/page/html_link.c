#include "reports/page/html_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
static const char url_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~/?#[]@!$&*+=%:";

enum { LINK_TEXT = 400 };

/* A stretch of the source that is a link, and where it leads. */
typedef struct {
    size_t length;
    char url[LINK_TEXT];
} html_link;

void html_append_path(dit_buffer *out, const char *path)
{
    for (; *path; path++) {
        if (*path == '/' || strchr(name_letters, *path))
            dit_buffer_char(out, *path);
        else
            dit_buffer_printf(out, "%%%02X", (unsigned char)*path);
    }
}

/* Length of "OWNER/NAME", or 0. */
static size_t repository_length(const char *text)
{
    size_t owner = strspn(text, name_letters);
    size_t name = text[owner] == '/' ? strspn(text + owner + 1, name_letters) : 0;
    return owner && name ? owner + 1 + name : 0;
}

/* "OWNER/NAME: PATH", the whole text; a path without spaces that names a file. */
static bool is_file(const char *text, html_link *out)
{
    size_t repository = repository_length(text);
    if (!repository || strncmp(text + repository, ": ", 2) != 0) return false;
    const char *path = text + repository + 2;
    if (!*path || strchr(path, ' ') || !strchr(path, '.') || strlen(text) > LINK_TEXT / 4) return false;
    dit_buffer address = {0};
    dit_buffer_printf(&address, "https://github.com/%.*s/blob/HEAD/", (int)repository, text);
    html_append_path(&address, path);
    out->length = strlen(text);
    bool fits = !address.failed && address.used < sizeof out->url;
    if (fits) memcpy(out->url, address.data, address.used + 1);
    dit_buffer_release(&address);
    return fits;
}

/* "github OWNER/NAME", "github OWNER/NAME @REV". */
static bool is_repository(const char *text, html_link *out)
{
    static const char word[] = "github ";
    if (strncmp(text, word, sizeof word - 1) != 0) return false;
    size_t length = repository_length(text + sizeof word - 1);
    if (!length || length > LINK_TEXT / 4) return false;
    const char *after = text + sizeof word - 1 + length;
    size_t revision = strncmp(after, " @", 2) == 0 ? strspn(after + 2, "0123456789abcdef") : 0;
    snprintf(out->url, sizeof out->url, "https://github.com/%.*s", (int)length, text + sizeof word - 1);
    out->length = sizeof word - 1 + length;
    if (revision < 7 || revision > 40) return true;
    size_t used = strlen(out->url);
    snprintf(out->url + used, sizeof out->url - used, "/tree/%.*s", (int)revision, after + 2);
    out->length += 2 + revision;
    return true;
}

/* "arXiv:2405.14430", "arXiv 2411.01738". */
static bool is_paper(const char *text, html_link *out)
{
    static const char word[] = "arXiv";
    if (strncmp(text, word, sizeof word - 1) != 0 || !strchr(": ", text[sizeof word - 1])) return false;
    const char *id = text + sizeof word;
    size_t year = strspn(id, "0123456789"), number = id[year] == '.' ? strspn(id + year + 1, "0123456789") : 0;
    if (year != 4 || number < 4 || number > 5) return false;
    snprintf(out->url, sizeof out->url, "https://arxiv.org/abs/%.*s", (int)(year + 1 + number), id);
    out->length = sizeof word + year + 1 + number;
    return true;
}

static bool is_address(const char *text, html_link *out)
{
    if (strncmp(text, "https://", 8) != 0) return false;
    size_t length = strspn(text, url_letters);
    if (length <= 8 || length >= LINK_TEXT) return false;
    snprintf(out->url, sizeof out->url, "%.*s", (int)length, text);
    out->length = length;
    return true;
}

static bool find_link(const char *text, bool first, html_link *out)
{
    if (first && is_file(text, out)) return true;
    return is_address(text, out) || is_paper(text, out) || is_repository(text, out);
}

static void put_part(dit_buffer *out, const char *text, size_t length)
{
    char *part = strndup(text, length);
    if (part)
        put_text(out, part);
    else
        out->failed = true;
    free(part);
}

void html_put_source(dit_buffer *out, const char *source)
{
    html_link link;
    size_t plain = 0, at = 0;
    while (source[at]) {
        bool word = at == 0 || strchr(" (", source[at - 1]);
        if (!word || !find_link(source + at, at == 0, &link)) {
            at++;
            continue;
        }
        put_part(out, source + plain, at - plain);
        put(out, "<a href=\"");
        put_text(out, link.url);
        put(out, "\">");
        put_part(out, source + at, link.length);
        put(out, "</a>");
        at += link.length;
        plain = at;
    }
    put_part(out, source + plain, at - plain);
}

/* Page check: what every HTML page of reports/ must be. Tags are balanced, tables have captions and headings with a
 * scope, pictures have texts, links lead somewhere, ids are unique, and nothing is loaded from elsewhere.
 */
#ifndef DIT_REPORTS_TESTS_PAGE_CHECK_H
#define DIT_REPORTS_TESTS_PAGE_CHECK_H

#include "reports/tests/fixture.h"

enum { CHECK_DEPTH = 64, CHECK_WORD = 24 };

typedef struct {
    char open[CHECK_DEPTH][CHECK_WORD];
    int depth;
    int captions, tables, pictures; /* captions of the table that is open */
    const char *page;
} page_check;

static inline bool check_is_void(const char *word)
{
    static const char *const words[] = {"meta", "img", "br", "hr", "link", "input", "source"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], word) == 0) return true;
    }
    return false;
}

/* The value of an attribute inside the tag that starts at `tag`; its length, or -1. */
static inline int check_attribute(const char *tag, const char *name, const char **value)
{
    const char *end = strchr(tag, '>');
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %s=\"", name);
    const char *at = strstr(tag, wanted);
    if (!at || at > end) return -1;
    *value = at + strlen(wanted);
    return (int)strcspn(*value, "\"");
}

/* A picture is in the page itself, or where the caller says that pictures are files: beside it. */
static inline void check_loads(const char *tag, const char *word, bool files)
{
    const char *value = "";
    assert_string_not_equal(word, "script");
    assert_string_not_equal(word, "link");
    assert_string_not_equal(word, "iframe");
    int length = check_attribute(tag, "src", &value);
    if (length < 0) length = check_attribute(tag, "srcset", &value);
    if (length < 0) return;
    bool inside = strncmp(value, "data:image/", 11) == 0;
    bool beside = files && value[0] != '/' && !memchr(value, ':', (size_t)length);
    if (!inside && !beside) fail_msg("loads %.80s", value);
}

static inline void check_link(const page_check *check, const char *tag)
{
    const char *value = "";
    char id[96];
    int length = check_attribute(tag, "href", &value);
    if (length < 1) fail_msg("a link leads nowhere: %.80s", tag);
    if (value[0] != '#') return;
    snprintf(id, sizeof id, " id=\"%.*s\"", length - 1, value + 1);
    if (!strstr(check->page, id)) fail_msg("%.*s leads nowhere", length, value);
}

static inline void check_opening(page_check *check, const char *tag, const char *word, bool files)
{
    const char *value = "";
    check_loads(tag, word, files);
    if (strcmp(word, "th") == 0 && check_attribute(tag, "scope", &value) < 3) fail_msg("no scope: %.80s", tag);
    if (strcmp(word, "img") == 0) {
        check->pictures++;
        if (check_attribute(tag, "alt", &value) < 10) fail_msg("a picture without a text: %.80s", tag);
    }
    if (strcmp(word, "a") == 0) check_link(check, tag);
    if (strcmp(word, "table") == 0) check->captions = 0, check->tables++;
    if (strcmp(word, "caption") == 0) check->captions++;
    if (check_is_void(word)) return;
    if (check->depth == CHECK_DEPTH) fail_msg("nested too deeply at %.80s", tag);
    snprintf(check->open[check->depth++], CHECK_WORD, "%s", word);
}

static inline void check_closing(page_check *check, const char *word, const char *tag)
{
    if (check->depth == 0 || strcmp(check->open[check->depth - 1], word) != 0) {
        fail_msg("</%s> closes <%s>: %.120s", word, check->depth ? check->open[check->depth - 1] : "", tag);
    }
    if (strcmp(word, "table") == 0 && check->captions != 1) fail_msg("a table has %d captions", check->captions);
    check->depth--;
}

static inline void check_ids(const char *page)
{
    for (const char *at = page; (at = strstr(at, " id=\"")); at++) {
        char id[96];
        snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 5, "\"") + 6, at);
        if (strstr(at + 1, id)) fail_msg("two elements have%s", id);
    }
}

/* `files`: pictures may be files beside the page. Returns how many pictures there are. */
static inline int check_page(const char *page, bool files)
{
    page_check check = {.page = page};
    assert_int_equal(strncmp(page, "<!doctype html>\n<html lang=\"en\">", 32), 0);
    assert_contains(page, "<main>");
    assert_null(strstr(page, "@import"));
    assert_null(strstr(page, "url("));
    for (const char *at = page + 15; (at = strchr(at, '<')); at++) {
        char word[CHECK_WORD];
        const char *name = at + 1 + (at[1] == '/');
        snprintf(word, sizeof word, "%.*s", (int)strspn(name, "abcdefghijklmnopqrstuvwxyz123456"), name);
        if (at[1] == '/')
            check_closing(&check, word, at);
        else
            check_opening(&check, at, word, files);
    }
    assert_int_equal(check.depth, 0);
    check_ids(page);
    return check.pictures;
}

#endif

#include "reports/draw/style.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = {
#define REPORT_FORMAT_NAME(name) #name,
    REPORT_FORMAT_LIST(REPORT_FORMAT_NAME)
#undef REPORT_FORMAT_NAME
        NULL,
};

const char *const *report_format_names(void)
{
    return format_names;
}

bool report_style_is_paper(const report_style *style)
{
    return style->width > 0 || style->height > 0 || style->font > 0 || style->bare;
}

dit_status report_length_parse(const char *text, double *out)
{
    static const struct {
        const char *unit;
        double points;
    } units[] = {{"in", 72}, {"mm", 72 / 25.4}, {"cm", 72 / 2.54}, {"pt", 1}, {"", 1}};
    const double most = 72 * 100;
    char *end;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++) {
        double points = number * units[i].points;
        if (strcmp(end, units[i].unit) == 0 && points > 0 && points <= most) return *out = points, DIT_OK;
    }
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "'%.40s' is not a length of at most 100 inches", text),
                          "3.3in, 84mm, 8.4cm or 240pt");
}

static bool find_format(const char *name, size_t length, unsigned *out)
{
    for (int i = 0; format_names[i]; i++) {
        if (strlen(format_names[i]) != length || strncmp(format_names[i], name, length) != 0) continue;
        return *out |= 1u << i, true;
    }
    return false;
}

static dit_status fail_format(const char *name, size_t length)
{
    char all[64];
    dit_words_join(format_names, all, sizeof all);
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "there is no figure format '%.*s'", (int)length, name),
                          "formats: %s; several as pdf,png", all);
}

dit_status report_formats_parse(const char *text, unsigned *out)
{
    do {
        text += strspn(text, ", ");
        size_t length = strcspn(text, ", ");
        if (!find_format(text, length, out)) return fail_format(text, length);
        text += length;
    } while (*text);
    return DIT_OK;
}

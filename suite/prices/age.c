#include "suite/prices/age.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_YEAR = 1990, LAST_YEAR = 2199, EPOCH_YEAR = 1970 };

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of_month(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

static int64_t days_before_year(int64_t year)
{
    int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400;
}

static int64_t day_of(int64_t year, int64_t month, int64_t day)
{
    int64_t days = days_before_year(year) - days_before_year(EPOCH_YEAR) + day - 1;
    for (int64_t m = 1; m < month; m++) days += days_of_month(year, m);
    return days;
}

static bool read_digits(const char *text, int count, int64_t *out)
{
    *out = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

bool suite_day_read(const char *text, int64_t *day)
{
    int64_t y, m, d;
    if (strlen(text) != SUITE_DAY_TEXT - 1 || text[4] != '-' || text[7] != '-') return false;
    if (!read_digits(text, 4, &y) || !read_digits(text + 5, 2, &m) || !read_digits(text + 8, 2, &d)) return false;
    if (y < FIRST_YEAR || y > LAST_YEAR || m < 1 || m > 12 || d < 1 || d > days_of_month(y, m)) return false;
    *day = day_of(y, m, d);
    return true;
}

void suite_day_write(int64_t day, char out[SUITE_DAY_TEXT])
{
    int64_t year = FIRST_YEAR, month = 1;
    while (year < LAST_YEAR && day_of(year + 1, 1, 1) <= day) year++;
    while (month < 12 && day_of(year, month + 1, 1) <= day) month++;
    int64_t rest = day - day_of(year, month, 1) + 1;
    snprintf(out, SUITE_DAY_TEXT, "%04u-%02u-%02u", (unsigned)year % 10000, (unsigned)month % 100,
             (unsigned)rest % 100);
}

int64_t suite_day_today(void)
{
    char now[32];
    int64_t day = 0;
    dit_clock_utc(now);
    now[SUITE_DAY_TEXT - 1] = '\0';
    return suite_day_read(now, &day) ? day : 0;
}

const char *suite_age_name(suite_age_class age)
{
    static const char *const names[] = {"plain", "aged", "old", "ahead", NULL};
    return age < SUITE_AGE_COUNT ? names[age] : NULL;
}

suite_age_class suite_age_of(const suite_dating *dating, int64_t day, bool spot, int64_t *days)
{
    *days = day - dating->first;
    if (*days < 0) return SUITE_AGE_AHEAD;
    if (spot) return *days <= SUITE_AGE_SPOT_DAYS ? SUITE_AGE_PLAIN : SUITE_AGE_OLD;
    if (*days <= SUITE_AGE_PLAIN_DAYS) return SUITE_AGE_PLAIN;
    return *days <= SUITE_AGE_AGED_DAYS ? SUITE_AGE_AGED : SUITE_AGE_OLD;
}

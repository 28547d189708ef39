/* Age: how old a price is on a given day, and whether a rank may rest on it.
 *
 * A day is a number of days since 1970-01-01 in the Gregorian calendar. A price is of one day, or of an unknown day of a
 * range; then it counts as old as the range's first day makes it.
 */
#ifndef DIT_SUITE_PRICES_AGE_H
#define DIT_SUITE_PRICES_AGE_H

#include "base/status.h"

#include <stdint.h>

enum { SUITE_DAY_TEXT = 11 }; /* bytes of "2026-08-28" with its end */

/* Reads "2026-08-28", a day that exists, of the years 1990 to 2199. False for anything else; *day is then as it was. */
bool suite_day_read(const char *text, int64_t *day);
/* Writes a day of those years as suite_day_read takes it. */
void suite_day_write(int64_t day, char out[SUITE_DAY_TEXT]);
/* Returns this day in UTC. */
int64_t suite_day_today(void);

/* When a price held. */
typedef struct {
    int64_t first, last; /* the same day where it is known */
} suite_dating;

typedef enum {
    SUITE_AGE_PLAIN, /* to 90 days; of spot prices 7                           */
    SUITE_AGE_AGED,  /* to 365 days: ranks, and its date stands beside it      */
    SUITE_AGE_OLD,   /* beyond that: in tables, in no rank                     */
    SUITE_AGE_AHEAD, /* of a later day than the one that is asked about: the same */
    SUITE_AGE_COUNT
} suite_age_class;

/* What a class is called in tables and documents: "plain", "aged", "old", "ahead". NULL at the end of the list. */
const char *suite_age_name(suite_age_class age);

enum { SUITE_AGE_PLAIN_DAYS = 90, SUITE_AGE_AGED_DAYS = 365, SUITE_AGE_SPOT_DAYS = 7 };

/* Says how old a price is on `day`, counted from the first day of its dating. `spot`: prices that change by the hour
 * are old after a week. */
suite_age_class suite_age_of(const suite_dating *dating, int64_t day, bool spot, int64_t *days);

#endif

/* Site: what a machine of one's own costs beside its price: how long it lives, what money, power, space and people cost.
 *
 * A file is workloads/sites/NAME.json or one of the buyer's (workloads/schema/site.schema.json). Every value has a source
 * and a day, or is assumed with a reason. Values that a file leaves out are those of workloads/sites/default.json, and
 * are told as defaults.
 */
#ifndef DIT_SUITE_PRICES_SITE_H
#define DIT_SUITE_PRICES_SITE_H

#include "suite/prices/fact.h"

/* constant, name in files, least, most, unit */
#define SUITE_SITE_VALUE_LIST(X)                                                                                       \
    X(YEARS, "years", 0.5, 30, "years of use")                                                                         \
    X(INTEREST, "interest", 0, 1, "a year")                                                                            \
    X(RESIDUAL, "residual", 0, 1, "share of the price that is left at the end")                                        \
    X(AVAILABILITY, "availability", 0.01, 1, "share of the hours in which it works")                                   \
    X(NETWORK_SHARE, "network_share", 0, 0.9, "share of a cluster's price that is network")                            \
    X(DELIVERY, "delivery", 0, 1e9, "currency a machine")                                                              \
    X(SERVER_OVER_ACCELERATORS, "server_over_accelerators", 1, 10, "price of a server over that of its accelerators")  \
    X(PUE, "pue", 1, 5, "watts of the site over watts of its servers")                                                 \
    X(PRICE_PER_KWH, "price_per_kwh", 0, 10, "currency a kWh")                                                         \
    X(SPACE_PER_KW_YEAR, "space_per_kw_year", 0, 1e6, "currency a year and rated kW")                                  \
    X(SUPPORT_PER_YEAR, "support_per_year", 0, 1e9, "currency a year and machine")                                     \
    X(PEOPLE_PER_YEAR, "people_per_year", 0, 1e9, "currency a year and machine")                                       \
    X(LICENCES_PER_YEAR, "licences_per_year", 0, 1e9, "currency a year and machine")

typedef enum {
#define SUITE_SITE_VALUE_ENUM(name, key, least, most, unit) SUITE_SITE_##name,
    SUITE_SITE_VALUE_LIST(SUITE_SITE_VALUE_ENUM)
#undef SUITE_SITE_VALUE_ENUM
        SUITE_SITE_VALUE_COUNT
} suite_site_value;

/* The name of a value in files, and what it is of. */
const char *suite_site_value_name(suite_site_value value);
const char *suite_site_value_unit(suite_site_value value);

/* How value falls: evenly to the residual, or as the market's has fallen with progress. */
typedef enum { SUITE_DEPRECIATION_STRAIGHT, SUITE_DEPRECIATION_MARKET } suite_depreciation;

/* What the buyer knows of one machine. A fact of value 0 was not stated. */
typedef struct {
    const char *platform;                       /* its name in the file */
    suite_fact price, idle_wall_w, busy_wall_w; /* of the whole machine; watts at the wall: of its servers */
} suite_site_machine;

/* Texts lie in the documents. release accepts a zeroed one. */
typedef struct {
    dit_json source, defaults; /* defaults: of the file whose values stand in; empty for that file itself */
    const char *name, *currency;
    suite_depreciation depreciation;
    suite_fact values[SUITE_SITE_VALUE_COUNT];
    bool is_default[SUITE_SITE_VALUE_COUNT]; /* the buyer's file did not state it */
    suite_site_machine *machines;
    int machine_count;
} suite_site;

/* Reads a text in memory. `defaults`: the text of the file whose values stand in for what it leaves out, NULL: it leaves
 * out nothing. Errors: DIT_ERR_JSON_* with file, line and key. */
dit_status suite_site_parse(const char *text, size_t length, const char *path, const char *defaults, suite_site *out);
/* Reads a file, or workloads/sites/NAME.json where `name` is no path; default.json stands in for what it leaves out.
 * Errors: DIT_ERR_IO, DIT_ERR_NOT_FOUND, too. */
dit_status suite_site_load(const char *name, suite_site *out);
void suite_site_release(suite_site *site);

/* Finds what the file knows of a platform; NULL: nothing. */
const suite_site_machine *suite_site_machine_of(const suite_site *site, const char *platform);

#endif

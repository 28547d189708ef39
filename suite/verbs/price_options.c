#include "suite/verbs/price_options.h"

#include "base/words.h"

#include <string.h>

void price_options_fill(price_options *given, suite_option *options)
{
    const suite_option rows[PRICE_OPTIONS] = {
        {"date", 0, SUITE_OPTION_STRING, "DAY", "the day that ages count to (today)", &given->date, 0, 0},
        {"kind", 0, SUITE_OPTION_STRING, "KIND", "the kind of price that machines are ranked by (on-demand)",
         &given->kind, 0, 0},
        {"region", 0, SUITE_OPTION_STRING, "REGION", "quotes of this region only", &given->region, 0, 0},
        {"currency", 0, SUITE_OPTION_STRING, "CODE", "show machines in this currency, by dated rates (USD)",
         &given->currency, 0, 0},
        {"per-device", 0, SUITE_OPTION_FLAG, NULL, "where no instance has so many devices, multiply the price of one",
         &given->per_device, 0, 0},
        {"old-prices", 0, SUITE_OPTION_FLAG, NULL, "old quotes count, too", &given->old_prices, 0, 0},
        {"doubtful", 0, SUITE_OPTION_FLAG, NULL, "quotes in doubt count, too", &given->doubtful, 0, 0},
        {"prices", 0, SUITE_OPTION_STRINGS, "FILE", "read this price file in place of workloads/prices; repeatable",
         &given->files, 0, 0},
    };
    memcpy(options, rows, sizeof rows);
}

dit_status price_options_terms(const price_options *given, suite_price_terms *out)
{
    int kind = given->kind ? dit_words_find(suite_price_kind_names(), given->kind) : SUITE_PRICE_ON_DEMAND;
    *out = (suite_price_terms){.day = suite_day_today(),
                               .currency = given->currency ? given->currency : "USD",
                               .region = given->region,
                               .per_device = given->per_device,
                               .old_prices = given->old_prices,
                               .doubtful = given->doubtful};
    if (kind < 0) return dit_fail_word(DIT_ERR_USAGE, "kind", given->kind, suite_price_kind_names());
    out->kind = (suite_price_kind)kind;
    if (!given->date || suite_day_read(given->date, &out->day)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--date \"%s\" is not a day of 1990 to 2199", given->date),
                          "write it as 2026-08-28");
}

dit_status price_options_book(const price_options *given, suite_price_book *out)
{
    if (given->files.count == 0) return suite_price_book_load(out);
    for (int i = 0; i < given->files.count; i++) DIT_TRY(suite_price_book_read(out, given->files.items[i]));
    return DIT_OK;
}

/* Book: the price files that a question is answered from: quotes, purchase prices, dated rates between currencies, and
 * what was refused when they were collected.
 *
 * A file is workloads/prices/NAME.json, or one of the buyer's own in the same form (workloads/schema/price_book.schema.json).
 * It has one currency. Each row names one of its file's sources, and each source has a day or a range of days. A file
 * comes from outside: a mistake in it is an error with its place, never a crash.
 */
#ifndef DIT_SUITE_PRICES_BOOK_H
#define DIT_SUITE_PRICES_BOOK_H

#include "base/hash.h"
#include "suite/prices/quote.h"

/* What a machine, or an accelerator alone, was sold for, or is estimated to sell for. */
typedef struct {
    const char *accelerator, *listed_as, *source, *currency, *doubt, *note; /* "" where absent */
    bool server;           /* share of a server of `count` accelerators; else an accelerator alone */
    int count;             /* 1 of an accelerator alone                                            */
    double low, mid, high; /* per accelerator; all the same where one price is known               */
    suite_dating when;
    int file;
} suite_purchase;

/* A dated rate: one unit of `from` is `rate` units of `to`. */
typedef struct {
    const char *from, *to, *source;
    double rate;
    suite_dating when;
} suite_currency_rate;

/* One file as it was read. */
typedef struct {
    char *path;
    const char *name, *currency;
    char sha[DIT_HASH_HEX]; /* of its bytes */
    int quotes, refused;    /* rows; of `refused` those that whoever collected it left out, with the reason */
    int64_t oldest, newest; /* first days of its quotes; of a file without quotes both are 0 */
} suite_price_file;

typedef struct {
    dit_json *documents; /* [file_count]; all texts lie in them */
    suite_price_file *files;
    suite_price_quote *quotes;
    int *quote_file; /* [quote_count]: index of files */
    suite_purchase *purchases;
    suite_currency_rate *rates;
    int file_count, quote_count, purchase_count, rate_count;
} suite_price_book;

/* Adds the rows of a text in memory, which messages call `path`. `accelerators` and `platforms`: the names that rows may
 * use, NULL-terminated; NULL: any. After an error the book is as it was. Errors: DIT_ERR_JSON_* with file, line,
 * column and key; DIT_ERR_MEMORY. */
dit_status suite_price_book_parse(suite_price_book *book, const char *text, size_t length, const char *path,
                                  const char *const *accelerators, const char *const *platforms);
/* Adds a file; names of accelerators and platforms are those of the catalogue. Errors: DIT_ERR_IO, too. */
dit_status suite_price_book_read(suite_price_book *book, const char *path);
/* Adds all files of workloads/prices, by name. Errors: DIT_ERR_ENVIRONMENT without the folder. */
dit_status suite_price_book_load(suite_price_book *book);
/* Accepts a zeroed one. */
void suite_price_book_release(suite_price_book *book);

/* Returns how many units of `to` one unit of `from` is by the newest rate that held on `day` or before, in either
 * direction; 1 between equal currencies. *used: index of the rate, -1: none was needed. 0 where there is no rate. */
double suite_currency_factor(const suite_price_book *book, const char *from, const char *to, int64_t day, int *used);

#endif

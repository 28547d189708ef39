/* Fuzz target of the reader of price files. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why and leaves
 * the book empty; what is accepted prices a machine, or says why not, on any day. */
#include "suite/prices/price.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(bool good)
{
    if (!good) abort();
}

static void check_price(const suite_price_book *book, const char *accelerator, int devices,
                        const suite_price_terms *terms)
{
    suite_price_machine machine = {.nodes = 2, .node_devices = devices};
    suite_price price;
    snprintf(machine.accelerator, sizeof machine.accelerator, "%s", accelerator);
    check(suite_price_of(book, &machine, 2 * devices, terms, &price) == DIT_OK);
    if (price.absence == SUITE_PRICE_THERE)
        check(isfinite(price.most) && price.least > 0 && price.least <= price.median && price.median <= price.most);
    else
        check(price.reason[0] != '\0' && price.use_count == 0);
    suite_price_release(&price);
}

static void check_book(const suite_price_book *book)
{
    for (int i = 0; i < book->quote_count && i < 16; i++) {
        const suite_price_quote *quote = &book->quotes[i];
        suite_price_terms terms = {.day = quote->when.first + 30,
                                   .kind = quote->kind,
                                   .currency = i % 2 ? "EUR" : quote->currency,
                                   .per_device = i % 3 == 0,
                                   .old_prices = i % 5 == 0};
        check(quote->price > 0 && quote->count > 0 && quote->when.first <= quote->when.last);
        if (quote->platform[0]) continue; /* names of platforms are those of the catalogue */
        check_price(book, quote->accelerator, quote->count, &terms);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const none[] = {NULL};
    suite_price_book book = {0};
    dit_error_clear();
    if (suite_price_book_parse(&book, (const char *)data, size, "fuzz.json", NULL, none) == DIT_OK)
        check_book(&book);
    else
        check(dit_error_last()->message[0] != '\0' && book.quote_count == 0 && book.file_count == 0);
    suite_price_book_release(&book);
    return 0;
}

#include "suite/verbs/search_rents.h"

#include "base/json_writer.h"
#include "suite/prices/age.h"

#include <stdio.h>

void search_rents_release(search_rents *rents)
{
    for (int i = 0; i < rents->count; i++) suite_price_release(&rents->prices[i]);
    suite_price_book_release(&rents->book);
    *rents = (search_rents){.count = 0};
}

static dit_status look_up(const suite_price_machine *machine, int devices, search_rents *out)
{
    suite_price *price = &out->prices[out->count++];
    dit_status st = suite_price_of(&out->book, machine, devices, &out->terms, price);
    if (st != DIT_ERR_CONSTRAINT_PLATFORM) return st;
    price->devices = devices;
    price->absence = SUITE_PRICE_NO_SIZE;
    snprintf(price->reason, sizeof price->reason, "%.199s", dit_error_last()->message);
    dit_error_clear();
    return DIT_OK;
}

dit_status search_rents_find(const price_options *given, suite_search_request *request, search_rents *out)
{
    suite_price_machine machine;
    DIT_TRY(suite_price_machine_load(request->platform, &machine));
    DIT_TRY(price_options_terms(given, &out->terms));
    DIT_TRY(price_options_book(given, &out->book));
    int most = request->devices ? (int)request->devices : machine.nodes * machine.node_devices;
    for (int devices = 1; devices <= most && out->count < SUITE_SEARCH_RENTS; devices++) {
        if (most % devices) continue;
        DIT_TRY(look_up(&machine, devices, out));
        const suite_price *price = &out->prices[out->count - 1];
        if (price->absence != SUITE_PRICE_THERE) continue;
        request->rents[request->rent_count++] = (suite_search_rent){devices, price->median};
    }
    if (request->rent_count || !out->count) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "no part of %s has a price: %s", request->platform, out->prices[out->count - 1].reason),
        "`ditbench prices %s` shows its quotes; --old-prices, --doubtful, --per-device and --kind let others count, "
        "--prices FILE reads yours",
        request->platform);
}

void search_rents_print(const search_rents *rents, int devices, double per_1000)
{
    char newest[SUITE_DAY_TEXT];
    for (int i = 0; i < rents->count; i++) {
        const suite_price *price = &rents->prices[i];
        if (price->devices != devices || price->absence != SUITE_PRICE_THERE) continue;
        suite_day_write(price->newest, newest);
        printf("%d device%s at %.4g %s an hour (%s, median of %d, %s%s): %.4g %s for 1,000 images. `ditbench procure` "
               "has the "
               "interval.\n",
               devices, devices == 1 ? "" : "s", price->median, price->currency,
               suite_price_kind_names()[rents->terms.kind], price->use_count, newest, price->derived ? ", derived" : "",
               per_1000, price->currency);
    }
}

dit_status search_rents_put(const search_rents *rents, cJSON *document)
{
    dit_json_writer w = {0};
    char day[SUITE_DAY_TEXT];
    if (!rents->count) return DIT_OK;
    cJSON *prices = dit_json_put_object(&w, document, "prices");
    suite_day_write(rents->terms.day, day);
    dit_json_put_string(&w, prices, "currency", rents->terms.currency);
    dit_json_put_string(&w, prices, "kind", suite_price_kind_names()[rents->terms.kind]);
    dit_json_put_string(&w, prices, "date", day);
    cJSON *list = dit_json_put_array(&w, prices, "rents");
    for (int i = 0; i < rents->count; i++) {
        const suite_price *price = &rents->prices[i];
        cJSON *one = dit_json_put_object(&w, list, NULL);
        dit_json_put_int(&w, one, "devices", price->devices);
        if (price->absence != SUITE_PRICE_THERE) {
            dit_json_put_string(&w, one, "absent", price->reason);
            continue;
        }
        dit_json_put_number(&w, one, "per_hour", price->median);
        dit_json_put_number(&w, one, "least", price->least);
        dit_json_put_number(&w, one, "most", price->most);
        suite_day_write(price->newest, day);
        dit_json_put_string(&w, one, "newest", day);
        if (price->derived) dit_json_put_bool(&w, one, "derived", true);
    }
    return w.status;
}

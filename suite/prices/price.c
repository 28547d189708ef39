#include "suite/prices/price.h"

#include "base/stats.h"
#include "suite/catalogue/catalogue.h"
#include "suite/platform/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- machines ---------------------------------------------------------------------------------------------------- */

static const char *link_of(const suite_cluster *cluster)
{
    return cluster->link_count > 0 ? cluster->links[0].link_class.name : "";
}

dit_status suite_price_machine_facts(const char *platform, suite_price_machine *out)
{
    suite_cluster cluster;
    suite_accelerator accelerator;
    *out = (suite_price_machine){.limit_w = 0};
    DIT_TRY(suite_cluster_load(platform, &cluster));
    dit_status st = suite_accelerator_load(cluster.accelerator, &accelerator);
    if (st == DIT_OK) {
        snprintf(out->name, sizeof out->name, "%s", cluster.name);
        snprintf(out->accelerator, sizeof out->accelerator, "%s", cluster.accelerator);
        snprintf(out->link, sizeof out->link, "%s", link_of(&cluster));
        out->nodes = cluster.nodes;
        out->node_devices = cluster.devices;
        out->topology = (int)cluster.topology;
        out->of_source = cluster.of_source;
        out->limit_w = dit_json_number_or(accelerator.source.root, "power_w", 0);
        suite_accelerator_release(&accelerator);
    }
    suite_cluster_release(&cluster);
    return st;
}

dit_status suite_price_machine_load(const char *platform, suite_price_machine *out)
{
    DIT_TRY(suite_price_machine_facts(platform, out));
    if (out->topology != SUITE_TOPOLOGY_CORES && strcmp(out->accelerator, "cpu-core") != 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "platform %s has cores, no accelerators that anyone sells", platform);
}

dit_status suite_priced_machine_read(const char *word, suite_priced_machine *out)
{
    const char *at = strchr(word, '@');
    char name[64], *end;
    snprintf(name, sizeof name, "%.*s", at ? (int)(at - word) : (int)strlen(word), word);
    DIT_TRY(suite_price_machine_load(name, &out->machine));
    out->devices = out->machine.nodes * out->machine.node_devices;
    if (!at) return DIT_OK;
    errno = 0;
    long devices = strtol(at + 1, &end, 10);
    out->devices = devices > 0 && devices <= out->devices ? (int)devices : 0;
    if (errno == 0 && end != at + 1 && *end == '\0' && out->devices > 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "\"%s\": behind the @ stands a number of devices, at most %d", word,
                    out->machine.nodes * out->machine.node_devices);
}

/* ---- which quotes would do ---------------------------------------------------------------------------------------- */

const char *suite_price_absence_name(suite_price_absence absence)
{
    static const char *const names[] = {NULL,      "no_quote", "no_kind",  "no_region", "no_size",
                                        "no_rate", "doubtful", "old_only", "ahead"};
    return absence < SUITE_PRICE_ABSENCE_COUNT ? names[absence] : NULL;
}

typedef struct {
    const suite_price_book *book;
    const suite_price_machine *machine;
    const suite_price_terms *terms;
    int instance_devices, instances; /* what is asked for: so many instances of so many devices */
    bool derive;                     /* take prices of one device */
} question;

static bool same_offer(const suite_price_quote *a, const suite_price_quote *b)
{
    return a->kind == b->kind && a->count == b->count && strcmp(a->provider, b->provider) == 0 &&
           strcmp(a->instance, b->instance) == 0 && strcmp(a->accelerator, b->accelerator) == 0 &&
           strcmp(a->region, b->region) == 0 && strcmp(a->zone, b->zone) == 0;
}

bool suite_price_is_superseded(const suite_price_book *book, int quote, int64_t day)
{
    const suite_price_quote *own = &book->quotes[quote];
    for (int i = 0; i < book->quote_count; i++) {
        const suite_price_quote *other = &book->quotes[i];
        if (other->when.first > own->when.first && other->when.first <= day && same_offer(own, other)) return true;
    }
    return false;
}

/* Machines of the same accelerator whose devices are linked alike: a quote for one buys the other. */
static dit_status is_linked_alike(const suite_price_machine *machine, const char *platform, bool *alike)
{
    suite_price_machine other;
    *alike = strcmp(machine->name, platform) == 0;
    if (*alike) return DIT_OK;
    DIT_TRY(suite_price_machine_load(platform, &other));
    *alike = strcmp(machine->accelerator, other.accelerator) == 0 && machine->topology == other.topology &&
             strcmp(machine->link, other.link) == 0;
    return DIT_OK;
}

static dit_status fits_size(const question *asked, const suite_price_quote *quote, bool *fits)
{
    *fits = true;
    if (asked->derive) return DIT_OK;
    *fits = !quote->share && quote->count == asked->instance_devices;
    /* One device has no links. */
    if (*fits && quote->platform[0] && quote->count > 1)
        DIT_TRY(is_linked_alike(asked->machine, quote->platform, fits));
    return DIT_OK;
}

/* A price in another currency is as old as the older of the quote and the rate. */
static void age_by_rate(const question *asked, suite_price_use *use)
{
    int64_t days;
    if (use->rate < 0 || use->age == SUITE_AGE_AHEAD) return;
    suite_age_class age = suite_age_of(&asked->book->rates[use->rate].when, asked->terms->day, false, &days);
    if (age > use->age) use->age = age;
}

/* Finds how far a quote comes: SUITE_PRICE_THERE, or the first thing that speaks against it. Fills `use`. */
static dit_status judge(const question *asked, int index, suite_price_use *use, suite_price_absence *out)
{
    const suite_price_terms *terms = asked->terms;
    const suite_price_quote *quote = &asked->book->quotes[index];
    bool fits;
    *out = SUITE_PRICE_NO_ACCELERATOR;
    if (strcmp(quote->accelerator, asked->machine->accelerator) != 0) return DIT_OK;
    *out = SUITE_PRICE_NO_KIND;
    if (quote->kind != terms->kind) return DIT_OK;
    *out = SUITE_PRICE_NO_REGION;
    if (terms->region && strcmp(terms->region, quote->region) != 0) return DIT_OK;
    *out = SUITE_PRICE_NO_SIZE;
    DIT_TRY(fits_size(asked, quote, &fits));
    if (!fits) return DIT_OK;
    *out = SUITE_PRICE_NO_RATE;
    double factor = suite_currency_factor(asked->book, quote->currency, terms->currency, terms->day, &use->rate);
    if (factor <= 0) return DIT_OK;
    *out = SUITE_PRICE_DOUBTFUL;
    if (quote->doubt[0] && !terms->doubtful) return DIT_OK;
    use->age = suite_age_of(&quote->when, terms->day, quote->kind == SUITE_PRICE_SPOT, &use->age_days);
    age_by_rate(asked, use);
    *out = SUITE_PRICE_AHEAD;
    if (use->age == SUITE_AGE_AHEAD) return DIT_OK;
    *out = SUITE_PRICE_OLD;
    bool superseded = suite_price_is_superseded(asked->book, index, terms->day);
    if (superseded || (use->age == SUITE_AGE_OLD && !terms->old_prices)) return DIT_OK;
    *out = SUITE_PRICE_THERE;
    int devices = asked->instance_devices * asked->instances;
    use->quote = index;
    use->instances = asked->derive ? 0 : asked->instances;
    use->per_hour = factor * quote->price * (asked->derive ? (double)devices / quote->count : asked->instances);
    use->links_unnamed = !asked->derive && quote->count > 1 && !quote->platform[0];
    return DIT_OK;
}

/* ---- the price ---------------------------------------------------------------------------------------------------- */

static dit_status collect(const question *asked, suite_price *out, suite_price_absence *nearest, int *at)
{
    *nearest = SUITE_PRICE_NO_ACCELERATOR;
    *at = -1;
    for (int i = 0; i < asked->book->quote_count; i++) {
        suite_price_absence absence;
        suite_price_use use = {.rate = -1};
        DIT_TRY(judge(asked, i, &use, &absence));
        if (absence == SUITE_PRICE_THERE) {
            out->uses[out->use_count++] = use;
        } else if (absence > *nearest) {
            *nearest = absence;
            *at = i;
        }
    }
    return DIT_OK;
}

static dit_status summarise(const suite_price_book *book, suite_price *out)
{
    double *prices = malloc((size_t)out->use_count * sizeof *prices);
    if (!prices) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a price");
    out->age = SUITE_AGE_PLAIN;
    for (int i = 0; i < out->use_count; i++) {
        const suite_price_use *use = &out->uses[i];
        int64_t day = book->quotes[use->quote].when.first;
        prices[i] = use->per_hour;
        if (i == 0 || use->per_hour < out->least) out->least = use->per_hour;
        if (i == 0 || use->per_hour > out->most) out->most = use->per_hour;
        if (i == 0 || day < out->oldest) out->oldest = day;
        if (i == 0 || day > out->newest) out->newest = day;
        if (use->age > out->age) out->age = use->age;
        out->derived = out->derived || use->instances == 0;
    }
    out->median = dit_stats_median(prices, out->use_count);
    free(prices);
    return DIT_OK;
}

/* Newest day of a quote that would do but for its age. */
static int64_t newest_day(const question *asked)
{
    suite_price_terms terms = *asked->terms;
    question old = *asked;
    int64_t newest = 0;
    terms.old_prices = true;
    old.terms = &terms;
    for (int i = 0; i < asked->book->quote_count; i++) {
        suite_price_absence absence;
        suite_price_use use;
        if (judge(&old, i, &use, &absence) != DIT_OK) dit_error_clear();
        int64_t day = asked->book->quotes[i].when.first;
        if (absence == SUITE_PRICE_THERE && day > newest) newest = day;
    }
    return newest;
}

static void say_why(const question *asked, suite_price_absence absence, int at, suite_price *out)
{
    const char *kind = suite_price_kind_names()[asked->terms->kind], *accelerator = asked->machine->accelerator;
    const suite_price_quote *near = at >= 0 ? &asked->book->quotes[at] : NULL;
    char day[SUITE_DAY_TEXT];
    out->absence = absence;
    if (absence == SUITE_PRICE_NO_ACCELERATOR)
        snprintf(out->reason, sizeof out->reason, "no price: nobody quotes %.64s", accelerator);
    if (absence == SUITE_PRICE_NO_KIND)
        snprintf(out->reason, sizeof out->reason, "no price of kind %s for %.64s: there is %s", kind, accelerator,
                 suite_price_kind_names()[near->kind]);
    if (absence == SUITE_PRICE_NO_REGION)
        snprintf(out->reason, sizeof out->reason, "no %s price in %.40s: there is one in %.40s", kind,
                 asked->terms->region, near->region);
    if (absence == SUITE_PRICE_NO_SIZE)
        snprintf(out->reason, sizeof out->reason, "no %s price of %d x %.64s in one instance; there is one of %d%s",
                 kind, asked->instance_devices, accelerator, near->count,
                 near->share                              ? ", a share of some machine"
                 : near->count == asked->instance_devices ? " with other links"
                                                          : "");
    if (absence == SUITE_PRICE_NO_RATE)
        snprintf(out->reason, sizeof out->reason, "no dated rate between %s and %s", near->currency,
                 asked->terms->currency);
    if (absence == SUITE_PRICE_DOUBTFUL)
        snprintf(out->reason, sizeof out->reason, "only quotes in doubt: %.140s", near->doubt);
    if (absence == SUITE_PRICE_AHEAD) snprintf(out->reason, sizeof out->reason, "only quotes of a later day");
    if (absence != SUITE_PRICE_OLD) return;
    suite_day_write(newest_day(asked), day);
    snprintf(out->reason, sizeof out->reason, "only old quotes, the newest of %s: ask for one", day);
}

dit_status suite_price_of(const suite_price_book *book, const suite_price_machine *machine, int devices,
                          const suite_price_terms *terms, suite_price *out)
{
    bool whole = devices > machine->node_devices;
    suite_price_absence absence;
    int at;
    *out = (suite_price){.currency = terms->currency, .devices = devices};
    if (devices < 1 || (whole && devices % machine->node_devices) || devices > machine->nodes * machine->node_devices)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_PLATFORM, "platform %s cannot be cut to %d devices", machine->name, devices),
            "it has %d nodes of %d: take a part of a node, or whole nodes", machine->nodes, machine->node_devices);
    question asked = {
        book, machine, terms, whole ? machine->node_devices : devices, whole ? devices / machine->node_devices : 1,
        false};
    out->uses = calloc((size_t)book->quote_count + 1, sizeof *out->uses);
    if (!out->uses) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a price");
    dit_status st = collect(&asked, out, &absence, &at);
    if (st == DIT_OK && out->use_count == 0 && terms->per_device) {
        asked.derive = true;
        st = collect(&asked, out, &absence, &at);
    }
    if (st == DIT_OK && out->use_count > 0) st = summarise(book, out);
    if (st == DIT_OK && out->use_count == 0) say_why(&asked, absence, at, out);
    if (st != DIT_OK) suite_price_release(out);
    return st;
}

void suite_price_release(suite_price *price)
{
    free(price->uses);
    *price = (suite_price){0};
}

/* ---- devices ------------------------------------------------------------------------------------------------------ */

dit_status suite_price_covers(const suite_price *price, const dit_parallel *mesh, int64_t replicas)
{
    double devices = (double)dit_parallel_world_size(mesh) * (double)replicas;
    if (devices == (double)price->devices) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_MISMATCH,
                                   "the price is of %d devices, and %.0f work: %d in a mesh times %lld", price->devices,
                                   devices, dit_parallel_world_size(mesh), (long long)replicas),
                          "price every device of the mesh, data parallelism and replicas among them");
}

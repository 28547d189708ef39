/* Ownership: what a machine of one's own costs an hour, and from which load on it is cheaper than a rented one.
 *
 *     capital an hour = C f / H      C = price / (1 - network share) + delivery, less what is left of it at the end
 *                                    f = i / (1 - (1+i)^-y), or 1 / y for i = 0;  H = 8760 availability
 *     upkeep an hour  = (space a kW x rated kW + support + people + licences) / H
 *     energy an hour  = PUE x watts of the server / 1000 x price of a kWh
 *
 * Load enters once: through the images an hour and the watts that a caller brings. There is no other utilisation.
 */
#ifndef DIT_SUITE_PRICES_OWNERSHIP_H
#define DIT_SUITE_PRICES_OWNERSHIP_H

#include "suite/prices/power.h"
#include "suite/prices/price.h"
#include "suite/prices/site.h"

/* What a machine is bought for, and how that is known. */
typedef struct {
    double low, mid, high; /* of all devices with their servers, without the network; in `currency` */
    const char *currency;
    int purchase;        /* index in the book; -1: the site file states it             */
    bool stated, scaled; /* stated by the site; scaled: accelerators alone, made a server by a factor */
    suite_fact evidence; /* of what the site states */
} suite_purchase_price;

/* Finds the price: the site file's, else the newest of the book on `day` for a server with such accelerators, else for
 * accelerators alone times the site's factor. Errors: DIT_ERR_NOT_FOUND where nobody knows one; DIT_ERR_UNSUPPORTED for
 * another currency than the site's without a dated rate. */
dit_status suite_purchase_price_of(const suite_price_book *book, const suite_site *site,
                                   const suite_price_machine *machine, int devices, int64_t day,
                                   suite_purchase_price *out);

/* What the servers of a machine draw at a busy share: between the watts at the wall that the site file states, else as
 * the table of power has it. *stated: the site file's. Errors: as suite_power_of. */
dit_status suite_own_watts(const suite_site *site, const suite_power_table *table, const suite_price_machine *machine,
                           int devices, double busy, suite_server_watts *out, bool *stated);

typedef struct {
    double capital, upkeep, energy, total; /* currency an hour in which the machine works */
    double factor, hours;                  /* f a year, H a year                           */
    double invested, residual;             /* C before and what is taken from it, today's money */
} suite_own_cost;

/* Prices an hour of owning. `price`: of the machine; `rated`: what its supply is sized for; `drawn`: by the server at the
 * load that is asked about. Errors: DIT_ERR_USAGE for a price that is not above 0. */
dit_status suite_own_cost_of(const suite_site *site, double price, suite_server_watts rated, suite_server_watts drawn,
                             suite_own_cost *out);

/* What one image costs at that many an hour. Errors: DIT_ERR_USAGE for a rate that is not above 0. */
dit_status suite_own_per_image(const suite_own_cost *cost, double images_per_hour, double *out);

/* The share of the total that space, upkeep and energy make. Below a fifth, a better PUE will not change an order. */
double suite_own_running_share(const suite_own_cost *cost);

typedef enum {
    SUITE_BREAK_EVEN_AT,    /* owning is cheaper above `hours` */
    SUITE_BREAK_EVEN_NEVER, /* renting is cheaper however long the machine works */
    SUITE_BREAK_EVEN_ALWAYS /* owning is cheaper even if it stands idle */
} suite_break_even_kind;

typedef struct {
    suite_break_even_kind kind;
    double hours;     /* a month, of work at the load of `busy`; as many as cost the same either way  */
    double available; /* hours of a month in which the machine can work                                */
} suite_break_even;

/* Finds from how many hours a month on owning costs less than renting. The own machine costs its capital and upkeep all
 * month, `busy` an hour in which it works and `idle` in the others of its available hours (costs of the same machine at
 * two loads); the rented one costs `rent` in the hours in which it works. Errors: DIT_ERR_USAGE for a rent that is not
 * above 0. */
dit_status suite_break_even_of(const suite_own_cost *busy, const suite_own_cost *idle, double rent,
                               suite_break_even *out);

#endif

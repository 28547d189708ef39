/* Price: what a machine of N devices costs an hour on a given day, by the quotes of a book.
 *
 * A machine is priced by quotes for that many devices in one instance: eight times the price of one card is not the
 * price of a machine whose devices are linked. Kinds are never mixed. What is missing stays missing, with the reason.
 */
#ifndef DIT_SUITE_PRICES_PRICE_H
#define DIT_SUITE_PRICES_PRICE_H

#include "base/parallel.h"
#include "suite/prices/book.h"

/* What of a platform decides which quotes buy it. */
typedef struct {
    char name[64], accelerator[64], link[32]; /* link: class of the devices' links */
    int nodes, node_devices, topology;        /* topology: suite_topology          */
    double limit_w;                           /* power limit of a device; 0: unknown */
    bool of_source;                           /* as of suite_cluster                 */
} suite_price_machine;

/* Reads the machine of workloads/platforms/NAME.json. Errors: DIT_ERR_NOT_FOUND; DIT_ERR_UNSUPPORTED for a platform
 * that declares no cluster of accelerators. */
dit_status suite_price_machine_load(const char *platform, suite_price_machine *out);
/* The same of any simulated platform, one of cores, too. Errors: those of suite_cluster_load. */
dit_status suite_price_machine_facts(const char *platform, suite_price_machine *out);

/* A machine that is asked about: all of a platform, or a part of it. */
typedef struct {
    suite_price_machine machine;
    int devices;
} suite_priced_machine;

/* Reads "8xh100-sxm", all of its devices, or "8xh100-sxm@4", four of them. Errors: DIT_ERR_USAGE for a number that the
 * platform does not have; those of suite_price_machine_load. */
dit_status suite_priced_machine_read(const char *word, suite_priced_machine *out);

/* Which quotes are asked for. Zeroed: list prices on 1970-01-01 in no currency; set day, kind and currency. */
typedef struct {
    int64_t day;
    suite_price_kind kind;
    const char *currency, *region; /* region NULL: all regions                                           */
    bool per_device;               /* where no instance has so many devices, multiply the price of one    */
    bool old_prices, doubtful;     /* take quotes that are too old for a rank, or in doubt                */
} suite_price_terms;

/* Why there is no price. The first that explains it, in this order. */
typedef enum {
    SUITE_PRICE_THERE,
    SUITE_PRICE_NO_ACCELERATOR, /* nobody quotes the accelerator                            */
    SUITE_PRICE_NO_KIND,        /* quotes are of other kinds                                */
    SUITE_PRICE_NO_REGION,      /* of other regions                                         */
    SUITE_PRICE_NO_SIZE,        /* of other numbers of devices, or of other links           */
    SUITE_PRICE_NO_RATE,        /* of another currency without a dated rate                 */
    SUITE_PRICE_DOUBTFUL,       /* all that would do are in doubt                           */
    SUITE_PRICE_OLD,            /* all that would do are too old                            */
    SUITE_PRICE_AHEAD,          /* all that would do are of a later day                     */
    SUITE_PRICE_ABSENCE_COUNT
} suite_price_absence;

/* What an absence is called in documents: "no_quote", "no_kind", ...; NULL for SUITE_PRICE_THERE. */
const char *suite_price_absence_name(suite_price_absence absence);

/* A quote that a price rests on. */
typedef struct {
    int quote;           /* index in the book */
    double per_hour;     /* of all devices that are asked for, in the currency that is asked for */
    int instances;       /* so many instances of the quote; 0: derived from the price of a device */
    bool links_unnamed;  /* the quote names no platform: which links join its devices is not known */
    int rate;            /* index of the rate of currencies, -1: none */
    suite_age_class age; /* of the quote, or of the rate where that is older */
    int64_t age_days;    /* of the quote */
} suite_price_use;

typedef struct {
    suite_price_absence absence;
    char reason[200];           /* why there is no price; "" where there is one      */
    double least, median, most; /* an hour, of all devices                            */
    const char *currency;       /* the terms'                                         */
    int devices;                /* that the price is for                              */
    suite_price_use *uses;      /* [use_count]                                        */
    int use_count;
    bool derived;           /* rests on prices of one device                          */
    suite_age_class age;    /* the worst of its quotes                                */
    int64_t oldest, newest; /* first days of its quotes                               */
} suite_price;

/* Prices `devices` devices of a machine: a part of a node, or whole nodes. Of one offer (provider, instance, region,
 * zone and kind) only the newest quote counts. The absence of a price is no error. Errors: DIT_ERR_MEMORY;
 * DIT_ERR_CONSTRAINT_PLATFORM for a number of devices that the machine cannot be cut to. release accepts a zeroed
 * price. */
dit_status suite_price_of(const suite_price_book *book, const suite_price_machine *machine, int devices,
                          const suite_price_terms *terms, suite_price *out);
void suite_price_release(suite_price *price);

/* True if a newer quote for the same offer makes this one void on `day`. */
bool suite_price_is_superseded(const suite_price_book *book, int quote, int64_t day);

/* Checks that a price is for all devices that work: the product of every degree of the mesh, data parallelism among
 * them, times the replicas beside it. Errors: DIT_ERR_MISMATCH with both numbers. */
dit_status suite_price_covers(const suite_price *price, const dit_parallel *mesh, int64_t replicas);

#endif

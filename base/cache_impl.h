/* What the files of cache share: words of settings, and which settings a policy has. */
#ifndef DIT_BASE_CACHE_IMPL_H
#define DIT_BASE_CACHE_IMPL_H

#include "base/cache.h"

/* NULL-terminated, in the order of dit_cache_variant. */
const char *const *dit_cache_variant_words(void);
/* The keys of a policy's document, NULL-terminated. */
const char *const *dit_cache_keys(dit_cache_policy policy);

#endif

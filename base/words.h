/* Words: lists of names, and what a person is told who wrote a name that is not in one.
 *
 * A list ends with NULL. It is the registry's own, so that a message names what there is and never a copy of it.
 */
#ifndef DIT_BASE_WORDS_H
#define DIT_BASE_WORDS_H

#include "base/status.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The index of `word`; -1 when the list lacks it. */
int dit_words_find(const char *const *words, const char *word);
/* Writes "a, b, c"; ", ..." stands for what does not fit. */
void dit_words_join(const char *const *words, char *out, size_t size);
/* The entry with the least edit distance to `word`, or NULL when none is near. */
const char *dit_nearest_word(const char *word, const char *const *words);

/* Gives the newest failure a hint: `did you mean "b"?`, or `there are: a, b, c` when none is near. Returns `st`. */
dit_status dit_words_hint(dit_status st, const char *word, const char *const *words);
/* Gives the newest failure the hint `WHAT: a, b, c`. Returns `st`. */
dit_status dit_words_hint_all(dit_status st, const char *what, const char *const *words);
/* Raises `status` as `WHAT "WORD" is none of a, b, c`, with the nearest one as a hint. */
dit_status dit_fail_word(dit_status status, const char *what, const char *word, const char *const *words);

/* Reads a list as people write it, "a, b,c": copies the next word of *text without the blanks around it and moves *text
 * behind it. A word that does not fit is cut. False at the end; empty words ("a,,b") are left out. */
bool dit_words_next(const char **text, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif

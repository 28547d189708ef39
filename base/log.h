/* Log: messages for people, on stderr; stdout belongs to the answer. One line per call. */
#ifndef DIT_BASE_LOG_H
#define DIT_BASE_LOG_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DIT_LOG_ERROR, DIT_LOG_WARNING, DIT_LOG_INFO, DIT_LOG_DEBUG, DIT_LOG_LEVEL_COUNT } dit_log_level;

/* Messages above `level` are dropped (-q: DIT_LOG_ERROR, default DIT_LOG_INFO, -v: DIT_LOG_DEBUG). */
void dit_log_set_level(dit_log_level level);
/* Sets a prefix for each line, for example "[rank 2] "; it is copied, at most 31 bytes. */
void dit_log_set_prefix(const char *prefix);
/* True when stderr is a terminal that takes colour: a tty, NO_COLOR unset, TERM not "dumb", CI unset. */
bool dit_log_is_terminal(void);
void dit_log(dit_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define dit_log_error(...)   dit_log(DIT_LOG_ERROR, __VA_ARGS__)
#define dit_log_warning(...) dit_log(DIT_LOG_WARNING, __VA_ARGS__)
#define dit_log_info(...)    dit_log(DIT_LOG_INFO, __VA_ARGS__)
#define dit_log_debug(...)   dit_log(DIT_LOG_DEBUG, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif

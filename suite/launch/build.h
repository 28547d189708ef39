/* Build: the engine that one side of `ditbench ab` runs: a program, a build folder, or a commit of this repository,
 * which is checked out and built beside it.
 */
#ifndef DIT_SUITE_LAUNCH_BUILD_H
#define DIT_SUITE_LAUNCH_BUILD_H

#include "suite/launch/process.h"
#include "suite/paths.h"

/* Finds the engine that `name` stands for: the path of an engine; a folder with bin/ditbench-engine or
 * build/bin/ditbench-engine; a commit, branch or tag of the repository around the current folder. A commit is built
 * once, under $XDG_CACHE_HOME/ditbench/builds (~/.cache without it), and found there later. Errors: DIT_ERR_NOT_FOUND;
 * DIT_ERR_ENVIRONMENT with the log when it cannot be built; DIT_ERR_INTERRUPTED. */
dit_status suite_build_find(const char *name, suite_signals *signals, char engine[SUITE_PATH]);

#endif

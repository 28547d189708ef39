/* Verbs: lists what `ditbench` can do. This is the one list. A verb is one file, verb_NAME.c, and one row here.
 *
 * suite_verb_NAME gets the arguments from its own name on (argv[0] is the verb) and returns the process exit code.
 */
#ifndef DIT_SUITE_VERBS_H
#define DIT_SUITE_VERBS_H

/* name, one line of help; in the order of `ditbench help` */
#define SUITE_VERB_LIST(X)                                                                                             \
    X(run, "run workloads, one session each")                                                                          \
    X(resume, "continue an interrupted session")                                                                       \
    X(status, "show how far a session is")                                                                             \
    X(list, "list the sessions here, or the models, methods, workloads and platforms")                                 \
    X(show, "show a session as a table, or one case in full")                                                          \
    X(compare, "say what changed between two sessions, and whether it is real")                                        \
    X(ab, "compare two builds or settings in pairs, until it is known which is faster")                                \
    X(audit, "check that a fast run did its work: more steps, another seed, again")                                    \
    X(gate, "hold a build to the numbers of a baseline file")                                                          \
    X(history, "show how the numbers of cases went from commit to commit")                                             \
    X(report, "draw the figures, tables and HTML page of a session")                                                   \
    X(verify, "recompute hashes, aggregates, bytes and digests of a session")                                          \
    X(pack, "put a session into one file, with checksums")                                                             \
    X(unpack, "check a packed session and restore it")                                                                 \
    X(export, "write a session in the format of another tool")                                                         \
    X(import, "make a session of results that another program left")                                                   \
    X(claims, "check the numbers that a page quotes from results")                                                     \
    X(expand, "show the cases a workload stands for, and what was dropped and why")                                    \
    X(validate, "check workload files")                                                                                \
    X(plan, "show the order of runs, messages and memory before running")                                              \
    X(explain, "show every mesh for a model and a number of devices: bytes, memory, or why not")                       \
    X(search, "find the best mesh on a simulated machine, and what excludes each other one")                           \
    X(procure, "find the machine to buy or rent: time, money and watts, with intervals")                               \
    X(simulate, "simulate published numbers as cases, and show how near the simulation comes")                         \
    X(calibrate, "fit the cost model's parameters to published or measured times")                                     \
    X(prices, "show price files: how old each quote is, and what a machine costs by them")                             \
    X(generate, "make one image or clip by hand, as PNG")                                                              \
    X(quality, "compare sets of pictures with a reference")                                                            \
    X(tune, "fit settings of caches to probes: coefficients, ratios, the best schedules")                              \
    X(golden, "compare the engine with tensors made by diffusers")                                                     \
    X(kernels, "check and time the operators")                                                                         \
    X(collective, "check and time what ranks exchange, by size")                                                       \
    X(selftest, "try the decision rules on made-up times: false alarms, and changes found")                            \
    X(doctor, "check this machine")

#define SUITE_VERB_DECLARE(name, help) int suite_verb_##name(int argc, char **argv);
SUITE_VERB_LIST(SUITE_VERB_DECLARE)
#undef SUITE_VERB_DECLARE

#endif

/*
 * What an engine of any family says of itself, and choosing one.
 *
 * Each family has its own struct for its engines (detect_engine, check_engine, avoid_engine,
 * compose_engine, makespan_engine) whose first member is this one, and one table of them. Asking
 * for an engine that is not there is an error, never a silent change.
 */
#ifndef GORDIAN_FOUNDATION_BASE_ENGINE_H
#define GORDIAN_FOUNDATION_BASE_ENGINE_H

#include <gordian/gordian.h>

struct engine {
    const char *name;
    const char *summary; /* one line */

    /* Usable on this machine? If not, why. NULL: always. */
    bool (*available)(const char **why);
    /* Can it do this problem? If not, why. NULL: all of them. What a problem is, the family says.
     */
    bool (*supports)(const void *problem, const char **why);

    bool dense; /* its memory grows with processes times resources, not with names and edges */
};

struct engine_family {
    const char *name;                    /* "detect" */
    const char *purpose;                 /* "detection": engines are for that */
    const struct engine *const *engines; /* the best first, NULL at the end */
};

/* Is it available, and does it support the problem (NULL: any)? If not, why. */
bool engine_usable(const struct engine *engine, const void *problem, const char **why);

/* The engine of that name; NULL: there is none. */
const struct engine *engine_find(const struct engine_family *family, const char *name);

/* The engine of that name, or for "auto" and NULL the first that can do the problem.
 * GORDIAN_STATUS_UNAVAILABLE, with the reason, if there is none. */
gordian_status engine_choose(const struct engine_family *family, const char *name,
                             const void *problem, const struct engine **engine,
                             gordian_error *error);

/* Does the name leave the choice to us? */
bool engine_any(const char *name);

/* ---- what `auto` goes by */

/* Another engine than the usual one pays from these sizes on, end to end: from the start of a
 * process to its report, reading the input and opening the device included. They are recorded
 * here and nowhere else. `gordian info --crossover` measures on the machine at hand and shows them
 * beside; docs/lab/gpu.md has the figures. */
#define ENGINE_NEVER         UINT64_MAX
#define ENGINE_CHECK_FROM    UINT64_C(200000000) /* processes and resources of a snapshot */
#define ENGINE_COMPOSE_FROM  (UINT64_C(1) << 30) /* combinations of local states, */
#define ENGINE_COMPOSE_FIRST (UINT64_C(1) << 16) /* if so many states were found on the CPU */

struct engine_crossover {
    const char *family;
    const char *usual;
    const char *other; /* `auto` takes it where it can be used, from this size on: */
    uint64_t from;     /* or ENGINE_NEVER */
    const char *of;    /* what that counts */
    const char *why;   /* in words */
};

/* One for each family that has commands; NULL: there is no such family. */
const struct engine_crossover *engine_crossover(const char *family);

#endif

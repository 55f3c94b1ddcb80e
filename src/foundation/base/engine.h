/*
 * Description of an engine of any family, and the choice of one.
 *
 * Each family has its own struct for its engines (detect_engine, check_engine, avoid_engine,
 * compose_engine, makespan_engine) whose first member is this one, and one table of them. A
 * request
 * for an engine that does not exist is an error; it is never replaced silently.
 */
#pragma once

#include <gordian/gordian.h>

struct engine {
    const char *name;
    const char *summary; /* one line */

    /* Is it usable on this machine? If not, *why is the reason. NULL: always usable. */
    bool (*available)(const char **why);
    /* Does it support this problem? If not, *why is the reason. NULL: supports all. The family
     * defines what a problem is. */
    bool (*supports)(const void *problem, const char **why);

    bool dense; /* needs memory for processes times resources, not for names and edges */
};

struct engine_family {
    const char *name;                    /* "detect" */
    const char *purpose;                 /* "detection": what the engines are for */
    const struct engine *const *engines; /* the preferred one first, NULL at the end */
};

/* Is it available, and does it support the problem (NULL: any)? If not, *why is the reason. */
bool engine_usable(const struct engine *engine, const void *problem, const char **why);

/* Returns the engine of that name, or NULL. */
const struct engine *engine_find(const struct engine_family *family, const char *name);

/* Returns the engine of that name. For "auto" and NULL: the first one that supports the problem.
 * GORDIAN_STATUS_UNAVAILABLE with the reason if there is none. */
gordian_status engine_choose(const struct engine_family *family, const char *name,
                             const void *problem, const struct engine **engine,
                             gordian_error *error);

/* Is the name "auto" or NULL? */
bool engine_any(const char *name);

/* ---- how `auto` chooses */

/* Sizes from which an engine other than the usual one is faster. The measured time runs from the
 * start of the process to its report, and includes reading the input and opening the device. The
 * sizes are only recorded here. `gordian info --crossover` measures them on the current machine;
 * docs/lab/gpu.md has the figures.
 */
#define ENGINE_NEVER         UINT64_MAX
#define ENGINE_CHECK_FROM    UINT64_C(200000000) /* processes and resources of a snapshot */
#define ENGINE_COMPOSE_FROM  (UINT64_C(1) << 30) /* combinations of local states ... */
#define ENGINE_COMPOSE_FIRST (UINT64_C(1) << 16) /* ... if the CPU found this many states first */

struct engine_crossover {
    const char *family;
    const char *usual;
    const char *other; /* `auto` uses this engine, if available, from this size on */
    uint64_t from;     /* or ENGINE_NEVER */
    const char *of;    /* what the size counts */
    const char *why;   /* the reason, in words */
};

/* Returns the entry of a family that has commands, or NULL. */
const struct engine_crossover *engine_crossover(const char *family);

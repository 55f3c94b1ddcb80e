/* The exec family and posix_spawn. A program that cannot be watched is started without this
 * library, and counted. A program that can be watched is started with the library, whatever the
 * environment contains.
 *
 * A process after vfork shares its parent's memory: this code writes only to the tally and the
 * stack.
 */
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/start/watchable.h"
#include "sources/run/state/settings.h"
#include "sources/run/state/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#define ROOM_MOST ((size_t)128 << 10) /* on the stack, for a changed environment */
#define PATH_ROOM 1024

struct plan {
    struct watchability target;
    char *const *given;
    char *const *use; /* the environment to start it with */
    size_t bytes;     /* capacity needed to change it; 0: unchanged */
    bool unwatched;
    bool is_rank; /* a rank of an MPI program, which also gets the interposers of MPI
                     (sources/mpi/interposers.c) */
};

/* ------------------------------------------------------------------ counting */

static void copy_end(char *to, size_t size, const char *text)
{
    size_t length = strlen(text), skip = length < size ? 0 : length - size + 1;
    memcpy(to, text + skip, length - skip + 1);
}

/* Counts it by name, for the first few programs. */
static void note_unwatched(const char *program, const char *reason)
{
    struct incident_unwatched one = {0};
    copy_end(one.program, sizeof one.program, program);
    copy_end(one.reason, sizeof one.reason, reason);
    for (size_t i = 0; i < INCIDENT_UNWATCHED; i++) {
        struct incident_unwatched *slot = &watch.tally->programs[i];
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&slot->count, &none, 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            memcpy(slot->program, one.program, sizeof one.program);
            memcpy(slot->reason, one.reason, sizeof one.reason);
            return;
        }
        if (strncmp(slot->program, one.program, sizeof one.program) == 0) {
            __atomic_fetch_add(&slot->count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

static void count_unwatched(const struct plan *plan, const char *program)
{
    if (!plan->unwatched)
        return;
    __atomic_fetch_add(&watch.tally->unwatched, 1, __ATOMIC_RELAXED);
    note_unwatched(program, plan->target.reason);
}

/* The program could not be started. Its name stays, since it may be tried again. */
static int start_failed(const struct plan *plan, int result)
{
    if (plan->unwatched)
        __atomic_fetch_sub(&watch.tally->unwatched, 1, __ATOMIC_RELAXED);
    return result;
}

/* ------------------------------------------------------------------ the environment */

static char *const no_variables[] = {NULL};

static const char *value_in(char *const *environment, const char *name, size_t length)
{
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* Returns whether it is a setting of this library that the environment lacks. */
static bool is_missing(const char *entry, char *const *environment)
{
    return strncmp(entry, "GORDIAN_", 8) == 0 && !value_in(environment, entry, strcspn(entry, "="));
}

static size_t count_missing(char *const *environment)
{
    size_t count = 0;
    for (char **entry = watch.environment; entry && *entry; entry++)
        count += is_missing(*entry, environment);
    return count;
}

static size_t count_variables(char *const *environment)
{
    size_t count = 0;
    while (environment[count])
        count++;
    return count;
}

/* Returns whether the program is started as a rank: launchers set one of these variables. */
static bool is_rank(char *const *environment)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID", "MPI_LOCALRANKID"};
    const char *wanted = value_in(environment, "GORDIAN_MPI", strlen("GORDIAN_MPI"));
    if (!watch.mpi_library[0] || (wanted && strcmp(wanted, "0") == 0))
        return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (value_in(environment, marks[i], strlen(marks[i])))
            return true;
    return false;
}

/* Determines the changes and the capacity they need. */
static void plan_environment(struct plan *plan)
{
    const char *preload = value_in(plan->given, "LD_PRELOAD", strlen("LD_PRELOAD"));
    const char *wanted = value_in(plan->given, "GORDIAN_RUN", strlen("GORDIAN_RUN"));
    plan->is_rank = plan->target.watchable && is_rank(plan->given);
    bool has = preload && settings_preloads(preload, watch.library);
    bool whole = has && (!plan->is_rank || settings_preloads(preload, watch.mpi_library));
    size_t missing = plan->target.watchable ? count_missing(plan->given) : 0;
    if (plan->target.watchable ? (whole && !missing) || (wanted && wanted[0] == '0') : !has)
        return;
    plan->bytes = (count_variables(plan->given) + missing + 2) * sizeof(char *) +
                  (preload ? strlen(preload) : 0) + strlen(watch.library) +
                  strlen(watch.mpi_library) + 32;
    if (plan->bytes > ROOM_MOST)
        plan->bytes = 0;
}

/* Writes "LD_PRELOAD=" with this library and the program's own value, or with that value alone;
 * NULL: empty. */
static char *write_preload(char *to, const char *theirs, const struct plan *plan)
{
    char *start = to;
    memcpy(to, "LD_PRELOAD=", 12);
    char *value = to + 11, *at = value;
    if (plan->target.watchable)
        at = stpcpy(at, watch.library);
    if (plan->is_rank)
        at = stpcpy(stpcpy(at, ":"), watch.mpi_library);
    if (theirs && *theirs) {
        if (at > value)
            *at++ = ':';
        settings_without_us(at, theirs);
        if (!*at && at > value)
            *--at = '\0';
    }
    return *value ? start : NULL;
}

static void fill_plan(struct plan *plan, void *room)
{
    char **entries = room, **at = entries;
    size_t variables = count_variables(plan->given), missing = count_missing(plan->given);
    bool watchable = plan->target.watchable;
    const char *preload = value_in(plan->given, "LD_PRELOAD", strlen("LD_PRELOAD"));
    char *text = (char *)(entries + variables + (watchable ? missing : 0) + 2);
    for (char *const *entry = plan->given; *entry; entry++)
        if (strncmp(*entry, "LD_PRELOAD=", 11) != 0)
            *at++ = *entry;
    for (char **entry = watch.environment; watchable && entry && *entry; entry++)
        if (is_missing(*entry, plan->given))
            *at++ = *entry;
    char *ours = write_preload(text, preload, plan);
    if (ours)
        *at++ = ours;
    *at = NULL;
    plan->use = entries;
}

static void make_plan(struct plan *plan, int folder, const char *path, char *const *environment)
{
    thread_enter();
    plan->given = plan->use = environment;
    plan->bytes = 0;
    plan->unwatched = false;
    if (!watch.follow || watch.sandboxed || !path)
        return;
    if (!environment)
        plan->given = no_variables;
    judge_watchability(&plan->target, folder, path, NULL);
    plan->unwatched = !plan->target.watchable;
    plan_environment(plan);
}

/* Makes a plan in a function that starts a program. The memory is on the stack of that function. */
#define PLAN(plan, folder, path, environment)                                                      \
    struct plan plan;                                                                              \
    make_plan(&(plan), folder, path, environment);                                                 \
    if ((plan).bytes)                                                                              \
    fill_plan(&(plan), __builtin_alloca((plan).bytes))

/* Finds the file like execvp; "": not found. */
static void find_file(char *path, const char *file)
{
    const char *search = environ ? value_in(environ, "PATH", 4) : NULL;
    if (!file || find_executable(path, PATH_ROOM, file, search) != 0)
        path[0] = '\0';
}

/* ------------------------------------------------------------------ exec */

static int start_program(const char *path, char *const *arguments, char *const *environment)
{
    PLAN(plan, AT_FDCWD, path, environment);
    count_unwatched(&plan, path);
    return start_failed(&plan, real.execve(path, arguments, plan.use));
}

static int start_found(const char *file, char *const *arguments, char *const *environment)
{
    char path[PATH_ROOM];
    find_file(path, file);
    PLAN(plan, AT_FDCWD, *path ? path : NULL, environment);
    count_unwatched(&plan, path);
    return start_failed(&plan, real.execvpe(file, arguments, plan.use));
}

WRAPPER(int, execve, (const char *path, char *const arguments[], char *const environment[]))
{
    return start_program(path, arguments, environment);
}
EXPORT(execve, V_OLDEST);

WRAPPER(int, execv, (const char *path, char *const arguments[]))
{
    return start_program(path, arguments, environ);
}
EXPORT(execv, V_OLDEST);

WRAPPER(int, execvp, (const char *file, char *const arguments[]))
{
    return start_found(file, arguments, environ);
}
EXPORT(execvp, V_OLDEST);

WRAPPER(int, execvpe, (const char *file, char *const arguments[], char *const environment[]))
{
    return start_found(file, arguments, environment);
}
EXPORT(execvpe, V_EXECVPE);

WRAPPER(int, fexecve, (int fd, char *const arguments[], char *const environment[]))
{
    PLAN(plan, fd, fd >= 0 ? "" : NULL, environment);
    count_unwatched(&plan, "a program by its descriptor");
    return start_failed(&plan, real.fexecve(fd, arguments, plan.use));
}
EXPORT(fexecve, V_OLDEST);

WRAPPER(int, execveat,
        (int folder, const char *path, char *const arguments[], char *const environment[],
         int flags))
{
    PLAN(plan, folder, path, environment);
    count_unwatched(&plan, path);
    return start_failed(&plan, real.execveat(folder, path, arguments, plan.use, flags));
}
EXPORT(execveat, V_2_34);

/* Collects variable arguments, up to NULL, into an array on the caller's stack. `first` is the last
 * named one. */
#define LIST_ARGUMENTS(list, arguments, first)                                                     \
    va_list list;                                                                                  \
    size_t count = 1;                                                                              \
    va_start(list, first);                                                                         \
    while (va_arg(list, char *))                                                                   \
        count++;                                                                                   \
    va_end(list);                                                                                  \
    char **(arguments) = __builtin_alloca((count + 1) * sizeof *(arguments));                      \
    va_start(list, first);                                                                         \
    (arguments)[0] = (char *)(uintptr_t)(first);                                                   \
    for (size_t i = 1; i <= count; i++)                                                            \
    (arguments)[i] = va_arg(list, char *)

WRAPPER(int, execl, (const char *path, const char *first, ...))
{
    LIST_ARGUMENTS(list, arguments, first);
    va_end(list);
    return start_program(path, arguments, environ);
}
EXPORT(execl, V_OLDEST);

WRAPPER(int, execlp, (const char *file, const char *first, ...))
{
    LIST_ARGUMENTS(list, arguments, first);
    va_end(list);
    return start_found(file, arguments, environ);
}
EXPORT(execlp, V_OLDEST);

WRAPPER(int, execle, (const char *path, const char *first, ...))
{
    LIST_ARGUMENTS(list, arguments, first);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return start_program(path, arguments, environment);
}
EXPORT(execle, V_OLDEST);

/* ------------------------------------------------------------------ spawn */

WRAPPER(int, posix_spawn,
        (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]))
{
    PLAN(plan, AT_FDCWD, path, environment);
    int result = real.posix_spawn(pid, path, actions, attributes, arguments, plan.use);
    if (result == 0)
        count_unwatched(&plan, path);
    return result;
}
EXPORT(posix_spawn, V_SPAWN);

WRAPPER(int, posix_spawnp,
        (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]))
{
    char path[PATH_ROOM];
    find_file(path, file);
    PLAN(plan, AT_FDCWD, *path ? path : NULL, environment);
    int result = real.posix_spawnp(pid, file, actions, attributes, arguments, plan.use);
    if (result == 0)
        count_unwatched(&plan, path);
    return result;
}
EXPORT(posix_spawnp, V_SPAWN);

/* Gives threads and locks distinct names. Most threads have the name of the program, and most locks
 * have no name. */
#include "output/report/report.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define COMM_MOST  15 /* the kernel keeps this many characters of a name */
#define ENTRY_MOST 32

/* ------------------------------------------------------------------ threads */

/* Returns "teller" for "bank::teller(int)" if that is suitable as a name, or NULL. */
static const char *plain_name(struct report *report, const char *function)
{
    size_t length = strcspn(function, "(<");
    bool fits = length > 0 && length <= ENTRY_MOST && !strstr(function, "{lambda") &&
                function[length] != '<';
    for (size_t i = 0; i < length && fits; i++)
        fits = isalnum((unsigned char)function[i]) || strchr("_:~", function[i]);
    return fits ? report_format(report, "%.*s", (int)length, function) : NULL;
}

/* Returns the function that the thread started with: the last one before the frames of libc. */
static const char *entry_of(struct report *report, const struct stack *stack)
{
    const struct frame *last = NULL;
    for (size_t i = stack->count; i-- > 0;) /* frames of a script take precedence */
        if (!stack->frames[i].module && stack->frames[i].file &&
            !frame_is_noise(&stack->frames[i])) { /* "worker" of "serve.<locals>.worker" */
            const char *dot = strrchr(stack->frames[i].function, '.');
            return plain_name(report, dot ? dot + 1 : stack->frames[i].function);
        }
    for (size_t i = 0; i < stack->count; i++) {
        if (!frame_is_noise(&stack->frames[i]))
            last = &stack->frames[i];
        else if (last && last->function)
            return plain_name(report, last->function);
    }
    return NULL;
}

static const char *last_function(struct report *report, const struct stack *stack)
{
    const char *function = stack->count ? stack->frames[stack->count - 1].function : NULL;
    return function ? plain_name(report, function) : NULL;
}

/* Returns the outermost recorded function, for a thread without other information. */
static const char *outermost_function(struct report *report, uint32_t thread)
{
    const char *name = NULL;
    for (size_t i = 0; i < report->edge_count && !name; i++)
        if (report->edges[i].raw.thread == thread)
            name = last_function(report, &report->edges[i].site);
    for (size_t i = 0; i < report->order_count && !name; i++)
        if (report->orders[i].raw.thread == thread)
            name = last_function(report, &report->orders[i].taken);
    return name;
}

static const char *find_entry(struct report *report, uint32_t thread)
{
    const char *entry = entry_of(report, &report->threads[thread].stack);
    for (size_t i = 0; i < report->edge_count && !entry; i++)
        if (report->edges[i].raw.thread == thread)
            entry = entry_of(report, &report->edges[i].site);
    for (size_t i = 0; i < report->order_count && !entry; i++)
        if (report->orders[i].raw.thread == thread)
            entry = entry_of(report, &report->orders[i].taken);
    bool waits = report->threads[thread].raw.flags & INCIDENT_WAITING;
    if (!entry && !waits)
        entry = outermost_function(report, thread);
    return entry;
}

static bool several_processes(const struct report *report)
{
    for (size_t i = 1; i < report->thread_count; i++)
        if (report->threads[i].raw.process != report->threads[0].raw.process)
            return true;
    return false;
}

/* Returns the preferred name, before it is made unique: its own name, or what the thread does. */
static const char *first_choice(const struct report *report, const struct report_thread *thread)
{
    char program[COMM_MOST + 1];
    snprintf(program, sizeof program, "%s", path_tail(report->program));
    if (thread->raw.flags & INCIDENT_MAIN)
        return several_processes(report) && thread->comm[0] ? thread->comm : "main";
    if (thread->raw.flags & INCIDENT_FOREIGN)
        return "process";
    if (thread->comm[0] && strcmp(thread->comm, program) != 0)
        return thread->comm;
    return thread->entry ? thread->entry : "thread";
}

static bool thread_name_taken(const struct report *report, size_t but, const char *name)
{
    for (size_t i = 0; i < report->thread_count; i++)
        if (i != but && strcmp(first_choice(report, &report->threads[i]), name) == 0)
            return true;
    return false;
}

/* ------------------------------------------------------------------ locks */

/* Returns the name of the thread whose stack contains the address, or NULL. */
static const char *stack_owner(const struct report *report, uint32_t process, uint64_t address)
{
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct incident_thread *thread = &report->threads[i].raw;
        if (thread->process == process && address >= thread->stack_low &&
            address < thread->stack_high)
            return report->threads[i].name;
    }
    return NULL;
}

/* Sets the description of the lock's location, and a name derived from it, or "". */
static void place_lock(struct report *report, struct report_lock *lock, char *name, size_t size)
{
    uint64_t address = lock->raw.address;
    struct symbols *symbols = report->processes[lock->raw.process].symbols;
    const char *owner = stack_owner(report, lock->raw.process, address);
    name[0] = '\0';
    lock->place = "";
    if (lock->raw.kind == INCIDENT_THREAD_END)
        return;
    enum place place = symbols && address
                           ? symbols_place(symbols, address, lock->raw.kind, name, size)
                           : PLACE_UNKNOWN;
    if (owner && place != PLACE_VARIABLE) {
        lock->place = report_format(report, "on the stack of %s", owner);
    } else if (place == PLACE_STACK) {
        lock->place = "on the stack of main";
    } else if (place == PLACE_HEAP || place == PLACE_MEMORY) {
        lock->place = "in the heap";
    } else if (place == PLACE_VARIABLE || place == PLACE_MODULE) {
        const char *module = symbols_module(symbols, address);
        lock->place =
            module ? report_format(report, "%s %s",
                                   place == PLACE_VARIABLE ? "a variable of" : "in the data of",
                                   path_tail(module))
                   : "a variable";
    }
}

static bool lock_name_taken(const struct report *report, size_t before, const char *name)
{
    for (size_t i = 0; i < before; i++)
        if (report->locks[i].name && strcmp(report->locks[i].name, name) == 0)
            return true;
    return false;
}

static void name_locks(struct report *report)
{
    unsigned numbers[INCIDENT_LOCK_KINDS] = {0};
    for (size_t i = 0; i < report->lock_count; i++) {
        struct report_lock *lock = &report->locks[i];
        char name[256];
        place_lock(report, lock, name, sizeof name);
        unsigned kind = lock->raw.kind < INCIDENT_LOCK_KINDS ? lock->raw.kind : 0;
        if (lock->name[0])
            snprintf(name, sizeof name, "%s", lock->name);
        else if (kind == INCIDENT_THREAD_END && lock->raw.target != INCIDENT_NONE)
            snprintf(name, sizeof name, "end of %s", report->threads[lock->raw.target].name);
        else if (kind == INCIDENT_THREAD_END)
            snprintf(name, sizeof name, "end of a thread");
        else if (!name[0])
            snprintf(name, sizeof name, "%s-%u", lock_words(&lock->raw)->name, ++numbers[kind]);
        lock->name = report_format(report, "%s", name);
        for (unsigned n = 2; lock_name_taken(report, i, lock->name) && n < 1000; n++)
            lock->name = report_format(report, "%s-%u", name, n);
    }
}

void report_names(struct report *report)
{
    bool many = report->thread_count > 256; /* with this many threads every name needs a number */
    for (size_t i = 0; i < report->thread_count; i++)
        report->threads[i].entry = find_entry(report, (uint32_t)i);
    for (size_t i = 0; i < report->thread_count; i++) {
        struct report_thread *thread = &report->threads[i];
        const char *name = first_choice(report, thread);
        bool bare = strcmp(name, "thread") == 0 || strcmp(name, "process") == 0;
        bool main_thread = (thread->raw.flags & INCIDENT_MAIN) && strcmp(name, "main") == 0;
        bool number = bare || (!main_thread && (many || thread_name_taken(report, i, name)));
        thread->name = number ? report_format(report, "%s-%u", name, thread->raw.tid) : name;
    }
    name_locks(report);
}

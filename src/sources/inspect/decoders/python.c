/* Decodes CPython: the GIL as a lock, the locks of `threading`, joins, and the lines of scripts.
 *
 * A thread that waits for the GIL sleeps 5 ms at a time in a loop, so it is never steady like other
 * waiters. Instead, it must wait for the GIL at two moments, and the GIL, read before the first and
 * after the second, must have had the same holder and the same number of switches. Then the thread
 * did not get the GIL in between, and a thread that has not got it has not left the loop.
 *
 * A threading.RLock contains its owner. A Lock does not: its holder is found by the `with` block of
 * a frame, which keeps the lock's __exit__ method on the frame's stack. That hold is likely.
 */
#include "sources/inspect/decoders/python.h"

#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"
#include "sources/inspect/target/mapped_file.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLLS_MOST   50  /* in total, of threads that were awake */
#define STACK_WORDS  512 /* of the C stack, searched for a lock */
#define NAME_MOST    96
#define CALLERS_MOST 5 /* Condition.wait and its callers */
#define PATH_LENGTH  512

enum {
    LOCK_POINTER = 16, /* pointer to the semaphore, in a Lock or RLock */
    RLOCK_OWNER = 24,
    RLOCK_COUNT = 32,
    FUNCTION_ABOUT = 16, /* PyMethodDef, which begins with the name */
    FUNCTION_SELF = 24,
    WEAK_OBJECT = 16,
    CONDITION_SIZE = 48, /* pthread_cond_t */
    HANDLE_IDENT = 32,   /* in ThreadHandle of 3.13; followed by a copy */
    HANDLE_EVENT = 57,
};

/* ------------------------------------------------------------------ threads */

/* Returns the thread with this PyThreadState, or with this pthread_t; 0: any. */
static uint32_t thread_of(struct process_snapshot *snapshot, uint32_t process,
                          const struct python *python, uint64_t state, uint64_t ident)
{
    for (size_t i = 0; i < python->thread_count; i++)
        if (python->threads[i].tid && (!state || python->threads[i].state == state) &&
            (!ident || python->threads[i].ident == ident))
            return snapshot_find_thread(snapshot, process, python->threads[i].tid);
    return SNAPSHOT_NONE;
}

/* ------------------------------------------------------------------ the GIL */

/* Returns the GIL that a thread sleeps for; NULL: none. */
static const struct python_gil *gil_at(const struct python *python, const struct sleep_call *call)
{
    bool may_be = call->kind == CALL_FUTEX || call->kind == CALL_TIME;
    for (size_t i = 0; i < python->gil_count && may_be; i++) {
        const struct python_gil *gil = &python->gils[i];
        uint64_t condition = gil->address + python->layout.gil_locked + 16;
        if (call->address >= condition && call->address < condition + CONDITION_SIZE)
            return gil;
    }
    return NULL;
}

/* A thread that was awake may have been between two of its 5 ms sleeps: looks again. True: it waits
 * for the GIL. */
static bool catch_waiter(struct python *python, struct target_thread *thread)
{
    while (!python->target->core && python->polls < POLLS_MOST) {
        struct sleep_call call;
        python->polls++;
        if (!target_poll(python->target, thread))
            return false;
        if (sleep_call(python->target, thread, &call))
            return gil_at(python, &call) != NULL;
        nanosleep(&(struct timespec){0, 500000}, NULL);
    }
    return false;
}

/* Returns whether the thread may wait for the GIL. Worth finding out only if the holder of the GIL
 * sleeps. */
static bool may_wait(struct process_snapshot *snapshot, struct python *python, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    const struct python_thread *known = python_thread(python, waiter->is.tid);
    const struct python_gil *gil = known ? &python->gils[known->gil] : NULL;
    uint32_t holder = gil && gil->locked == 1 && gil->holder
                          ? thread_of(snapshot, waiter->process, python, gil->holder, 0)
                          : SNAPSHOT_NONE;
    return holder != SNAPSHOT_NONE && holder != thread && snapshot_thread(snapshot, holder)->sleeps;
}

/* In a core, a thread between two of its 5 ms sleeps is still inside the function that takes the
 * GIL, while another thread holds it. */
static const struct python_gil *gil_in_core(struct process_snapshot *snapshot,
                                            struct python *python, uint32_t thread)
{
    static const char *const takers[] = {"PyEval_RestoreThread", "PyEval_AcquireThread",
                                         "take_gil"};
    const struct python_thread *known =
        python_thread(python, snapshot_thread(snapshot, thread)->is.tid);
    const struct python_gil *gil = known ? &python->gils[known->gil] : NULL;
    if (!python->target->core || !gil || gil->locked != 1 || gil->holder == known->state)
        return NULL;
    const struct snapshot_stack *stack = stack_of(snapshot, thread, STACK_SHORT, false);
    for (size_t i = 0; i < stack->count; i++) {
        const char *name = stack_function(snapshot, thread, &stack->frames[i]);
        if (name && strncmp(name, "PyEval_EvalFrame", 16) == 0)
            break;
        for (size_t k = 0; name && k < sizeof takers / sizeof *takers; k++)
            if (strcmp(name, takers[k]) == 0)
                return gil;
    }
    return NULL;
}

static bool explain_gil(struct process_snapshot *snapshot, struct python *python, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    const struct python_gil *gil = waiter->sleeps ? gil_at(python, &waiter->call) : NULL;
    if (!gil)
        gil = gil_in_core(snapshot, python, thread);
    if (!gil)
        return false;
    uint32_t lock = snapshot_add_lock(snapshot, waiter->process, gil->address, INCIDENT_GIL);
    snapshot_describe_lock(snapshot, lock, (struct lock_facts){.name = "GIL"});
    snapshot_set_untimed(snapshot, thread);
    snapshot_add_wait(snapshot, thread, lock, INCIDENT_EXCLUSIVE);
    uint32_t holder = thread_of(snapshot, waiter->process, python, gil->holder, 0);
    if (gil->locked == 1 && gil->holder && holder != SNAPSHOT_NONE)
        snapshot_set_owner(snapshot, lock, holder, snapshot_thread(snapshot, holder)->is.tid,
                           "holder read from the GIL");
    return true;
}

/* Returns whether the thread waits for this GIL at this moment. */
static bool still_waits(struct python *python, const struct python_gil *gil, uint32_t tid)
{
    struct target_thread *known = target_thread(python->target, tid);
    struct target_thread now = known ? *known : (struct target_thread){0};
    struct sleep_call call;
    if (!known)
        return false;
    if (!sleep_call(python->target, &now, &call) && !catch_waiter(python, &now))
        return false;
    return sleep_call(python->target, &now, &call) && gil_at(python, &call) == gil;
}

static void settle_gil(struct process_snapshot *snapshot, uint32_t process, struct python *python,
                       const struct python_gil *gil)
{
    for (int round = 0; round < 2; round++) {
        struct python_gil now = *gil;
        bool same = round == 1 && python_read_gil(python, &now) && gil->locked == 1 &&
                    now.locked == 1 && now.holder == gil->holder && now.switches == gil->switches;
        for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
            const struct snapshot_thread *waiter = snapshot_thread(snapshot, i);
            if (waiter->wait == SNAPSHOT_NONE || gil_at(python, &waiter->call) != gil)
                continue;
            snapshot_set_steady(snapshot, i,
                                round == 0 ? still_waits(python, gil, waiter->is.tid)
                                           : waiter->is.steady && same);
        }
    }
}

static void settle_python(struct process_snapshot *snapshot)
{
    for (uint32_t process = 0; process < snapshot_target_count(snapshot); process++) {
        struct python *python = python_of(snapshot_target(snapshot, process));
        if (python)
            python->polls = 0;
        for (size_t i = 0; python && !python->target->core && i < python->gil_count; i++)
            settle_gil(snapshot, process, python, &python->gils[i]);
    }
}

/* ------------------------------------------------------------------ locks */

/* Returns what identifies a Lock or RLock: the address of its semaphore or, for a Lock of 3.13, of
 * the byte that contains its state. 0: not a lock. */
static uint64_t lock_key(struct python *python, uint64_t object)
{
    uint64_t pointer = 0;
    enum python_type type = object && object % 8 == 0 ? python_type(python, object) : PYTHON_OTHER;
    if (type == PYTHON_LOCK && python->layout.minor >= 13)
        return object + LOCK_POINTER;
    if (type == PYTHON_LOCK || type == PYTHON_RLOCK)
        target_read_u64(python->target, object + LOCK_POINTER, &pointer);
    return pointer;
}

static bool is_lock_at(struct python *python, uint64_t object, uint64_t key)
{
    return key && lock_key(python, object) == key;
}

/* Returns the object that a bound C method belongs to. `name`: NULL, or the name of the method. */
static uint64_t self_of(struct python *python, uint64_t object, const char *name)
{
    uint64_t about = 0, text = 0, self = 0;
    char is[16] = "";
    if (python_type(python, object) != PYTHON_FUNCTION ||
        !target_read_u64(python->target, object + FUNCTION_ABOUT, &about) ||
        !target_read_u64(python->target, about, &text) ||
        !target_read(python->target, text, is, sizeof is - 1) || (name && strcmp(is, name) != 0) ||
        !target_read_u64(python->target, object + FUNCTION_SELF, &self))
        return 0;
    return self;
}

static uint64_t search_words(struct python *python, uint64_t from, size_t count, uint64_t key)
{
    uint64_t words[STACK_WORDS];
    count = count < STACK_WORDS ? count : STACK_WORDS;
    count = target_read(python->target, from, words, count * sizeof *words) / sizeof *words;
    for (size_t i = 0; i < count; i++)
        if (is_lock_at(python, words[i], key))
            return words[i];
    return 0;
}

/* Finds the lock object whose semaphore the thread waits for: on the stack of its innermost frame,
 * as an argument or bound method, or anywhere on the C stack. */
static uint64_t find_lock(struct python *python, const struct snapshot_thread *waiter,
                          const struct python_frame *frame, uint64_t key)
{
    uint64_t slots = 0, object = 0;
    uint32_t most = 0, used;
    if (frame && python_stack(python, frame, &slots, &most, &used))
        object = search_words(python, slots, most, key);
    for (uint32_t i = 0; i < most && !object; i++) {
        uint64_t value = 0;
        target_read_u64(python->target, slots + i * sizeof value, &value);
        uint64_t self = self_of(python, value, NULL);
        object = self && is_lock_at(python, self, key) ? self : 0;
    }
    return object ? object : search_words(python, waiter->is.stack, STACK_WORDS, key);
}

/* Up to 3.12 a thread holds this lock until it ends, and join() waits for it. */
static bool has_end_lock(struct python *python, const struct python_thread *thread, uint64_t key)
{
    uint64_t object = 0;
    return thread->deletion &&
           target_read_u64(python->target, thread->deletion + WEAK_OBJECT, &object) &&
           is_lock_at(python, object, key);
}

/* Since 3.13 this is an event in the ThreadHandle. */
static bool has_end_event(struct python *python, const struct python_thread *thread, uint64_t key)
{
    uint64_t ident = 0, handle = 0;
    return python->layout.minor >= 13 &&
           target_read_u64(python->target, key - HANDLE_EVENT + HANDLE_IDENT, &ident) &&
           target_read_u64(python->target, key - HANDLE_EVENT + HANDLE_IDENT + 8, &handle) &&
           ident == thread->ident && handle == ident;
}

static uint32_t joined_thread(struct process_snapshot *snapshot, uint32_t process,
                              struct python *python, uint64_t key)
{
    for (size_t i = 0; i < python->thread_count; i++) {
        const struct python_thread *thread = &python->threads[i];
        if (thread->tid &&
            (has_end_lock(python, thread, key) || has_end_event(python, thread, key)))
            return snapshot_find_thread(snapshot, process, thread->tid);
    }
    return SNAPSHOT_NONE;
}

/* Returns whether the frame runs Condition.wait, which Event, Queue, Semaphore and Barrier use. */
static bool is_condition(struct python *python, const struct python_frame *frame)
{
    char function[NAME_MOST], file[PATH_LENGTH];
    return python_code_names(python, frame->code, function, sizeof function, file, sizeof file) &&
           path_ends_with(file, "/threading.py") &&
           (strcmp(function, "wait") == 0 || strcmp(function, "Condition.wait") == 0);
}

/* Returns whether a frame runs this function of this file. `function` is without its class; NULL:
 * any. */
static bool runs_in(struct python *python, const struct python_frame *frame, const char *file,
                    const char *function)
{
    char is[NAME_MOST], path[PATH_LENGTH];
    if (!python_code_names(python, frame->code, is, sizeof is, path, sizeof path))
        return false;
    const char *dot = strrchr(is, '.');
    return path_ends_with(path, file) && (!function || strcmp(dot ? dot + 1 : is, function) == 0);
}

/* Returns what a script waits for in Condition.wait, found by its callers. NULL: it may be idle
 * there, as in Event.wait and Queue.get. No script is idle in the others. */
static const char *condition_use(struct python *python, const struct python_frame *frames,
                                 size_t count)
{
    static const struct {
        const char *file, *function, *use;
    } uses[] = {
        {"/threading.py", "acquire", "threading.Semaphore"},
        {"/threading.py", "_wait", "threading.Barrier"},
        {"/queue.py", "put", "space in a queue.Queue"},
        {"/queue.py", "join", "the tasks of a queue.Queue"},
        {"/concurrent/futures/_base.py", NULL, "a concurrent.futures.Future"},
    };
    size_t caller = 1;
    while (caller < count && (runs_in(python, &frames[caller], "/threading.py", "wait_for") ||
                              runs_in(python, &frames[caller], "/threading.py", "wait")))
        caller++; /* Event.wait, called by one of them */
    for (size_t i = 0; i < sizeof uses / sizeof *uses && caller < count; i++)
        if (runs_in(python, &frames[caller], uses[i].file, uses[i].function))
            return uses[i].use;
    return NULL;
}

static void name_owner(struct process_snapshot *snapshot, struct python *python, uint32_t thread,
                       uint32_t lock, uint64_t object)
{
    uint32_t process = snapshot_thread(snapshot, thread)->process;
    uint64_t ident = 0, count = 0;
    snapshot_describe_lock(snapshot, lock, (struct lock_facts){.flags = INCIDENT_RECURSIVE});
    if (!target_read_u64(python->target, object + RLOCK_OWNER, &ident) ||
        !target_read_u64(python->target, object + RLOCK_COUNT, &count) || !count)
        return;
    uint32_t owner = thread_of(snapshot, process, python, 0, ident);
    if (ident && owner != SNAPSHOT_NONE)
        snapshot_set_owner(snapshot, lock, owner, snapshot_thread(snapshot, owner)->is.tid,
                           "owner read from the RLock");
}

/* Returns the lock_key() of the lock that the thread waits for; 0: not a lock of Python. */
static uint64_t wait_key(struct process_snapshot *snapshot, struct python *python, uint32_t thread)
{
    static const char *const names[] = {"PyThread_acquire_lock_timed", "PySemaphore_Wait", NULL};
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    uint64_t key = 0;
    bool raw;
    uint32_t found = stack_find(snapshot, thread, names, &raw);
    if (found == SNAPSHOT_NONE || raw)
        return 0;
    if (found == 0)
        return waiter->call.address;
    /* Parked, since 3.13: the address of the lock precedes the semaphore. */
    target_read_u64(python->target, waiter->call.address - sizeof key, &key);
    return key;
}

static bool explain_lock(struct process_snapshot *snapshot, struct python *python, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    const struct python_thread *known = python_thread(python, waiter->is.tid);
    struct python_frame frames[CALLERS_MOST];
    uint64_t key = known ? wait_key(snapshot, python, thread) : 0;
    if (!key)
        return false;
    uint32_t joined = joined_thread(snapshot, waiter->process, python, key);
    if (joined != SNAPSHOT_NONE) {
        snapshot_add_wait(snapshot, thread, snapshot_add_thread_end(snapshot, joined),
                          INCIDENT_END);
        return true;
    }
    if (key != waiter->call.address && lock_key(python, key - LOCK_POINTER) != key)
        return false; /* some other event */
    size_t framed = python_frames(python, known, frames, CALLERS_MOST);
    bool condition = framed && is_condition(python, &frames[0]);
    uint32_t lock = snapshot_add_lock(snapshot, waiter->process, key,
                                      condition ? INCIDENT_CONDITION : INCIDENT_PYTHON);
    snapshot_add_wait(snapshot, thread, lock, condition ? INCIDENT_SIGNAL : INCIDENT_EXCLUSIVE);
    uint64_t object = condition ? 0 : find_lock(python, waiter, framed ? &frames[0] : NULL, key);
    const char *use = condition ? condition_use(python, frames, framed) : NULL;
    snapshot_describe_lock(snapshot, lock,
                           (struct lock_facts){.idles = condition && !use, .name = use});
    if (object && python_type(python, object) == PYTHON_RLOCK)
        name_owner(snapshot, python, thread, lock, object);
    return true;
}

/* ------------------------------------------------------------------ `with` */

/* Returns the lock with this key, if a thread waits for it. */
static uint32_t waited_lock(const struct process_snapshot *snapshot, uint32_t process, uint64_t key)
{
    for (uint32_t i = 0; i < snapshot_lock_count(snapshot); i++)
        if (snapshot_lock(snapshot, i)->kind == INCIDENT_PYTHON &&
            snapshot_lock(snapshot, i)->process == process &&
            snapshot_lock(snapshot, i)->address == key)
            return i;
    return SNAPSHOT_NONE;
}

static const char *with_evidence(struct process_snapshot *snapshot, struct python *python,
                                 const struct python_frame *frame)
{
    char function[NAME_MOST], file[PATH_LENGTH];
    if (!python_code_names(python, frame->code, function, sizeof function, file, sizeof file))
        return "inside its `with` block";
    const char *name = strrchr(file, '/');
    return snapshot_format(snapshot, "inside its `with` block in %s, now at %s:%u", function,
                           name ? name + 1 : file,
                           python_line(python, frame->code, frame->instruction));
}

static void search_frame(struct process_snapshot *snapshot, uint32_t process, struct python *python,
                         uint32_t thread, const struct python_frame *frame)
{
    uint64_t slots, value;
    uint32_t most, used;
    if (!python_stack(python, frame, &slots, &most, &used))
        return;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t self = 0;
        if (target_read_u64(python->target, slots + i * sizeof value, &value))
            self = self_of(python, value, "__exit__");
        if (!self || python_type(python, self) != PYTHON_LOCK)
            continue;
        uint32_t lock = waited_lock(snapshot, process, lock_key(python, self));
        if (lock != SNAPSHOT_NONE)
            snapshot_add_hold(snapshot, thread, lock, INCIDENT_EXCLUSIVE, WORD_LIKELY,
                              with_evidence(snapshot, python, frame));
    }
}

/* Finds the holders of Locks, once all waits are known. */
static void finish_python(struct process_snapshot *snapshot)
{
    for (uint32_t process = 0; process < snapshot_target_count(snapshot); process++) {
        struct python *python = python_of(snapshot_target(snapshot, process));
        struct python_frame frames[PYTHON_FRAMES];
        bool wanted = false;
        for (uint32_t i = 0; python && i < snapshot_lock_count(snapshot); i++)
            wanted = wanted || (snapshot_lock(snapshot, i)->kind == INCIDENT_PYTHON &&
                                snapshot_lock(snapshot, i)->process == process &&
                                !snapshot_is_held(snapshot, i));
        for (size_t i = 0; wanted && i < python->thread_count; i++) {
            uint32_t thread = snapshot_find_thread(snapshot, process, python->threads[i].tid);
            size_t count = thread == SNAPSHOT_NONE
                               ? 0
                               : python_frames(python, &python->threads[i], frames, PYTHON_FRAMES);
            for (size_t k = 0; k < count; k++)
                search_frame(snapshot, process, python, thread, &frames[k]);
        }
    }
}

/* ------------------------------------------------------------------ lines of scripts */

static void add_line(struct process_snapshot *snapshot, struct python *python, uint32_t thread,
                     size_t before, const struct python_frame *frame)
{
    char function[NAME_MOST], file[PATH_LENGTH];
    if (python_code_names(python, frame->code, function, sizeof function, file, sizeof file))
        snapshot_add_script_line(snapshot, thread, before,
                                 snapshot_format(snapshot, "%s", function),
                                 snapshot_format(snapshot, "%s", file),
                                 python_line(python, frame->code, frame->instruction));
}

/* Each call of the interpreter loop has run all frames up to the next frame that C code called. */
static void add_script_lines(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *of = snapshot_thread(snapshot, thread);
    struct python *python = python_of(snapshot_target(snapshot, of->process));
    const struct python_thread *known = python ? python_thread(python, of->is.tid) : NULL;
    struct python_frame frames[PYTHON_FRAMES];
    size_t count = known ? python_frames(python, known, frames, PYTHON_FRAMES) : 0, next = 0;
    for (size_t i = 0; next < count && i < of->stack.count; i++) {
        const char *name = stack_function(snapshot, thread, &of->stack.frames[i]);
        if (!name || strncmp(name, "PyEval_EvalFrameDefault", 23) != 0)
            continue;
        bool last = false;
        for (; next < count && !last; next++) {
            last = frames[next].entry;
            add_line(snapshot, python, thread, i + 1, &frames[next]);
        }
    }
    for (; next < count; next++)
        add_line(snapshot, python, thread, of->stack.count, &frames[next]);
}

/* ------------------------------------------------------------------ the decoder */

static bool explain_python(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    struct target *target = snapshot_target(snapshot, waiter->process);
    struct python *python = python_of(target);
    if (!python)
        return false;
    if (thread == snapshot_first_thread(snapshot, waiter->process) && !python_refresh(python))
        python->thread_count = python->gil_count = 0;
    if (!waiter->sleeps && may_wait(snapshot, python, thread)) {
        struct target_thread now = waiter->is;
        if (catch_waiter(python, &now))
            snapshot_update_thread(snapshot, thread, &now);
    }
    return explain_gil(snapshot, python, thread) ||
           (waiter->sleeps && waiter->call.kind == CALL_FUTEX &&
            explain_lock(snapshot, python, thread));
}

const struct decoder decoder_python = {
    .name = "python",
    .explain = explain_python,
    .finish = finish_python,
    .settle = settle_python,
    .lines = add_script_lines,
};

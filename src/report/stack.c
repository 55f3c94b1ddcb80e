/* Every stack of a report made readable: unwound from its copy where there is one, otherwise as
 * it was recorded. */
#include "report/report.h"

#include <string.h>

#define FRAMES_MOST  64 /* of one stack */
#define INLINED_MOST 16 /* of one address */

const char *path_tail(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool in_list(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (starts_with(name, *list))
            return true;
    return false;
}

bool frame_is_noise(const struct frame *frame)
{
    static const char *const starters[] = {
        "start_thread",
        "thread_start",
        "clone",
        "__clone",
        "__GI___clone",
        "__libc_start",
        "_start",
        "__thread_start",
        "execute_native_thread_routine",
        "std::thread::_Invoker",
        "std::__invoke",
        "std::thread::_State_impl",
        "void std::__invoke",
        "std::invoke_result",
        "std::error_code::default_error_condition",
        NULL,
    };
    static const char *const system[] = {"libc.so",    "ld-linux", "libpthread",
                                         "libstdc++.", "libc++.",  NULL};
    if (!frame->function)
        return frame->module && in_list(path_tail(frame->module), system);
    /* "std::__invoke_result<...>::type std::__invoke<...>" */
    return in_list(frame->function, starters) || strstr(frame->function, " std::__invoke<") ||
           strstr(frame->function, "std::thread::_Invoker<") ||
           strstr(frame->function, "std::thread::_State_impl<");
}

bool frame_is_wrapper(const struct frame *frame)
{
    static const char *const wrappers[] = {"std::", "__gthread", "mtx_", "cnd_",
                                           "thrd_", "pthread_",  "sem_", NULL};
    return !frame->function || in_list(frame->function, wrappers) ||
           (frame->file && starts_with(frame->file, "/usr/include/"));
}

const struct frame *frame_of_interest(const struct stack *stack)
{
    const struct frame *second = NULL, *third = NULL;
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        if (frame->file && frame->line && !frame_is_wrapper(frame) && !frame_is_noise(frame))
            return frame;
        if (!second && frame->function && !frame_is_wrapper(frame) && !frame_is_noise(frame))
            second = frame;
        if (!third && !frame_is_noise(frame))
            third = frame;
    }
    return second ? second : third;
}

/* A stack being put together. */
struct builder {
    struct frame frames[FRAMES_MOST];
    size_t count;
};

/* Appends the frames at a program counter. */
static void add_counter(struct report *report, struct builder *builder, uint64_t counter)
{
    builder->count += symbols_frames(report->symbols, counter, builder->frames + builder->count,
                                     FRAMES_MOST - builder->count);
}

static void finish_stack(struct report *report, const struct builder *builder, struct stack *stack)
{
    size_t bytes = builder->count * sizeof *stack->frames;
    stack->frames = bytes ? report_alloc(report, bytes) : NULL;
    stack->count = stack->frames ? builder->count : 0;
    if (stack->frames)
        memcpy(stack->frames, builder->frames, bytes);
}

/* A list of return addresses, as recorded. */
static void recorded_stack(struct report *report, struct stack *stack, uint32_t first,
                           uint32_t count)
{
    struct builder builder = {.count = 0};
    if (count > INCIDENT_FRAMES)
        count = INCIDENT_FRAMES;
    const uint64_t *words = report_words(report, first, &count);
    *stack = (struct stack){.short_walk = true};
    for (uint32_t i = 0; i < count && report->symbols; i++)
        if (words[i])
            add_counter(report, &builder, words[i] - 1);
    finish_stack(report, &builder, stack);
}

/* The watched call is the outermost frame inside the watcher, if it is still there: a wrapper may
 * have jumped on into what it calls, whose name is nobody's business. */
static const char *call_name(struct report *report, uint64_t counter)
{
    static const char *const calls[] = {"pthread_", "sem_", "mtx_", "cnd_", "thrd_", NULL};
    struct frame frames[INLINED_MOST];
    size_t count = symbols_frames(report->symbols, counter, frames, INLINED_MOST);
    const char *name = frames[count - 1].function;
    return name && in_list(name, calls) ? name : NULL;
}

static bool unwound_stack(struct report *report, const struct report_thread *thread,
                          struct stack *stack)
{
    const struct incident_thread *raw = &thread->raw;
    const struct incident_section *copies = &report->head.sections[INCIDENT_STACKS];
    struct stopped stopped = {
        .known = raw->register_mask,
        .registers = raw->registers,
        .stack_address = raw->stack_address,
        .stack = report->data + copies->offset + raw->stack_offset,
        .stack_size = raw->stack_size,
    };
    struct builder builder = {.count = 0};
    uint64_t counters[FRAMES_MOST];
    size_t count = 0, first = 0;
    *stack = (struct stack){0};
    if (raw->register_mask && raw->stack_size && report->symbols)
        count = symbols_unwind(report->symbols, &stopped, counters, FRAMES_MOST);
    while (first < count && symbols_is_watcher(report->symbols, counters[first]))
        first++;
    if (first > 0)
        stack->call = call_name(report, counters[first - 1]);
    for (size_t i = first; i < count; i++)
        add_counter(report, &builder, counters[i]);
    finish_stack(report, &builder, stack);
    return stack->count > 0;
}

/* Did the unwinder see at least what the walk saw? It may stop early in code without
 * call-frame information. */
static void better_of(struct report *report, struct report_thread *thread)
{
    struct stack walked = {0};
    uint32_t wait = thread->raw.wait;
    if (wait != INCIDENT_NONE) {
        struct report_edge *edge = &report->edges[wait];
        recorded_stack(report, &edge->site, edge->raw.frames, edge->raw.count);
        walked = edge->site;
    }
    if (!unwound_stack(report, thread, &thread->stack) || thread->stack.count < walked.count) {
        const char *call = thread->stack.call;
        thread->stack = walked;
        thread->stack.call = call;
    }
    if (wait != INCIDENT_NONE)
        report->edges[wait].site = thread->stack;
}

void report_stacks(struct report *report)
{
    for (size_t i = 0; i < report->thread_count; i++) {
        struct report_thread *thread = &report->threads[i];
        better_of(report, thread);
        recorded_stack(report, &thread->created, thread->raw.create_frames,
                       thread->raw.create_count);
    }
    for (size_t i = 0; i < report->edge_count; i++) {
        struct report_edge *edge = &report->edges[i];
        if (!edge->site.frames)
            recorded_stack(report, &edge->site, edge->raw.frames, edge->raw.count);
    }
    for (size_t i = 0; i < report->lock_count; i++) {
        struct report_lock *lock = &report->locks[i];
        recorded_stack(report, &lock->initialised, lock->raw.init_frames, lock->raw.init_count);
    }
    for (size_t i = 0; i < report->order_count; i++) {
        struct report_order *order = &report->orders[i];
        recorded_stack(report, &order->held, order->raw.held_frames, order->raw.held_count);
        recorded_stack(report, &order->taken, order->raw.taken_frames, order->raw.taken_count);
    }
}

/* Symbolizes every stack of a report: unwinds the copy of the stack if there is one, and otherwise
 * uses the recorded addresses. */
#include "output/report/report.h"

#include <string.h>

#define FRAMES_MOST  64 /* of one stack */
#define INLINED_MOST 16 /* of one address */

/* A stack under construction. */
struct builder {
    struct report *report;
    struct symbols *symbols; /* symbols of its process; NULL: none */
    size_t count;
    struct frame frames[FRAMES_MOST];
};

static struct builder start_stack(struct report *report, uint32_t process)
{
    return (struct builder){.report = report, .symbols = report->processes[process].symbols};
}

/* Appends the frames at a program counter. */
static void add_counter(struct builder *builder, uint64_t counter)
{
    if (builder->count == FRAMES_MOST)
        return;
    if (INCIDENT_TEXT_FRAME - counter < builder->report->text_frame_count) {
        /* A source line of a script. */
        const struct report *report = builder->report;
        const struct incident_text_frame *text =
            &report->text_frames[INCIDENT_TEXT_FRAME - counter];
        builder->frames[builder->count++] = (struct frame){
            .function = report_string(report, text->function),
            .file = report_string(report, text->file),
            .line = text->line,
        };
    } else if (builder->symbols)
        builder->count +=
            symbols_frames(builder->symbols, counter, builder->frames + builder->count,
                           FRAMES_MOST - builder->count);
}

static void finish_stack(const struct builder *builder, struct stack *stack)
{
    size_t bytes = builder->count * sizeof *stack->frames;
    stack->frames = bytes ? report_alloc(builder->report, bytes) : NULL;
    stack->count = stack->frames ? builder->count : 0;
    if (stack->frames)
        memcpy(stack->frames, builder->frames, bytes);
}

/* Symbolizes a recorded list of return addresses. */
static void recorded_stack(struct report *report, uint32_t process, struct stack *stack,
                           uint32_t first, uint32_t count)
{
    struct builder builder = start_stack(report, process);
    if (count > INCIDENT_FRAMES)
        count = INCIDENT_FRAMES;
    const uint64_t *words = report_words(report, first, &count);
    *stack = (struct stack){.short_walk = true};
    for (uint32_t i = 0; i < count; i++)
        if (words[i])
            add_counter(&builder, words[i] - 1);
    finish_stack(&builder, stack);
}

/* Returns the name of a locking function without libc's leading underscores; NULL: it is not a
 * locking function. */
static const char *locking_call(const char *name)
{
    static const char *const calls[] = {"pthread_", "sem_", "mtx_", "cnd_", "thrd_", NULL};
    if (!name)
        return NULL;
    name += strspn(name, "_");
    return starts_with_any(name, calls) ? name : NULL;
}

/* Unwinds the copy of the stack and returns the number of frames. */
static size_t unwind_copy(const struct builder *builder, const struct report_thread *thread,
                          struct unwound *frames)
{
    const struct report *report = builder->report;
    const struct incident_thread *raw = &thread->raw;
    const struct incident_section *copies = &report->head.sections[INCIDENT_STACKS];
    const struct stopped stopped = {
        .known = raw->register_mask,
        .registers = raw->registers,
        .stack_address = raw->stack_address,
        .stack = report->data + copies->offset + raw->stack_offset,
        .stack_size = raw->stack_size,
        .machine = report->processes[raw->process].raw.machine,
    };
    bool whole;
    if (!raw->register_mask || !raw->stack_size || !builder->symbols)
        return 0;
    return symbols_unwind(builder->symbols, &stopped, frames, FRAMES_MOST, &whole);
}

static void unwound_stack(struct report *report, const struct report_thread *thread,
                          struct stack *stack)
{
    struct builder builder = start_stack(report, thread->raw.process);
    struct unwound frames[FRAMES_MOST];
    size_t count = unwind_copy(&builder, thread, frames), first = 0;
    *stack = (struct stack){0};
    while (first < count && symbols_is_watcher(builder.symbols, frames[first].counter))
        first++;
    /* The watched call is the outermost frame inside the watcher, if it is still there: a wrapper
     * may have jumped to the function it calls. */
    if (first > 0) {
        struct frame inlined[INLINED_MOST];
        size_t most =
            symbols_frames(builder.symbols, frames[first - 1].counter, inlined, INLINED_MOST);
        stack->call = locking_call(inlined[most - 1].function);
    }
    for (size_t i = first; i < count; i++)
        add_counter(&builder, frames[i].counter);
    finish_stack(&builder, stack);
}

/* Symbolizes a stack that was unwound before. */
static void unwound_before(struct report *report, const struct report_thread *thread,
                           struct stack *stack)
{
    struct builder builder = start_stack(report, thread->raw.process);
    uint32_t count = thread->raw.frame_count < FRAMES_MOST ? thread->raw.frame_count : FRAMES_MOST;
    const uint64_t *words = report_words(report, thread->raw.frames, &count);
    *stack = (struct stack){0};
    for (uint32_t i = 0; i < count; i++)
        add_counter(&builder, words[i]);
    for (size_t i = 0; i < builder.count && frame_is_wrapper(&builder.frames[i]); i++) {
        const char *call = locking_call(builder.frames[i].function);
        stack->call = call ? call : stack->call;
    }
    finish_stack(&builder, stack);
}

/* Uses the recorded stack if it has more frames than the unwound one: unwinding may stop early in
 * code without call-frame information. */
static void choose_stack(struct report *report, struct report_thread *thread)
{
    struct stack walked = {0};
    uint32_t wait = thread->raw.wait;
    if (wait != INCIDENT_NONE) {
        struct report_edge *edge = &report->edges[wait];
        recorded_stack(report, thread->raw.process, &edge->site, edge->raw.frames, edge->raw.count);
        walked = edge->site;
    }
    if (thread->raw.frame_count)
        unwound_before(report, thread, &thread->stack);
    else
        unwound_stack(report, thread, &thread->stack);
    if (thread->stack.count == 0 || thread->stack.count < walked.count) {
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
        choose_stack(report, thread);
        recorded_stack(report, thread->raw.process, &thread->created, thread->raw.create_frames,
                       thread->raw.create_count);
    }
    for (size_t i = 0; i < report->edge_count; i++) {
        struct report_edge *edge = &report->edges[i];
        if (!edge->site.frames)
            recorded_stack(report, report->threads[edge->raw.thread].raw.process, &edge->site,
                           edge->raw.frames, edge->raw.count);
    }
    for (size_t i = 0; i < report->lock_count; i++) {
        struct report_lock *lock = &report->locks[i];
        recorded_stack(report, lock->raw.process, &lock->initialised, lock->raw.init_frames,
                       lock->raw.init_count);
    }
    for (size_t i = 0; i < report->order_count; i++) {
        struct report_order *order = &report->orders[i];
        recorded_stack(report, 0, &order->held, order->raw.held_frames, order->raw.held_count);
        recorded_stack(report, 0, &order->taken, order->raw.taken_frames, order->raw.taken_count);
    }
}

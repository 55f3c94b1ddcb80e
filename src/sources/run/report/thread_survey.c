#include "sources/run/report/thread_survey.h"

#include "sources/run/state/proc_files.h"
#include "sources/run/state/text.h"
#include "sources/run/threads/thread_table.h"

#include <string.h>

#if defined(__x86_64__)
enum { STACK_POINTER = 7, PROGRAM_COUNTER = 16 };
#else
enum { STACK_POINTER = 31, PROGRAM_COUNTER = 32 };
#endif

static uint64_t cut_last_number(const char *text, const char **end)
{
    const char *at = *end;
    while (at > text && at[-1] != ' ')
        at--;
    const char *digit = at + (at[0] == '0' && at[1] == 'x' ? 2 : 0);
    *end = at > text ? at - 1 : text;
    return text_take_hex(&digit);
}

/* Finds where a thread is that is in no observed wait, but asleep in the kernel: the last two
 * numbers of the line are its stack pointer and program counter. */
static void locate_thread(struct incident_thread *thread)
{
    char path[64], line[256];
    text_join(path, sizeof path, "/proc/self/task/", thread->tid, "/syscall");
    long length = read_small(path, line, sizeof line);
    if (length <= 1 || line[0] < '0' || line[0] > '9')
        return;
    const char *end = line + length - (line[length - 1] == '\n');
    line[end - line] = '\0';
    uint64_t counter = cut_last_number(line, &end), stack = cut_last_number(line, &end);
    if (stack < thread->stack_low || stack >= thread->stack_high)
        return;
    thread->registers[STACK_POINTER] = stack;
    thread->registers[PROGRAM_COUNTER] = counter;
    thread->register_mask = (uint64_t)1 << STACK_POINTER | (uint64_t)1 << PROGRAM_COUNTER;
    uint64_t above = thread->stack_high - stack;
    thread->stack_address = stack;
    thread->stack_size = above < INCIDENT_STACK_MAX ? above : INCIDENT_STACK_MAX;
}

void survey_threads(struct incident_builder *builder)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit && !builder->failed; i++) {
        struct thread *t = &watch.threads[i];
        struct observed_wait look;
        if (!thread_is_live(t))
            continue;
        uint32_t thread = builder_thread(builder, t, 0);
        if (observe_wait(t, &look))
            builder_wait(builder, &look, 0);
        else if (thread != INCIDENT_NONE)
            locate_thread(&builder->threads[thread]);
        builder_holds(builder, t);
    }
    uint32_t tasks = table_tasks(), known = atomic_load(&watch.live) + atomic_load(&watch.helpers);
    if (tasks > known) {
        char buffer[96];
        struct text note;
        text_open(&note, buffer, sizeof buffer);
        text_decimal(&note, tasks - known);
        text_add(&note, tasks - known == 1 ? " more thread has" : " more threads have");
        text_add(&note, " never made a watched call");
        builder->header.note = builder_string(builder, buffer);
    }
}

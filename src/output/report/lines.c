#include "output/report/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUNCTION_WIDE 40  /* longer names push what follows to the right */
#define FUNCTION_MOST 100 /* and longer ones are cut */
#define SOURCE_MOST   110
#define INDENT        "      "

static void write_plain(const struct page *page, const char *text)
{
    style_name(&page->look->style, page->out, COLOR_PLAIN, text);
}

static void write_faint(const struct page *page, const char *text)
{
    style_text(&page->look->style, page->out, COLOR_FAINT, text);
}

/* ------------------------------------------------------------------ places */

/* The path as a person who stands in `folder` would write it. */
static const char *near_path(const struct page *page, const char *path)
{
    const char *folder = page->look->folder;
    size_t length = folder ? strlen(folder) : 0;
    bool below = length > 1 && strncmp(path, folder, length) == 0 && path[length] == '/';
    return below ? path + length + 1 : path;
}

/* "bank.c:31", or "libfoo.so+0x1234". */
static void page_location(const struct page *page, const struct frame *frame)
{
    if (frame->file && frame->line) {
        write_plain(page, near_path(page, frame->file));
        output_format(page->out, ":%u", frame->line);
    } else if (frame->module) {
        write_plain(page, path_tail(frame->module));
        output_format(page->out, "+0x%llx", (unsigned long long)frame->offset);
    } else {
        output_format(page->out, "0x%llx", (unsigned long long)frame->address);
    }
}

static void function_name(const struct frame *frame, char *text, size_t size)
{
    const char *name = frame->function ? frame->function : "??";
    size_t length = strlen(name);
    if (length > FUNCTION_MOST)
        snprintf(text, size, "%.*s...", FUNCTION_MOST - 3, name);
    else
        snprintf(text, size, "%s", name);
}

void page_place(const struct page *page, const struct stack *stack)
{
    const struct frame *frame = frame_of_interest(stack);
    char name[FUNCTION_MOST + 1];
    if (!frame) {
        output_text(page->out, "an unknown place");
        return;
    }
    function_name(frame, name, sizeof name);
    write_plain(page, name);
    output_text(page->out, " (");
    page_location(page, frame);
    output_text(page->out, ")");
}

/* ------------------------------------------------------------------ source */

static FILE *open_source(const struct frame *frame)
{
    char path[4096];
    bool relative = frame->file[0] != '/' && frame->folder;
    snprintf(path, sizeof path, "%s%s%s", relative ? frame->folder : "", relative ? "/" : "",
             frame->file);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (fd >= 0 && (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))) {
        close(fd);
        fd = -1;
    }
    FILE *source = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!source && fd >= 0)
        close(fd);
    return source;
}

/* Is the file younger than the program? Then its lines have moved. */
static bool source_is_newer(FILE *source, const struct frame *frame)
{
    struct stat text, binary;
    return fstat(fileno(source), &text) == 0 && frame->module &&
           stat(frame->module, &binary) == 0 && text.st_mtime > binary.st_mtime;
}

static void source_line(const struct page *page, const struct frame *frame)
{
    FILE *source = frame->file && frame->line ? open_source(frame) : NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length = -1;
    if (!source)
        return;
    for (unsigned i = 0; i < frame->line; i++)
        if ((length = getline(&line, &room, source)) < 0)
            break;
    if (length > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        char *text = line + strspn(line, " \t");
        for (char *tab = text; *tab; tab++)
            *tab = *tab == '\t' ? ' ' : *tab;
        if (strlen(text) > SOURCE_MOST)
            text[SOURCE_MOST] = '\0';
        output_format(page->out, INDENT "    %5u | ", frame->line);
        style_name(&page->look->style, page->out, COLOR_STRONG, text);
        if (source_is_newer(source, frame))
            write_faint(page, "   (the file has changed since)");
        output_char(page->out, '\n');
    }
    free(line);
    fclose(source);
}

/* ------------------------------------------------------------------ stacks */

/* The system's own frames are left out, and those between the lock and who wanted it. */
static bool shows_frame(const struct page *page, const struct stack *stack, size_t i)
{
    const struct frame *frame = &stack->frames[i], *interesting = frame_of_interest(stack);
    if (page->look->verbose)
        return true;
    return !frame_is_noise(frame) &&
           !(interesting && frame < interesting && frame_is_wrapper(frame));
}

static size_t name_column(const struct page *page, const struct stack *stack)
{
    size_t widest = 0;
    char name[FUNCTION_MOST + 1];
    for (size_t i = 0; i < stack->count; i++) {
        if (!shows_frame(page, stack, i))
            continue;
        function_name(&stack->frames[i], name, sizeof name);
        size_t width = style_width(&page->look->style, name);
        if (width > widest && width <= FUNCTION_WIDE)
            widest = width;
    }
    return widest;
}

static void stack_line(const struct page *page, const struct frame *frame, size_t column)
{
    char name[FUNCTION_MOST + 1];
    function_name(frame, name, sizeof name);
    size_t width = style_width(&page->look->style, name);
    output_text(page->out, INDENT);
    write_plain(page, name);
    output_format(page->out, "%*s  ", (int)(width < column ? column - width : 0), "");
    style_color(&page->look->style, page->out, COLOR_FAINT);
    page_location(page, frame);
    if (frame->inlined)
        output_text(page->out, " (inlined)");
    style_color(&page->look->style, page->out, COLOR_PLAIN);
    output_char(page->out, '\n');
}

void page_stack(const struct page *page, const struct stack *stack)
{
    const struct frame *interesting = frame_of_interest(stack);
    size_t column = name_column(page, stack), shown = 0;
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        if (!shows_frame(page, stack, i))
            continue;
        stack_line(page, frame, column);
        if (frame == interesting)
            source_line(page, frame);
        shown++;
    }
    if (shown == 0)
        output_text(page->out, INDENT "(not recorded)\n");
}

/* ------------------------------------------------------------------ threads and locks */

static void lock_name(const struct page *page, uint32_t lock)
{
    style_name(&page->look->style, page->out, COLOR_RESOURCE, page->report->locks[lock].name);
}

/* " (recursive mutex)", " (rwlock, for reading)". */
static void lock_nature(const struct page *page, const struct incident_edge *edge)
{
    char kind[128];
    const struct incident_lock *raw = &page->report->locks[edge->lock].raw;
    if (raw->kind == INCIDENT_THREAD_END)
        return;
    output_format(page->out, " (%s", lock_kind(raw, kind, sizeof kind));
    if (raw->kind == INCIDENT_RWLOCK)
        output_format(page->out, ", for %s", edge->mode == INCIDENT_READ ? "reading" : "writing");
    output_char(page->out, ')');
}

static void wait_lines(const struct page *page, const struct report_thread *thread,
                       const struct report_edge *wait)
{
    struct output *out = page->out;
    output_text(out, "    waits for ");
    lock_name(page, wait->raw.lock);
    lock_nature(page, &wait->raw);
    if (thread->raw.waited_ns >= 1000000000u)
        output_format(out, ", for %.1f s now", (double)thread->raw.waited_ns / 1e9);
    if (wait->raw.flags & INCIDENT_TIMED)
        output_text(out, ", for a limited time");
    if (thread->stack.call)
        output_format(out, ", in %s", thread->stack.call);
    if (wait->raw.outer != INCIDENT_NONE) {
        output_text(out, ", having given back ");
        lock_name(page, wait->raw.outer);
    }
    output_text(out, "\n");
    page_stack(page, &thread->stack);
}

/* How it is known, if that is to be said; the end of a line. */
static void evidence_line(const struct page *page, const struct report_edge *edge)
{
    if (*edge->evidence) {
        output_text(page->out, ": ");
        write_plain(page, edge->evidence);
    }
    output_char(page->out, '\n');
}

static void hold_lines(const struct page *page, const struct report_edge *hold)
{
    struct output *out = page->out;
    output_text(out, "    holds ");
    lock_name(page, hold->raw.lock);
    lock_nature(page, &hold->raw);
    if (hold->raw.units > 1 && hold->raw.mode == INCIDENT_UNIT)
        output_format(out, ", %u units", hold->raw.units);
    else if (hold->raw.units > 1)
        output_format(out, ", %u times", hold->raw.units);
    if (hold->site.count == 0) {
        if (!*hold->evidence)
            output_text(out, "; where it was taken was not recorded");
        evidence_line(page, hold);
        return;
    }
    output_text(out,
                hold->raw.flags & INCIDENT_TRIED ? ", taken by a try-lock at\n" : ", taken at\n");
    page_stack(page, &hold->site);
}

/* Nobody knows who holds it; a semaphore need not be held by anybody. */
static void could_line(const struct page *page, const struct report_edge *edge)
{
    bool posted = page->report->locks[edge->raw.lock].raw.kind == INCIDENT_SEMAPHORE;
    output_text(page->out, posted ? "    could have posted " : "    may hold ");
    lock_name(page, edge->raw.lock);
    if (!posted) {
        lock_nature(page, &edge->raw);
        output_text(page->out, ", which does not say by whom it is held");
    }
    evidence_line(page, edge);
}

/* What a thread owes without holding anything: a signal, an arrival, its own end. */
static void owes_line(const struct page *page, const struct report_edge *edge)
{
    struct output *out = page->out;
    switch (edge->raw.mode) {
    case INCIDENT_SIGNAL:
        output_text(out, page->report->locks[edge->raw.lock].raw.kind == INCIDENT_MESSAGE
                             ? "    has not acted for: "
                             : "    could have signalled ");
        break;
    case INCIDENT_ARRIVAL:
        output_text(out, "    has not come to ");
        break;
    case INCIDENT_QUEUED:
        output_text(out, "    waits in front of the readers of ");
        break;
    default:
        return;
    }
    lock_name(page, edge->raw.lock);
    evidence_line(page, edge);
}

static void thread_title(const struct page *page, const struct report_thread *thread)
{
    struct output *out = page->out;
    output_text(out, "  ");
    style_name(&page->look->style, out, COLOR_PROCESS, thread->name);
    output_format(out, " (%s %u", thread->raw.flags & INCIDENT_FOREIGN ? "process" : "thread",
                  thread->raw.tid);
    if (thread->raw.flags & INCIDENT_ENDED)
        output_text(out, ", ended");
    output_text(out, ")");
}

/* One that waits for no lock. */
static void doing_lines(const struct page *page, const struct report_thread *thread)
{
    output_text(page->out, "    ");
    write_plain(page, thread->doing);
    output_char(page->out, '\n');
    if (thread->stack.count)
        page_stack(page, &thread->stack);
}

void page_thread(const struct page *page, uint32_t index)
{
    const struct report *report = page->report;
    const struct report_thread *thread = &report->threads[index];
    const struct report_edge *wait = wait_of(report, index);
    thread_title(page, thread);
    output_text(page->out, "\n");
    if (wait)
        wait_lines(page, thread, wait);
    else if (*thread->doing)
        doing_lines(page, thread);
    else if (thread->raw.flags & INCIDENT_FOREIGN)
        output_text(page->out, "    belongs to another process\n");
    else if (thread->raw.flags & INCIDENT_UNWATCHED)
        output_text(page->out, "    has made no watched call\n");
    else if (!(thread->raw.flags & INCIDENT_ENDED))
        output_text(page->out, "    runs, or waits for something that is not watched\n");
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        if (edge->raw.thread != index || (edge->raw.flags & INCIDENT_WAITS))
            continue;
        bool holds = edge->raw.mode == INCIDENT_EXCLUSIVE || edge->raw.mode == INCIDENT_READ ||
                     edge->raw.mode == INCIDENT_UNIT;
        if (holds && (edge->raw.flags & INCIDENT_COULD))
            could_line(page, edge);
        else if (holds)
            hold_lines(page, edge);
        else
            owes_line(page, edge);
    }
    if (thread->created.count && page->look->verbose) {
        output_text(page->out, "    was started at\n");
        page_stack(page, &thread->created);
    }
    output_char(page->out, '\n');
}

void page_lock(const struct page *page, uint32_t index)
{
    const struct report_lock *lock = &page->report->locks[index];
    struct output *out = page->out;
    char kind[128];
    if (lock->raw.kind == INCIDENT_THREAD_END)
        return;
    output_text(out, "    ");
    lock_name(page, index);
    output_format(out, ": %s", lock_kind(&lock->raw, kind, sizeof kind));
    if (lock->raw.address) /* what the kernel has is nowhere */
        output_format(out, " at 0x%llx", (unsigned long long)lock->raw.address);
    if (*lock->place)
        output_format(out, ", %s", lock->place);
    if (lock->raw.kind == INCIDENT_SEMAPHORE)
        output_format(out, ", value %u%s", lock->raw.units,
                      lock->raw.flags & INCIDENT_SIGNALS ? ", also posted by others" : "");
    if (lock->raw.kind == INCIDENT_BARRIER)
        output_format(out, ", %u of %u missing", lock->raw.missing, lock->raw.units);
    if (lock->initialised.count) {
        output_text(out, ", initialised in ");
        page_place(page, &lock->initialised);
    }
    output_char(out, '\n');
}

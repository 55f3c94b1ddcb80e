/* The report for a person. */
#include "output/report/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of more threads than that only the first and last few are shown. */
#define THREADS_MOST 12
#define THREADS_HEAD 5
#define THREADS_TAIL 3
#define BEHIND_MOST  20

/* The wait-for graph; of a potential deadlock, what the orders would come to. */
static void draw_report(const struct page *page)
{
    bool orders = page->report->order_count > 0;
    struct finding finding;
    report_finding(&finding, page->report, 0);
    if (orders && finding.cycle)
        output_text(page->out, "  This can happen:\n\n");
    if ((!orders || finding.cycle) &&
        finding_draw(&finding, &page->look->style, page->look->verbose, page->out))
        output_char(page->out, '\n');
    finding_close(&finding);
}

/* ------------------------------------------------------------------ parts of a report */

static void write_title(const struct page *page, unsigned ordinal)
{
    const struct report *report = page->report;
    struct output *out = page->out;
    static const char *const words[] = {
        [INCIDENT_DEADLOCK] = "deadlock",
        [INCIDENT_OWNER_GONE] = "deadlock",
        [INCIDENT_POTENTIAL] = "potential deadlock",
        [INCIDENT_STALL] = "stall",
        [INCIDENT_STATUS] = "status",
    };
    char text[300], number[16] = "";
    report_title(report, text, sizeof text);
    if (ordinal)
        snprintf(number, sizeof number, " %u", ordinal);
    bool bad = report->head.kind != INCIDENT_STATUS;
    style_color(&page->look->style, out, bad ? COLOR_BAD : COLOR_STRONG);
    const char *word = bad ? report_word(report) : NULL;
    output_format(out, "gordian: %s%s%s%s: ", words[report->head.kind], number, word ? ", " : "",
                  word ? word : "");
    style_color(&page->look->style, out, COLOR_PLAIN);
    style_name(&page->look->style, out, COLOR_STRONG, text);
    output_text(out, "\n");
    style_color(&page->look->style, out, COLOR_FAINT);
    output_text(out, "  program ");
    style_name(&page->look->style, out, COLOR_PLAIN, path_tail(report->program));
    style_color(&page->look->style, out, COLOR_FAINT);
    uint64_t locks = report->head.locks_watched, watched = report->head.threads_watched;
    output_format(out, ", process %u", report->head.pid);
    if (report->process_count > 1)
        output_format(out, " and %zu more", report->process_count - 1);
    if (report_word(report))
        output_format(out, "; %llu thread%s looked at\n\n", (unsigned long long)watched,
                      watched == 1 ? "" : "s");
    else
        output_format(out, "; %s%llu lock%s and %llu thread%s watched so far\n\n",
                      locks > 1000 ? "about " : "", (unsigned long long)locks,
                      locks == 1 ? "" : "s", (unsigned long long)watched, watched == 1 ? "" : "s");
    style_color(&page->look->style, out, COLOR_PLAIN);
    if (*report->note) {
        output_text(out, "  ");
        style_name(&page->look->style, out, COLOR_PLAIN, report->note);
        output_text(out, "\n\n");
    }
}

/* The threads of the first `count` edges, each once, in order of appearance; `members` says the
 * same by thread. */
static size_t threads_of(const struct report *report, size_t count, bool *members,
                         uint32_t *threads)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = report->edges[i].raw.thread;
        if (!members[thread])
            threads[used++] = thread;
        members[thread] = true;
    }
    return used;
}

/* Of many threads only the first and the last few are shown: moves these together and says how
 * many there are, and how many are left out behind the first THREADS_HEAD. */
static size_t abbreviate_threads(const struct page *page, uint32_t *threads, size_t count,
                                 size_t *left)
{
    *left = 0;
    if (page->look->verbose || page->look->everybody || count <= THREADS_MOST)
        return count;
    *left = count - THREADS_HEAD - THREADS_TAIL;
    memmove(threads + THREADS_HEAD, threads + count - THREADS_TAIL, THREADS_TAIL * sizeof *threads);
    return THREADS_HEAD + THREADS_TAIL;
}

static void thread_blocks(const struct page *page, const uint32_t *threads, size_t count,
                          size_t left)
{
    for (size_t i = 0; i < count; i++) {
        if (left && i == THREADS_HEAD)
            output_format(page->out, "  ... %zu more threads (--verbose shows all) ...\n\n", left);
        page_thread(page, threads[i]);
    }
}

/* One line each for those who are stuck without being a part of it. `members`: by thread. */
static void write_behind(const struct page *page, const bool *members)
{
    const struct report *report = page->report;
    size_t shown = 0, left = 0;
    for (uint32_t i = 0; i < report->thread_count; i++) {
        const struct report_edge *wait = wait_of(report, i);
        if (members[i] || !wait || !(report->threads[i].raw.flags & INCIDENT_STUCK))
            continue;
        if (shown == BEHIND_MOST && !page->look->verbose) {
            left++;
            continue;
        }
        if (shown++ == 0)
            output_text(page->out, "  Waiting behind it\n");
        output_text(page->out, "    ");
        style_name(&page->look->style, page->out, COLOR_PROCESS, report->threads[i].name);
        output_text(page->out, " waits for ");
        style_name(&page->look->style, page->out, COLOR_RESOURCE,
                   report->locks[wait->raw.lock].name);
        output_text(page->out, " in ");
        page_place(page, &report->threads[i].stack);
        output_text(page->out, "\n");
    }
    if (left)
        output_format(page->out, "    and %zu more (--verbose shows all)\n", left);
    if (shown)
        output_text(page->out, "\n");
}

/* Every lock that a shown thread holds or waits for; all of them for a potential deadlock. */
static void lock_blocks(const struct page *page, const uint32_t *threads, size_t count)
{
    const struct report *report = page->report;
    bool any = false;
    bool *wanted = calloc(report->lock_count + 1, sizeof *wanted);
    for (size_t i = 0; i < report->edge_count && wanted; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        for (size_t k = 0; k < count && !wanted[edge->lock]; k++)
            wanted[edge->lock] = edge->thread == threads[k] &&
                                 report->locks[edge->lock].raw.kind != INCIDENT_THREAD_END;
    }
    for (uint32_t lock = 0; lock < report->lock_count && wanted; lock++) {
        if (!wanted[lock] && !report->order_count)
            continue;
        if (!any)
            output_text(page->out, "  Locks\n");
        page_lock(page, lock);
        any = true;
    }
    if (any)
        output_char(page->out, '\n');
    free(wanted);
}

static void write_advice(const struct page *page)
{
    const char *text = report_advice(page->report);
    if (text)
        output_format(page->out, "  What to do\n%s\n", text);
    switch (page->report->head.action) {
    case INCIDENT_ABORT:
        output_text(page->out, "  The program ends here, with exit status 86 "
                               "(--on-deadlock=report or break would let it go on).\n\n");
        break;
    case INCIDENT_BREAK:
        output_format(page->out, "  To break it, the call of %s returns EDEADLK.\n\n",
                      page->report->head.first != INCIDENT_NONE
                          ? page->report->threads[page->report->head.first].name
                          : "the last thread");
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------------ one kind each */

static void order_block(const struct page *page, const struct report_order *order)
{
    const struct report *report = page->report;
    const struct style *style = &page->look->style;
    struct output *out = page->out;
    const char *held = report->locks[order->raw.held].name;
    const char *taken = report->locks[order->raw.taken].name;
    output_text(out, "  ");
    style_name(style, out, COLOR_PROCESS, report->threads[order->raw.thread].name);
    output_format(out, " (thread %u%s) took ", report->threads[order->raw.thread].raw.tid,
                  report->threads[order->raw.thread].raw.flags & INCIDENT_ENDED ? ", ended" : "");
    style_name(style, out, COLOR_RESOURCE, taken);
    output_format(out, "%s%s while holding ", *mode_text(order->raw.taken_mode) ? " " : "",
                  mode_text(order->raw.taken_mode));
    style_name(style, out, COLOR_RESOURCE, held);
    output_format(out, "%s%s\n", *mode_text(order->raw.held_mode) ? " " : "",
                  mode_text(order->raw.held_mode));
    output_text(out, "    held ");
    style_name(style, out, COLOR_RESOURCE, held);
    output_text(out, " since\n");
    page_stack(page, &order->held);
    output_text(out, "    took ");
    style_name(style, out, COLOR_RESOURCE, taken);
    output_text(out, " at\n");
    page_stack(page, &order->taken);
    output_char(out, '\n');
}

static void write_deadlock(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = report->witness_count ? report->witness_count : report->edge_count, left;
    uint32_t *threads = calloc(count + 1, sizeof *threads);
    bool *members = calloc(report->thread_count + 1, sizeof *members);
    if (threads && members) {
        size_t shown = threads_of(report, count, members, threads);
        shown = abbreviate_threads(page, threads, shown, &left);
        draw_report(page);
        thread_blocks(page, threads, shown, left);
        write_behind(page, members);
        lock_blocks(page, threads, shown);
        write_advice(page);
    }
    free(threads);
    free(members);
}

static void write_status(const struct page *page)
{
    const struct report *report = page->report;
    size_t left;
    uint32_t *threads = calloc(report->thread_count + 1, sizeof *threads);
    draw_report(page);
    for (uint32_t i = 0; i < report->thread_count && threads; i++)
        threads[i] = i;
    if (threads) {
        size_t shown = abbreviate_threads(page, threads, report->thread_count, &left);
        thread_blocks(page, threads, shown, left);
    }
    free(threads);
}

/* Incidents that came back after they had been told. */
static void write_summary(const struct page *page)
{
    const struct report *report = page->report;
    for (size_t i = 0; i < report->fold_count; i++) {
        const struct incident_fold *fold = &report->folds[i];
        if (fold->count <= 1)
            continue;
        const char *kind = fold->kind == INCIDENT_POTENTIAL ? "potential deadlock"
                           : fold->kind == INCIDENT_STALL   ? "stall"
                                                            : "deadlock";
        output_format(page->out, "gordian: %s (incident %u of process %u) came %llu times%s\n",
                      kind, fold->number, report->head.pid, (unsigned long long)fold->count,
                      fold->suppressed ? ", suppressed" : "");
    }
}

void report_text(const struct report *report, const struct report_look *look, unsigned ordinal,
                 struct output *out)
{
    struct page page = {report, look, out};
    if (report->head.kind == INCIDENT_SUMMARY) {
        write_summary(&page);
        return;
    }
    if (report->head.kind < INCIDENT_DEADLOCK || report->head.kind > INCIDENT_SUMMARY)
        return;
    write_title(&page, ordinal);
    if (report->head.kind == INCIDENT_POTENTIAL) {
        draw_report(&page);
        for (size_t i = 0; i < page.report->order_count; i++)
            order_block(&page, &page.report->orders[i]);
        lock_blocks(&page, NULL, 0);
        write_advice(&page);
    } else if (report->head.kind == INCIDENT_STATUS)
        write_status(&page);
    else
        write_deadlock(&page);
}

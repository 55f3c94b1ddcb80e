/* Turns a report into a finding. */
#include "output/report/report.h"

#include <ctype.h>
#include <string.h>

static const char *mode_word(unsigned mode)
{
    static const char *const words[] = {
        [INCIDENT_EXCLUSIVE] = "exclusive", [INCIDENT_READ] = "read",
        [INCIDENT_UNIT] = "unit",           [INCIDENT_SIGNAL] = "signal",
        [INCIDENT_ARRIVAL] = "arrival",     [INCIDENT_END] = "end",
        [INCIDENT_QUEUED] = "queued",
    };
    return mode >= INCIDENT_EXCLUSIVE && mode <= INCIDENT_QUEUED ? words[mode] : "unknown";
}

static void add_thread(struct finding *finding, const struct report *report, uint32_t index)
{
    const struct report_thread *from = &report->threads[index];
    unsigned flags = from->raw.flags;
    struct finding_thread *thread = finding_alloc(finding, sizeof *thread);
    uint32_t number = finding_party(finding, from->name, "thread");
    if (number == FINDING_NONE || !thread)
        return;
    struct finding_party *party = &finding->parties[number];
    party->about = finding_format(finding, "thread %u", from->raw.tid);
    party->thread = thread;
    party->role = flags & INCIDENT_STUCK ? FINDING_BEHIND : FINDING_OTHER;
    for (size_t i = 0; i < report->witness_count && party->role == FINDING_BEHIND; i++)
        if (report->edges[i].raw.thread == index)
            party->role = FINDING_MEMBER;
    *thread = (struct finding_thread){
        .tid = from->raw.tid,
        .pid = report->process_count > 1 ? report->processes[from->raw.process].raw.pid : 0,
        .comm = from->comm,
        .entry = from->entry,
        .doing = from->doing,
        .waiting = flags & INCIDENT_WAITING,
        .ended = flags & INCIDENT_ENDED,
        .foreign = flags & INCIDENT_FOREIGN,
        .unwatched = flags & INCIDENT_UNWATCHED,
        .waited_s = flags & INCIDENT_WAITING ? (double)from->raw.waited_ns / 1e9 : -1,
        .stack = &from->stack,
        .created = &from->created,
    };
}

static void add_lock(struct finding *finding, const struct report *report, uint32_t index)
{
    char kind[128];
    const struct report_lock *from = &report->locks[index];
    struct finding_lock *lock = finding_alloc(finding, sizeof *lock);
    uint32_t number = finding_resource(
        finding, from->name, finding_copy(finding, lock_kind(&from->raw, kind, sizeof kind)));
    if (number == FINDING_NONE || !lock)
        return;
    finding->resources[number].lock = lock;
    finding->resources[number].holding = holder_relation(report, index);
    *lock = (struct finding_lock){
        .address = from->raw.address,
        .place = from->place,
        .owner_tid = from->raw.owner_tid,
        .has_value = from->raw.kind == INCIDENT_SEMAPHORE,
        .has_missing = from->raw.kind == INCIDENT_BARRIER,
        .rwlock = from->raw.kind == INCIDENT_RWLOCK,
        .thread_end = from->raw.kind == INCIDENT_THREAD_END,
        .signals = from->raw.flags & INCIDENT_SIGNALS,
        .value = from->raw.units,
        .missing = from->raw.missing,
        .initialised = &from->initialised,
    };
}

/* ------------------------------------------------------------------ edges */

/* Returns the label of an arrow, "transfer, bank.c:31", or "". */
static const char *site_text(struct finding *finding, const struct stack *site)
{
    const struct frame *frame = frame_of_interest(site);
    if (!frame)
        return "";
    const char *function = frame->function ? frame->function : "";
    if (frame->file && frame->line)
        return finding_format(finding, "%.40s%s%s:%u", function, *function ? ", " : "",
                              path_tail(frame->file), frame->line);
    return finding_format(finding, "%.60s", function);
}

static void fill_wait(struct finding *finding, struct finding_edge *to,
                      const struct report_edge *from)
{
    to->mode = mode_word(from->raw.mode);
    to->units = from->raw.units;
    to->site = &from->site;
    to->place = site_text(finding, &from->site);
    to->timed = from->raw.flags & INCIDENT_TIMED;
    to->witness = from->raw.flags & INCIDENT_WITNESS;
    to->released = from->raw.outer;
    to->how = from->evidence;
}

/* Returns the text for an edge that is not a hold, such as "could have signalled"; NULL: it is a
 * hold. */
static const char *owes_text(const struct report *report, const struct incident_edge *edge)
{
    unsigned kind = report->locks[edge->lock].raw.kind;
    switch (edge->mode) {
    case INCIDENT_EXCLUSIVE:
    case INCIDENT_READ:
    case INCIDENT_UNIT:
        return !(edge->flags & INCIDENT_COULD) ? NULL
               : kind == INCIDENT_SEMAPHORE    ? "could have posted"
                                               : "may hold";
    case INCIDENT_SIGNAL:
        return kind == INCIDENT_MESSAGE ? "has not acted for:" : "could have signalled";
    case INCIDENT_ARRIVAL:
        return "has not arrived at";
    case INCIDENT_QUEUED:
        return "is queued before the readers of";
    default:
        return "";
    }
}

static void fill_hold(struct finding *finding, const struct report *report, struct finding_edge *to,
                      const struct report_edge *from)
{
    to->owes = owes_text(report, &from->raw);
    to->unnamed = to->owes && strcmp(to->owes, "may hold") == 0;
    to->tried = from->raw.flags & INCIDENT_TRIED;
    to->held_mode = mode_word(from->raw.mode);
    to->held_units = from->raw.units;
    to->held_site = &from->site;
    to->held_place = site_text(finding, &from->site);
    to->witness = from->raw.flags & INCIDENT_WITNESS;
    to->relation = from->raw.flags & INCIDENT_COULD    ? FINDING_COULD
                   : from->raw.mode == INCIDENT_QUEUED ? FINDING_QUEUED
                                                       : FINDING_HOLDS;
    to->held_how = from->evidence;
    if (!to->how || !*to->how)
        to->how = from->evidence;
    else if (*from->evidence)
        to->how = finding_format(finding, "%s; %s", to->how, from->evidence);
}

/* In a cycle, a wait and the hold behind it become one edge. All others are separate edges. */
static void add_edges(struct finding *finding, const struct report *report)
{
    finding->cycle = report->cycle;
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        bool waits = edge->raw.flags & INCIDENT_WAITS;
        if (report->cycle && i + 1 < report->witness_count) {
            const struct report_edge *hold = &report->edges[++i];
            struct finding_edge *to =
                finding_edge(finding, edge->raw.thread, edge->raw.lock, hold->raw.thread);
            fill_wait(finding, to, edge);
            fill_hold(finding, report, to, hold);
        } else if (waits) {
            fill_wait(finding,
                      finding_edge(finding, edge->raw.thread, edge->raw.lock, FINDING_NONE), edge);
        } else {
            fill_hold(finding, report,
                      finding_edge(finding, FINDING_NONE, edge->raw.lock, edge->raw.thread), edge);
        }
    }
}

/* Each thread can wait for the lock that it acquired second, which the next thread acquired
 * first. */
static void add_orders(struct finding *finding, const struct report *report)
{
    finding->cycle = report->order_count > 0;
    for (size_t i = 0; i < report->order_count; i++) {
        const struct report_order *order = &report->orders[i];
        const struct report_order *next = &report->orders[(i + 1) % report->order_count];
        struct finding_edge *to =
            finding_edge(finding, order->raw.thread, order->raw.taken, next->raw.thread);
        to->mode = mode_word(order->raw.taken_mode);
        to->held_mode = mode_word(next->raw.held_mode);
        to->seen = order->raw.seen;
        to->site = &order->taken;
        to->held_site = &next->held;
        to->place = site_text(finding, &order->taken);
        to->held_place = site_text(finding, &next->held);
        finding->cycle = finding->cycle && order->raw.taken == next->raw.held;
    }
}

/* ------------------------------------------------------------------ the finding */

/* Returns the paragraphs without indentation and line breaks. */
static const char *plain_advice(struct finding *finding, const char *text)
{
    char *plain = text ? finding_alloc(finding, strlen(text) + 1) : NULL;
    size_t used = 0;
    if (!plain)
        return NULL;
    for (; *text; text++)
        if (!isspace((unsigned char)*text))
            plain[used++] = *text;
        else if (used && plain[used - 1] != ' ')
            plain[used++] = ' ';
    if (used && plain[used - 1] == ' ')
        plain[--used] = '\0';
    return plain;
}

static enum finding_kind kind_of(const struct report *report)
{
    static const enum finding_kind kinds[] = {
        [INCIDENT_DEADLOCK] = FINDING_DEADLOCK,
        [INCIDENT_OWNER_GONE] = FINDING_OWNER_GONE,
        [INCIDENT_POTENTIAL] = FINDING_LOCK_ORDER_INVERSION,
        [INCIDENT_STALL] = FINDING_STALL,
    };
    if (report->head.kind == INCIDENT_DEADLOCK && report_is_unsignalled(report))
        return FINDING_NEVER_SIGNALLED;
    return report->head.kind >= INCIDENT_DEADLOCK && report->head.kind <= INCIDENT_STALL
               ? kinds[report->head.kind]
               : FINDING_STATUS;
}

static void fill_head(struct finding *finding, const struct report *report)
{
    static const char *const actions[] = {
        [INCIDENT_GO_ON] = "go-on", [INCIDENT_ABORT] = "abort", [INCIDENT_BREAK] = "break"};
    const struct incident *head = &report->head;
    char title[300];
    report_title(report, title, sizeof title);
    finding->title = finding_copy(finding, title);
    finding->program = report->program;
    finding->pid = head->pid;
    finding->incident = head->number;
    finding->time_ms = head->time_ns / 1000000;
    finding->found_after_ms = (double)head->found_ns / 1e6;
    finding->signature = head->signature;
    if (head->action >= INCIDENT_GO_ON && head->action <= INCIDENT_BREAK)
        finding->action = actions[head->action];
    finding->engine = report->engine;
    *(finding->kind == FINDING_STATUS ? &finding->unseen : &finding->evidence) = report->note;
    finding->first = head->first;
    finding->locks_watched = head->locks_watched;
    finding->threads_watched = head->threads_watched;
    finding->advice.lines = report_advice(report);
    finding->advice.text = plain_advice(finding, finding->advice.lines);
    finding->outside = report_verdict_text(report);
    finding->more_processes = report->process_count - 1;
    if (finding->kind == FINDING_STATUS)
        return;
    if (head->action == INCIDENT_ABORT)
        finding->consequence = "The program ends now with exit status 86 (with "
                               "--on-deadlock=report or break it continues).";
    if (head->action == INCIDENT_BREAK)
        finding->consequence = finding_format(
            finding, "To break the deadlock, the call of %s returns EDEADLK.",
            head->first != INCIDENT_NONE ? report->threads[head->first].name : "the last thread");
}

void report_finding(struct finding *finding, const struct report *report, unsigned ordinal)
{
    enum finding_kind kind = kind_of(report);
    bool claims = kind != FINDING_STATUS && report->head.word != INCIDENT_UNKNOWN;
    finding_open(finding, report->source, kind,
                 report->head.word == INCIDENT_LIKELY ? FINDING_LIKELY
                 : claims                             ? FINDING_PROVED
                                                      : FINDING_UNKNOWN);
    finding->number = ordinal;
    fill_head(finding, report);
    for (uint32_t i = 0; i < report->thread_count; i++)
        add_thread(finding, report, i);
    for (uint32_t i = 0; i < report->lock_count; i++)
        add_lock(finding, report, i);
    if (report->order_count)
        add_orders(finding, report);
    else
        add_edges(finding, report);
    for (size_t i = 0; i < finding->party_count; i++)
        finding->behind += finding->parties[i].role == FINDING_BEHIND;
    if (finding->behind < report->head.behind)
        finding->behind = report->head.behind;
}

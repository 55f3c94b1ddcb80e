/* The report as one JSON object. */
#include "output/report/report.h"

#include "output/show/json.h"

#include <stdio.h>

static void write_address(struct json *json, const char *key, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    json_key_text(json, key, text);
}

static void write_stack(struct json *json, const char *key, const struct stack *stack)
{
    if (!stack->count)
        return;
    json_open(json, key, '[');
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        json_open(json, NULL, '{');
        write_address(json, "address", frame->address);
        if (frame->function)
            json_key_text(json, "function", frame->function);
        if (frame->file && frame->line) {
            json_key_text(json, "file", frame->file);
            json_key_u64(json, "line", frame->line);
        }
        if (frame->module) {
            json_key_text(json, "module", frame->module);
            write_address(json, "offset", frame->offset);
        }
        if (frame->inlined)
            json_key_bool(json, "inlined", true);
        json_shut(json);
    }
    json_shut(json);
}

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

static void write_threads(struct json *json, const struct report *report)
{
    json_open(json, "threads", '[');
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        json_open(json, NULL, '{');
        json_key_text(json, "name", thread->name);
        json_key_u64(json, "tid", thread->raw.tid);
        json_key_text(json, "comm", thread->comm);
        if (thread->entry)
            json_key_text(json, "entry", thread->entry);
        json_key_bool(json, "stuck", thread->raw.flags & INCIDENT_STUCK);
        json_key_bool(json, "waiting", thread->raw.flags & INCIDENT_WAITING);
        json_key_bool(json, "ended", thread->raw.flags & INCIDENT_ENDED);
        if (thread->raw.flags & INCIDENT_FOREIGN)
            json_key_bool(json, "foreign", true);
        if (thread->raw.flags & INCIDENT_WAITING)
            json_key_number(json, "waited_seconds", (double)thread->raw.waited_ns / 1e9);
        if (report->process_count > 1)
            json_key_u64(json, "pid", report->processes[thread->raw.process].raw.pid);
        if (*thread->doing)
            json_key_text(json, "doing", thread->doing);
        if (thread->stack.call)
            json_key_text(json, "call", thread->stack.call);
        write_stack(json, "stack", &thread->stack);
        write_stack(json, "created", &thread->created);
        json_shut(json);
    }
    json_shut(json);
}

static void write_locks(struct json *json, const struct report *report)
{
    char kind[128];
    json_open(json, "locks", '[');
    for (size_t i = 0; i < report->lock_count; i++) {
        const struct report_lock *lock = &report->locks[i];
        json_open(json, NULL, '{');
        json_key_text(json, "name", lock->name);
        json_key_text(json, "kind", lock_kind(&lock->raw, kind, sizeof kind));
        write_address(json, "address", lock->raw.address);
        if (*lock->place)
            json_key_text(json, "place", lock->place);
        if (lock->raw.owner_tid)
            json_key_u64(json, "owner_tid", lock->raw.owner_tid);
        if (lock->raw.kind == INCIDENT_SEMAPHORE)
            json_key_u64(json, "value", lock->raw.units);
        if (lock->raw.kind == INCIDENT_BARRIER)
            json_key_u64(json, "missing", lock->raw.missing);
        write_stack(json, "initialised", &lock->initialised);
        json_shut(json);
    }
    json_shut(json);
}

static void write_edges(struct json *json, const struct report *report)
{
    json_open(json, "edges", '[');
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        json_open(json, NULL, '{');
        json_key_text(json, "thread", report->threads[edge->raw.thread].name);
        json_key_text(json, edge->raw.flags & INCIDENT_WAITS ? "waits" : "holds",
                      report->locks[edge->raw.lock].name);
        json_key_text(json, "mode", mode_word(edge->raw.mode));
        json_key_u64(json, "units", edge->raw.units);
        json_key_bool(json, "witness", edge->raw.flags & INCIDENT_WITNESS);
        if (edge->raw.flags & INCIDENT_TIMED)
            json_key_bool(json, "timed", true);
        if (edge->raw.flags & INCIDENT_COULD)
            json_key_bool(json, "could", true);
        if (edge->raw.outer != INCIDENT_NONE)
            json_key_text(json, "gave_back", report->locks[edge->raw.outer].name);
        if (*edge->evidence)
            json_key_text(json, "evidence", edge->evidence);
        write_stack(json, "site", &edge->site);
        json_shut(json);
    }
    json_shut(json);
}

/* The cycle as `gordian detect` writes it: [thread, lock, thread, lock, ...]. */
static void write_witness(struct json *json, const struct report *report)
{
    if (!report->cycle)
        return;
    json_open(json, "witness", '[');
    for (size_t i = 0; i < report->witness_count; i += 2)
        json_witness_edge(json, true, true, report->threads[report->edges[i].raw.thread].name,
                          report->locks[report->edges[i].raw.lock].name, 1);
    json_shut(json);
}

static void write_orders(struct json *json, const struct report *report)
{
    if (report->order_count == 0)
        return;
    json_open(json, "orders", '[');
    for (size_t i = 0; i < report->order_count; i++) {
        const struct report_order *order = &report->orders[i];
        json_open(json, NULL, '{');
        json_key_text(json, "thread", report->threads[order->raw.thread].name);
        json_key_text(json, "held", report->locks[order->raw.held].name);
        json_key_text(json, "held_mode", mode_word(order->raw.held_mode));
        json_key_text(json, "taken", report->locks[order->raw.taken].name);
        json_key_text(json, "taken_mode", mode_word(order->raw.taken_mode));
        json_key_u64(json, "seen", order->raw.seen);
        write_stack(json, "held_site", &order->held);
        write_stack(json, "taken_site", &order->taken);
        json_shut(json);
    }
    json_shut(json);
}

void report_json(const struct report *report, unsigned ordinal, struct output *out)
{
    static const char *const actions[] = {
        [INCIDENT_GO_ON] = "go-on", [INCIDENT_ABORT] = "abort", [INCIDENT_BREAK] = "break"};
    char title[300];
    struct json json;
    report_title(report, title, sizeof title);
    json_begin(&json, out);
    json_key_text(&json, "report", report_kind(report));
    if (ordinal)
        json_key_u64(&json, "number", ordinal);
    if (report_word(report))
        json_key_text(&json, "word", report_word(report));
    json_key_text(&json, "title", title);
    json_key_text(&json, "program", report->program);
    json_key_u64(&json, "pid", report->head.pid);
    json_key_u64(&json, "incident", report->head.number);
    json_key_u64(&json, "time_ms", report->head.time_ns / 1000000);
    json_key_number(&json, "found_after_ms", (double)report->head.found_ns / 1e6);
    write_address(&json, "signature", report->head.signature);
    if (report->head.action >= INCIDENT_GO_ON && report->head.action <= INCIDENT_BREAK)
        json_key_text(&json, "action", actions[report->head.action]);
    if (*report->engine)
        json_key_text(&json, "engine", report->engine);
    if (*report->note)
        json_key_text(&json, "note", report->note);
    if (report->head.first != INCIDENT_NONE)
        json_key_text(&json, "first", report->threads[report->head.first].name);
    json_key_u64(&json, "locks_watched", report->head.locks_watched);
    json_key_u64(&json, "threads_watched", report->head.threads_watched);
    write_witness(&json, report);
    write_threads(&json, report);
    write_locks(&json, report);
    write_edges(&json, report);
    write_orders(&json, report);
    json_end(&json);
}

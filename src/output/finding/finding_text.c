/* Prints a finding as text: the title with the verdict, the wait-for graph, each party with what it
 * waits for and holds and where, the locks, and the advice. */
#include "output/finding/finding_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PARTIES_MOST 12 /* longer lists show only the first and last few */
#define PARTIES_HEAD 5
#define PARTIES_TAIL 3
#define BEHIND_MOST  20
#define HOLDERS_MOST 3
#define RANGES_MOST  12
#define QUERY_WIDTH  160

static void write_name(const struct page *page, enum color color, const char *text)
{
    style_name(&page->look->style, page->out, color, text);
}

static void write_party(const struct page *page, uint32_t party)
{
    write_name(page, COLOR_PROCESS, page->finding->parties[party].name);
}

static void write_resource(const struct page *page, uint32_t resource)
{
    write_name(page, COLOR_RESOURCE, page->finding->resources[resource].name);
}

/* Returns the edge by which the party waits, or NULL. */
static const struct finding_edge *wait_of(const struct finding *finding, uint32_t party)
{
    for (size_t i = 0; i < finding->edge_count; i++)
        if (finding->edges[i].waiter == party)
            return &finding->edges[i];
    return NULL;
}

/* ------------------------------------------------------------------ title */

static void write_title(const struct page *page)
{
    static const char *const kinds[] = {
        [FINDING_DEADLOCK] = "deadlock",
        [FINDING_OWNER_GONE] = "deadlock",
        [FINDING_NEVER_SIGNALLED] = "deadlock",
        [FINDING_LOCK_ORDER_INVERSION] = "potential deadlock",
        [FINDING_STALL] = "stall",
        [FINDING_STATUS] = "status",
        [FINDING_ABSENT_RANK] = "absent rank",
        [FINDING_SILENT_RANK] = "silent rank",
        [FINDING_STUCK_DEVICE] = "stuck device",
        [FINDING_MISMATCH] = "mismatch",
        [FINDING_STALLED_OPERATION] = "stalled operation",
    };
    static const char *const verdicts[] = {
        [FINDING_PROVED] = ", proved",
        [FINDING_LIKELY] = ", likely",
        [FINDING_UNKNOWN] = ", unknown",
    };
    const struct finding *finding = page->finding;
    struct output *out = page->out;
    bool claims = finding->kind != FINDING_STATUS;
    style_color(&page->look->style, out, claims ? COLOR_BAD : COLOR_STRONG);
    output_format(out, "%s%s", finding->program ? "gordian: " : "", kinds[finding->kind]);
    if (finding->number)
        output_format(out, " %llu", (unsigned long long)finding->number);
    output_format(out, "%s: ", claims && finding->outside ? verdicts[finding->verdict] : "");
    style_color(&page->look->style, out, COLOR_PLAIN);
    write_name(page, COLOR_STRONG, finding->title);
    output_char(out, '\n');
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void write_program(const struct page *page)
{
    const struct finding *finding = page->finding;
    const struct style *style = &page->look->style;
    struct output *out = page->out;
    unsigned long long locks = finding->locks_watched, threads = finding->threads_watched;
    style_color(style, out, COLOR_FAINT);
    output_text(out, "  program ");
    write_name(page, COLOR_PLAIN, path_tail(finding->program));
    style_color(style, out, COLOR_FAINT);
    output_format(out, ", process %u", finding->pid);
    if (finding->more_processes)
        output_format(out, " and %zu more", finding->more_processes);
    if (finding->outside)
        output_format(out, "; %llu thread%s examined\n", threads, plural(threads));
    else
        output_format(out, "; %s%llu lock%s and %llu thread%s watched so far\n",
                      locks > 1000 ? "about " : "", locks, plural(locks), threads, plural(threads));
    style_color(style, out, COLOR_PLAIN);
}

static void write_head(const struct page *page)
{
    const struct finding *finding = page->finding;
    const char *const notes[] = {finding->evidence, finding->unseen};
    write_title(page);
    if (finding->program)
        write_program(page);
    output_char(page->out, '\n');
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i] && *notes[i]) {
            output_text(page->out, "  ");
            write_name(page, COLOR_PLAIN, notes[i]);
            output_text(page->out, "\n\n");
        }
    bool possible = finding->kind == FINDING_LOCK_ORDER_INVERSION;
    if (possible && !finding->cycle)
        return;
    output_text(page->out, possible ? "  This can happen:\n\n" : "");
    if (finding_draw(finding, &page->look->style, page->look->verbose, page->out))
        output_char(page->out, '\n');
}

/* ------------------------------------------------------------------ threads */

/* Prints " (recursive mutex)" or " (rwlock, for reading)". */
static void write_nature(const struct page *page, uint32_t resource, const char *mode)
{
    const struct finding_resource *lock = &page->finding->resources[resource];
    if (!lock->lock || lock->lock->thread_end)
        return;
    output_format(page->out, " (%s", lock->kind);
    if (lock->lock->rwlock)
        output_format(page->out, ", for %s", strcmp(mode, "read") == 0 ? "reading" : "writing");
    output_char(page->out, ')');
}

static void write_wait(const struct page *page, const struct finding_thread *thread,
                       const struct finding_edge *wait)
{
    struct output *out = page->out;
    output_text(out, "    waits for ");
    write_resource(page, wait->resource);
    write_nature(page, wait->resource, wait->mode);
    if (thread->waited_s >= 1)
        output_format(out, ", for %.1f s now", thread->waited_s);
    if (wait->timed)
        output_text(out, ", with a timeout");
    if (thread->stack->call)
        output_format(out, ", in %s", thread->stack->call);
    if (wait->released < page->finding->resource_count) {
        output_text(out, ", after releasing ");
        write_resource(page, wait->released);
    }
    output_char(out, '\n');
    page_stack(page, thread->stack);
}

/* Prints a lock that a thread holds, or an action that others wait for: a signal, an arrival. */
static void write_hold(const struct page *page, const struct finding_edge *hold)
{
    struct output *out = page->out;
    const char *how = hold->held_how ? hold->held_how : "";
    bool recorded = !hold->owes && hold->held_site && hold->held_site->count;
    if (hold->owes && !*hold->owes)
        return;
    output_format(out, "    %s ", hold->owes ? hold->owes : "holds");
    write_resource(page, hold->resource);
    if (!hold->owes || hold->unnamed)
        write_nature(page, hold->resource, hold->held_mode);
    if (hold->unnamed)
        output_text(out, ", which does not record its owner");
    if (!hold->owes && hold->held_units > 1)
        output_format(out, ", %llu %s", (unsigned long long)hold->held_units,
                      strcmp(hold->held_mode, "unit") == 0 ? "units" : "times");
    if (recorded) {
        output_text(out, hold->tried ? ", taken by a try-lock at\n" : ", taken at\n");
        page_stack(page, hold->held_site);
        return;
    }
    if (!hold->owes && !*how)
        output_text(out, "; the location of its acquisition was not recorded");
    output_text(out, *how ? ": " : "");
    write_name(page, COLOR_PLAIN, how);
    output_char(out, '\n');
}

static void write_thread(const struct page *page, uint32_t party)
{
    const struct finding *finding = page->finding;
    const struct finding_thread *thread = finding->parties[party].thread;
    const struct finding_edge *wait = wait_of(finding, party);
    struct output *out = page->out;
    output_text(out, "  ");
    write_party(page, party);
    output_format(out, " (%s %u%s)\n", thread->foreign ? "process" : "thread", thread->tid,
                  thread->ended ? ", ended" : "");
    if (wait) {
        write_wait(page, thread, wait);
    } else if (*thread->doing) {
        output_text(out, "    ");
        write_name(page, COLOR_PLAIN, thread->doing);
        output_char(out, '\n');
        if (thread->stack->count)
            page_stack(page, thread->stack);
    } else if (thread->foreign) {
        output_text(out, "    belongs to another process\n");
    } else if (thread->unwatched) {
        output_text(out, "    has made no watched call\n");
    } else if (!thread->ended) {
        output_text(out, "    runs, or waits for something that is not watched\n");
    }
    for (size_t i = 0; i < finding->edge_count; i++)
        if (finding->edges[i].holder == party)
            write_hold(page, &finding->edges[i]);
    if (thread->created->count && page->look->verbose) {
        output_text(out, "    was started at\n");
        page_stack(page, thread->created);
    }
    output_char(out, '\n');
}

/* Prints a thread that acquired a lock while it held the lock of the previous edge. */
static void write_order(const struct page *page, size_t number)
{
    const struct finding *finding = page->finding;
    const struct finding_edge *taken = &finding->edges[number];
    const struct finding_edge *held = &finding->edges[(number ? number : finding->edge_count) - 1];
    const struct finding_thread *thread = finding->parties[taken->waiter].thread;
    struct output *out = page->out;
    output_text(out, "  ");
    write_party(page, taken->waiter);
    output_format(out, " (thread %u%s) took ", thread->tid, thread->ended ? ", ended" : "");
    write_resource(page, taken->resource);
    output_text(out, strcmp(taken->mode, "read") == 0 ? " for reading" : "");
    output_text(out, " while holding ");
    write_resource(page, held->resource);
    output_text(out, strcmp(held->held_mode, "read") == 0 ? " for reading" : "");
    output_text(out, "\n    held ");
    write_resource(page, held->resource);
    output_text(out, " since\n");
    page_stack(page, held->held_site);
    output_text(out, "    took ");
    write_resource(page, taken->resource);
    output_text(out, " at\n");
    page_stack(page, taken->site);
    output_char(out, '\n');
}

/* ------------------------------------------------------------------ sessions */

static void write_about(const struct page *page, const char *word, const char *text)
{
    if (!*text)
        return;
    output_format(page->out, ", %s", word);
    write_name(page, COLOR_PLAIN, text);
}

/* Prints "shop/4711 (alice, application orders, idle in transaction for 12.3 s)". */
static void write_session_name(const struct page *page, const char *name,
                               const struct finding_session *session)
{
    struct output *out = page->out;
    write_name(page, COLOR_PROCESS, name);
    output_text(out, session->thread ? " (thread " : " (");
    write_name(page, COLOR_PLAIN, *session->user ? session->user : "?");
    if (!session->thread) {
        write_about(page, "application ", session->application);
        write_about(page, "database ", session->database);
        write_about(page, "from ", session->client);
        if (session->client_port)
            output_format(out, ":%u", session->client_port);
        write_about(page, "", session->waiting ? "" : session->state);
        if (!session->waiting && *session->state && session->state_s >= 0)
            output_format(out, " for %.1f s", session->state_s);
        if (session->transaction_s >= 0)
            output_format(out, ", transaction of %.1f s", session->transaction_s);
    }
    output_text(out, ")\n");
}

/* Prints the query on one line, abbreviated unless --verbose was given. */
static void write_query(const struct page *page, const struct finding_session *session)
{
    char text[QUERY_WIDTH + 4];
    size_t length = 0;
    if (!*session->query)
        return;
    for (const char *at = session->query; *at && length < QUERY_WIDTH; at++) {
        bool blank = strchr(" \t\r\n", *at);
        if (!blank)
            text[length++] = *at;
        else if (length && text[length - 1] != ' ')
            text[length++] = ' ';
    }
    text[length] = '\0';
    output_format(page->out, "    %s: ", session->active ? "query" : "last query");
    write_name(page, COLOR_PLAIN, page->look->verbose ? session->query : text);
    output_text(page->out, !page->look->verbose && length == QUERY_WIDTH ? " ...\n" : "\n");
}

void finding_session_text(const char *name, const struct finding_session *session,
                          const struct finding_look *look, struct output *out)
{
    const struct page page = {NULL, look, out};
    write_session_name(&page, name, session);
    write_query(&page, session);
}

/* Prints the holders of the awaited resource and their modes. */
static void write_holders(const struct page *page, const struct finding_edge *wait)
{
    const struct finding *finding = page->finding;
    size_t shown = 0;
    for (size_t i = 0; i < finding->edge_count && shown < HOLDERS_MOST; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        bool holds = edge->holder != FINDING_NONE && edge->resource == wait->resource &&
                     (edge == wait || edge->waiter == FINDING_NONE);
        if (!holds)
            continue;
        const char *holding = finding->resources[edge->resource].holding;
        output_format(page->out, ", %s%s",
                      shown     ? ""
                      : holding ? holding
                                : "held by",
                      shown ? "" : " ");
        shown++;
        write_party(page, edge->holder);
        if (edge->held_mode && *edge->held_mode) {
            output_text(page->out, edge->relation == FINDING_QUEUED ? " for " : " in mode ");
            write_name(page, COLOR_PLAIN, edge->held_mode);
        }
    }
}

static void write_session(const struct page *page, uint32_t number)
{
    const struct finding_party *party = &page->finding->parties[number];
    const struct finding_edge *wait = wait_of(page->finding, number);
    struct output *out = page->out;
    output_text(out, "  ");
    write_session_name(page, party->name, party->session);
    if (wait) {
        const struct finding_resource *resource = &page->finding->resources[wait->resource];
        output_text(out, "    waits ");
        if (wait->mode && *wait->mode) {
            output_format(out, "%.1f s for ", wait->wait_s > 0 ? wait->wait_s : 0);
            write_name(page, COLOR_PLAIN, wait->mode);
            output_text(out, " on ");
        } else {
            output_text(out, "for ");
        }
        write_name(page, COLOR_RESOURCE, resource->object ? resource->object : resource->name);
        if (resource->row && *resource->row) {
            output_text(out, ", row ");
            write_name(page, COLOR_RESOURCE, resource->row);
        }
        write_holders(page, wait);
        output_char(out, '\n');
    }
    write_query(page, party->session);
    output_char(out, '\n');
}

/* ------------------------------------------------------------------ parties */

/* Lists each party of the proof once, in order of appearance. Without a proof, lists the parties of
 * all edges; for a status, all parties. Sets their `members`. */
static size_t list_parties(const struct finding *finding, uint32_t *list, bool *members)
{
    size_t count = 0;
    bool proof = false, all = finding->kind == FINDING_STATUS;
    for (size_t i = 0; i < finding->edge_count; i++)
        proof = proof || finding->edges[i].witness;
    for (uint32_t i = 0; i < finding->party_count && all; i++) {
        members[i] = true;
        list[count++] = i;
    }
    for (size_t i = 0; i < finding->edge_count; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        const uint32_t ends[] = {edge->waiter, edge->holder};
        for (size_t k = 0; k < 2 && (edge->witness || !proof); k++) {
            if (ends[k] == FINDING_NONE || members[ends[k]])
                continue;
            members[ends[k]] = true;
            list[count++] = ends[k];
        }
    }
    return count;
}

/* Prints the listed parties. Of a long list it prints the first and last few and moves them
 * together. Returns how many were printed. */
static size_t write_parties(const struct page *page, uint32_t *list, size_t count)
{
    size_t left = 0;
    if (!page->look->verbose && !page->look->everybody && count > PARTIES_MOST) {
        left = count - PARTIES_HEAD - PARTIES_TAIL;
        memmove(list + PARTIES_HEAD, list + count - PARTIES_TAIL, PARTIES_TAIL * sizeof *list);
        count -= left;
    }
    for (size_t i = 0; i < count; i++) {
        const struct finding_party *party = &page->finding->parties[list[i]];
        if (left && i == PARTIES_HEAD && (party->thread || party->session))
            output_format(page->out, "  ... %zu more %ss (--verbose shows all) ...\n\n", left,
                          party->kind);
        if (party->thread)
            write_thread(page, list[i]);
        else if (party->session && party->role != FINDING_OTHER)
            write_session(page, list[i]);
    }
    return count;
}

/* Prints a line for each thread blocked behind the members, and the number of members outside the
 * cycle. */
static void write_behind(const struct page *page, const bool *members)
{
    const struct finding *finding = page->finding;
    size_t shown = 0, left = 0, more = 0;
    for (uint32_t i = 0; i < finding->party_count; i++) {
        const struct finding_party *party = &finding->parties[i];
        const struct finding_edge *wait = members[i] ? NULL : wait_of(finding, i);
        more += !members[i] && party->role == FINDING_MEMBER;
        if (!wait || !party->thread || party->role != FINDING_BEHIND)
            continue;
        if (shown == BEHIND_MOST && !page->look->verbose) {
            left++;
            continue;
        }
        output_text(page->out, shown++ ? "    " : "  Waiting behind it\n    ");
        write_party(page, i);
        output_text(page->out, " waits for ");
        write_resource(page, wait->resource);
        output_text(page->out, " in ");
        page_place(page, party->thread->stack);
        output_char(page->out, '\n');
    }
    if (left)
        output_format(page->out, "    and %zu more (--verbose shows all)\n", left);
    if (more)
        output_format(page->out, "  and %zu more in the same knot\n", more);
    if (shown || more)
        output_char(page->out, '\n');
}

/* ------------------------------------------------------------------ locks */

static void write_lock(const struct page *page, uint32_t number)
{
    const struct finding_resource *resource = &page->finding->resources[number];
    const struct finding_lock *lock = resource->lock;
    struct output *out = page->out;
    output_text(out, "    ");
    write_resource(page, number);
    output_format(out, ": %s", resource->kind);
    if (lock->address) /* locks in the kernel have no address */
        output_format(out, " at 0x%llx", (unsigned long long)lock->address);
    if (*lock->place)
        output_format(out, ", %s", lock->place);
    if (lock->has_value)
        output_format(out, ", value %u%s", lock->value,
                      lock->signals ? ", also posted by others" : "");
    if (lock->has_missing)
        output_format(out, ", %u of %u missing", lock->missing, lock->value);
    if (lock->initialised->count) {
        output_text(out, ", initialised in ");
        page_place(page, lock->initialised);
    }
    output_char(out, '\n');
}

/* Prints every lock that one of the parties holds or waits for. */
static void write_locks(const struct page *page, const uint32_t *parties, size_t count)
{
    const struct finding *finding = page->finding;
    bool any = false;
    bool *wanted = calloc(finding->resource_count + 1, sizeof *wanted);
    for (size_t i = 0; i < finding->edge_count && wanted; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        for (size_t k = 0; k < count && !wanted[edge->resource]; k++)
            wanted[edge->resource] = edge->waiter == parties[k] || edge->holder == parties[k];
    }
    for (uint32_t i = 0; i < finding->resource_count && wanted; i++) {
        const struct finding_lock *lock = finding->resources[i].lock;
        if (!wanted[i] || !lock || lock->thread_end)
            continue;
        output_text(page->out, any ? "" : "  Locks\n");
        write_lock(page, i);
        any = true;
    }
    if (any)
        output_char(page->out, '\n');
    free(wanted);
}

/* ------------------------------------------------------------------ advice */

static void write_advice(const struct page *page)
{
    const struct finding *finding = page->finding;
    const struct finding_advice *advice = &finding->advice;
    struct output *out = page->out;
    if (advice->lines) {
        output_format(out, "  What to do\n%s\n", advice->lines);
    } else if (advice->text && advice->victim != FINDING_NONE) {
        output_text(out, "  What to do\n    victim: ");
        write_party(page, advice->victim);
        output_format(out, ": %s\n    on ", advice->text);
        write_name(page, COLOR_PLAIN, finding->parties[advice->victim].session->server);
        output_format(out, ": %s\n    if it still waits, or a lock of its session remains: %s\n\n",
                      advice->cancel, advice->terminate);
    } else if (advice->text) {
        output_format(out, "  What to do\n    victim: %s\n\n", advice->text);
    }
    if (finding->consequence)
        output_format(out, "  %s\n\n", finding->consequence);
}

/* ------------------------------------------------------------------ ranks */

void finding_ranges(struct output *out, const uint32_t *numbers, size_t count, size_t most)
{
    for (size_t i = 0, pieces = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && numbers[end] == numbers[end - 1] + 1)
            end++;
        if (++pieces > most) {
            output_format(out, " and %zu more", count - i);
            return;
        }
        output_format(out, "%s%u", pieces > 1 ? ", " : "", numbers[i]);
        if (end - i > 1)
            output_format(out, "%s%u", end - i > 2 ? "-" : ", ", numbers[end - 1]);
    }
}

/* Prints the ranks with this relation to the operation, "    in flight  8, 10-13, 15". */
static void write_ranks(const struct page *page, const char *word, enum finding_relation relation,
                        uint32_t *ranks)
{
    const struct finding *finding = page->finding;
    size_t count = 0;
    for (size_t i = 0; i < finding->edge_count; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        uint32_t party = edge->waiter != FINDING_NONE ? edge->waiter : edge->holder;
        if (edge->relation == relation)
            ranks[count++] = finding->parties[party].rank;
    }
    if (count == 0)
        return;
    output_format(page->out, "    %-10s ", word);
    finding_ranges(page->out, ranks, count, page->look->verbose ? SIZE_MAX : RANGES_MOST);
    output_char(page->out, '\n');
}

/* Prints which ranks are in an operation, and its details. */
static void write_operation(const struct page *page, const struct finding_operation *operation)
{
    struct output *out = page->out;
    uint32_t *ranks = calloc(page->finding->edge_count + 1, sizeof *ranks);
    time_t seconds = (time_t)(operation->created_ns / 1000000000u);
    struct tm parts;
    char date[32];
    if (ranks) {
        write_ranks(page, "in flight", FINDING_WAITS, ranks);
        write_ranks(page, "not there", FINDING_MISSING, ranks);
        write_ranks(page, "behind", FINDING_OLDER, ranks);
    }
    free(ranks);
    output_format(out, "    %-10s %llu -> %llu elements %s\n", "sizes",
                  (unsigned long long)operation->input, (unsigned long long)operation->output,
                  operation->dtype);
    if (operation->created_ns && gmtime_r(&seconds, &parts) &&
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &parts))
        output_format(out, "    %-10s %s.%03u UTC\n", "queued", date,
                      (unsigned)(operation->created_ns / 1000000u % 1000u));
    if (operation->line) {
        output_format(out, "    %-10s ", "line");
        write_name(page, COLOR_PLAIN, operation->line);
        output_char(out, '\n');
    }
    output_char(out, '\n');
}

/* ------------------------------------------------------------------ the finding */

bool finding_text(const struct finding *finding, const struct finding_look *look,
                  struct output *out)
{
    const struct page page = {finding, look, out};
    bool orders = finding->kind == FINDING_LOCK_ORDER_INVERSION;
    if (finding->failed)
        return false;
    if (finding->kind > FINDING_STATUS) {
        write_title(&page);
        if (finding->resource_count && finding->resources[0].operation)
            write_operation(&page, finding->resources[0].operation);
        return true;
    }
    uint32_t *list = calloc(finding->party_count + 1, sizeof *list);
    bool *members = calloc(finding->party_count + 1, sizeof *members);
    if (list && members) {
        size_t count = list_parties(finding, list, members);
        write_head(&page);
        for (size_t i = 0; i < finding->edge_count && orders && finding->cycle; i++)
            write_order(&page, i);
        if (!orders)
            count = write_parties(&page, list, count);
        if (finding->kind != FINDING_STATUS) {
            write_behind(&page, members);
            write_locks(&page, list, count);
        }
        write_advice(&page);
    }
    free(list);
    free(members);
    return list && members;
}

/* Polls and scans the process tree for hangs. */
#include "cli/run/hang.h"

#include "cli/run/report_print.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "sources/inspect/incident.h"
#include "sources/run/judge/verdict_policy.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000u

#define GLANCE_FIRST   (20 * MS)
#define GLANCE_MOST    (1000 * (uint64_t)MS)
#define GLANCE_SHARE   200 /* polls of the process tree may use one part in 200 of the time */
#define STILL_ENOUGH   (250 * MS)            /* idle time before a scan */
#define STILL_RESTING  (1000 * (uint64_t)MS) /* if all threads pause or wait for events */
#define STILL_FIRST    (100 * MS)            /* between scans of an idle tree */
#define STILL_MOST     (8000 * (uint64_t)MS)
#define MOVING_FIRST   (2000 * (uint64_t)MS) /* between scans of an active tree */
#define MOVING_MOST    (64000 * (uint64_t)MS)
#define LOOK_SHARE     100
#define CONFIRM_PROVED (200 * MS)
#define CONFIRM_LIKELY (3000 * (uint64_t)MS) /* the preloaded library reports first */
#define CONFIRM_RANKS  (1000 * (uint64_t)MS) /* messages in transit arrive in this time */
#define RANKS_PAUSE    (250 * MS)
#define RAN_ENOUGH     (20 * MS)
#define STOP_MS        50
#define ASK_MS         1000
#define LAST_STOP_MS   5000

void hang_open(struct hang *hang, struct cli *cli, const struct run_settings *settings,
               const char *folder, pid_t root)
{
    uint64_t now = clock_ns();
    *hang = (struct hang){
        .cli = cli,
        .settings = settings,
        .folder = folder,
        .root = root,
        .next = now + GLANCE_FIRST,
        .pause = GLANCE_FIRST,
        .next_still = now,
        .still_pause = STILL_FIRST,
        .next_moving = now + MOVING_FIRST,
        .moving_pause = MOVING_FIRST,
    };
    findings_open(&hang->findings);
    output_open(&hang->picture, -1);
}

static void forget_snapshot(struct hang *hang)
{
    if (hang->snapshot_is_open)
        snapshot_close(&hang->snapshot);
    hang->snapshot_is_open = false;
}

void hang_close(struct hang *hang)
{
    forget_snapshot(hang);
    for (size_t i = 0; i < hang->suspect_count; i++)
        memory_free(&hang->findings.memory, hang->suspects[i].ran);
    memory_free_all(&hang->findings.memory, hang->suspects, hang->reported);
    findings_close(&hang->findings);
    output_close(&hang->picture);
}

/* ------------------------------------------------------------------ scans */

static bool same_processes(const struct hang *hang, const struct tree *tree)
{
    if (!hang->snapshot_is_open || hang->snapshot.target_count != tree->count)
        return false;
    for (size_t i = 0; i < tree->count; i++)
        if (hang->snapshot.targets[i]->seen_pid != tree->pids[i])
            return false;
    return true;
}

/* Opens all processes of the tree. If a process may not be inspected, nothing is known, because
 * that process could act. The exception is a process that has just ended. */
static gordian_status open_targets(struct hang *hang, const struct tree *tree, gordian_error *error)
{
    const gordian_allocator *memory = &hang->findings.memory;
    struct target **targets = memory_zeroed(memory, (tree->count + 1) * sizeof(struct target *));
    gordian_status status = targets ? GORDIAN_OK : fail_memory(error);
    size_t count = 0;
    for (size_t i = 0; i < tree->count && status == GORDIAN_OK; i++) {
        status = target_open_live(&targets[count], tree->pids[i], error);
        if (status == GORDIAN_OK)
            targets[count++]->passing = true;
    }
    THEN(status, snapshot_open(&hang->snapshot, targets, count, error));
    hang->snapshot_is_open = status == GORDIAN_OK;
    for (size_t i = 0; i < count && status != GORDIAN_OK; i++)
        target_close(targets[i]);
    memory_free(memory, targets);
    return status;
}

/* Does a thread sleep without a limit in a wait that another thread could end? Pauses and waits for
 * terminal events do not count. */
static bool is_worth_scanning(const struct process_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->target_count; i++)
        for (size_t k = 0; k < snapshot->targets[i]->thread_count; k++) {
            struct sleep_call call;
            bool sleeps =
                sleep_call(snapshot->targets[i], &snapshot->targets[i]->threads[k], &call);
            if (!sleeps || (!call.timed && call.kind != CALL_POLL && call.kind != CALL_SIGNAL))
                return true;
        }
    return false;
}

/* Opens all processes, unless they are the same as before. */
static gordian_status open_tree(struct hang *hang, gordian_error *error)
{
    struct tree tree;
    gordian_status status = tree_list(&tree, hang->root) ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK && !same_processes(hang, &tree)) {
        forget_snapshot(hang);
        status = open_targets(hang, &tree, error);
    }
    tree_free(&tree);
    return status;
}

/* Scans all processes together. `still`: no thread moves, so stopping one disturbs nothing. */
static gordian_status inspect_tree(struct hang *hang, bool still, gordian_error *error)
{
    gordian_status status = open_tree(hang, error);
    if (status == GORDIAN_OK) {
        hang->snapshot.stop_ms = still ? STOP_MS : 0;
        hang->snapshot.ask_ms = ASK_MS; /* a process that is asked about is assumed to be stuck */
        hang->snapshot.for_run = true;
        status = inspect_find_deadlocks(&hang->snapshot, &hang->findings, error);
    }
    if (status != GORDIAN_OK)
        findings_clear(&hang->findings);
    return status;
}

/* Do all threads pause or wait for events? A short rest is not worth a scan. */
static bool is_resting(struct hang *hang)
{
    gordian_error ignored;
    if (open_tree(hang, &ignored) != GORDIAN_OK)
        return false;
    /* lists the system call of each thread, which needs no symbols */
    for (size_t i = 0; i < hang->snapshot.target_count; i++)
        if (target_list(hang->snapshot.targets[i], &ignored) != GORDIAN_OK)
            return false;
    return !is_worth_scanning(&hang->snapshot);
}

/* ------------------------------------------------------------------ suspects */

/* Returns a fingerprint of the members, their waits and their context switches. If it is equal in
 * two scans, no member has moved. */
static uint64_t fingerprint_of(const struct process_snapshot *snapshot,
                               const struct inspect_finding *finding)
{
    uint64_t mark = finding->word;
    for (size_t i = 0; i < finding->member_count; i++) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, finding->members[i]);
        const struct snapshot_lock *lock =
            snapshot_lock(snapshot, snapshot_edge(snapshot, thread->wait)->lock);
        /* a thread that waits for the GIL or spins is always switched */
        bool restless = lock->kind == INCIDENT_GIL || thread->spins;
        uint64_t moved = restless ? 0 : thread->is.switches;
        mark += hash_word(hash_word(thread->is.seen_tid) + hash_word(moved) * 3 +
                          hash_word(lock->space + lock->place) * 5 + lock->kind);
    }
    return mark;
}

static uint32_t waits_for_what(const struct process_snapshot *snapshot, uint32_t member)
{
    return snapshot_awaited_lock(snapshot, member)->kind;
}

/* Is a rank of an MPI program a member? */
static bool has_ranks(const struct process_snapshot *snapshot,
                      const struct inspect_finding *finding)
{
    for (size_t i = 0; i < finding->member_count; i++) {
        uint32_t kind = waits_for_what(snapshot, finding->members[i]);
        if (kind == INCIDENT_MESSAGE || kind == INCIDENT_COLLECTIVE)
            return true;
    }
    return false;
}

/* Returns the total processor time of a thread in ns. */
static uint64_t ran_ns(uint32_t tid)
{
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/%u/schedstat", tid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &ns) != 1)
        ns = 0;
    if (file)
        fclose(file);
    return ns;
}

/* Is a member waiting in a send? Its rank may not have run since and not have seen that the send
 * can be buffered, so the ranks must have run before a report. */
static bool waits_in_send(const struct process_snapshot *snapshot,
                          const struct inspect_finding *finding)
{
    for (size_t i = 0; i < finding->member_count; i++)
        if (waits_for_what(snapshot, finding->members[i]) == INCIDENT_MESSAGE &&
            snapshot_wait_of(snapshot, finding->members[i])->mode == INCIDENT_EXCLUSIVE)
            return true;
    return false;
}

static uint64_t *list_runs(const struct hang *hang, const struct inspect_finding *finding)
{
    uint64_t *ran = memory_alloc(&hang->findings.memory, 2 * finding->member_count * sizeof *ran);
    for (size_t i = 0; ran && i < finding->member_count; i++) {
        uint32_t tid = snapshot_thread(&hang->snapshot, finding->members[i])->is.seen_tid;
        ran[2 * i] = tid;
        ran[2 * i + 1] = ran_ns(tid);
    }
    return ran;
}

/* Have all members that poll for messages run since? */
static bool have_run(const struct hang *hang, const struct inspect_finding *finding,
                     const struct suspect *suspect)
{
    for (size_t i = 0; suspect->ran && i < finding->member_count; i++) {
        uint32_t tid = snapshot_thread(&hang->snapshot, finding->members[i])->is.seen_tid;
        uint64_t before = 0; /* value when the suspect was recorded */
        for (size_t k = finding->member_count; k-- > 0;)
            if (suspect->ran[2 * k] == tid)
                before = suspect->ran[2 * k + 1];
        if (waits_for_what(&hang->snapshot, finding->members[i]) == INCIDENT_MESSAGE &&
            ran_ns(tid) < before + RAN_ENOUGH)
            return false;
    }
    return true;
}

/* Was the finding first seen long enough ago? Records it if it is new. */
static bool is_second_time(struct hang *hang, const struct inspect_finding *finding, uint64_t now)
{
    uint64_t mark = fingerprint_of(&hang->snapshot, finding);
    uint64_t patience = finding->word != WORD_PROVED          ? CONFIRM_LIKELY
                        : has_ranks(&hang->snapshot, finding) ? CONFIRM_RANKS
                                                              : CONFIRM_PROVED;
    for (size_t i = 0; i < hang->suspect_count; i++)
        if (hang->suspects[i].mark == mark)
            return now - hang->suspects[i].since >= patience &&
                   have_run(hang, finding, &hang->suspects[i]);
    if (memory_grow(&hang->findings.memory, &hang->suspects, &hang->suspect_room,
                    hang->suspect_count + 1, sizeof *hang->suspects))
        hang->suspects[hang->suspect_count++] = (struct suspect){
            mark, now, waits_in_send(&hang->snapshot, finding) ? list_runs(hang, finding) : NULL};
    return false;
}

/* Drops suspects that the latest scan did not find again. */
static void drop_suspects(struct hang *hang)
{
    size_t kept = 0;
    for (size_t i = 0; i < hang->suspect_count; i++) {
        bool found = false;
        for (size_t k = 0; k < hang->findings.count && !found; k++)
            found =
                fingerprint_of(&hang->snapshot, &hang->findings.list[k]) == hang->suspects[i].mark;
        if (found)
            hang->suspects[kept++] = hang->suspects[i];
        else
            memory_free(&hang->findings.memory, hang->suspects[i].ran);
    }
    hang->suspect_count = kept;
}

/* Was it reported already, by this process or by the preloaded library? */
static bool is_reported(const struct hang *hang, const struct inspect_finding *finding)
{
    for (size_t i = 0; i < finding->member_count; i++) {
        uint32_t tid = snapshot_thread(&hang->snapshot, finding->members[i])->is.seen_tid;
        for (size_t k = 0; k < hang->reported_count; k++)
            if (hang->reported[k] == tid)
                return true;
        if (session_is_stuck(hang->folder, tid, false) ||
            (finding->word == WORD_LIKELY && session_is_stuck(hang->folder, tid, true)))
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ reports */

/* Ends the processes of the members. */
static void end_members(struct hang *hang, const struct inspect_finding *finding)
{
    const struct process_snapshot *snapshot = &hang->snapshot;
    struct tree members = {0};
    const gordian_allocator *memory = &hang->findings.memory;
    for (size_t i = 0; i < finding->member_count; i++) {
        uint32_t pid =
            snapshot->targets[snapshot_thread(snapshot, finding->members[i])->process]->seen_pid;
        bool there = false;
        for (size_t k = 0; k < members.count && !there; k++)
            there = members.pids[k] == pid;
        if (!there &&
            memory_grow(memory, &members.pids, &members.room, members.count + 1, sizeof pid))
            members.pids[members.count++] = pid;
    }
    tree_end(members.pids, members.count);
    tree_free(&members);
}

static void report_hang(struct hang *hang, const struct inspect_finding *finding)
{
    struct report report;
    struct session session;
    gordian_error error = {0};
    const struct run_settings *settings = hang->settings;
    bool ends = settings->on_deadlock == 1 &&
                ((finding->word == WORD_PROVED && finding->ends) || settings->on_likely == 1);
    for (size_t i = 0; i < finding->member_count; i++)
        if (memory_grow(&hang->findings.memory, &hang->reported, &hang->reported_capacity,
                        hang->reported_count + 1, sizeof *hang->reported))
            hang->reported[hang->reported_count++] =
                snapshot_thread(&hang->snapshot, finding->members[i])->is.seen_tid;
    /* A process that will be ended, or that only polls, may be stopped for long: it is reported
     * only once. */
    if (ends || has_ranks(&hang->snapshot, finding)) {
        for (size_t i = 0; i < finding->member_count; i++)
            hang->snapshot.targets[snapshot_thread(&hang->snapshot, finding->members[i])->process]
                ->doomed = true;
        hang->snapshot.stop_ms = LAST_STOP_MS;
    }
    if (inspect_open_report(&report, &hang->snapshot, &hang->findings, finding, &error) !=
        GORDIAN_OK) {
        cli_fail(hang->cli, NULL, &error);
        return;
    }
    report.head.action = ends ? INCIDENT_ABORT : INCIDENT_GO_ON;
    /* The finding is proved, but a handler or timer could still act:
     * sources/run/judge/verdict_policy.h. */
    if (hang->settings->on_deadlock == 1 && finding->word == WORD_PROVED && !ends)
        report.note = report_format(&report, "%s Proved, but %s.", report.note, policy_spares);
    session_open(&session, hang->folder);
    bool printed = !is_suppressed_report(hang->cli, &report, &session);
    if (printed)
        deliver_report(hang->cli, &report, &session, NULL, INCIDENT_REPORTED);
    session_close(&session);
    report_close(&report);
    if (!printed)
        return;
    hang->proved += finding->word == WORD_PROVED || ends;
    hang->likely += finding->word == WORD_LIKELY && !ends;
    if (ends)
        end_members(hang, finding);
}

/* Keeps a report of all threads, in case they never move again. */
static void keep_report(struct hang *hang)
{
    struct report report;
    gordian_error error = {0};
    char folder[PATH_MAX];
    hang->picture.used = 0;
    hang->pictured = 0;
    if (inspect_open_report(&report, &hang->snapshot, &hang->findings, NULL, &error) != GORDIAN_OK)
        return;
    struct finding_look look = report_look_of(hang->cli, STDERR_FILENO, folder, sizeof folder);
    look.everybody = true;
    report_text(&report, &look, 0, &hang->picture);
    report_close(&report);
    hang->pictured = clock_ns();
}

/* ------------------------------------------------------------------ schedule */

/* Reports that scans are not permitted, or failed this time. */
static void report_blind(struct hang *hang, const gordian_error *error)
{
    struct tree_activity now;
    tree_sample(hang->root, &now);
    if (now.threads == 0 || tree_moved(&hang->last, &now))
        return; /* a process has just ended, which explains the failure */
    hang->blind = true;
    if (hang->cli->verbose)
        cli_say(hang->cli, "hangs are not detected from outside: %s", error->message);
}

/* Plans the next scan: later each time, and never so soon that scans use much of the time. */
static void plan_scan(struct hang *hang, bool still, bool pending, uint64_t cost)
{
    uint64_t now = clock_ns(), most = still ? STILL_MOST : MOVING_MOST;
    uint64_t rest = cost * LOOK_SHARE < most ? cost * LOOK_SHARE : most;
    uint64_t *pause = still ? &hang->still_pause : &hang->moving_pause;
    *pause = 2 * *pause < most ? 2 * *pause : most;
    uint64_t next = now + (pending ? CONFIRM_PROVED : *pause > rest ? *pause : rest);
    if (still)
        hang->next_still = next;
    else
        hang->next_moving = next;
}

/* Reports what is confirmed. True: something still waits for confirmation. */
static bool report_confirmed(struct hang *hang, uint64_t now)
{
    bool pending = false;
    drop_suspects(hang);
    for (size_t i = 0; i < hang->findings.count; i++) {
        const struct inspect_finding *finding = &hang->findings.list[i];
        if (is_reported(hang, finding))
            continue;
        if (is_second_time(hang, finding, now))
            report_hang(hang, finding);
        else
            pending = true;
    }
    return pending;
}

static void scan_tree(struct hang *hang, bool still)
{
    gordian_error error = {0};
    uint64_t start = clock_ns();
    if (still && start - hang->still_since < STILL_RESTING && is_resting(hang)) {
        hang->next_still = hang->still_since + STILL_RESTING;
        return;
    }
    gordian_status status = inspect_tree(hang, still, &error);
    uint64_t now = clock_ns();
    if (status != GORDIAN_OK)
        report_blind(hang, &error);
    bool pending = report_confirmed(hang, now);
    if (status == GORDIAN_OK && !pending)
        keep_report(hang);
    /* A busy machine or a debugger may have hidden something: scan again. */
    bool clear = status != GORDIAN_OK || !hang->snapshot.missed;
    for (size_t i = 0; status == GORDIAN_OK && i < snapshot_thread_count(&hang->snapshot); i++)
        clear = clear && snapshot_thread(&hang->snapshot, i)->is.steady;
    hang->scanned_still = still && !pending && clear;
    plan_scan(hang, still, pending, now - start);
    if (still)
        tree_sample(hang->root,
                    &hang->last); /* the scan itself moved the threads that it stopped */
}

/* --on-hang: nothing moved for this long. */
static void end_hang(struct hang *hang)
{
    struct tree tree;
    gordian_error error = {0};
    if (inspect_tree(hang, true, &error) == GORDIAN_OK) {
        for (size_t i = 0; i < hang->snapshot.target_count; i++)
            hang->snapshot.targets[i]->doomed = true;
        keep_report(hang);
    }
    hang->hung = true;
    if (tree_list(&tree, hang->root))
        tree_end(tree.pids, tree.count);
    tree_free(&tree);
}

static void note_poll(struct hang *hang, const struct tree_activity *now, uint64_t when)
{
    /* A thread that computes may not be switched for seconds. The same is true of a thread that
     * gets no processor time. */
    if (tree_moved(&hang->last, now) || now->stopped || now->running)
        hang->idle_since = 0;
    else if (!hang->idle_since)
        hang->idle_since = when;
    if (tree_moved(&hang->last, now) || now->stopped) {
        hang->still_since = 0;
        hang->scanned_still = false;
        hang->pause = 2 * hang->pause < GLANCE_MOST ? 2 * hang->pause : GLANCE_MOST;
    } else if (!hang->still_since) {
        hang->still_since = when;
        hang->pause = STILL_ENOUGH / 2;
    } else if (hang->scanned_still) {
        hang->pause = 2 * hang->pause < GLANCE_MOST ? 2 * hang->pause : GLANCE_MOST;
    }
    hang->last = *now;
}

uint64_t hang_time_to_poll(const struct hang *hang)
{
    uint64_t now = clock_ns();
    return hang->next > now ? hang->next - now : 0;
}

void hang_poll(struct hang *hang)
{
    uint64_t start = clock_ns(), limit = hang->settings->on_hang_ns;
    struct tree_activity now;
    if (start < hang->next || hang->hung)
        return;
    tree_sample(hang->root, &now);
    uint64_t cost = clock_ns() - start;
    note_poll(hang, &now, start);
    /* MPI ranks that poll without progress count as an idle tree */
    if (ranks_poll(&hang->ranks, hang->folder)) {
        hang->next_moving = start + RANKS_PAUSE;
        hang->moving_pause = RANKS_PAUSE;
    }
    bool still = hang->still_since && start - hang->still_since >= STILL_ENOUGH;
    bool moving = !hang->still_since && !now.stopped && now.threads;
    if (still && !hang->scanned_still && !hang->blind && start >= hang->next_still)
        scan_tree(hang, true);
    else if (moving && !hang->blind && start >= hang->next_moving)
        scan_tree(hang, false);
    if (limit && hang->idle_since && start - hang->idle_since >= limit)
        end_hang(hang);
    uint64_t least = cost * GLANCE_SHARE, pause = hang->pause > least ? hang->pause : least;
    if (limit && pause > limit / 4)
        pause = limit / 4;
    hang->next = clock_ns() + pause;
}

#define _GNU_SOURCE
#include "sources/inspect/judge/facts.h"

#include "foundation/base/clock.h"
#include "foundation/base/hash.h"
#include "sources/inspect/target/mapped_file.h"
#include "sources/inspect/target/open_files.h"
#include "sources/inspect/target/proc.h"
#include "sources/inspect/target/remote_calls.h"
#include "sources/run/judge/timers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUN_LIBRARY "libgordian-run.so"
#define TRIES_MOST  3 /* threads of a process that are stopped in turn */

/* ------------------------------------------------------------------ handlers */

/* Returns the signal of `gordian run --status`: its handler belongs to the library and ends no
 * wait. 0: none. */
static int status_signal(const struct target *target)
{
    for (size_t i = 0; i < target->mapping_count; i++) {
        const char *mark = strstr(target->mappings[i].path, INCIDENT_STATUS_MAP);
        int number = mark ? atoi(mark + strlen(INCIDENT_STATUS_MAP)) : 0;
        if (number > 0 && number <= 64)
            return number;
    }
    return 0;
}

/* Returns the signals whose handlers do not count. */
static uint64_t signals_aside(const struct target *target)
{
    uint64_t aside = policy_aside();
    int status = status_signal(target);
    if (status)
        aside |= UINT64_C(1) << (status - 1);
    if (target->runtime == TARGET_GO)
        aside |= policy_go();
    for (size_t i = 0; i < target->mapping_count; i++)
        aside |= policy_runtime(path_tail(target->mappings[i].path));
    return aside;
}

uint64_t facts_handlers(const struct target *target)
{
    uint64_t handlers = target->handlers & ~signals_aside(target), open = 0;
    if (!target->handlers_known)
        return 0;
    for (size_t i = 0; i < target->thread_count; i++)
        open |= handlers & ~target->threads[i].blocked;
    return open;
}

/* ------------------------------------------------------------------ results of remote calls */

/* A thread that waits for the GIL, or spins, runs all the time. */
static bool is_restless(const struct process_snapshot *snapshot,
                        const struct snapshot_thread *thread)
{
    return thread->spins ||
           (thread->wait != SNAPSHOT_NONE &&
            snapshot_lock(snapshot, snapshot_edge(snapshot, thread->wait)->lock)->kind ==
                INCIDENT_GIL);
}

/* Returns a checksum of where all threads of the process are, except the stopped one, which the
 * stop has moved. */
static uint64_t place_threads(const struct process_snapshot *snapshot, uint32_t process,
                              uint32_t asked)
{
    uint64_t sum = 0;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
        const struct target_thread *is = &snapshot_thread(snapshot, i)->is;
        bool restless = is_restless(snapshot, snapshot_thread(snapshot, i));
        uint64_t moved = is->seen_tid == asked || restless ? 0 : is->switches;
        uint64_t place = restless ? 0 : is->stack + is->call;
        sum += hash_word(hash_word(is->seen_tid) + hash_word(moved) * 3 + hash_word(place) * 5);
    }
    return sum;
}

/* Returns whether the results are still valid: no thread of the process has moved since. */
static bool is_asked(struct process_snapshot *snapshot, uint32_t process)
{
    struct target_asked *asked = &snapshot_target(snapshot, process)->asked;
    if (!asked->thread || place_threads(snapshot, process, asked->thread) != asked->place)
        return false;
    uint64_t switches = 0;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);)
        if (snapshot_thread(snapshot, i)->is.seen_tid == asked->thread)
            switches = snapshot_thread(snapshot, i)->is.switches;
    if (!asked->switches)
        asked->switches = switches;
    return asked->switches == switches;
}

/* ------------------------------------------------------------------ remote calls */

/* Returns whether remote calls are safe. A seccomp filter might kill the process for an unknown
 * call. Filters that also apply to this process belong to a container. */
static bool may_be_asked(const struct target *target, uint32_t tid)
{
    char there[4096], here[4096];
    if (proc_read_thread(target->seen_pid, tid, "status", there, sizeof there) <= 0 ||
        proc_read_thread((uint32_t)getpid(), (uint32_t)getpid(), "status", here, sizeof here) <= 0)
        return false;
    return proc_number(there, "Seccomp:", 10) == 0 ||
           (proc_number(here, "Seccomp:", 10) == proc_number(there, "Seccomp:", 10) &&
            proc_number(here, "Seccomp_filters:", 10) >=
                proc_number(there, "Seccomp_filters:", 10));
}

/* The calls, in this order: three interval timers, the signal at the parent's end, handlers, timers
 * of timer_create(). */
struct questions {
    struct ask ask;
    size_t handlers, timers; /* index of the first of these calls */
    uint64_t signals;
    bool too_many;
};

static void ask_created(struct questions *questions, uint32_t pid)
{
    char path[64], line[128];
    questions->timers = questions->ask.count;
    snprintf(path, sizeof path, "/proc/%u/timers", pid);
    FILE *file = fopen(path, "re");
    questions->too_many = !file; /* the kernel does not list them */
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "ID:", 3) == 0 &&
            ask_add(&questions->ask, SYS_timer_gettime, strtoull(line + 3, NULL, 10), ASK_HERE, 0,
                    0) == ASK_MOST)
            questions->too_many = true;
    if (file)
        fclose(file);
}

static void prepare_questions(struct questions *questions, const struct target *target)
{
    *questions = (struct questions){0};
    for (uint64_t which = 0; which < 3; which++) /* ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF */
        ask_add(&questions->ask, SYS_getitimer, which, ASK_HERE, 0, 0);
    ask_add(&questions->ask, SYS_prctl, PR_GET_PDEATHSIG, ASK_HERE, 0, 0);
    uint64_t signals = facts_handlers(target);
    questions->handlers = questions->ask.count;
    questions->signals = signals;
    for (int number = 1; number <= 64; number++)
        if (signals >> (number - 1) & 1 && questions->ask.count < ASK_MOST - 8)
            ask_add(&questions->ask, SYS_rt_sigaction, (uint64_t)number, 0, ASK_HERE, 8);
    ask_created(questions, target->seen_pid);
}

/* The remaining time follows the interval in a timer setting. */
static bool is_armed(const struct ask_call *call)
{
    uint64_t left[2];
    memcpy(left, call->answer + 16, sizeof left);
    return call->result == 0 && (left[0] || left[1]);
}

static void take_answers(const struct questions *questions, struct target_asked *asked)
{
    const struct ask_call *calls = questions->ask.calls;
    bool armed = questions->too_many;
    int at_death = 0;
    for (size_t i = 0; i < 3; i++)
        armed = armed || is_armed(&calls[i]);
    for (size_t i = questions->timers; i < questions->ask.count; i++)
        armed = armed || is_armed(&calls[i]);
    memcpy(&at_death, calls[3].answer, sizeof at_death);
    asked->armed = armed;
    asked->at_death = calls[3].result == 0 && at_death;
    asked->restarts = 0;
    for (size_t i = questions->handlers; i < questions->timers; i++) {
        uint64_t flags;
        memcpy(&flags, calls[i].answer + 8, sizeof flags); /* follows the address of the handler */
        if (calls[i].result == 0 && flags & SA_RESTART)
            asked->restarts |= UINT64_C(1) << (calls[i].arguments[0] - 1);
    }
}

static bool ask_process(struct process_snapshot *snapshot, uint32_t process)
{
    struct target *target = snapshot_target(snapshot, process);
    struct questions questions;
    unsigned tries = 0;
    bool done = false;
    for (uint32_t i = SNAPSHOT_NONE;
         !done && tries < TRIES_MOST && snapshot_next_thread(snapshot, process, &i);) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        uint32_t tid = thread->is.seen_tid;
        /* The thread must not notice the stop. */
        bool askable = thread->is.steady && thread->is.state == 'S' && thread->sleeps &&
                       !thread->call.timed && !thread->call.notices;
        if (!askable || !may_be_asked(target, tid))
            continue;
        tries++;
        prepare_questions(&questions, target);
        done = target_ask(target, tid, snapshot->ask_ms, &questions.ask);
        target->asked = (struct target_asked){.thread = done ? tid : 0,
                                              .place = place_threads(snapshot, process, tid)};
        if (done)
            take_answers(&questions, &target->asked);
    }
    return tries;
}

bool facts_ask(struct process_snapshot *snapshot)
{
    bool any = false;
    for (uint32_t i = 0; i < snapshot_target_count(snapshot) && snapshot->ask_ms; i++)
        if (snapshot_target(snapshot, i)->wants_asking && !snapshot_target(snapshot, i)->core)
            any = ask_process(snapshot, i) || any;
    /* Wait until the stopped threads sleep again. */
    uint64_t until = clock_ns() + TARGET_ASLEEP_NS;
    for (uint32_t i = 0; any && i < snapshot->target_count; i++)
        if (snapshot->targets[i]->asked.thread)
            target_await_sleep(snapshot->targets[i], snapshot->targets[i]->asked.thread, until);
    return any;
}

/* ------------------------------------------------------------------ waits */

/* Properties of the waits of a finding, taken together. */
struct waits {
    unsigned kinds;     /* enum policy_waits */
    bool locked, reads; /* as in struct policy_facts */
    bool file_locks;    /* every system call waits for a file lock */
    bool internal;      /* apart from the ends of threads, only internal locks of libc */
    bool ranks;         /* waits for ranks of an MPI program */
    bool idles;         /* has a wait in which scripts may be idle */
    bool insists; /* has a wait in which scripts are never idle, although it is not for a lock */
    bool to_ask;  /* a process has not made remote calls yet */
    bool unknown; /* waits for a futex word of unknown use, which may be a lock */
    bool rests;   /* reads what only its own process could write */
};

static void sort_wait(const struct process_snapshot *snapshot, const struct facts_about *about,
                      size_t i, struct waits *waits)
{
    const struct snapshot_thread *thread = snapshot_thread(snapshot, about->threads[i]);
    const struct target *target = snapshot_target(snapshot, thread->process);
    const struct wait_for_edge *wait = snapshot_edge(snapshot, thread->wait);
    const struct snapshot_lock *lock = snapshot_lock(snapshot, wait->lock);
    uint32_t kind = lock->kind;
    bool stream = kind == INCIDENT_PIPE || kind == INCIDENT_SOCKET;
    bool call = thread->sleeps && thread->call.kind != CALL_FUTEX && kind != INCIDENT_GIL;
    bool posted = kind == INCIDENT_SEMAPHORE || kind == INCIDENT_FUTEX;
    bool end = kind == INCIDENT_THREAD_END || kind == INCIDENT_CHILD;
    bool python = kind == INCIDENT_PYTHON || kind == INCIDENT_CONDITION || end;
    waits->ranks = waits->ranks || (kind == INCIDENT_MESSAGE || kind == INCIDENT_COLLECTIVE);
    waits->unknown = waits->unknown || kind == INCIDENT_FUTEX;
    waits->kinds |= call ? POLICY_CALL : posted ? POLICY_POSTED : POLICY_FIRM;
    if (target->interprets && thread->is.tid == target->pid && python && !call)
        waits->kinds |= POLICY_ACQUIRE;
    waits->file_locks = waits->file_locks && (!call || kind == INCIDENT_FILE_LOCK);
    waits->internal = waits->internal && (end || kind == INCIDENT_INTERNAL);
    waits->reads = waits->reads || (stream && wait->mode == INCIDENT_SIGNAL);
    waits->rests = waits->rests || lock->facts.own_end;
    if (kind == INCIDENT_CONDITION || (kind == INCIDENT_PYTHON && !about->held[i])) {
        if (lock->facts.idles)
            waits->idles = true;
        else
            waits->insists = true;
    } else if (!posted && !end && !(stream && wait->mode == INCIDENT_SIGNAL))
        waits->locked = true;
}

/* ------------------------------------------------------------------ all facts */

/* Returns whether one of its descriptors is an io_uring. The kernel completes submitted requests.
 */
static bool has_ring(const struct target *target)
{
    char path[64], link[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%u/fd", target->through);
    struct dirent **list = NULL;
    int count = scandir(path, &list, NULL, NULL);
    for (int i = 0; i < count; i++) {
        found = found || (proc_descriptor(target->through, strtoull(list[i]->d_name, NULL, 10),
                                          link, sizeof link) &&
                          strcmp(link, "anon_inode:[io_uring]") == 0);
        free(list[i]);
    }
    free(list);
    return found;
}

/* Reads a word that the library of `gordian run` has recorded. False: there is none. */
static bool read_recorded(struct target *target, const char *symbol, uint32_t *word)
{
    uint64_t address, size;
    return image_symbol(target, RUN_LIBRARY, symbol, &address, &size) &&
           target_read_u32(target, address, word);
}

/* Returns what is known about timers without remote calls: the kernel lists those of
 * timer_create(), and the library of `gordian run` has recorded whether an interval timer was ever
 * armed. */
static enum policy_timers unasked_timers(struct target *target)
{
    char text[64];
    uint32_t recorded = TIMERS_UNRECORDED;
    if (proc_read(text, sizeof text, "/proc/%u/timers", target->through) > 0)
        return POLICY_TIMERS_ARMED;
    return read_recorded(target, "gordian_run_timers", &recorded) && recorded == TIMERS_RECORDED
               ? POLICY_TIMERS_NONE
               : POLICY_TIMERS_UNKNOWN;
}

/* Returns whether `gordian run` started the process, which ends it when it ends itself. */
static bool is_started_by_us(const struct target *target)
{
    char path[64], parent[512], own[512], state;
    snprintf(path, sizeof path, "/proc/%u/exe", target_parent(target->seen_pid, &state));
    ssize_t length = readlink(path, parent, sizeof parent);
    return length > 0 && readlink("/proc/self/exe", own, sizeof own) == length &&
           memcmp(parent, own, (size_t)length) == 0;
}

/* Adds the facts about one process. */
static void add_process(struct process_snapshot *snapshot, uint32_t process, struct waits *waits,
                        struct policy_facts *facts)
{
    struct target *target = snapshot_target(snapshot, process);
    uint64_t handlers = facts_handlers(target);
    bool asked = is_asked(snapshot, process);
    facts->handlers = facts->handlers || handlers;
    /* A handler was seen to jump out of a wait, or to unlock in one. */
    uint32_t acted = 0;
    if (handlers && read_recorded(target, "gordian_run_acted", &acted) && acted)
        facts->handler_acted = true;
    facts->unasked = facts->unasked || !target->handlers_known;
    if (handlers & ~(waits->file_locks && asked ? target->asked.restarts : 0))
        facts->ends_calls = true;
    facts->scheduled = facts->scheduled || target->runtime == TARGET_GO;
    for (size_t i = 0; i < target->mapping_count && !facts->scheduled; i++)
        facts->scheduled = policy_schedules(path_tail(target->mappings[i].path));
    facts->ring = facts->ring || (waits->kinds & POLICY_CALL && has_ring(target));
    if (asked && target->asked.at_death && !waits->locked && !is_started_by_us(target))
        facts->parks = true;
    enum policy_timers timers = !asked                ? unasked_timers(target)
                                : target->asked.armed ? POLICY_TIMERS_ARMED
                                                      : POLICY_TIMERS_NONE;
    if (facts->timers != POLICY_TIMERS_ARMED && timers != POLICY_TIMERS_NONE)
        facts->timers = timers;
    waits->to_ask = waits->to_ask || !asked;
    if (snapshot_first_thread(snapshot, process + 1) - snapshot_first_thread(snapshot, process) ==
            1 &&
        !waits->locked && !waits->unknown && !target->interprets)
        facts->parks = true;
    if (target->interprets && waits->idles && !waits->insists && !waits->locked)
        facts->parks = true;
}

/* Requests remote calls if their results could change the decision. */
static void want_asking(struct process_snapshot *snapshot, const struct facts_about *about,
                        const struct policy_facts *facts, bool to_ask)
{
    if (!to_ask || facts->unasked || !policy_needs_timers(facts, snapshot->for_run))
        return;
    for (size_t i = 0; i < about->count; i++)
        snapshot_target(snapshot, snapshot_thread(snapshot, about->threads[i])->process)
            ->wants_asking = true;
}

struct policy_facts facts_gather(struct process_snapshot *snapshot, const struct facts_about *about)
{
    struct waits waits = {.file_locks = true, .internal = true};
    struct policy_facts facts = {.argument = about->argument, .evidence = about->evidence};
    for (size_t i = 0; i < about->count; i++)
        sort_wait(snapshot, about, i, &waits);
    for (size_t i = 0; i < about->count; i++) {
        uint32_t process = snapshot_thread(snapshot, about->threads[i])->process;
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = snapshot_thread(snapshot, about->threads[k])->process != process;
        if (first)
            add_process(snapshot, process, &waits, &facts);
    }
    facts.waits = waits.kinds;
    facts.locked = waits.locked;
    facts.reads = waits.reads;
    facts.parks =
        (facts.parks && about->argument == POLICY_NONE_LEFT) || (waits.rests && !waits.locked);
    facts.others_run = about->others_run;
    facts.as_signal = about->others_run && about->gate;
    /* No handler unlocks an internal lock of libc, and no handler may call MPI. */
    if (waits.internal || waits.ranks) {
        facts.handlers = facts.ends_calls = facts.unasked = false;
        facts.timers = POLICY_TIMERS_NONE;
        facts.waits = POLICY_FIRM;
    }
    want_asking(snapshot, about, &facts, waits.to_ask);
    return facts;
}

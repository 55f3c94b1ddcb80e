/* The second judge of `gordian run`: a true claim about a process that hangs, and claims that are
 * not quite true, each of which it must see through. */
#define _GNU_SOURCE
#include "sources/inspect/judge/confirm.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the process that hangs says about itself. */
struct told {
    uint32_t tids[3]; /* two that wait for each other, and the first, which rests */
    uint64_t mutexes[2], semaphore;
};

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both_have_one;
static sem_t nobody_posts;
static struct told told;

static void *cross_mutexes(void *side)
{
    int first = *(int *)side;
    told.tids[first] = (uint32_t)syscall(SYS_gettid);
    pthread_mutex_lock(&mutexes[first]);
    pthread_barrier_wait(&both_have_one);
    pthread_mutex_lock(&mutexes[1 - first]);
    return NULL;
}

static void ignore_signal(int number)
{
    (void)number;
}

/* Two threads hang, the first one waits for a semaphore. */
static _Noreturn void hang(int to, bool handler)
{
    static int sides[] = {0, 1};
    pthread_t threads[2];
    if (handler)
        signal(SIGUSR1, ignore_signal);
    pthread_barrier_init(&both_have_one, NULL, 3);
    sem_init(&nobody_posts, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, cross_mutexes, &sides[i]);
    pthread_barrier_wait(&both_have_one);
    told.tids[2] = (uint32_t)syscall(SYS_gettid);
    told.mutexes[0] = (uint64_t)(uintptr_t)&mutexes[0];
    told.mutexes[1] = (uint64_t)(uintptr_t)&mutexes[1];
    told.semaphore = (uint64_t)(uintptr_t)&nobody_posts;
    if (write(to, &told, sizeof told) != (ssize_t)sizeof told)
        _exit(3);
    sem_wait(&nobody_posts);
    _exit(0);
}

/* The claim: each waits for a mutex that the other has. */
struct claim {
    struct report report;
    struct report_thread threads[3];
    struct report_lock locks[3];
    struct report_edge edges[6];
};

static struct claim true_claim(pid_t pid, const struct told *of)
{
    struct claim claim = {.report = {.thread_count = 3, .lock_count = 3, .edge_count = 4}};
    claim.report.witness_count = 4;
    claim.report.head.pid = (uint32_t)pid;
    claim.report.head.kind = INCIDENT_DEADLOCK;
    for (uint32_t i = 0; i < 2; i++) {
        claim.threads[i].raw = (struct incident_thread){.tid = of->tids[i], .wait = 2 * i};
        claim.locks[i].raw =
            (struct incident_lock){.address = of->mutexes[i], .kind = INCIDENT_MUTEX};
        claim.edges[2 * i].raw = (struct incident_edge){
            .thread = i, .lock = 1 - i, .mode = INCIDENT_EXCLUSIVE, .flags = INCIDENT_WAITS};
        claim.edges[2 * i + 1].raw =
            (struct incident_edge){.thread = 1 - i, .lock = 1 - i, .mode = INCIDENT_EXCLUSIVE};
    }
    claim.threads[2].raw = (struct incident_thread){.tid = of->tids[2], .wait = INCIDENT_NONE};
    claim.locks[2].raw =
        (struct incident_lock){.address = of->semaphore, .kind = INCIDENT_SEMAPHORE};
    return claim;
}

/* A true claim is waited for, as long as it takes. */
static enum confirm judge_claim(struct claim *claim, bool stands)
{
    char why[200];
    claim->report.threads = claim->threads;
    claim->report.locks = claim->locks;
    claim->report.edges = claim->edges;
    return inspect_confirm(&claim->report, stands ? UINT64_C(600000000000) : 0, why, sizeof why);
}

/* Until all of them sleep where they are said to. */
static enum confirm judge_settled(struct claim *claim)
{
    enum confirm verdict;
    while ((verdict = judge_claim(claim, false)) == CONFIRM_MOVED)
        sched_yield();
    return verdict;
}

/* The first thread alone waits for a semaphore that nobody has. */
static struct claim open_claim(pid_t pid, const struct told *of)
{
    struct claim claim = true_claim(pid, of);
    claim.edges[0].raw = (struct incident_edge){
        .thread = 2, .lock = 2, .mode = INCIDENT_UNIT, .flags = INCIDENT_WAITS};
    claim.threads[2].raw.wait = 0;
    claim.report.witness_count = claim.report.edge_count = 1;
    return claim;
}

static void judge_process(bool handler)
{
    struct told of;
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0)
        hang(ends[1], handler);
    CHECK(read(ends[0], &of, sizeof of) == (ssize_t)sizeof of);

    struct claim claim = true_claim(pid, &of);
    CHECK(judge_claim(&claim, true) == CONFIRM_STANDS);

    claim = true_claim(pid, &of); /* the wrong owner */
    claim.edges[1].raw.thread = 2;
    CHECK(judge_claim(&claim, false) == CONFIRM_MOVED);

    claim = true_claim(pid, &of); /* sleeps elsewhere */
    claim.edges[0].raw.thread = 2;
    CHECK(judge_claim(&claim, false) == CONFIRM_MOVED);

    claim = true_claim(pid, &of); /* said to have ended */
    claim.threads[1].raw.flags = INCIDENT_ENDED;
    CHECK(judge_claim(&claim, false) == CONFIRM_MOVED);

    claim = true_claim(pid, &of); /* no such thread */
    claim.threads[0].raw.tid = (uint32_t)getpid();
    CHECK(judge_claim(&claim, false) == CONFIRM_MOVED);

    /* Nobody is left: true if all are listed as waiting, and no handler may post. */
    claim = open_claim(pid, &of);
    CHECK(judge_settled(&claim) == (handler ? CONFIRM_DOUBTED : CONFIRM_STANDS));
    claim = open_claim(pid, &of);
    claim.threads[1].raw.wait = INCIDENT_NONE; /* one is not accounted for */
    CHECK(judge_settled(&claim) == CONFIRM_DOUBTED);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    claim = true_claim(pid, &of);
    CHECK(judge_claim(&claim, false) == CONFIRM_BLIND);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    judge_process(false);
    judge_process(true);
    return test_done();
}

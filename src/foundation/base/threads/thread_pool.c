#include "foundation/base/threads/thread_pool.h"

#include "foundation/base/error.h"
#include "foundation/base/machine.h"
#include "foundation/base/memory.h"
#include "foundation/base/threads/park.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define MEET_SPINS 4000u /* looks before a member who waits for the others goes to sleep */

struct member {
    struct team *team;
    unsigned number;
    pthread_t thread;
};

struct team {
    gordian_allocator memory;
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    struct member *members;
    unsigned size;
    unsigned busy;       /* have not finished the work at hand */
    unsigned long round; /* pieces of work begun */
    bool over;
    void (*work)(void *context, unsigned member);
    void *context;
    _Atomic unsigned here; /* at the meeting */
    _Atomic uint32_t meetings;
    unsigned spins; /* 0 where members have to share cores */
};

static void *member_lives(void *argument)
{
    struct member *me = argument;
    struct team *team = me->team;
    unsigned long round = 0;
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (team->round == round && !team->over)
            pthread_cond_wait(&team->begin, &team->lock);
        if (team->over)
            break;
        round = team->round;
        pthread_mutex_unlock(&team->lock);
        team->work(team->context, me->number);
        pthread_mutex_lock(&team->lock);
        if (--team->busy == 0)
            pthread_cond_signal(&team->end);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

static void make_locks(struct team *team)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begin, NULL);
    pthread_cond_init(&team->end, &attributes);
    pthread_condattr_destroy(&attributes);
}

gordian_status team_open(struct team **out, unsigned wanted, const gordian_allocator *memory,
                         gordian_error *error)
{
    *out = NULL;
    if (wanted == 0) {
        struct machine machine;
        machine_describe(&machine);
        wanted = machine.cores ? machine.cores : 1;
    }
    struct team *team = memory_zeroed(memory, sizeof *team);
    struct member *members = memory_alloc(memory, wanted * sizeof *members);
    if (!team || !members) {
        memory_free(memory, team);
        memory_free(memory, members);
        return fail_memory(error);
    }
    team->memory = *memory;
    team->members = members;
    team->spins = sysconf(_SC_NPROCESSORS_ONLN) >= (long)wanted ? MEET_SPINS : 0;
    make_locks(team);
    while (team->size < wanted) {
        struct member *member = &members[team->size];
        *member = (struct member){.team = team, .number = team->size};
        if (pthread_create(&member->thread, NULL, member_lives, member) != 0)
            break;
        team->size++;
    }
    if (team->size == 0) {
        team_close(team);
        return fail(error, GORDIAN_STATUS_MEMORY, "no thread could be started");
    }
    *out = team;
    return GORDIAN_OK;
}

void team_close(struct team *team)
{
    if (!team)
        return;
    gordian_allocator memory = team->memory;
    pthread_mutex_lock(&team->lock);
    team->over = true;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
    for (unsigned i = 0; i < team->size; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->begin);
    pthread_cond_destroy(&team->end);
    pthread_mutex_destroy(&team->lock);
    memory_free(&memory, team->members);
    memory_free(&memory, team);
}

void team_do(struct team *team, void (*work)(void *context, unsigned member), void *context)
{
    if (!team) {
        work(context, 0);
        return;
    }
    team_start(team, work, context);
    team_wait(team, NULL, NULL);
}

void team_run(unsigned members, void (*work)(void *context, unsigned member), void *context)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct team *team = NULL;
    if (members > 1 && team_open(&team, members, &memory, NULL) != GORDIAN_OK)
        team = NULL;
    team_do(team, work, context);
    team_close(team);
}

unsigned team_size(const struct team *team)
{
    return team->size;
}

void team_start(struct team *team, void (*work)(void *context, unsigned member), void *context)
{
    pthread_mutex_lock(&team->lock);
    team->work = work;
    team->context = context;
    team->busy = team->size;
    team->round++;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
}

void team_wait(struct team *team, void (*watch)(void *context), void *context)
{
    pthread_mutex_lock(&team->lock);
    while (team->busy > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        int failure = pthread_cond_timedwait(&team->end, &team->lock, &until);
        if (failure == ETIMEDOUT && watch && team->busy > 0) {
            pthread_mutex_unlock(&team->lock);
            watch(context);
            pthread_mutex_lock(&team->lock);
        }
    }
    pthread_mutex_unlock(&team->lock);
}

/* Most meetings are short: who sleeps and is woken up again takes longer than they do. */
static void await_end(struct team *team, uint32_t meeting)
{
    for (unsigned i = 0; i < team->spins; i++) {
        if (atomic_load_explicit(&team->meetings, memory_order_acquire) != meeting)
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    while (atomic_load_explicit(&team->meetings, memory_order_acquire) == meeting)
        park_wait(&team->meetings, meeting, UINT64_MAX);
}

void team_meet_to(struct team *team, void (*work)(void *context), void *context)
{
    uint32_t meeting = atomic_load_explicit(&team->meetings, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->here, 1, memory_order_acq_rel) + 1 < team->size) {
        await_end(team, meeting);
        return;
    }
    atomic_store_explicit(&team->here, 0, memory_order_relaxed);
    if (work)
        work(context);
    atomic_store_explicit(&team->meetings, meeting + 1, memory_order_release);
    park_wake(&team->meetings);
}

void team_meet(struct team *team)
{
    team_meet_to(team, NULL, NULL);
}

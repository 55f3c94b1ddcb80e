#include "base/team.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/memory.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define MEET_SPINS 1000u /* looks before a member who waits for the others goes to sleep */

struct member {
    struct team *team;
    unsigned number;
    pthread_t thread;
};

struct team {
    gordian_allocator memory;
    pthread_mutex_t lock;
    pthread_cond_t begin, end, met;
    struct member *members;
    unsigned size;
    unsigned busy;       /* have not finished the work at hand */
    unsigned long round; /* pieces of work begun */
    bool over;
    void (*work)(void *context, unsigned member);
    void *context;
    unsigned here; /* at the meeting; this and the next are atomic */
    unsigned long meetings;
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
    pthread_cond_init(&team->met, NULL);
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
    pthread_cond_destroy(&team->met);
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

static bool is_over(const struct team *team, unsigned long meeting)
{
    return __atomic_load_n(&team->meetings, __ATOMIC_ACQUIRE) != meeting;
}

/* Most meetings are short: who sleeps and is woken up again takes longer than they do. */
static void await_end(struct team *team, unsigned long meeting)
{
    for (unsigned i = 0; i < team->spins; i++) {
        if (is_over(team, meeting))
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&team->lock);
    while (!is_over(team, meeting))
        pthread_cond_wait(&team->met, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

void team_meet_to(struct team *team, void (*work)(void *context), void *context)
{
    unsigned long meeting = __atomic_load_n(&team->meetings, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&team->here, 1, __ATOMIC_ACQ_REL) < team->size) {
        await_end(team, meeting);
        return;
    }
    __atomic_store_n(&team->here, 0, __ATOMIC_RELAXED);
    if (work)
        work(context);
    pthread_mutex_lock(&team->lock);
    __atomic_store_n(&team->meetings, meeting + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&team->met);
    pthread_mutex_unlock(&team->lock);
}

void team_meet(struct team *team)
{
    team_meet_to(team, NULL, NULL);
}

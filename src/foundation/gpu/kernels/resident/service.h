/*
 * A resident service kernel: the device's side of service_ring.h.
 *
 * Warp 0 of block 0 is the leader. It takes commands from the ring, eight at a time, executes alone
 * what touches little, and moves the whole grid through a *step* for the rest:
 *
 *     leader                              every block, in its warp 0
 *     service_take: next command
 *     service_settled: last step done?
 *     ... answer, small changes ...
 *     service_broadcast  ------------->   service_follow: the step's command
 *                                         ... the step ...
 *     (arrived)          <-------------   service_arrive
 *
 * The leader touches the state only between service_settled and service_broadcast, and blocks only
 * between service_follow and service_arrive. Each sees what the other has written, because both
 * directions go through a release and an acquire.
 *
 * Idle. The leader polls at full speed for about a millisecond after a command, then with sleeps
 * that grow to 16 us. The other blocks poll a word in the cache, with sleeps that grow to 1 us.
 *
 * Leaving. After some milliseconds without a command, and periodically even with commands, the
 * kernel ends by itself and notes that in the ring. The host starts it again with the next command.
 * All state is in memory, so nothing is lost. A kernel that stayed for ever would not only take
 * capacity: everything that waits for the whole context (loading a module or freeing memory, when
 * another system is opened or closed in the same process) would wait for ever. Opening one waits
 * some forty times, so the stay is short. A launch every five milliseconds is at most a hundredth
 * of the work.
 *
 * Ending. SERVICE_STOP ends the kernel. If the host process dies, the driver removes its context
 * with this kernel and the mapped ring: nothing is left behind, so no heartbeat is needed.
 */
#pragma once

#include "foundation/gpu/kernels/resident/service_ring.h"
#include "foundation/gpu/language/kernel.h"

#define SERVICE_WINDOW (WARP_SIZE / SERVICE_WORDS)

#define SERVICE_REPORT      64u   /* commands between two updates of ring->taken */
#define SERVICE_HOT_POLLS   1024u /* about a microsecond each, across the bus */
#define SERVICE_NAP_LONGEST 16384u
#define SERVICE_STAY_NS     5000000u /* then it leaves, idle or not */
#define SERVICE_FOLLOW_HOT  4096u
#define SERVICE_FOLLOW_NAP  1024u

/* Unsuccessful polls before it leaves: on a device a millisecond of hot ones, then some five with
 * sleeps. Few in the emulator, so that tests see it come and go. */
#ifdef __CUDACC__
#define SERVICE_IDLE_POLLS 1600u
#else
#define SERVICE_IDLE_POLLS 200u
#endif

struct service_command {
    uint32_t operation, a, b, c;
    uint32_t number;
};

/* Words that carry their number need no order among them, and order is expensive on the bus: a
 * release there waits for everything that this thread has written. */
#ifdef __CUDACC__
DEVICE uint64_t service_load(const uint64_t *at)
{
    return *(const volatile uint64_t *)at;
}

DEVICE void service_store(uint64_t *at, uint64_t x)
{
    *(volatile uint64_t *)at = x;
}
#else
DEVICE uint64_t service_load(const uint64_t *at)
{
    return load_acquire_system64(at);
}

DEVICE void service_store(uint64_t *at, uint64_t x)
{
    store_release_system64(at, x);
}
#endif

/* The leader's state, equal in every lane except for `word`. */
struct service_leader {
    uint64_t taken;     /* commands taken so far; their numbers start at 1 */
    uint32_t waiting;   /* commands fetched but not taken yet */
    uint32_t word;      /* this lane's: four lanes hold one fetched command */
    uint32_t next_lane; /* where the next command starts */
    uint32_t step;      /* steps started so far */
    uint32_t settled;   /* steps known to have ended */
    uint64_t since;     /* when it began */
    uint32_t tired;     /* it has stayed long enough */
};

DEVICE void service_begin(struct service_leader *leader, const struct service_arguments *service)
{
    leader->taken = service->taken;
    leader->waiting = 0;
    leader->word = 0;
    leader->next_lane = 0;
    leader->step = 0;
    leader->settled = 0;
    leader->since = device_ns();
    leader->tired = 0;
}

/* Returns how long to sleep after that many unsuccessful polls. */
DEVICE uint32_t service_back_off(uint32_t polls, uint32_t hot, uint32_t longest)
{
    if (polls < hot)
        return 0;
    uint32_t doubled = (polls - hot) / 64;
    uint32_t length = 64u << (doubled < 8 ? doubled : 8);
    return length < longest ? length : longest;
}

/* Returns whether every block has finished the last step. Called by the leading warp. */
DEVICE bool service_look(struct service_leader *leader, const struct service_arguments *service)
{
    const struct service_grid *grid = GPU_POINTER(const struct service_grid, service->grid);
    if (leader->settled == leader->step)
        return true;
    uint32_t arrived = load_acquire32(&grid->arrived);
    if (warp_all(WARP_ALL, arrived == leader->step * GRID_SIZE))
        leader->settled = leader->step;
    return leader->settled == leader->step;
}

/* Fetches at least one of the next commands. Returns false if it is time to leave. */
DEVICE bool service_fetch(struct service_leader *leader, const struct service_arguments *service)
{
    struct service_ring *ring = GPU_POINTER(struct service_ring, service->ring);
    uint64_t number = leader->taken + 1 + LANE / SERVICE_WORDS;
    const uint64_t *place = &ring->commands[number % SERVICE_SLOTS][LANE % SERVICE_WORDS];
    uint32_t here = 0;
    if (leader->tired)
        return false;
    for (uint32_t polls = 0;; polls++) {
        uint64_t word = service_load(place);
        leader->word = (uint32_t)word;
        here = warp_ballot(WARP_ALL, (uint32_t)(word >> 32) == (uint32_t)number);
        if ((here & 15u) == 15u)
            break;
        if (polls == SERVICE_IDLE_POLLS)
            return false;
        service_look(leader, service); /* so that a later command need not check */
        uint32_t length = service_back_off(polls, SERVICE_HOT_POLLS, SERVICE_NAP_LONGEST);
        if (length)
            nap(length);
    }
    leader->waiting = 1;
    while (leader->waiting < SERVICE_WINDOW && (here >> 4 * leader->waiting & 15u) == 15u)
        leader->waiting++;
    leader->next_lane = 0;
    /* Slots of taken commands are free, except the current ones (service_put_back). Reported only
     * now and then. */
    uint64_t after = leader->taken + leader->waiting;
    if (after / SERVICE_REPORT != leader->taken / SERVICE_REPORT) {
        if (LANE == 0)
            service_store(&ring->taken, leader->taken);
        uint32_t tired = device_ns() - leader->since > SERVICE_STAY_NS;
        leader->tired = warp_shuffle(WARP_ALL, tired, 0);
    }
    return true;
}

/* What has not been taken is for the next kernel. */
DEVICE struct service_command service_leave(const struct service_leader *leader,
                                            const struct service_arguments *service)
{
    struct service_ring *ring = GPU_POINTER(struct service_ring, service->ring);
    struct service_command command;
    if (LANE == 0) {
        service_store(&ring->taken, leader->taken);
        fence_system();
        service_store(&ring->left, 1);
    }
    command.operation = SERVICE_STOP;
    command.a = 0;
    command.b = 0;
    command.c = 0;
    command.number = (uint32_t)leader->taken;
    return command;
}

/* Returns the next command and waits for it if necessary; SERVICE_STOP when it is time to leave.
 * Called by the leading warp. */
DEVICE struct service_command service_take(struct service_leader *leader,
                                           const struct service_arguments *service)
{
    struct service_command command;
    if (leader->waiting == 0 && !service_fetch(leader, service))
        return service_leave(leader, service);
    command.operation = warp_shuffle(WARP_ALL, leader->word, leader->next_lane);
    if (command.operation == SERVICE_TRAP)
        trap();
    command.a = warp_shuffle(WARP_ALL, leader->word, leader->next_lane + 1);
    command.b = warp_shuffle(WARP_ALL, leader->word, leader->next_lane + 2);
    command.c = warp_shuffle(WARP_ALL, leader->word, leader->next_lane + 3);
    command.number = (uint32_t)++leader->taken;
    leader->next_lane += SERVICE_WORDS;
    leader->waiting--;
    return command;
}

/* Leaves without executing the command taken last, and returns the command that ends the grid.
 * Called by the leading warp. */
DEVICE struct service_command service_put_back(struct service_leader *leader,
                                               const struct service_arguments *service)
{
    leader->taken--;
    return service_leave(leader, service);
}

/* Waits until every block has finished the last step. Called by the leading warp. */
DEVICE void service_settled(struct service_leader *leader, const struct service_arguments *service)
{
    while (!service_look(leader, service))
        continue;
}

/* Called by one lane of the leading warp. */
DEVICE void service_answer(const struct service_arguments *service, uint32_t number, uint32_t value)
{
    struct service_ring *ring = GPU_POINTER(struct service_ring, service->ring);
    service_store(&ring->answers[number % SERVICE_SLOTS], SERVICE_WORD(number, value));
}

/* Moves the grid through a step. Called by the leading warp, with the same command in each lane. */
DEVICE void service_broadcast(struct service_leader *leader,
                              const struct service_arguments *service,
                              struct service_command command)
{
    struct service_grid *grid = GPU_POINTER(struct service_grid, service->grid);
    uint32_t value = command.operation;
    if (LANE == 1)
        value = command.a;
    else if (LANE == 2)
        value = command.b;
    else if (LANE == 3)
        value = command.c;
    leader->step++;
    warp_barrier(WARP_ALL); /* lane 0's writes come before every lane's release */
    if (LANE < SERVICE_WORDS)
        store_release64(&grid->broadcast[LANE], SERVICE_WORD(leader->step, value));
}

/* Waits for step number `step` and returns its command. Called by warp 0 of every block except the
 * leading one. */
DEVICE struct service_command service_follow(const struct service_arguments *service, uint32_t step)
{
    struct service_grid *grid = GPU_POINTER(struct service_grid, service->grid);
    struct service_command command;
    uint64_t word = 0;
    for (uint32_t polls = 0;; polls += polls < 0x10000u) {
        word = load_acquire64(&grid->broadcast[LANE % SERVICE_WORDS]);
        if (warp_all(WARP_ALL, (uint32_t)(word >> 32) == step))
            break;
        uint32_t length = service_back_off(polls, SERVICE_FOLLOW_HOT, SERVICE_FOLLOW_NAP);
        if (length)
            nap(length);
    }
    command.operation = warp_shuffle(WARP_ALL, (uint32_t)word, 0);
    command.a = warp_shuffle(WARP_ALL, (uint32_t)word, 1);
    command.b = warp_shuffle(WARP_ALL, (uint32_t)word, 2);
    command.c = warp_shuffle(WARP_ALL, (uint32_t)word, 3);
    command.number = step;
    return command;
}

/* Reports that this block has finished the step. Called by all of its threads. */
DEVICE void service_arrive(const struct service_arguments *service)
{
    struct service_grid *grid = GPU_POINTER(struct service_grid, service->grid);
    block_barrier();
    if (THREAD_INDEX == 0) {
        fence_device(); /* with the barrier before it: all of this block's writes */
        atomic_add32(&grid->arrived, 1);
    }
}

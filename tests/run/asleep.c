/* Random sound programs in which everything sleeps until something ends it that no lock shows: a
 * timer, a signal handler, a queued operation of io_uring, another process, a cancellation, a
 * thread that unlocks or posts for another.
 *
 *     asleep SEED [LONG]
 *
 * Each program has some scenes, one after the other or at the same time, each in a process of its
 * own. They end natively, with 0. LONG: a scene in so many takes long enough to be looked at from
 * outside; 0: none does. A failure is printed with the seed and the scene. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned first_seed, long_share = 3;
static const char *scene_name = "";

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("seed %u, scene %s, line %d: not so: %s\n", first_seed, scene_name, __LINE__,   \
                   #what);                                                                         \
            fflush(stdout);                                                                        \
            _exit(4);                                                                              \
        }                                                                                          \
    } while (0)

static unsigned below(unsigned *seed, unsigned bound)
{
    return (unsigned)rand_r(seed) % bound;
}

/* How long the scene takes, in microseconds. */
static unsigned pick_delay(unsigned *seed)
{
    bool is_long = long_share && below(seed, long_share) == 0;
    return is_long ? 500000 + below(seed, 400000) : 1000 + below(seed, 30000);
}

static void sleep_for(unsigned microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000L};
    while (nanosleep(&time, &time) != 0)
        ;
}

/* ------------------------------------------------------------------ timers */

static volatile sig_atomic_t came; /* signals, by the handlers below */

static void note_signal(int number)
{
    (void)number;
    came = 1;
}

/* Without SA_RESTART: calls return early. */
static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    MUST(sigaction(number, &action, NULL) == 0);
}

static void arm_itimer(unsigned delay)
{
    struct itimerval once = {{0, 0}, {delay / 1000000, delay % 1000000}};
    MUST(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void arm_posix(unsigned delay)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec once = {{0, 0}, {delay / 1000000, delay % 1000000 * 1000L}};
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    MUST(timer_settime(timer, 0, &once, NULL) == 0);
}

/* SIGALRM will come, and again if it should have come too early for the call it is to end. */
static void arm_alarm(unsigned *seed, bool again)
{
    unsigned delay = pick_delay(seed);
    switch (below(seed, 3)) {
    case 0:
        arm_posix(delay);
        break;
    case 1:
        if (long_share && delay > 500000) {
            alarm(1);
            break;
        }
        /* fall through */
    default:
        arm_itimer(delay);
    }
    if (!again)
        return;
    struct itimerval repeat;
    if (getitimer(ITIMER_REAL, &repeat) == 0 &&
        (repeat.it_value.tv_sec || repeat.it_value.tv_usec)) {
        repeat.it_interval = (struct timeval){0, 50000};
        setitimer(ITIMER_REAL, &repeat, NULL);
    } else {
        repeat = (struct itimerval){{0, 50000}, {1, 0}};
        setitimer(ITIMER_REAL, &repeat, NULL);
    }
}

/* ------------------------------------------------------------------ processes */

static pid_t fork_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    MUST(child >= 0);
    return child;
}

static int await_child(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        MUST(errno == EINTR);
    return status;
}

/* ------------------------------------------------------------------ waits that a signal ends */

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool told; /* under the mutex */

static void wait_semaphore(void)
{
    sem_wait(&semaphore);
}

static void wait_condition(void)
{
    pthread_mutex_lock(&mutex);
    while (!told)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void wait_pipe(void)
{
    int ends[2];
    char byte;
    MUST(pipe(ends) == 0);
    (void)!read(ends[0], &byte, 1);
    close(ends[0]);
    close(ends[1]);
}

/* A lock of a file that this process has through another description. */
static void wait_file(void)
{
    char path[] = "asleep-XXXXXX";
    int first = mkstemp(path);
    MUST(first >= 0);
    int second = open(path, O_RDWR | O_CLOEXEC);
    unlink(path);
    MUST(second >= 0 && flock(first, LOCK_EX) == 0);
    flock(second, LOCK_EX);
    close(first);
    close(second);
}

static void wait_child(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    int status;
    waitpid(child, &status, 0);
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
}

static void wait_message(void)
{
    struct {
        long type;
        char text[8];
    } message;
    int queue = msgget(IPC_PRIVATE, 0600);
    if (queue < 0)
        return;
    (void)!msgrcv(queue, &message, sizeof message.text, 0, 0);
    msgctl(queue, IPC_RMID, NULL);
}

static void wait_sysv(void)
{
    int set = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf down = {0, -1, 0};
    if (set < 0)
        return;
    semop(set, &down, 1);
    semctl(set, 0, IPC_RMID);
}

static void *wait_in_thread(void *wait)
{
    void (*function)(void);
    *(void **)&function = wait;
    function();
    return NULL;
}

static void wait_joined(void)
{
    pthread_t thread;
    void *wait;
    *(void (**)(void)) & wait = wait_condition;
    MUST(pthread_create(&thread, NULL, wait_in_thread, wait) == 0);
    pthread_join(thread, NULL);
}

/* Two processes that read each other's pipes. */
static void wait_crosswise(void)
{
    int there[2], back[2];
    char byte;
    MUST(pipe(there) == 0 && pipe(back) == 0);
    pid_t child = fork_child();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(there[1]);
        close(back[0]);
        (void)!read(there[0], &byte, 1);
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    (void)!read(back[0], &byte, 1);
    close(there[1]);
    close(back[0]);
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* SIGALRM does what it does by default, and is the end of the process. Not in what would stay
 * behind: a queue of messages. */
static void killed_by_alarm(unsigned *seed)
{
    static void (*const waits[])(void) = {wait_semaphore, wait_condition, wait_pipe,
                                          wait_file,      wait_joined,    wait_crosswise};
    void (*wait_for)(void) = waits[below(seed, sizeof waits / sizeof *waits)];
    pid_t child = fork_child();
    if (child == 0) {
        arm_alarm(seed, false);
        for (;;)
            wait_for();
    }
    int status = await_child(child);
    MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

/* A handler that does nothing: the call returns early. */
static void interrupted(unsigned *seed)
{
    static void (*const waits[])(void) = {wait_semaphore, wait_pipe, wait_file,     wait_child,
                                          wait_message,   wait_sysv, wait_crosswise};
    set_handler(SIGALRM, note_signal);
    arm_alarm(seed, true);
    waits[below(seed, sizeof waits / sizeof *waits)]();
}

/* ------------------------------------------------------------------ handlers that do something */

static void post_semaphore(int number)
{
    int saved = errno;
    (void)number;
    sem_post(&semaphore);
    errno = saved;
}

static void posted_by_handler(unsigned *seed)
{
    set_handler(SIGALRM, post_semaphore);
    arm_alarm(seed, true);
    while (sem_wait(&semaphore) != 0)
        MUST(errno == EINTR);
}

static int self_pipe[2];

static void write_pipe(int number)
{
    int saved = errno;
    (void)number;
    (void)!write(self_pipe[1], "", 1);
    errno = saved;
}

static void written_by_handler(unsigned *seed)
{
    char byte;
    MUST(pipe(self_pipe) == 0);
    signal(SIGALRM, write_pipe); /* with SA_RESTART: the read goes on, and gets it */
    arm_alarm(seed, true);
    MUST(read(self_pipe[0], &byte, 1) == 1);
}

static volatile pid_t victim;

static void kill_victim(int number)
{
    int saved = errno;
    (void)number;
    kill(victim, SIGTERM);
    errno = saved;
}

static void child_killed_by_handler(unsigned *seed)
{
    victim = fork_child();
    if (victim == 0)
        for (;;)
            pause();
    signal(SIGALRM, kill_victim);
    arm_alarm(seed, true);
    int status = await_child(victim);
    MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* A thread takes the signals, and tells the others. */
static void *take_signals(void *set)
{
    int number;
    MUST(sigwait(set, &number) == 0);
    pthread_mutex_lock(&mutex);
    told = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void taken_by_thread(unsigned *seed)
{
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    MUST(pthread_create(&thread, NULL, take_signals, &set) == 0);
    arm_alarm(seed, true);
    wait_condition();
    MUST(pthread_join(thread, NULL) == 0);
}

/* libc makes a thread for it when the time comes. */
static void tell_by_thread(union sigval value)
{
    (void)value;
    pthread_mutex_lock(&mutex);
    told = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

static void told_by_timer_thread(unsigned *seed)
{
    timer_t timer;
    unsigned delay = pick_delay(seed);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell_by_thread};
    struct itimerspec once = {{0, 0}, {delay / 1000000, delay % 1000000 * 1000L}};
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    MUST(timer_settime(timer, 0, &once, NULL) == 0);
    wait_condition();
}

static sigjmp_buf before_lock;
static volatile sig_atomic_t may_jump;

static void jump_back(int number)
{
    (void)number;
    if (may_jump)
        siglongjmp(before_lock, 1);
}

static pthread_mutex_t others = PTHREAD_MUTEX_INITIALIZER;

/* Together with the main thread: a cycle. */
static void *lock_crosswise(void *unused)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_mutex_lock(&others);
    sem_post(&semaphore);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&others);
    return unused;
}

static __attribute__((noinline)) void lock_until_jump(void)
{
    if (sigsetjmp(before_lock, 1) == 0) {
        may_jump = 1;
        pthread_mutex_lock(&others);
    }
    may_jump = 0;
}

static void leave_cycle(void)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    MUST(pthread_create(&thread, NULL, lock_crosswise, NULL) == 0);
    while (sem_wait(&semaphore) != 0)
        ;
    lock_until_jump();
    pthread_mutex_unlock(&mutex);
    MUST(pthread_join(thread, NULL) == 0);
}

/* Soon at first, so that the handler is known to jump; then as late as any. */
static void left_by_jump(unsigned *seed)
{
    struct itimerval often = {{0, 20000}, {0, 20000}};
    signal(SIGALRM, jump_back);
    MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (unsigned i = 0; i < 3; i++)
        leave_cycle();
    arm_alarm(seed, true);
    leave_cycle();
}

/* ------------------------------------------------------------------ io_uring */

struct ring {
    int fd;
    unsigned *tail, *mask, *array;
    struct io_uring_sqe *entries;
};

static bool open_ring(struct ring *ring)
{
    struct io_uring_params params = {0};
    ring->fd = (int)syscall(SYS_io_uring_setup, 8, &params);
    if (ring->fd < 0)
        return false;
    size_t size = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    char *queue =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    ring->entries = mmap(NULL, params.sq_entries * sizeof *ring->entries, PROT_READ | PROT_WRITE,
                         MAP_SHARED, ring->fd, IORING_OFF_SQES);
    MUST(queue != MAP_FAILED && ring->entries != MAP_FAILED);
    ring->tail = (unsigned *)(void *)(queue + params.sq_off.tail);
    ring->mask = (unsigned *)(void *)(queue + params.sq_off.ring_mask);
    ring->array = (unsigned *)(void *)(queue + params.sq_off.array);
    return true;
}

static void add_entry(struct ring *ring, const struct io_uring_sqe *entry)
{
    unsigned tail = *ring->tail, at = tail & *ring->mask;
    ring->entries[at] = *entry;
    ring->array[at] = at;
    __atomic_store_n(ring->tail, tail + 1, __ATOMIC_RELEASE);
}

/* After a while, a byte into the descriptor. False: there is no io_uring here. */
static bool queue_write(int fd, unsigned delay)
{
    static struct __kernel_timespec time;
    static const char byte = 'x';
    struct ring ring;
    if (!open_ring(&ring))
        return false;
    time.tv_sec = delay / 1000000;
    time.tv_nsec = delay % 1000000 * 1000;
    struct io_uring_sqe timeout = {.opcode = IORING_OP_TIMEOUT,
                                   .flags = IOSQE_IO_HARDLINK,
                                   .addr = (uintptr_t)&time,
                                   .len = 1};
    struct io_uring_sqe write_byte = {.opcode = IORING_OP_WRITE,
                                      .fd = fd,
                                      .addr = (uintptr_t)&byte,
                                      .len = 1,
                                      .off = (uint64_t)-1};
    add_entry(&ring, &timeout);
    add_entry(&ring, &write_byte);
    MUST(syscall(SYS_io_uring_enter, ring.fd, 2, 0, 0, NULL, 0) == 2);
    return true;
}

static void woken_by_ring(unsigned *seed)
{
    int ends[2];
    char byte;
    MUST(pipe(ends) == 0);
    if (queue_write(ends[1], pick_delay(seed)))
        MUST(read(ends[0], &byte, 1) == 1);
}

/* Two processes read, and what one of them has queued wakes the other, which answers. */
static void woken_across(unsigned *seed)
{
    int there[2], back[2];
    char byte;
    unsigned delay = pick_delay(seed);
    MUST(pipe(there) == 0 && pipe(back) == 0);
    pid_t child = fork_child();
    if (child == 0) {
        close(there[1]);
        close(back[0]);
        MUST(read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1);
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    if (!queue_write(there[1], delay))
        MUST(write(there[1], "", 1) == 1);
    MUST(read(back[0], &byte, 1) == 1);
    MUST(await_child(child) == 0);
}

/* ------------------------------------------------------------------ hand-offs */

static unsigned hand_delay;

static void *unlock_later(void *unused)
{
    sleep_for(hand_delay);
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* A mutex used as a signal: locked twice by one thread, unlocked by another. */
static void unlocked_by_other(unsigned *seed)
{
    pthread_t thread;
    hand_delay = pick_delay(seed);
    pthread_mutex_lock(&mutex);
    MUST(pthread_create(&thread, NULL, unlock_later, NULL) == 0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    MUST(pthread_join(thread, NULL) == 0);
}

static void *lock_and_end(void *unused)
{
    pthread_mutex_lock(&mutex);
    return unused;
}

/* The owner has ended, and another thread unlocks for it. */
static void unlocked_for_ended(unsigned *seed)
{
    pthread_t owner, other;
    hand_delay = pick_delay(seed);
    MUST(pthread_create(&owner, NULL, lock_and_end, NULL) == 0);
    MUST(pthread_join(owner, NULL) == 0);
    MUST(pthread_create(&other, NULL, unlock_later, NULL) == 0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    MUST(pthread_join(other, NULL) == 0);
}

static void *post_later(void *unused)
{
    sleep_for(hand_delay);
    sem_post(&semaphore);
    return unused;
}

/* A semaphore that has been used as a lock, and is then posted by another thread. */
static void posted_by_other(unsigned *seed)
{
    pthread_t thread;
    hand_delay = pick_delay(seed);
    sem_post(&semaphore);
    for (unsigned i = 0; i < 3; i++) {
        MUST(sem_wait(&semaphore) == 0);
        MUST(sem_post(&semaphore) == 0);
    }
    MUST(sem_wait(&semaphore) == 0);
    MUST(pthread_create(&thread, NULL, post_later, NULL) == 0);
    MUST(sem_wait(&semaphore) == 0);
    MUST(pthread_join(thread, NULL) == 0);
}

/* ------------------------------------------------------------------ helpers that park */

static void park(unsigned how)
{
    sigset_t set;
    int number;
    switch (how) {
    case 0:
        for (;;)
            pause();
    case 1:
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, NULL);
        sigwait(&set, &number);
        _exit(0);
    case 2:
        for (;;)
            wait_semaphore();
    default:
        for (;;)
            wait_condition();
    }
}

static void parked_until_signal(unsigned *seed)
{
    unsigned how = below(seed, 4), delay = pick_delay(seed);
    pid_t child = fork_child();
    if (child == 0)
        park(how);
    sleep_for(delay);
    MUST(kill(child, SIGTERM) == 0);
    int status = await_child(child);
    MUST(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

/* The helper ends with its parent. */
static void parked_until_orphaned(unsigned *seed)
{
    unsigned how = below(seed, 4), delay = pick_delay(seed);
    int alive[2];
    char byte;
    MUST(pipe(alive) == 0);
    pid_t child = fork_child();
    if (child == 0) {
        pid_t parent = getpid(), helper = fork_child();
        if (helper == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(alive[0]);
            if (getppid() == parent)
                park(how);
            _exit(0);
        }
        sleep_for(delay);
        _exit(0);
    }
    close(alive[1]);
    MUST(await_child(child) == 0);
    MUST(read(alive[0], &byte, 1) == 0); /* until the helper has ended, too */
}

/* ------------------------------------------------------------------ cancelled */

static void relock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

static void wait_asynchronously(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    relock();
}

static void unlock_mutex(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void wait_condition_cancelled(void)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock_mutex, NULL);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
}

static void cancelled(unsigned *seed)
{
    static void (*const waits[])(void) = {wait_asynchronously, wait_condition_cancelled,
                                          wait_semaphore, wait_pipe};
    void *wait, *value;
    pthread_t thread;
    *(void (**)(void)) & wait = waits[below(seed, sizeof waits / sizeof *waits)];
    MUST(pthread_create(&thread, NULL, wait_in_thread, wait) == 0);
    sleep_for(pick_delay(seed));
    MUST(pthread_cancel(thread) == 0);
    MUST(pthread_join(thread, &value) == 0);
    MUST(value == PTHREAD_CANCELED);
}

/* ------------------------------------------------------------------ all of them */

static const struct scene {
    const char *name;
    void (*play)(unsigned *seed);
} scenes[] = {
    {"killed-by-alarm", killed_by_alarm},
    {"interrupted", interrupted},
    {"posted-by-handler", posted_by_handler},
    {"written-by-handler", written_by_handler},
    {"child-killed-by-handler", child_killed_by_handler},
    {"left-by-jump", left_by_jump},
    {"taken-by-thread", taken_by_thread},
    {"told-by-timer-thread", told_by_timer_thread},
    {"woken-by-ring", woken_by_ring},
    {"woken-across", woken_across},
    {"unlocked-by-other", unlocked_by_other},
    {"unlocked-for-ended", unlocked_for_ended},
    {"posted-by-other", posted_by_other},
    {"parked-until-signal", parked_until_signal},
    {"parked-until-orphaned", parked_until_orphaned},
    {"cancelled", cancelled},
};

enum { SCENES = sizeof scenes / sizeof *scenes, MOST_AT_ONCE = 3 };

static pid_t start_scene(unsigned seed)
{
    pid_t child = fork_child();
    if (child != 0)
        return child;
    const struct scene *scene = &scenes[below(&seed, SCENES)];
    scene_name = scene->name;
    scene->play(&seed);
    fflush(stdout);
    _exit(0);
}

int main(int count, char **arguments)
{
    if (count < 2)
        return 2;
    first_seed = (unsigned)strtoul(arguments[1], NULL, 10);
    if (count > 2)
        long_share = (unsigned)strtoul(arguments[2], NULL, 10);
    unsigned seed = first_seed;
    MUST(sem_init(&semaphore, 0, 0) == 0);
    for (unsigned round = 1 + below(&seed, 2); round > 0; round--) {
        pid_t children[MOST_AT_ONCE];
        unsigned at_once = 1 + below(&seed, MOST_AT_ONCE);
        for (unsigned i = 0; i < at_once; i++)
            children[i] = start_scene((unsigned)rand_r(&seed));
        for (unsigned i = 0; i < at_once; i++)
            MUST(await_child(children[i]) == 0);
    }
    return 0;
}

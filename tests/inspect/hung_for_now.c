/* Correct programs that look as if they hung, see hung.h: something that is no part of the waits
 * will end them. A timer of an hour stands for one that is about to expire. None of them may be
 * called a proved deadlock, and `gordian run` may end none of them. */
#define _GNU_SOURCE
#include "hung.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOUR 3600

static void must(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(3);
    }
}

static void say_ready(void)
{
    puts("ready");
    fflush(stdout);
}

static pid_t fork_child(void (*run)(void))
{
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        run();
        _exit(0);
    }
    return child;
}

static void read_letter(int fd)
{
    char letter;
    if (read(fd, &letter, 1) < 0)
        perror("read");
}

static int down[2], up[2];

static void child_reads(void)
{
    close(down[1]);
    close(up[0]);
    read_letter(down[0]);
}

/* Each reads what the other is to write. */
static void read_crosswise(void)
{
    must(pipe(down) == 0 && pipe(up) == 0, "pipe");
    fork_child(child_reads);
    close(down[0]);
    close(up[1]);
    say_ready();
    read_letter(up[0]);
}

/* ------------------------------------------------------------------ timers */

/* SIGALRM ends it. */
static void pipes_alarm(void)
{
    alarm(HOUR);
    read_crosswise();
}

static void pipes_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    const struct itimerspec hour = {.it_value = {.tv_sec = HOUR}};
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    must(timer_settime(timer, 0, &hour, NULL) == 0, "timer_settime");
    read_crosswise();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *wait_for_condition(void *unused)
{
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    return unused;
}

static void condition_alarm(void)
{
    pthread_t thread;
    alarm(HOUR);
    must(pthread_create(&thread, NULL, wait_for_condition, NULL) == 0, "pthread_create");
    say_ready();
    pthread_join(thread, NULL);
}

/* ------------------------------------------------------------------ handlers */

static int first_file, second_file, meeting[2];
static pid_t child;

static void open_files(void)
{
    first_file = open("first", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    second_file = open("second", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(first_file >= 0 && second_file >= 0, "open");
}

static void child_flocks(void)
{
    close(first_file); /* the lock is that of its parent's open file */
    close(second_file);
    open_files();
    must(flock(second_file, LOCK_EX) == 0, "flock");
    must(write(meeting[1], "", 1) == 1, "write");
    if (flock(first_file, LOCK_EX) != 0)
        perror("flock");
}

static void do_nothing(int number)
{
    (void)number;
}

static void catch_alarm(void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler}; /* without SA_RESTART */
    must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    alarm(HOUR);
}

/* The alarm is the time limit of a lock that it may not get. */
static void flock_alarm(void)
{
    must(pipe(meeting) == 0, "pipe");
    open_files();
    must(flock(first_file, LOCK_EX) == 0, "flock");
    fork_child(child_flocks);
    read_letter(meeting[0]);
    catch_alarm(do_nothing);
    say_ready();
    if (flock(second_file, LOCK_EX) != 0)
        perror("flock");
}

static void kill_child(int number)
{
    (void)number;
    kill(child, SIGKILL);
}

static void child_wants_file(void)
{
    close(first_file);
    close(second_file);
    open_files();
    must(write(meeting[1], "", 1) == 1, "write");
    if (flock(first_file, LOCK_EX) != 0)
        perror("flock");
}

/* The child wants what its parent has locked, which waits for it, but not for ever. */
static void waitpid_handler(void)
{
    must(pipe(meeting) == 0, "pipe");
    open_files();
    must(flock(first_file, LOCK_EX) == 0, "flock");
    child = fork_child(child_wants_file);
    read_letter(meeting[0]);
    catch_alarm(kill_child);
    say_ready();
    while (waitpid(child, NULL, 0) < 0)
        ;
}

/* ------------------------------------------------------------------ io_uring */

static void *map_ring(int ring, size_t size, off_t offset)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
    must(memory != MAP_FAILED, "mmap");
    return memory;
}

/* After an hour the kernel writes a letter: a timeout, and a write that is linked to it. */
static void queue_write(int ring, const struct io_uring_params *about, int fd)
{
    static const struct __kernel_timespec hour = {.tv_sec = HOUR};
    char *queue = map_ring(ring, about->sq_off.array + about->sq_entries * sizeof(uint32_t),
                           IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries =
        map_ring(ring, about->sq_entries * sizeof *entries, IORING_OFF_SQES);
    uint32_t *array = (uint32_t *)(void *)(queue + about->sq_off.array);
    memset(entries, 0, 2 * sizeof *entries);
    entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_TIMEOUT,
                                       .flags = IOSQE_IO_HARDLINK,
                                       .fd = -1,
                                       .addr = (uintptr_t)&hour,
                                       .len = 1};
    entries[1] = (struct io_uring_sqe){
        .opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t) "x", .len = 1};
    array[0] = 0;
    array[1] = 1;
    __atomic_store_n((uint32_t *)(void *)(queue + about->sq_off.tail), 2, __ATOMIC_RELEASE);
    must(syscall(SYS_io_uring_enter, ring, 2, 0, 0, NULL, 0) == 2, "io_uring_enter");
}

static void pipes_ring(void)
{
    struct io_uring_params about = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 4, &about);
    if (ring < 0)
        exit(77); /* not allowed here */
    must(pipe(down) == 0 && pipe(up) == 0, "pipe");
    fork_child(child_reads);
    close(down[0]);
    close(up[1]);
    queue_write(ring, &about, down[1]);
    say_ready();
    read_letter(up[0]);
}

/* ------------------------------------------------------------------ an owner that has ended */

static void *lock_and_end(void *unused)
{
    pthread_mutex_lock(&mutex);
    return unused;
}

static void *want_mutex(void *unused)
{
    pthread_mutex_lock(&mutex);
    return unused;
}

/* The main thread gives it back for the one that has ended. */
static void owner_ended(void)
{
    pthread_t owner, waiter;
    must(pthread_create(&owner, NULL, lock_and_end, NULL) == 0, "pthread_create");
    pthread_join(owner, NULL);
    must(pthread_create(&waiter, NULL, want_mutex, NULL) == 0, "pthread_create");
    say_ready();
    sleep(HOUR);
    pthread_mutex_unlock(&mutex);
    pthread_join(waiter, NULL);
}

/* ------------------------------------------------------------------ processes that park */

static sem_t never;

static void wait_for_ever(void)
{
    for (;;)
        sem_wait(&never);
}

/* Its parent ends it by SIGTERM. */
static void park_term(void)
{
    sem_init(&never, 0, 0);
    child = fork_child(wait_for_ever);
    say_ready();
    while (waitpid(child, NULL, 0) < 0)
        ;
}

static void *park_thread(void *unused)
{
    wait_for_ever();
    return unused;
}

static void park_threads(void)
{
    pthread_t thread;
    must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl");
    must(pthread_create(&thread, NULL, park_thread, NULL) == 0, "pthread_create");
    must(write(meeting[1], "", 1) == 1, "write");
    pthread_join(thread, NULL);
}

/* It ends with its parent. */
static void park_death(void)
{
    sem_init(&never, 0, 0);
    must(pipe(meeting) == 0, "pipe");
    child = fork_child(park_threads);
    read_letter(meeting[0]);
    say_ready();
    while (waitpid(child, NULL, 0) < 0)
        ;
}

static const struct hung programs[] = {
    {"pipes-alarm", "likely", "unasked", "deadlock", 2, pipes_alarm},
    {"pipes-timer", "likely", "unasked", "deadlock", 2, pipes_timer},
    {"pipes-ring", "likely", "unasked", "deadlock", 2, pipes_ring},
    {"flock-alarm", "likely", "unasked", "deadlock", 2, flock_alarm},
    {"waitpid-handler", "likely", "unasked", "deadlock", 2, waitpid_handler},
    {"condition-alarm", "likely", "unasked", "never-signalled", 2, condition_alarm},
    {"owner-ended", "likely", "unasked", "owner-gone", 1, owner_ended},
    {"park-term", "nothing", "unasked", "deadlock", 0, park_term},
    {"park-death", "nothing", "unasked", "deadlock", 0, park_death},
    {0},
};

int main(int argc, char **argv)
{
    return hung_main(programs, argc, argv);
}

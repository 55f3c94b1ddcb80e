/* Processes that wait for each other, see hung.h. Each prints "ready" when all of it is there and
 * about to block, or, if it is sound, has nothing left to do but to wait. */
#define _GNU_SOURCE
#include "hung.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* A child that ends with its parent, whatever becomes of that. */
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

/* ------------------------------------------------------------------ pipes */

static int down[2], up[2];

static void read_letter(int fd)
{
    char letter;
    if (read(fd, &letter, 1) < 0)
        perror("read");
}

static void fill(int fd)
{
    static char bytes[1 << 16];
    for (;;)
        if (write(fd, bytes, sizeof bytes) < 0)
            perror("write");
}

static void child_reads(void)
{
    close(down[1]);
    close(up[0]);
    read_letter(down[0]);
}

static void child_fills(void)
{
    close(down[1]);
    close(up[0]);
    fill(up[1]);
}

static void open_pipes(void)
{
    must(pipe(down) == 0 && pipe(up) == 0, "pipe");
}

static void close_child_ends(void)
{
    close(down[0]);
    close(up[1]);
    say_ready();
}

/* Each waits for the other to say something. */
static void pipes_read(void)
{
    open_pipes();
    fork_child(child_reads);
    close_child_ends();
    read_letter(up[0]);
}

/* Each writes more than fits, and nobody reads. */
static void pipes_full(void)
{
    open_pipes();
    fork_child(child_fills);
    close_child_ends();
    fill(down[1]);
}

/* It waits for what only it could write: it may rest there on purpose. */
static void pipe_own_end(void)
{
    open_pipes();
    say_ready();
    read_letter(up[0]);
}

/* It fills what only it could read. */
static void pipe_own_full(void)
{
    open_pipes();
    say_ready();
    fill(up[1]);
}

/* The child's input ends with the parent, which waits for the child. */
static void pipe_waitpid(void)
{
    open_pipes();
    pid_t child = fork_child(child_reads);
    close_child_ends();
    waitpid(child, NULL, 0);
}

static void wait_any(void)
{
    open_pipes();
    fork_child(child_reads);
    fork_child(child_reads);
    close_child_ends();
    wait(NULL);
}

static void ignore_signal(int signal)
{
    (void)signal;
}

/* A handler could make it go on: idle, as far as anybody knows. */
static void pipes_handler(void)
{
    signal(SIGUSR1, ignore_signal);
    pipes_read();
}

/* ------------------------------------------------------------------ sockets */

static void child_receives(void)
{
    char letter;
    close(down[0]);
    if (recv(down[1], &letter, 1, 0) < 0)
        perror("recv");
}

static void sockets(void)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, down) == 0, "socketpair");
    fork_child(child_receives);
    close(down[1]);
    say_ready();
    read_letter(down[0]);
}

/* ------------------------------------------------------------------ locks on files */

static int first_file, second_file;
static pthread_barrier_t *meeting;

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    return memory;
}

static void share_meeting(void)
{
    pthread_barrierattr_t attributes;
    meeting = share(sizeof *meeting);
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(meeting, &attributes, 2);
}

static int open_file(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0, name);
    return fd;
}

static void open_files(void)
{
    first_file = open_file("first");
    second_file = open_file("second");
}

static void lock_posix(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    must(fcntl(fd, F_SETLKW, &whole) == 0, "fcntl");
}

static void lock_whole(int fd)
{
    must(flock(fd, LOCK_EX) == 0, "flock");
}

static void child_flocks(void)
{
    open_files();
    lock_whole(second_file);
    pthread_barrier_wait(meeting);
    lock_whole(first_file);
}

static void flocks(void)
{
    share_meeting();
    fork_child(child_flocks);
    open_files();
    lock_whole(first_file);
    pthread_barrier_wait(meeting);
    say_ready();
    lock_whole(second_file);
}

/* The kernel refuses a plain cycle of these; through a pipe it does not see it. */
static void child_posix(void)
{
    close(up[0]);
    open_files();
    lock_posix(first_file);
    if (write(up[1], "", 1) != 1)
        perror("write");
    close(down[1]);
    read_letter(down[0]);
}

static void posix_pipe(void)
{
    open_pipes();
    fork_child(child_posix);
    close(down[0]);
    close(up[1]);
    open_files();
    read_letter(up[0]);
    say_ready();
    lock_posix(first_file);
}

/* ------------------------------------------------------------------ memory that is shared */

static pthread_mutex_t *mutexes;

static void child_mutexes(void)
{
    pthread_mutex_lock(&mutexes[1]);
    pthread_barrier_wait(meeting);
    pthread_mutex_lock(&mutexes[0]);
}

static void shared_mutexes(void)
{
    pthread_mutexattr_t attributes;
    share_meeting();
    mutexes = share(2 * sizeof *mutexes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&mutexes[i], &attributes);
    fork_child(child_mutexes);
    pthread_mutex_lock(&mutexes[0]);
    pthread_barrier_wait(meeting);
    say_ready();
    pthread_mutex_lock(&mutexes[1]);
}

/* ------------------------------------------------------------------ sound ones */

static void *sleep_on(void *unused)
{
    for (;;)
        sleep(1000);
    return unused;
}

/* One thread of the parent can still write. */
static void pipes_free(void)
{
    pthread_t thread;
    open_pipes();
    fork_child(child_reads);
    must(pthread_create(&thread, NULL, sleep_on, NULL) == 0, "pthread_create");
    close_child_ends();
    read_letter(up[0]);
}

/* Somebody who can act has the other end, too. */
static void child_sleeps(void)
{
    sleep_on(NULL);
}

static void pipe_third(void)
{
    open_pipes();
    fork_child(child_sleeps);
    say_ready();
    read_letter(up[0]);
}

/* The same of one whose first thread has ended: the others have its files. */
static void child_without_main(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, sleep_on, NULL) == 0, "pthread_create");
    pthread_exit(NULL);
}

static void pipe_mainless(void)
{
    open_pipes();
    fork_child(child_without_main);
    say_ready();
    fill(up[1]);
}

static const struct hung programs[] = {
    {"pipes-read", "proved", "unasked", "deadlock", 2, pipes_read},
    /* Who writes cannot be asked whether it has a timer: a write that is done in part would show.
     */
    {"pipes-full", "likely", "unasked", "deadlock", 2, pipes_full},
    {"pipe-waitpid", "proved", "unasked", "deadlock", 2, pipe_waitpid},
    {"wait-any", "proved", "unasked", "deadlock", 3, wait_any},
    {"sockets", "likely", "unasked", "deadlock", 2, sockets},
    {"flocks", "proved", "unasked", "deadlock", 2, flocks},
    {"posix-pipe", "proved", "unasked", "deadlock", 2, posix_pipe},
    {"shared-mutexes", "proved", "unasked", "deadlock", 2, shared_mutexes},
    {"pipe-own-end", "nothing", "unasked", "deadlock", 0, pipe_own_end},
    {"pipe-own-full", "likely", "unasked", "deadlock", 1, pipe_own_full},
    {"pipes-handler", "nothing", "unasked", "deadlock", 0, pipes_handler},
    {"pipes-free", "nothing", "unasked", "deadlock", 0, pipes_free},
    {"pipe-third", "nothing", "unasked", "deadlock", 0, pipe_third},
    {"pipe-mainless", "nothing", "unasked", "deadlock", 0, pipe_mainless},
    {0},
};

int main(int argc, char **argv)
{
    return hung_main(programs, argc, argv);
}

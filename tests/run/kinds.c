/* Hangs that no watcher inside one process sees, and the same written right.
 *
 *     kinds NAME [good]
 *
 * Each hangs for sure: both sides have their first lock before either wants its second. Written
 * right, each ends by itself and prints "done". Processes are children of the first, which waits
 * for them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool good; /* written right */

/* Seen by all processes. */
struct shared {
    atomic_int come;
    pthread_mutex_t mutex[2];
};
static struct shared *shared;

/* Until both are here. Nobody sleeps meanwhile. */
static void meet(void)
{
    if (good)
        return;
    atomic_fetch_add(&shared->come, 1);
    while (atomic_load(&shared->come) < 2)
        sched_yield();
}

static void make_shared(void)
{
    pthread_mutexattr_t attributes;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        exit(3);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < 2; i++)
        pthread_mutex_init(&shared->mutex[i], &attributes);
}

/* Two processes, one the other's parent. */
static void two_processes(void (*act)(int side))
{
    pid_t child = fork();
    if (child < 0)
        exit(3);
    if (child == 0) {
        act(1);
        _exit(0);
    }
    act(0);
    waitpid(child, NULL, 0);
}

static void two_threads(void *(*act)(void *))
{
    static int sides[] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, act, &sides[i]) != 0)
            exit(3);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* ------------------------------------------------------------------ System V semaphores */

static int set;

static void change(int which, int by)
{
    struct sembuf operation = {.sem_num = (unsigned short)which, .sem_op = (short)by};
    if (semop(set, &operation, 1) != 0)
        exit(3);
}

static void cross_semaphores(int side)
{
    int first = good ? 0 : side;
    change(first, -1);
    meet();
    change(1 - first, -1);
    change(1 - first, 1);
    change(first, 1);
}

static void system_five(void)
{
    set = semget(IPC_PRIVATE, 2, 0600);
    if (set < 0)
        exit(77);
    change(0, 1);
    change(1, 1);
    printf("set\n%d\n", set); /* it outlives its processes: whoever ends them removes it */
    fflush(stdout);
    two_processes(cross_semaphores);
    semctl(set, 0, IPC_RMID);
}

/* ------------------------------------------------------------------ message queues */

static mqd_t queues[2];

static void receive_first(int side)
{
    char letter[16];
    meet();
    if (good && side == 0 && mq_send(queues[1], "x", 1, 0) != 0)
        exit(3);
    if (mq_receive(queues[side], letter, sizeof letter, NULL) < 0)
        exit(3);
    if (side == 1 || !good)
        mq_send(queues[1 - side], "x", 1, 0);
}

static void message_queues(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 16};
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "/gordian-kinds-%ld-%d", (long)getpid(), i);
        queues[i] = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
        if (queues[i] < 0)
            exit(77);
        mq_unlink(name);
    }
    two_processes(receive_first);
}

/* ------------------------------------------------------------------ a socket against a mutex */

static int sockets[2];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void *send_guarded(void *unused)
{
    char letter = 'x';
    meet();
    pthread_mutex_lock(&guard);
    if (write(sockets[1], &letter, 1) != 1)
        exit(3);
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *read_guarded(void *unused)
{
    char letter;
    pthread_mutex_lock(&guard);
    if (good)
        pthread_mutex_unlock(&guard);
    meet();
    if (read(sockets[0], &letter, 1) != 1)
        exit(3);
    if (!good)
        pthread_mutex_unlock(&guard);
    return unused;
}

static void socket_mutex(void)
{
    pthread_t reader, writer;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 ||
        pthread_create(&reader, NULL, read_guarded, NULL) != 0 ||
        pthread_create(&writer, NULL, send_guarded, NULL) != 0)
        exit(3);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
}

/* ------------------------------------------------------------------ a child and its parent's lock
 */

static void wait_locked(void)
{
    pthread_mutex_lock(&shared->mutex[0]);
    pid_t child = fork();
    if (child < 0)
        exit(3);
    if (child == 0) {
        pthread_mutex_lock(&shared->mutex[0]);
        pthread_mutex_unlock(&shared->mutex[0]);
        _exit(0);
    }
    if (good)
        pthread_mutex_unlock(&shared->mutex[0]);
    waitpid(child, NULL, 0);
}

static void cross_mutexes(int side)
{
    int first = good ? 0 : side;
    pthread_mutex_lock(&shared->mutex[first]);
    meet();
    pthread_mutex_lock(&shared->mutex[1 - first]);
    pthread_mutex_unlock(&shared->mutex[1 - first]);
    pthread_mutex_unlock(&shared->mutex[first]);
}

static void process_mutexes(void)
{
    two_processes(cross_mutexes);
}

/* ------------------------------------------------------------------ flock and fcntl */

static int files[2];

static void open_files(void)
{
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "kinds-%ld-%d", (long)getpid(), i);
        files[i] = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (files[i] < 0)
            exit(3);
    }
}

static void forget_files(void)
{
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "kinds-%ld-%d", (long)getpid(), i);
        unlink(name);
    }
}

/* The lock belongs to an open file: each process opens its own. */
static void cross_flocks(int side)
{
    int own[2], first = good ? 0 : side;
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", files[i]);
        own[i] = open(path, O_RDWR | O_CLOEXEC);
    }
    flock(own[first], LOCK_EX);
    meet();
    flock(own[1 - first], LOCK_EX);
    close(own[0]);
    close(own[1]);
}

static void file_locks(void)
{
    open_files();
    forget_files();
    two_processes(cross_flocks);
}

/* fcntl between two processes is found by the kernel itself: so one of the two is a mutex. */
static void cross_fcntl(int side)
{
    struct flock lock = {.l_type = F_WRLCK};
    for (int step = 0; step < 2; step++) {
        if ((step == 0) == (good || side == 0))
            fcntl(files[0], F_SETLKW, &lock);
        else
            pthread_mutex_lock(&shared->mutex[0]);
        if (step == 0)
            meet();
    }
    pthread_mutex_unlock(&shared->mutex[0]);
    lock.l_type = F_UNLCK;
    fcntl(files[0], F_SETLK, &lock);
}

static void file_mutex(void)
{
    open_files();
    forget_files();
    two_processes(cross_fcntl);
}

/* ------------------------------------------------------------------ pipes both full */

static int pipes[2][2];

static void fill_and_read(int side)
{
    static char much[1 << 18];
    if (good && side == 1 && read(pipes[0][0], much, 1) != 1)
        exit(3);
    meet();
    size_t size = good ? 1 : sizeof much;
    if (write(pipes[side][1], much, size) != (ssize_t)size)
        exit(3);
    if ((!good || side == 0) && read(pipes[1 - side][0], much, 1) != 1)
        exit(3);
}

static void pipes_full(void)
{
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
        exit(3);
    two_processes(fill_and_read);
}

/* ------------------------------------------------------------------ a lock made of a word */

static atomic_int words[2];

/* As parking_lot and many others make theirs: 0 free, 1 taken, 2 taken and waited for. */
static void word_lock(atomic_int *word)
{
    int none = 0;
    if (atomic_compare_exchange_strong(word, &none, 1))
        return;
    while (atomic_exchange(word, 2) != 0)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void word_unlock(atomic_int *word)
{
    if (atomic_exchange(word, 0) == 2)
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *cross_words(void *side)
{
    int first = good ? 0 : *(int *)side;
    word_lock(&words[first]);
    meet();
    word_lock(&words[1 - first]);
    word_unlock(&words[1 - first]);
    word_unlock(&words[first]);
    return NULL;
}

static void own_words(void)
{
    two_threads(cross_words);
}

/* ------------------------------------------------------------------ initialisers and streams */

static pthread_once_t onces[2] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};

static void do_nothing(void)
{
}

static void first_needs_second(void)
{
    meet();
    pthread_once(&onces[1], do_nothing);
}

static void second_needs_first(void)
{
    meet();
    pthread_once(&onces[0], do_nothing);
}

static void *cross_onces(void *side)
{
    if (*(int *)side == 0)
        pthread_once(&onces[0], first_needs_second);
    else
        pthread_once(&onces[1], good ? do_nothing : second_needs_first);
    return NULL;
}

static void onces_crossed(void)
{
    two_threads(cross_onces);
}

static FILE *streams[2];

static void *cross_streams(void *side)
{
    int first = good ? 0 : *(int *)side;
    flockfile(streams[first]);
    meet();
    flockfile(streams[1 - first]);
    funlockfile(streams[1 - first]);
    funlockfile(streams[first]);
    return NULL;
}

static void streams_crossed(void)
{
    for (int i = 0; i < 2; i++)
        if (!(streams[i] = fopen("/dev/null", "w")))
            exit(3);
    two_threads(cross_streams);
}

/* One has the stream and wants the mutex, the other has that. */
static void *mutex_and_stream(void *side)
{
    if (good || *(int *)side == 0) {
        flockfile(streams[0]);
        meet();
        pthread_mutex_lock(&guard);
    } else {
        pthread_mutex_lock(&guard);
        meet();
        flockfile(streams[0]);
    }
    pthread_mutex_unlock(&guard);
    funlockfile(streams[0]);
    return NULL;
}

static void stream_mutex(void)
{
    streams[0] = fopen("/dev/null", "w");
    if (!streams[0])
        exit(3);
    two_threads(mutex_and_stream);
}

/* ------------------------------------------------------------------ which */

static const struct kind {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"system-v", system_five},         {"message-queues", message_queues},
    {"socket-mutex", socket_mutex},    {"wait-locked", wait_locked},
    {"shared-mutex", process_mutexes}, {"flock", file_locks},
    {"fcntl-mutex", file_mutex},       {"pipes-full", pipes_full},
    {"own-words", own_words},          {"once", onces_crossed},
    {"streams", streams_crossed},      {"stream-mutex", stream_mutex},
};

int main(int argc, char **argv)
{
    good = argc > 2 && strcmp(argv[2], "good") == 0;
    make_shared();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].run();
            puts("done");
            return 0;
        }
    return 2;
}

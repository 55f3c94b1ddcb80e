/* Delivers incidents that watched processes leave in the mailbox. */
#define _GNU_SOURCE
#include "cli/run/run.h"
#include "foundation/base/io/output.h"
#include "foundation/base/modules.h"
#include "foundation/records/incident.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct run_mailbox {
    struct incident_mailbox *box;
    void *mapped;
    size_t size;
    pthread_t thread;
    bool attended;
    atomic_bool over;
};

/* ------------------------------------------------------------------ the reporter */

/* Writes the incident to an anonymous file. -1: not possible. */
static int incident_file(const struct incident_mailbox *box)
{
    struct incident header;
    memcpy(&header, box->data, sizeof header);
    size_t size = header.total_size;
    if (size < sizeof header || size > INCIDENT_MAILBOX_ROOM)
        return -1;
    int fd = memfd_create("gordian-incident", MFD_CLOEXEC);
    if (fd >= 0 && (!write_whole(fd, box->data, size) || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Copies the environment without LD_PRELOAD. Free it. NULL: out of memory. */
static char **reporter_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **entries = calloc(count + 1, sizeof *entries);
    for (size_t i = 0; entries && i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            entries[kept++] = environ[i];
    return entries;
}

static bool spawn_reporter(int incident, int answer)
{
    char tool[PATH_MAX];
    bool known = program_path(tool, sizeof tool);
    char **environment = reporter_environment();
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid;
    if (!known || !environment) {
        free(environment);
        return false;
    }
    char *arguments[] = {tool, (char *)(uintptr_t) "run", (char *)(uintptr_t) "--report-incident",
                         (char *)(uintptr_t) "3", NULL};
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, incident, INCIDENT_INPUT_FD);
    posix_spawn_file_actions_adddup2(&actions, answer, INCIDENT_ANSWER_FD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    bool spawned = posix_spawn(&pid, tool, &actions, &attributes, arguments, environment) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return spawned;
}

static uint32_t await_incident(int fd)
{
    struct pollfd ready = {fd, POLLIN, 0};
    char answer = INCIDENT_FAILED;
    int got;
    while ((got = poll(&ready, 1, INCIDENT_PATIENCE_MS)) < 0 && errno == EINTR)
        ;
    return got > 0 && read(fd, &answer, 1) == 1 ? (uint32_t)answer : INCIDENT_FAILED;
}

/* Moves a descriptor away from the numbers that the reporter expects. */
static int moved_up(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 10) : -1;
    if (fd >= 0)
        close(fd);
    return moved;
}

static uint32_t report_incident(const struct incident_mailbox *box)
{
    int pipes[2], incident = moved_up(incident_file(box));
    uint32_t answer = INCIDENT_FAILED;
    if (incident >= 0 && pipe2(pipes, O_CLOEXEC) == 0) {
        pipes[1] = moved_up(pipes[1]);
        bool spawned = pipes[1] >= 0 && spawn_reporter(incident, pipes[1]);
        close(pipes[1]);
        if (spawned)
            answer = await_incident(pipes[0]);
        close(pipes[0]);
    }
    if (incident >= 0)
        close(incident);
    return answer;
}

/* ------------------------------------------------------------------ the thread */

static void wake_all(struct incident_mailbox *box)
{
    syscall(SYS_futex, &box->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void *attend_mailbox(void *context)
{
    struct run_mailbox *mailbox = context;
    struct incident_mailbox *box = mailbox->box;
    struct timespec patience = {1, 0};
    for (;;) {
        uint32_t word = __atomic_load_n(&box->word, __ATOMIC_ACQUIRE);
        if ((word & 3) == INCIDENT_BOX_READY) {
            box->answer = report_incident(box);
            uint32_t answered = word + (INCIDENT_BOX_ANSWERED - INCIDENT_BOX_READY);
            __atomic_compare_exchange_n(&box->word, &word, answered, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE);
            wake_all(box);
        } else if (atomic_load(&mailbox->over)) {
            return NULL;
        } else {
            syscall(SYS_futex, &box->word, FUTEX_WAIT, word, &patience, NULL, 0);
        }
    }
}

static bool map_mailbox(struct run_mailbox *mailbox, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/tally", folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    mailbox->size =
        INCIDENT_MAILBOX_OFFSET + sizeof(struct incident_mailbox) + INCIDENT_MAILBOX_ROOM;
    if (fd < 0)
        return false;
    mailbox->mapped = mmap(NULL, mailbox->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mailbox->mapped == MAP_FAILED)
        return false;
    mailbox->box = (struct incident_mailbox *)((char *)mailbox->mapped + INCIDENT_MAILBOX_OFFSET);
    return true;
}

struct run_mailbox *run_mailbox_open(const char *folder)
{
    struct run_mailbox *mailbox = *folder ? calloc(1, sizeof *mailbox) : NULL;
    if (!mailbox || !map_mailbox(mailbox, folder)) {
        free(mailbox);
        return NULL;
    }
    mailbox->box->listening = 1;
    return mailbox;
}

void run_mailbox_attend(struct run_mailbox *mailbox)
{
    sigset_t all, before;
    if (!mailbox)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the main thread handles signals */
    mailbox->attended = pthread_create(&mailbox->thread, NULL, attend_mailbox, mailbox) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!mailbox->attended)
        __atomic_store_n(&mailbox->box->listening, 0, __ATOMIC_RELEASE);
}

void run_mailbox_close(struct run_mailbox *mailbox)
{
    if (!mailbox)
        return;
    struct timespec soon;
    atomic_store(&mailbox->over, true);
    while (mailbox->attended) { /* the thread may have been about to sleep */
        wake_all(mailbox->box);
        clock_gettime(CLOCK_MONOTONIC, &soon);
        soon.tv_nsec += 1000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        mailbox->attended =
            pthread_clockjoin_np(mailbox->thread, NULL, CLOCK_MONOTONIC, &soon) != 0;
    }
    munmap(mailbox->mapped, mailbox->size);
    free(mailbox);
}

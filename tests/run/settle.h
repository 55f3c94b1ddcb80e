/* For programs with threads, in C and in C++: wait_until_all_sleep() returns when every other
 * thread has got as far as it can. Several threads may call it; they go on together.
 *
 * One of them looks at /proc until all threads but itself sleep, the other callers included. That
 * it was so at one moment is certain when a second look finds the same threads, and that none of
 * them has been on a processor in between. */
#ifndef GORDIAN_TESTS_RUN_SETTLE_H
#define GORDIAN_TESTS_RUN_SETTLE_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int settle_looking; /* one of the callers does */
static int settle_round;   /* changes when all are settled */

static inline unsigned long settle_number(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* How often the thread has been switched, and its number mixed in; 0: it runs. */
static inline unsigned long settle_look_at(const char *tid)
{
    char path[300], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 1; /* it has ended */
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *state = strstr(text, "\nState:\t");
    if (!state || !strchr("SZX", state[8]))
        return length <= 0;
    return strtoul(tid, NULL, 10) * 1000003 + settle_number(text, "\nvoluntary_ctxt_switches:") +
           settle_number(text, "nonvoluntary_ctxt_switches:") + 1;
}

/* A number for how all the others sleep; 0: one of them runs. */
static inline unsigned long settle_look(void)
{
    unsigned long sum = 1, one = 1;
    char own[32];
    snprintf(own, sizeof own, "%ld", (long)syscall(SYS_gettid));
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        abort();
    for (struct dirent *entry; one != 0 && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, own) != 0) {
            one = settle_look_at(entry->d_name);
            sum += one;
        }
    closedir(folder);
    return one ? sum : 0;
}

static inline void wait_until_all_sleep(void)
{
    int round = __atomic_load_n(&settle_round, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&settle_looking, 1, __ATOMIC_SEQ_CST)) {
        while (__atomic_load_n(&settle_round, __ATOMIC_SEQ_CST) == round)
            syscall(SYS_futex, &settle_round, FUTEX_WAIT, round, NULL, NULL, 0);
        return;
    }
    for (unsigned long before = 0, now; (now = settle_look()) == 0 || now != before; before = now)
        usleep(now ? 0 : 1000);
    __atomic_store_n(&settle_looking, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&settle_round, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &settle_round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#endif

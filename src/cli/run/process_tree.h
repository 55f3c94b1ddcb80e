/* The processes that a `gordian run` started: a cheap check whether any thread moved, and how to
 * end them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An approximate snapshot. If two are equal, no thread ran, started or ended in between. */
struct tree_activity {
    uint64_t runs; /* time slices of all threads so far */
    uint64_t who;  /* a sum over the ids of all threads */
    uint32_t threads, processes;
    bool stopped; /* a thread is stopped or traced */
    bool running; /* a thread runs or is runnable */
};

/* Process ids, parents before their children. Free it with tree_free. */
struct tree {
    uint32_t *pids;
    size_t count, room;
};

/* Lists the process and all its descendants. False: out of memory; the list is incomplete. */
bool tree_list(struct tree *tree, pid_t root);
void tree_free(struct tree *tree);

void tree_sample(pid_t root, struct tree_activity *glance);
bool tree_moved(const struct tree_activity *before, const struct tree_activity *now);

/* Ends these processes: with SIGABRT if that writes a core dump, and with SIGKILL otherwise or if
 * they remain. */
void tree_end(const uint32_t *pids, size_t count);

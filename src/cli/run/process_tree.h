/* The processes that one `gordian run` has started: whether anything has moved among them, asked so
 * cheaply that it can be asked all the time; and how they are ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As of one moment, about. Two that are equal: nobody has run in between, come or gone. */
struct tree_glance {
    uint64_t runs; /* how often all threads together got a processor, ever */
    uint64_t who;  /* a sum over the numbers of all threads */
    uint32_t threads, processes;
    bool stopped; /* somebody is stopped, or traced */
    bool running; /* somebody has a processor, or would if there were one to be had */
};

/* Processes by their numbers, a parent before its children. To be freed by tree_free. */
struct tree {
    uint32_t *pids;
    size_t count, room;
};

/* The process and all its descendants. False: out of memory; what was found is there. */
bool tree_list(struct tree *tree, pid_t root);
void tree_free(struct tree *tree);

void tree_look(pid_t root, struct tree_glance *glance);
bool tree_moved(const struct tree_glance *before, const struct tree_glance *now);

/* Ends these processes: by SIGABRT where that leaves a core, else, and if that does not do, by
 * SIGKILL. */
void tree_end(const uint32_t *pids, size_t count);

/*
 * The project's own service kernel (gpu/kernels/osdda.cu) as a subject: its PTX, kept by the build,
 * and how often each of its loops is passed for one event, from the sizes of the matrices and of
 * the launch. What waits for others (the next command, the end of the last step, other blocks) is
 * taken to be there at the first look: these are bounds on the work, not on idling.
 */
#ifndef GORDIAN_PTX_OWN_H
#define GORDIAN_PTX_OWN_H

#include "ptx/ptx.h"

#define OWN_LOOPS   16u
#define OWN_THREADS 512u /* of a block; one block a multiprocessor */

enum own_event {
    OWN_GRANT, /* a grant, a release, a wait of a process that holds nothing: the leader's alone */
    OWN_BLOCK, /* a wait: a path put behind others */
    OWN_HAND_OVER, /* a release to somebody who waits */
    OWN_CANCEL,    /* a wait given up */
    OWN_REBUILD,   /* a wait given up that closed a cycle: rows made anew */
    OWN_EVENTS,
};

/* "grant", "block", "hand-over", "cancel", "rebuild"; NULL at the end. */
extern const char *const own_event_names[OWN_EVENTS + 1];

struct own_question {
    const char *entry, *from, *to, *avoid;
    struct ptx_named loops[OWN_LOOPS];
    size_t loop_count;
};

/* The text of the kernel; NULL: built without nvcc. */
const char *own_ptx(size_t *size);

/* What one event takes with so many resources and processes on a grid of so many blocks. */
void own_ask(struct own_question *question, enum own_event event, uint32_t resources,
             uint32_t processes, uint32_t blocks);
/* The blocks that the engine starts on a device with so many multiprocessors. */
uint32_t own_blocks(uint32_t resources, uint32_t multiprocessors);

#endif

/* From the picture to findings. The verdict is libgordian's: everybody who sleeps without end is a
 * process of a snapshot, every lock a resource; whoever runs, moved, or waits with a time limit
 * holds nothing, since he can give back what he has. It is judged twice, once with proved holds
 * alone, then with likely ones, too.
 *
 * Waits that anybody could end (a condition, a semaphore, a word that nobody knows) count only
 * where the whole process hangs: every thread of it sleeps without end in what only a thread of the
 * process can end. Then nobody is left. If the process has handlers for signals, one of them might
 * still end such a wait, as some programs do while idle; so a lock must be part of it, too.
 * threading.Lock of Python is between the two: whoever likes may release it. Without a holder that
 * is known, it is likely at most if the process has a handler of SIGINT, as Python has by itself.
 */
#ifndef GORDIAN_INSPECT_JUDGE_H
#define GORDIAN_INSPECT_JUDGE_H

#include "inspect/sight.h"

struct finding {
    enum word word;  /* WORD_PROVED or WORD_LIKELY */
    uint32_t kind;   /* INCIDENT_DEADLOCK or INCIDENT_OWNER_GONE */
    bool cycle;      /* the edges are one, in order: wait, hold, wait, ... */
    uint32_t *edges; /* of the sight: why */
    size_t edge_count, edge_room;
    uint32_t *members; /* threads */
    size_t member_count, member_room;
    uint32_t *behind; /* threads that can never go on either */
    size_t behind_count, behind_room;
    const char *note; /* the argument, in a sentence; lives as long as the look */
};

struct findings {
    struct finding *list;
    size_t count, room;
    const char *engine; /* that judged; NULL: nobody waited */
    gordian_allocator memory;
};

void findings_open(struct findings *findings);
void findings_clear(struct findings *findings);
void findings_close(struct findings *findings);

/* Drops likely findings of which a member is not steady any more. */
void findings_acquit(struct findings *findings, const struct sight *sight);

/* Signals whose handlers could end a wait, bit n-1: not those that only a thread's own mistakes
 * raise, nor libc's own two, nor the one that the library of `gordian run` listens to. A core does
 * not tell. */
uint64_t judge_handlers_of(const struct target *target);

/* Appends what is found; may add edges to the sight (who could have ended a wait). */
gordian_status judge_sight(struct sight *sight, struct findings *findings, gordian_error *error);

#endif

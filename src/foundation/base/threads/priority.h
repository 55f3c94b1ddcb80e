/* Who gets a processor first, where there are more who want one than there are. What the system
 * does not have, or does not permit, is no trouble: then all are alike. */
#pragma once

/* This thread has little to do at a time, and others wait for it: it is let on as soon as it has
 * something to do. It gets no larger part of the time, and no rights are needed; what it starts
 * later, threads and processes, is as usual again. (Linux 6.12 and later.) */
void priority_soon(void);
/* This thread may have much to do, and nobody minds if it waits. */
void priority_late(void);

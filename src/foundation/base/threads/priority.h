/* Scheduling priorities of threads. Where the system lacks or denies them, all threads are equal.
 */
#pragma once

/* This thread has short tasks that others wait for: it runs as soon as it has work. It does not get
 * more time in total, and needs no privileges. Threads and processes that it starts are scheduled
 * as usual. (Linux 6.12 and later.) */
void priority_soon(void);
/* This thread may have long tasks for which nothing waits. */
void priority_late(void);

/* Waits that take too long (GORDIAN_STALL). */
#ifndef GORDIAN_SOURCES_RUN_REPORT_LONG_WAIT_H
#define GORDIAN_SOURCES_RUN_REPORT_LONG_WAIT_H

/* A thread is about to wait: sees to it that somebody watches the clock. Nothing unless asked for.
 */
void long_wait_watch(void);
void long_wait_fork(void);

#endif

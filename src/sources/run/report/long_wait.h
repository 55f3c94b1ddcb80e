/* Waits that take too long (GORDIAN_STALL). */
#pragma once

/* A thread is about to wait: sees to it that somebody watches the clock. Nothing unless asked for.
 */
void long_wait_watch(void);
void long_wait_fork(void);

/* Stalls: waits that exceed GORDIAN_STALL. */
#pragma once

/* Called before a wait: starts the thread that watches for stalls, if requested. */
void long_wait_watch(void);
void long_wait_fork(void);

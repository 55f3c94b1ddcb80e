/* Reports all waits and holds when a signal requests the status. */
#pragma once

/* Takes the signal of GORDIAN_STATUS_SIGNAL, unless it has a handler. */
void status_start(void);
/* Releases the signal: no more answers. */
void status_release_signal(void);
/* The program takes the signal for itself: the library releases it. */
void status_yield(int number);

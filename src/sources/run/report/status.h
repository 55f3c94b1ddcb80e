/* Telling, when asked by a signal, who waits for what. */
#pragma once

/* Takes the signal of GORDIAN_STATUS_SIGNAL, if nobody else has it. */
void status_start(void);
/* Gives the signal back: nobody is answered any more. */
void status_give_up(void);
/* The program takes this signal for itself: it gets it, and no request comes by it any more. */
void status_yield(int number);

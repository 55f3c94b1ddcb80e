/* The terminal of a full-screen program: single keys and the alternate screen. It is restored in
 * all cases: at the end, by handlers of signals that end or stop the program, and after SIGKILL by
 * a waiting child. */
#pragma once

#include <stdbool.h>

enum terminal_key {
    KEY_NONE = 0,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_ENTER,
    KEY_ESCAPE,
};

/* False: standard input or output is not a terminal. */
bool terminal_open(void);
void terminal_close(void);
/* Returns the current size. */
void terminal_size(unsigned *columns, unsigned *rows);
/* Returns the next key, or KEY_NONE; letters are themselves. */
int terminal_read(void);

/* The terminal while a program draws on it: keys one by one, a screen of its own. It is given back
 * whatever happens: at the end, by signals that end the program or stop it, and, should it be
 * killed, by a child that does nothing but wait for that. */
#pragma once

#include <stdbool.h>

enum terminal_key {
    KEY_NONE = 0,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_ENTER,
    KEY_ESCAPE,
};

/* False: standard input or output is no terminal. */
bool terminal_open(void);
void terminal_close(void);
/* How large it is now. */
void terminal_size(unsigned *columns, unsigned *rows);
/* The next key, or KEY_NONE; letters are themselves. */
int terminal_read(void);

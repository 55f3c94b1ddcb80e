/* Passwords in the addresses of databases. */
#pragma once

/* Hides every password of an argument in place: it is what the process list shows. */
void hide_password(char *address);
/* A copy, to be freed, of an argument whose passwords are then hidden. NULL: no memory, or there is
 * none. */
char *hide_behind(char *address);

/* Passwords in the addresses of databases. */
#pragma once

/* Overwrites every password in an argument, because the process list shows it. */
void hide_password(char *address);
/* Returns a copy of an argument, to be freed, and hides the passwords in the original. NULL: out of
 * memory, or no argument. */
char *hide_uri(char *address);

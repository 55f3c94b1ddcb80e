/* Hides passwords in addresses. Hides too much rather than too little. */
#include "cli/base/hide_passwords.h"

#include <string.h>

static void hide_until(char *at, const char *end)
{
    while (at < end)
        *at++ = '*';
}

void hide_password(char *address)
{
    char *end = address + strlen(address);
    char *authority = strstr(address, "://");
    char *at = authority ? strrchr(authority, '@') : NULL;
    char *colon = at ? strchr(authority + 3, ':') : NULL;
    if (colon && colon < at)
        hide_until(colon + 1, at);
    /* "password=...", "sslpassword = '...'": hide everything to the end, since a quoted password
     * may contain anything. */
    char *word = strstr(address, "password");
    if (word)
        hide_until(word + strlen("password"), end);
}

char *hide_uri(char *address)
{
    char *copy = address ? strdup(address) : NULL;
    if (copy)
        hide_password(address);
    return copy;
}

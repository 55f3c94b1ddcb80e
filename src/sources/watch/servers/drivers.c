/* Selects the driver for an address. */
#include "sources/watch/servers/driver.h"

#include <string.h>

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

const struct driver *driver_find(const char *address, const char **why)
{
    *why = "";
    if (begins_with(address, "mysql://") || begins_with(address, "mariadb://")) {
#ifdef HAVE_LIBMARIADB
        return &driver_mariadb;
#else
        *why = "built without MariaDB's connector (libmariadb)";
        return NULL;
#endif
    }
    /* other forms that libpq may accept: "service=shop", "host=/tmp dbname=shop" */
    if (!begins_with(address, "postgres://") && !begins_with(address, "postgresql://") &&
        (strstr(address, "://") || !strchr(address, '=')))
        return NULL;
#ifdef HAVE_LIBPQ
    return &driver_libpq;
#else
    *why = "built without libpq";
    return NULL;
#endif
}

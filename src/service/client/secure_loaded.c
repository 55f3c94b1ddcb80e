/* TLS for those that must not need OpenSSL themselves: the functions of secure.h, from a module. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/client/secure_interface.h"

#include <limits.h>
#include <unistd.h>

/* Paths from the folder of the library, or of the program that it is a part of. */
static const char *const places[] = {
    SECURE_MODULE,
    "src/" SECURE_MODULE,
    "gordian/" SECURE_MODULE,
#ifdef RUN_LIBRARY_FOLDER
    RUN_LIBRARY_FOLDER "/" SECURE_MODULE,
#endif
#ifdef MODULE_FOLDER
    MODULE_FOLDER "/" SECURE_MODULE,
#endif
    NULL,
};

struct secure {
    const struct secure_door *door;
    struct secure *inside; /* the module's */
    gordian_allocator memory;
};

struct secure_link {
    struct secure *secure;
    struct secure_link *inside;
};

/* Who is a part of a program has the program's word for where it is, which need not be a path. */
static bool find_module(char *path, size_t size)
{
    char folder[PATH_MAX];
    /* The address of a function as one of data: POSIX has it so. */
    const void *here = (const void *)(uintptr_t)secure_open;
    return (beside_code(here, folder, sizeof folder) &&
            beside_find(folder, places, R_OK, path, size)) ||
           (beside_program(folder, sizeof folder) && beside_find(folder, places, R_OK, path, size));
}

static gordian_status load_door(const struct secure_door **door, gordian_error *error)
{
    char path[PATH_MAX], why[200];
    if (!find_module(path, sizeof path))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "tls:// needs OpenSSL through " SECURE_MODULE ", which is not here");
    *door = beside_load(path, SECURE_TABLE, why, sizeof why);
    return *door ? GORDIAN_OK
                 : fail(error, GORDIAN_STATUS_UNAVAILABLE, "tls:// needs OpenSSL: %s", why);
}

gordian_status secure_open(struct secure **out, const char *host,
                           const struct secure_wishes *wishes, const gordian_allocator *memory,
                           gordian_error *error)
{
    *out = NULL;
    struct secure *secure = memory_zeroed(memory, sizeof *secure);
    if (!secure)
        return fail_memory(error);
    secure->memory = *memory;
    gordian_status status = load_door(&secure->door, error);
    THEN(status, secure->door->open(&secure->inside, host, wishes, memory, error));
    if (status == GORDIAN_OK)
        *out = secure;
    else
        memory_free(memory, secure);
    return status;
}

void secure_close(struct secure *secure)
{
    if (!secure)
        return;
    gordian_allocator memory = secure->memory;
    secure->door->close(secure->inside);
    memory_free(&memory, secure);
}

struct secure_link *secure_link_open(struct secure *secure, int fd)
{
    struct secure_link *link = memory_zeroed(&secure->memory, sizeof *link);
    if (!link)
        return NULL;
    link->secure = secure;
    link->inside = secure->door->link_open(secure->inside, fd);
    if (link->inside)
        return link;
    memory_free(&secure->memory, link);
    return NULL;
}

void secure_link_close(struct secure_link *link)
{
    if (!link)
        return;
    link->secure->door->link_close(link->inside);
    memory_free(&link->secure->memory, link);
}

int secure_shake(struct secure_link *link)
{
    return link->secure->door->shake(link->inside);
}

ssize_t secure_read(struct secure_link *link, void *to, size_t size)
{
    return link->secure->door->read(link->inside, to, size);
}

ssize_t secure_write(struct secure_link *link, const void *from, size_t size)
{
    return link->secure->door->write(link->inside, from, size);
}

int secure_flush(struct secure_link *link)
{
    return link->secure->door->flush(link->inside);
}

size_t secure_unsent(const struct secure_link *link)
{
    return link->secure->door->unsent(link->inside);
}

bool secure_has_more(const struct secure_link *link)
{
    return link->secure->door->has_more(link->inside);
}

const gordian_error *secure_trouble(const struct secure_link *link)
{
    return link->secure->door->trouble(link->inside);
}

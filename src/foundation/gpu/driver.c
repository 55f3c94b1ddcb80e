/* Loads the CUDA driver at run time (driver.h). */
#define _GNU_SOURCE
#include "foundation/gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *driver_text(const struct cuda_driver *driver, int result, char *buffer, size_t size)
{
    const char *text = NULL;
    if (driver->error_string(result, &text) == CUDA_OK && text)
        snprintf(buffer, size, "%s", text);
    else
        snprintf(buffer, size, "CUDA error %d", result);
    return buffer;
}

static const char *library_name(void)
{
    const char *name = getenv("GORDIAN_CUDA_LIBRARY");
    return name && *name ? name : CUDA_LIBRARY;
}

bool driver_likely(void)
{
    void *library = dlopen(library_name(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library)
        dlclose(library);
    return library != NULL;
}

gordian_status driver_load(struct cuda_driver *driver, gordian_error *error)
{
    const char *name = library_name();
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "no NVIDIA driver: %.100s not found", name);
    const char *missing = NULL;
    void
        *found; /* data and function pointers have the same representation wherever dlopen exists */
#define X(symbol, member, parameters)                                                              \
    found = dlsym(library, #symbol);                                                               \
    memcpy(&driver->member, &found, sizeof found);                                                 \
    missing = found || missing ? missing : #symbol;
    CUDA_FUNCTIONS(X)
#undef X
    dlclose(library);
    if (missing)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "the NVIDIA driver is too old: it has no %s",
                    missing);
    int result = driver->init(0);
    char text[200];
    if (result == CUDA_NO_DEVICE)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "the NVIDIA driver finds no GPU");
    if (result != CUDA_OK)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "the NVIDIA driver does not start: %s",
                    driver_text(driver, result, text, sizeof text));
    return GORDIAN_OK;
}

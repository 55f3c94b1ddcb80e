/* The default device of the engines, and the public list of devices. */
#include "foundation/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool emulator_wanted(void)
{
    const char *value = getenv("GORDIAN_EMULATE_GPU");
    return value && strcmp(value, "1") == 0;
}

bool gpu_available(const char **why)
{
    /* The reason must outlive this call. Each thread has its own. */
    static _Thread_local char reason[256];
    if (emulator_wanted() || gpu_count(reason, sizeof reason))
        return true;
    *why = reason;
    return false;
}

bool gpu_likely(void)
{
    return emulator_wanted() || gpu_driver_likely();
}

gordian_status gpu_open_default(struct gpu **out, const gordian_allocator *memory,
                                gordian_error *error)
{
    return gpu_open_wanted(out, 0, memory, error);
}

gordian_status gpu_open_wanted(struct gpu **out, unsigned index, const gordian_allocator *memory,
                               gordian_error *error)
{
    return emulator_wanted() ? gpu_open_emulator(out, memory, error)
                             : gpu_open(out, index, memory, error);
}

gordian_status gordian_device(size_t index, gordian_device_info *info)
{
    char why[sizeof info->reason] = "";
    unsigned count = gpu_count(why, sizeof why);
    if (index >= (count ? count : 1))
        return GORDIAN_STATUS_END;
    memset(info, 0, sizeof *info);
    if (count == 0) {
        memcpy(info->reason, why, sizeof why);
        return GORDIAN_OK;
    }
    struct gpu_info found;
    gordian_error error = {0};
    info->available = gpu_describe((unsigned)index, &found, &error) == GORDIAN_OK;
    if (!info->available)
        snprintf(info->reason, sizeof info->reason, "%.199s", error.message);
    memcpy(info->name, found.name, sizeof info->name);
    info->major = found.major;
    info->minor = found.minor;
    info->multiprocessors = found.multiprocessors;
    info->memory = found.memory;
    info->memory_free = found.memory_free;
    return GORDIAN_OK;
}

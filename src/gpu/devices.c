/* The public list of devices. */
#include "gpu/gpu.h"

#include <stdio.h>
#include <string.h>

gordian_status gordian_device(size_t index, gordian_device_info *info)
{
    char why[sizeof info->reason] = "";
    unsigned count = gpu_count(why, sizeof why);
    if (index >= (count ? count : 1))
        return GORDIAN_END;
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

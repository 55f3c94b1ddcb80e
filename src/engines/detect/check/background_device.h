/* A device that is opened in a background thread while the snapshot is read that it will check. */
#pragma once

#include "foundation/gpu/gpu.h"

struct background_device;

/* Returns whether this engine needs a device for certain; whether it will for that many processes
 * and resources. */
bool background_device_wanted(const char *engine);
bool background_device_pays(const char *engine, uint64_t nodes);
/* Returns NULL if the thread cannot be started, which only costs time. */
struct background_device *background_device_begin(void);
/* Waits until the device is open. `ahead` still owns it. */
gordian_status background_device_get(struct background_device *ahead, struct gpu **gpu,
                                     gordian_error *error);
void background_device_end(struct background_device *ahead); /* NULL is fine */

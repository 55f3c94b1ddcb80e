/* A device that a thread of its own opens while the snapshot that it will judge is being read. */
#pragma once

#include "foundation/gpu/gpu.h"

struct background_device;

/* Does this engine need one for certain? Will it for so many processes and resources? */
bool background_device_wanted(const char *engine);
bool background_device_pays(const char *engine, uint64_t nodes);
/* NULL: it cannot be opened, which changes nothing but the time. */
struct background_device *background_device_begin(void);
/* Waits until it is open; `ahead` keeps the device. */
gordian_status background_device_get(struct background_device *ahead, struct gpu **gpu,
                                     gordian_error *error);
void background_device_end(struct background_device *ahead); /* NULL is fine */

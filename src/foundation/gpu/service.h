/*
 * A resident service kernel, from the host: a ring of commands, answers coming back.
 *
 * The kernel stays while there is something to do; no event costs a launch. The host writes a
 * command into the ring in mapped memory, the kernel polls the ring, and an answer, where one is
 * wanted, comes back the same way. Commands are carried out in order. Posting does not wait, so
 * commands that need no answer stream. kernels/resident/service.h is the device's side.
 *
 * After some idle milliseconds, and now and then anyway, the kernel leaves, and is started again by
 * the next call that has something for it: calls of the driver that wait for the whole device are
 * so never in vain for long. What was posted meanwhile is in the ring and carried out then.
 *
 * Failure is sticky and reported once: when the kernel has ended without being told to, or has said
 * nothing for too long, every call below fails from then on and service_reason says why. Nothing is
 * known then about commands without an answer.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/resident/service_ring.h"

struct service;

/* The ring; no kernel yet. The gpu must outlive the service. */
gordian_status service_open(struct service **out, struct gpu *gpu, const gordian_allocator *memory,
                            gordian_error *error);
/* Stops the kernel if it runs. NULL is fine. */
void service_close(struct service *service);

/* `hook` is called before every start of the kernel from now on, while none runs; if it fails the
 * kernel is not started. */
void service_before_start(struct service *service,
                          gordian_status (*hook)(void *context, gordian_error *error),
                          void *context);

/* What the kernel's argument struct gets. Take it anew for every start. */
struct service_arguments service_arguments(const struct service *service);
/* Starts the kernel; .service and .cooperative are set here. Its arguments begin with a struct
 * service_arguments. They are copied: it is started again with them. */
gordian_status service_start(struct service *service, struct gpu_launch launch,
                             gordian_error *error);
/* Has it carry out what was posted, and end. Fine when none runs. GORDIAN_STATUS_IO: it failed. */
gordian_status service_stop(struct service *service, gordian_error *error);

/* False: the service has failed. */
bool service_post(struct service *service, uint32_t operation, uint32_t a, uint32_t b, uint32_t c);
/* The same, and waits for the answer. */
bool service_ask(struct service *service, uint32_t operation, uint32_t a, uint32_t b, uint32_t c,
                 uint32_t *answer);

/* Has anything been posted since the last call of this? (Whoever reads the device's memory asks
 * the kernel first whether it is done with that.) */
bool service_touched(struct service *service);

/* Why it has failed: one line; NULL: it has not. */
const char *service_reason(const struct service *service);

/* For tests: the kernel ends by itself in place of the command after that many more. */
void service_fail_after(struct service *service, uint64_t commands);

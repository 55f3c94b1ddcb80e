/*
 * A resident service kernel, controlled from the host: a ring buffer of commands, and answers.
 *
 * The kernel stays on the device while there is work, so no event costs a launch. The host writes a
 * command to the ring in mapped memory, the kernel polls the ring, and an answer, if one is wanted,
 * comes back the same way. Commands are executed in order. Posting does not wait, so commands
 * without an answer stream. kernels/resident/service.h is the device's side.
 *
 * After some idle milliseconds, and periodically anyway, the kernel leaves. The next call with a
 * command starts it again. So driver calls that wait for the whole device never wait long. Commands
 * posted while no kernel runs stay in the ring until then.
 *
 * Failure is sticky: if the kernel has ended without being stopped, or has not answered for too
 * long, every later call fails and service_reason returns the reason. It is then unknown which
 * commands without an answer were executed.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/resident/service_ring.h"

struct service;

/* Opens the ring, without a kernel. The gpu must outlive the service. */
gordian_status service_open(struct service **out, struct gpu *gpu, const gordian_allocator *memory,
                            gordian_error *error);
/* Stops the kernel if it runs. NULL is fine. */
void service_close(struct service *service);

/* Sets a hook that is called before every start of the kernel, while none runs. If the hook fails,
 * the kernel is not started. */
void service_before_start(struct service *service,
                          gordian_status (*hook)(void *context, gordian_error *error),
                          void *context);

/* Returns the service's part of the kernel's arguments. Call it for every start. */
struct service_arguments service_arguments(const struct service *service);
/* Starts the kernel; sets .service and .cooperative. Its arguments begin with a struct
 * service_arguments. They are copied for later restarts. */
gordian_status service_start(struct service *service, struct gpu_launch launch,
                             gordian_error *error);
/* Lets the kernel execute everything that was posted, and stops it. Does nothing if none runs.
 * GORDIAN_STATUS_IO: it failed. */
gordian_status service_stop(struct service *service, gordian_error *error);

/* Posts a command. Returns false if the service has failed. */
bool service_post(struct service *service, uint32_t operation, uint32_t a, uint32_t b, uint32_t c);
/* Posts a command and waits for the answer. */
bool service_ask(struct service *service, uint32_t operation, uint32_t a, uint32_t b, uint32_t c,
                 uint32_t *answer);

/* Returns whether anything was posted since the last call of this function. Before reading the
 * device's memory, ask the kernel for completion if so. */
bool service_touched(struct service *service);

/* Returns why it has failed, in one line. NULL: it has not. */
const char *service_reason(const struct service *service);

/* For tests: after that many more commands the kernel ends instead of executing one. */
void service_fail_after(struct service *service, uint64_t commands);

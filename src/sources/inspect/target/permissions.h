/* Explains why a process may not be inspected, and what to do about it. */
#pragma once

#include <gordian/gordian.h>

/* The permissions that decide whether a process may be inspected. */
struct rights {
    uint32_t pid;
    int yama_scope;   /* kernel.yama.ptrace_scope; 0: not present */
    long user, owner; /* of this process and of the inspected one; -1: unknown */
    bool may_trace;   /* CAP_SYS_PTRACE */
};

struct rights rights_over(uint32_t pid);

/* Reports why inspecting is not permitted: the process of another user, Yama, a container without
 * the capability, or a process that refuses to be traced. Always GORDIAN_STATUS_INPUT. */
gordian_status rights_report(const struct rights *rights, gordian_error *error);

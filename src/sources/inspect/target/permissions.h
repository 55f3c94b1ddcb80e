/* Why a process may not be looked at, in words that say what to do. */
#pragma once

#include <gordian/gordian.h>

/* Who may look at whom here. */
struct rights {
    uint32_t pid;
    int yama_scope;   /* kernel.yama.ptrace_scope; 0: there is none */
    long user, owner; /* ours, the process's; -1: not known */
    bool may_trace;   /* CAP_SYS_PTRACE */
};

struct rights rights_over(uint32_t pid);

/* Why looking is not allowed: another user's, Yama, a container without the capability, a process
 * that does not want to be looked at. Always GORDIAN_STATUS_INPUT. */
gordian_status rights_say(const struct rights *rights, gordian_error *error);

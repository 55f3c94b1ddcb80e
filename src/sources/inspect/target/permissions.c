#include "sources/inspect/target/permissions.h"

#include "foundation/base/error.h"
#include "sources/inspect/target/proc.h"

#include <stdlib.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19

gordian_status rights_report(const struct rights *rights, gordian_error *error)
{
    uint32_t pid = rights->pid;
    if (rights->yama_scope == 3)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u may not be inspected: kernel.yama.ptrace_scope is 3, which forbids "
                    "it for all users until the next boot; take a core instead (kill -QUIT)",
                    pid);
    if (rights->user == 0 && !rights->may_trace)
        return fail(
            error, GORDIAN_STATUS_INPUT,
            "process %u may not be inspected: this container lacks CAP_SYS_PTRACE; start it "
            "with --cap-add=SYS_PTRACE, or inspect from outside",
            pid);
    if (rights->owner >= 0 && rights->owner != rights->user && rights->user != 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u belongs to user %ld: inspect it as that user or as root (sudo)",
                    pid, rights->owner);
    if (rights->yama_scope >= 1)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u may not be inspected: kernel.yama.ptrace_scope is %d; use sudo, or "
                    "sysctl kernel.yama.ptrace_scope=0",
                    pid, rights->yama_scope);
    if (rights->user == 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u may not be inspected: root lacks CAP_SYS_PTRACE in the user "
                    "namespace of that process, or a security module forbids it; inspect it from "
                    "the namespace in which it was started",
                    pid);
    return fail(error, GORDIAN_STATUS_INPUT,
                "process %u may not be inspected: it runs with raised privileges or refuses to be "
                "traced; inspect it as root (sudo)",
                pid);
}

struct rights rights_over(uint32_t pid)
{
    char scope[16], own[4096], status[4096];
    proc_read(scope, sizeof scope, "/proc/sys/kernel/yama/ptrace_scope");
    proc_read(own, sizeof own, "/proc/self/status");
    proc_read(status, sizeof status, "/proc/%u/status", pid);
    return (struct rights){
        .pid = pid,
        .yama_scope = atoi(scope),
        .user = (long)geteuid(),
        .owner = proc_line(status, "Uid:") ? (long)proc_number(status, "Uid:", 10) : -1,
        .may_trace = proc_number(own, "CapEff:", 16) >> CAP_SYS_PTRACE_BIT & 1,
    };
}

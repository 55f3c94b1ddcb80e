/* Why a process may not be inspected: each reason, in the words that are shown. */
#include "sources/inspect/target/permissions.h"
#include "test.h"

#include <string.h>

static const struct situation {
    struct rights rights;
    const char *said;
} situations[] = {
    {{7, 3, 0, 0, true},
     "process 7 may not be inspected: kernel.yama.ptrace_scope is 3, which forbids it for all "
     "users "
     "until the next boot; take a core instead (kill -QUIT)"},
    {{7, 0, 0, 0, false},
     "process 7 may not be inspected: this container lacks CAP_SYS_PTRACE; start it with "
     "--cap-add=SYS_PTRACE, or inspect from outside"},
    {{7, 1, 1000, 0, false},
     "process 7 belongs to user 0: inspect it as that user or as root (sudo)"},
    {{7, 0, 1000, 33, false},
     "process 7 belongs to user 33: inspect it as that user or as root (sudo)"},
    {{7, 1, 1000, 1000, false},
     "process 7 may not be inspected: kernel.yama.ptrace_scope is 1; use sudo, or sysctl "
     "kernel.yama.ptrace_scope=0"},
    {{7, 2, 1000, 1000, false},
     "process 7 may not be inspected: kernel.yama.ptrace_scope is 2; use sudo, or sysctl "
     "kernel.yama.ptrace_scope=0"},
    {{7, 0, 1000, 1000, false},
     "process 7 may not be inspected: it runs with raised privileges or refuses to be "
     "traced; inspect it as root (sudo)"},
    {{7, 0, 0, 33, true},
     "process 7 may not be inspected: root lacks CAP_SYS_PTRACE in the user namespace of that "
     "process, or a security module forbids it; inspect it from the namespace in which it was "
     "started"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++) {
        gordian_error error = {0};
        CHECK(rights_report(&situations[i].rights, &error) == GORDIAN_STATUS_INPUT);
        CHECK_MSG(strcmp(error.message, situations[i].said) == 0, "%zu: %s", i, error.message);
    }
    return test_done();
}

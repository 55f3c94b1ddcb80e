/* A container or service manager may run this command with a seccomp filter. A child process makes
 * all system calls of the library to find out whether the filter kills it. */
#define _GNU_SOURCE
#include "cli/run/run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads the number of filters; 1 if the kernel does not report it. */
static unsigned count_filters(void)
{
    char line[200];
    unsigned mode = 0, count = 0;
    bool found = false;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "Seccomp: %u", &mode);
        found = sscanf(line, "Seccomp_filters: %u", &count) == 1 || found;
    }
    if (file)
        fclose(file);
    return mode == 0 ? 0 : found ? count : 1;
}

/* Makes all system calls of the library. Errors are fine; being killed is not. */
static _Noreturn void do_it_all(void)
{
    char byte = 0, other = 0, name[16];
    struct rusage usage;
    struct stat about;
    struct rlimit limit;
    struct iovec to = {&byte, 1}, from = {&other, 1};
    struct timespec none = {0, 0};
    int pipes[2], file = (int)syscall(SYS_memfd_create, "gordian-try", 1u);
    syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0);
    syscall(SYS_rt_sigprocmask, ~0, &to, NULL, 8);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0);
    syscall(SYS_kill, getpid(), 0);
    syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
    syscall(SYS_prctl, PR_GET_NAME, name);
    syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &about, 0);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &limit);
    syscall(SYS_pwrite64, file, &byte, 1, 0);
    syscall(SYS_pread64, file, &byte, 1, 0);
    syscall(SYS_lseek, file, 0, SEEK_SET);
    syscall(SYS_ftruncate, file, 4096);
    syscall(SYS_geteuid);
    syscall(SYS_faccessat, AT_FDCWD, "/proc/self/exe", X_OK);
    syscall(SYS_madvise, NULL, 0, MADV_DONTNEED);
    if (syscall(SYS_pipe2, pipes, O_CLOEXEC) == 0)
        syscall(SYS_ppoll, &(struct pollfd){pipes[0], POLLIN, 0}, 1, &none, NULL, 0);
    syscall(SYS_dup3, pipes[0], 60, O_CLOEXEC);
#ifdef SYS_close_range
    syscall(SYS_close_range, 70, 71, 0);
#endif
    _exit(0);
}

unsigned run_filters(void)
{
    unsigned count = count_filters();
    int status = 0;
    if (count == 0)
        return 0;
    pid_t child = fork();
    if (child == 0)
        do_it_all();
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 0;
    return count;
}

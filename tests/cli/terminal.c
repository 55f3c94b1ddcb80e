/* terminal [--until TEXT] CMD [ARG...]: runs a command with stdout and stderr on a terminal and
 * copies what it writes there to our stdout, line ends as on a file. Exits as the command did.
 * --until: as soon as the text has been written there the command is interrupted, as by ctrl-C.
 *
 * terminal --interrupt CMD [ARG...]: no terminal, and the command is interrupted as soon as it
 * catches that. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_terminal(int *controller)
{
    *controller = posix_openpt(O_RDWR | O_NOCTTY);
    if (*controller < 0 || grantpt(*controller) != 0 || unlockpt(*controller) != 0)
        return -1;
    const char *name = ptsname(*controller);
    return name ? open(name, O_RDWR | O_NOCTTY) : -1;
}

static void run_command(char **command)
{
    signal(SIGINT, SIG_DFL); /* a shell's background job ignores it */
    execvp(command[0], command);
    _exit(127);
}

static int exit_status(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
        return 125;
    return WEXITSTATUS(status);
}

/* The terminal turns "\n" into "\r\n"; reading fails with EIO once nobody has it open. */
static void copy_output(int controller, pid_t child, const char *until)
{
    char buffer[4096], recent[300]; /* what was written last */
    memset(recent, ' ', sizeof recent - 1);
    recent[sizeof recent - 1] = '\0';
    ssize_t count;
    while ((count = read(controller, buffer, sizeof buffer)) > 0 || (count < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < count; i++) {
            bool line_end = buffer[i] == '\r' && i + 1 < count && buffer[i + 1] == '\n';
            if (!line_end)
                putchar(buffer[i]);
            memmove(recent, recent + 1, sizeof recent - 2);
            recent[sizeof recent - 2] = buffer[i] ? buffer[i] : ' ';
            if (until && strstr(recent, until)) {
                kill(child, SIGINT);
                until = NULL;
            }
        }
        fflush(stdout); /* somebody may wait for it */
    }
}

static bool catches_interrupts(pid_t child)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "SigCgt:", 7) == 0)
            caught = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return caught >> (SIGINT - 1) & 1;
}

static int interrupt_command(char **command)
{
    pid_t child = fork();
    if (child == 0)
        run_command(command);
    siginfo_t ended = {0};
    while (!catches_interrupts(child) &&
           waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && !ended.si_pid)
        usleep(1000);
    kill(child, SIGINT);
    return exit_status(child);
}

int main(int argc, char **argv)
{
    const char *until = NULL;
    if (argc > 2 && strcmp(argv[1], "--interrupt") == 0)
        return interrupt_command(argv + 2);
    if (argc > 3 && strcmp(argv[1], "--until") == 0) {
        until = argv[2];
        argv += 2;
        argc -= 2;
    }
    int controller;
    int terminal = open_terminal(&controller);
    if (argc < 2 || terminal < 0) {
        perror("terminal");
        return 125;
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(terminal, STDOUT_FILENO);
        dup2(terminal, STDERR_FILENO);
        close(terminal);
        close(controller);
        run_command(argv + 1);
    }
    close(terminal);
    copy_output(controller, child, until);
    return exit_status(child);
}

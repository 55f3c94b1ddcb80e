/* terminal CMD [ARG...]: runs a command with stdout and stderr on a terminal and copies what it
 * writes there to our stdout, line ends as on a file. Exits as the command did. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

static void run_command(int terminal, int controller, char **command)
{
    dup2(terminal, STDOUT_FILENO);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    close(controller);
    execvp(command[0], command);
    _exit(127);
}

/* The terminal turns "\n" into "\r\n"; reading fails with EIO once nobody has it open. */
static void copy_output(int controller)
{
    char buffer[4096];
    ssize_t count;
    while ((count = read(controller, buffer, sizeof buffer)) > 0 || (count < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < count; i++) {
            bool line_end = buffer[i] == '\r' && i + 1 < count && buffer[i + 1] == '\n';
            if (!line_end)
                putchar(buffer[i]);
        }
    }
}

int main(int argc, char **argv)
{
    int controller;
    int terminal = open_terminal(&controller);
    if (argc < 2 || terminal < 0) {
        perror("terminal");
        return 125;
    }
    pid_t child = fork();
    if (child == 0)
        run_command(terminal, controller, argv + 1);
    close(terminal);
    copy_output(controller);
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
        return 125;
    return WEXITSTATUS(status);
}

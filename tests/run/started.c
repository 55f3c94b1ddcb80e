/* A program that starts another one, in every way there is.
 *
 *     started              locks a little, says whether LD_PRELOAD is set, ends with 3
 *     started HOW PROGRAM  starts PROGRAM, ends as it does; PROGRAM is searched for in PATH where
 * HOW ends in p
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leaks.h" /* some of it starts with an empty environment, without ASAN_OPTIONS */

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock_a_little(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static int leaf(void)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, lock_a_little, NULL);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    puts("locked");
    return 3;
}

static int spawn(const char *how, char *program, char **environment)
{
    char *arguments[] = {program, NULL};
    pid_t pid;
    int status;
    int result = strcmp(how, "spawnp") == 0
                     ? posix_spawnp(&pid, program, NULL, NULL, arguments, environment)
                     : posix_spawn(&pid, program, NULL, NULL, arguments, environment);
    if (result != 0 || waitpid(pid, &status, 0) != pid)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int after_vfork(char *program)
{
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execl(program, program, NULL);
        _exit(97);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void start(const char *how, char *program)
{
    char *arguments[] = {program, NULL}, *empty[] = {NULL};
    if (strcmp(how, "execve") == 0)
        execve(program, arguments, environ);
    else if (strcmp(how, "execve-empty") == 0)
        execve(program, arguments, empty);
    else if (strcmp(how, "execv") == 0)
        execv(program, arguments);
    else if (strcmp(how, "execvp") == 0)
        execvp(program, arguments);
    else if (strcmp(how, "execl") == 0)
        execl(program, program, "one", "two", NULL);
    else if (strcmp(how, "execlp") == 0)
        execlp(program, program, NULL);
    else if (strcmp(how, "execle") == 0)
        execle(program, program, NULL, empty);
    else if (strcmp(how, "fexecve") == 0)
        fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, environ);
    else if (strcmp(how, "spawn") == 0 || strcmp(how, "spawnp") == 0)
        exit(spawn(how, program, environ));
    else if (strcmp(how, "spawn-empty") == 0)
        exit(spawn(how, program, empty));
    else if (strcmp(how, "vfork") == 0)
        exit(after_vfork(program));
}

int main(int count, char **arguments)
{
    if (count < 3 || strcmp(arguments[1], "one") == 0)
        return leaf();
    start(arguments[1], arguments[2]);
    printf("not started: %s\n", strerror(errno));
    return 96;
}

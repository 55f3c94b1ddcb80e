/* Preloaded into `gordian inspect`: when it is about to list the threads of a process in order to
 * look at them (the second time: the first is when it opens the process), it says so into the pipe
 * $LATE_ASKS, and goes on when something comes out of $LATE_ANSWERS. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_at_second(void)
{
    static int count;
    char letter = '.';
    if (++count != 2)
        return;
    int asks = open(getenv("LATE_ASKS"), O_WRONLY | O_CLOEXEC);
    int answers =
        write(asks, &letter, 1) == 1 ? open(getenv("LATE_ANSWERS"), O_RDONLY | O_CLOEXEC) : -1;
    if (read(answers, &letter, 1) != 1)
        abort();
    close(asks);
    close(answers);
}

DIR *opendir(const char *name)
{
    DIR *(*real)(const char *);
    void *symbol = dlsym(RTLD_NEXT, "opendir");
    size_t length = strlen(name);
    memcpy(&real, &symbol, sizeof real);
    if (length > 5 && strcmp(name + length - 5, "/task") == 0)
        wait_at_second();
    return real(name);
}

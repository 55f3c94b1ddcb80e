#include "progress.h"

#include "foundation/base/clock.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 60
#define STUCK      86 /* exit status */

static struct {
    pthread_mutex_t lock; /* around what the watchdog reads */
    bool verbose;
    const char *program, *part;
    char text[160];
    unsigned long cases; /* of this part */
    uint64_t part_ns, case_ns;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The device may never answer again, so nothing is closed. */
static void *watch(void *argument)
{
    (void)argument;
    for (;;) {
        sleep(1);
        pthread_mutex_lock(&now.lock);
        if (now.part && clock_ns() - now.case_ns > PATIENCE_S * UINT64_C(1000000000)) {
            fprintf(stderr, "%s: stuck for %d s in %s, case %lu: %s\n", now.program, PATIENCE_S,
                    now.part, now.cases, now.text);
            fflush(NULL);
            _exit(STUCK);
        }
        pthread_mutex_unlock(&now.lock);
    }
    return NULL;
}

void progress_open(int argc, char **argv, int device)
{
    pthread_t thread;
    now.program = argv[0];
    for (int i = 1; i < argc; i++)
        now.verbose |= strcmp(argv[i], "--verbose") == 0;
    if (device >= 0 && pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
}

static void end_part(void)
{
    if (now.verbose && now.part)
        printf("%-24s %6lu cases %8.2f s\n", now.part, now.cases,
               (double)(clock_ns() - now.part_ns) / 1e9);
    fflush(stdout);
}

void progress_part(const char *name)
{
    end_part();
    pthread_mutex_lock(&now.lock);
    now.part = name;
    now.cases = 0;
    now.text[0] = '\0';
    now.part_ns = now.case_ns = clock_ns();
    pthread_mutex_unlock(&now.lock);
}

void progress_case(const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&now.lock);
    va_start(arguments, format);
    vsnprintf(now.text, sizeof now.text, format, arguments);
    va_end(arguments);
    now.cases++;
    now.case_ns = clock_ns();
    pthread_mutex_unlock(&now.lock);
}

void progress_close(void)
{
    end_part();
    pthread_mutex_lock(&now.lock);
    now.part = NULL;
    pthread_mutex_unlock(&now.lock);
}

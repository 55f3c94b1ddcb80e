/* A thread that sleeps on a word of a library, and another that joins it.
 *
 *     word_sleeper LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void *run(void *function)
{
    void (*sleep_on_word)(void);
    *(void **)&sleep_on_word = function;
    sleep_on_word();
    return NULL;
}

int main(int count, char **arguments)
{
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    void *function = library ? dlsym(library, "sleep_on_word") : NULL;
    pthread_t thread;
    if (!function || pthread_create(&thread, NULL, run, function) != 0)
        return 2;
    puts("ready");
    fflush(stdout);
    pthread_join(thread, NULL);
    return 0;
}

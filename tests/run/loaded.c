/* Loads a library, unloads it, and takes locks.
 *
 *     loaded CASE LIBRARY
 *
 * alone:  the thread of the library has ended when the main thread takes them the other way round
 * again:  another thread takes locks of the library the other way round once it has been loaded
 * anew both:   the same as alone, but the main thread takes them while the library is loaded
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern pthread_mutex_t outer, inner;
extern int plugin_has_thread;
int plugin_has_thread = 1;
pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

static void nest(void)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
}

static void *call_backwards(void *function)
{
    void (*plugin_nest)(int backwards);
    *(void **)&plugin_nest = function;
    plugin_nest(1);
    return NULL;
}

/* A thread of the first load has taken them forwards. */
static int load_again(const char *path)
{
    pthread_t thread;
    plugin_has_thread = 0;
    void *library = dlopen(path, RTLD_NOW);
    void *function = library ? dlsym(library, "plugin_nest") : NULL;
    if (!function || pthread_create(&thread, NULL, call_backwards, function) != 0)
        return 3;
    pthread_join(thread, NULL);
    return dlclose(library);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    nest();
    void *library = dlopen(arguments[2], RTLD_NOW);
    if (!library)
        return puts(dlerror()), 3;
    if (strcmp(arguments[1], "both") == 0)
        nest();
    if (dlclose(library) != 0)
        return 3;
    if (strcmp(arguments[1], "again") == 0)
        return load_again(arguments[2]);
    nest();
    return 0;
}

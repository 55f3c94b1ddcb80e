/* A library with a thread of its own, if the program wants it, from the moment it is loaded until
 * it is unloaded. */
#include <pthread.h>

void plugin_nest(int backwards);

/* Of the program. */
extern pthread_mutex_t outer, inner;
extern int plugin_has_thread;

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;

static void nest(pthread_mutex_t *one, pthread_mutex_t *two)
{
    pthread_mutex_lock(one);
    pthread_mutex_lock(two);
    pthread_mutex_unlock(two);
    pthread_mutex_unlock(one);
}

static void *run(void *unused)
{
    nest(&inner, &outer);
    nest(&first, &second);
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    if (plugin_has_thread)
        pthread_create(&thread, NULL, run, NULL);
}

__attribute__((destructor)) static void end(void)
{
    if (plugin_has_thread)
        pthread_join(thread, NULL);
    nest(&second, &first); /* nobody else is left */
}

void plugin_nest(int backwards)
{
    if (backwards)
        nest(&second, &first);
    else
        nest(&first, &second);
}

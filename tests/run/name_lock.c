/* Locks with names: the report must show them; unwatched, the macro does nothing. */
#include <gordian/run.h>

#include <pthread.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char **arguments)
{
    (void)arguments;
    GORDIAN_NAME_LOCK(&accounts, "the accounts");
    pthread_mutex_lock(&accounts);
    if (count > 1)
        pthread_mutex_lock(&accounts);
    pthread_mutex_unlock(&accounts);
    return 0;
}

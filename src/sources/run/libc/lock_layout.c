#include "sources/run/libc/lock_layout.h"

#include "sources/run/libc/real.h"

static bool mutex_layout(uint32_t tid)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (real.pthread_mutex_lock(&mutex) != 0)
        return false;
    bool known = mutex.__data.__lock == 1 && mutex.__data.__owner == (int)tid &&
                 mutex.__data.__nusers == 1 && mutex.__data.__kind == 0;
    real.pthread_mutex_unlock(&mutex);
    return known && mutex.__data.__lock == 0 && mutex.__data.__owner == 0 &&
           mutex.__data.__nusers == 0;
}

static bool rwlock_layout(uint32_t tid)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    if (real.pthread_rwlock_wrlock(&lock) != 0)
        return false;
    bool known = rwlock_writer(&lock) == tid;
    real.pthread_rwlock_unlock(&lock);
    known = known && rwlock_writer(&lock) == 0 && rwlock_readers(&lock) == 0;
    real.pthread_rwlock_rdlock(&lock);
    known = known && rwlock_readers(&lock) == 1;
    real.pthread_rwlock_unlock(&lock);
    return known;
}

bool lock_layout_is_known(uint32_t tid)
{
    return mutex_layout(tid) && rwlock_layout(tid);
}

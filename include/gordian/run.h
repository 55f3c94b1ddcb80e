/*
 * Names for locks, shown in the reports of `gordian run`.
 *
 *     static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
 *     ...
 *     GORDIAN_NAME_LOCK(&accounts, "accounts");
 *
 * The lock is given by its address. It may be any lock that `gordian run` watches: POSIX, C11 or
 * C++ (std::mutex, std::shared_mutex, std::condition_variable, ...). The name is copied, up to 63
 * bytes of it, and stays until the lock is initialised again or destroyed.
 *
 * The program need not link any library. In a program that is not watched, the macro costs one
 * comparison and has no effect. It works in C and C++.
 */
#ifndef GORDIAN_RUN_H
#define GORDIAN_RUN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Defined only while the program runs under `gordian run`. */
void gordian_run_name_lock(const void *lock, const char *name) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#define GORDIAN_NAME_LOCK(lock, name)                                                              \
    do {                                                                                           \
        if (gordian_run_name_lock)                                                                 \
            gordian_run_name_lock((const void *)(lock), (name));                                   \
    } while (0)

#endif

/*
 * Names for locks, shown in the reports of `gordian run`.
 *
 *     static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
 *     ...
 *     GORDIAN_NAME_LOCK(&accounts, "accounts");
 *
 * Takes any lock `gordian run` watches: POSIX, C11, or a C++ one (std::mutex, std::shared_mutex,
 * std::condition_variable, ...), by its address. The name is copied, at most 63 bytes of it, and
 * stays until the lock is initialised again or destroyed.
 *
 * Nothing needs to be linked: in a program that is not watched the macro does nothing, at the price
 * of one comparison. C and C++.
 */
#ifndef GORDIAN_RUN_H
#define GORDIAN_RUN_H

#ifdef __cplusplus
extern "C" {
#endif

/* There only when the program runs under `gordian run`. */
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

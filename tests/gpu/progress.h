/* What a long test on a device is doing: with --verbose told part by part, with times; and a
 * watchdog on a real device that ends a test which has hung, and says in which case. */
#ifndef GORDIAN_TESTS_GPU_PROGRESS_H
#define GORDIAN_TESTS_GPU_PROGRESS_H

#include <stdbool.h>

/* Before anything is done on the device. `device` is its number, -1: the emulator, which tells by
 * itself when a kernel is stuck. */
void progress_open(int argc, char **argv, int device);
/* A part of the test starts. */
void progress_part(const char *name);
/* A case of it starts: for the watchdog. A case takes a minute at most. */
void progress_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The last part has ended. */
void progress_close(void);

#endif

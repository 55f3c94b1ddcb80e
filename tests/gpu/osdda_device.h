/* The part of test_osdda that only a real device runs: long chains, checked against what they must
 * be, and timings. */
#ifndef GORDIAN_TESTS_GPU_OSDDA_DEVICE_H
#define GORDIAN_TESTS_GPU_OSDDA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct osdda_run {
    bool device; /* a real one; otherwise the emulator */
    const char *engine;
    uint64_t events, seed;
    uint32_t processes, resources;
    uint32_t longest; /* chain */
};

/* False: they make no sense. */
bool osdda_arguments(int argc, char **argv, struct osdda_run *run);

/* Prints a table of timings; how many checks failed. */
unsigned long osdda_device_chains(const struct osdda_run *run);

#endif

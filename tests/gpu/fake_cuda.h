/* A CUDA driver that is none: for tests of what happens when one of its calls fails. */
#ifndef GORDIAN_TESTS_GPU_FAKE_CUDA_H
#define GORDIAN_TESTS_GPU_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

struct fake_cuda {
    long calls;      /* so far */
    long fail_at;    /* this one fails; 0: none */
    int fail_with;   /* with this result */
    char failed[64]; /* its name */
    bool giving;     /* set by the test while it gives things back */
    bool failed_giving;
    int devices;
    int major; /* compute capability */
    size_t memory;
    bool serving; /* the service kernel has not ended */
    /* what has been taken and not been given back */
    long contexts, pushed, memories, streams, events, modules;
    long ranges, handles, mappings; /* of virtual memory */
    size_t mapped;                  /* bytes */
    long launches;
    long waits; /* calls that would wait for the running service for ever */
};

#define FAKE_CUDA_GRANULARITY 4096

/* The name of the function in the library that gives its state. */
#define FAKE_CUDA_STATE "fake_cuda_state"
typedef struct fake_cuda *fake_cuda_state_function(void);

#endif

/* What the fuzzers share.
 *
 * Each fuzzer defines LLVMFuzzerTestOneInput. Linked with libFuzzer (-Dfuzz=true) it searches;
 * linked with standalone.c it runs the files it is given, which is how the tests replay
 * fuzz/corpus.
 */
#ifndef GORDIAN_FUZZ_FUZZ_H
#define GORDIAN_FUZZ_FUZZ_H

#include <gordian/gordian.h>

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding: says what does not hold, and stops for the fuzzer to keep the input. */
#define DEMAND(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #condition);          \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* An input as a source: handed out in pieces of uneven size, so that a word may end anywhere. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
    size_t next;
};

gordian_source fuzz_source(struct fuzz_input *input);

#endif

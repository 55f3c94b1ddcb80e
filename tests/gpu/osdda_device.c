#include "osdda_device.h"

#include "device.h"
#include "engines/detect/cuda/cuda.h"
#include "engines/detect/system.h"
#include "foundation/base/bits.h"
#include "lab/bench/detect/long_chain.h"

/* ------------------------------------------------------------------ arguments */

static bool number(const char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    return end != text && *end == '\0';
}

static bool size(const char *text, uint32_t *processes, uint32_t *resources)
{
    char *end;
    *processes = (uint32_t)strtoul(text, &end, 10);
    if (end == text || *end != 'x' || *processes == 0)
        return false;
    const char *second = end + 1;
    *resources = (uint32_t)strtoul(second, &end, 10);
    return end != second && *end == '\0' && *resources != 0;
}

static bool option(struct osdda_run *run, const char *name, const char *text)
{
    uint64_t value = 0;
    if (strcmp(name, "--engine") == 0) {
        run->engine = text;
        return true;
    }
    if (strcmp(name, "--size") == 0)
        return size(text, &run->processes, &run->resources);
    if (!number(text, &value))
        return false;
    if (strcmp(name, "--device") == 0) {
        run->device = true;
        /* The engine takes the first device that is to be seen. */
        return value == 0 || setenv("CUDA_VISIBLE_DEVICES", text, 1) == 0;
    }
    if (strcmp(name, "--events") == 0)
        run->events = value;
    else if (strcmp(name, "--seed") == 0)
        run->seed = value;
    else if (strcmp(name, "--chain") == 0)
        run->longest = (uint32_t)value;
    else
        return false;
    return true;
}

bool osdda_arguments(int argc, char **argv, struct osdda_run *run)
{
    *run = (struct osdda_run){.engine = "cuda",
                              .events = 1000000,
                              .seed = 1,
                              .processes = 256,
                              .resources = 256,
                              .longest = 65536};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !option(run, argv[i], argv[i + 1]))
            return false;
    return true;
}

/* ------------------------------------------------------------------ timings */

#define REPEATS 200

/* Samples in nanoseconds; room for a list of blocks or for repeats. */
struct samples {
    double *ns;
    size_t count;
};

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void print_row(uint32_t length, const char *what, struct samples *samples)
{
    qsort(samples->ns, samples->count, sizeof *samples->ns, by_size);
    printf("| %6u | %-44s | %10.2f | %10.2f |\n", length, what,
           samples->ns[samples->count / 2] / 1000, samples->ns[samples->count * 99 / 100] / 1000);
    samples->count = 0;
}

static void print_one(uint32_t length, const char *what, double ns)
{
    printf("| %6u | %-44s | %10.2f | %10s |\n", length, what, ns / 1000, "");
}

/* ------------------------------------------------------------------ chains */

/* p_i has q_i and waits for q_i+1, so row r reaches everything from r to the end. */
static void check_row(gordian_system *system, uint32_t row, uint32_t length)
{
    static const gordian_matrix both[] = {GORDIAN_MATRIX_RR, GORDIAN_MATRIX_RP};
    for (size_t m = 0; m < 2; m++) {
        const uint64_t *words = NULL;
        size_t count = 0;
        CHECK(gordian_matrix_row(system, both[m], row, &words, &count, NULL) == GORDIAN_OK);
        uint32_t wrong = 0;
        for (uint32_t i = 0; words && i < length; i++)
            wrong += bits_test(words, i) != (i >= row);
        CHECK_MSG(words && wrong == 0, "matrix %d, row %u of %u: %u bits are wrong", (int)both[m],
                  row, length, wrong);
    }
    uint64_t value = 0;
    CHECK(gordian_matrix_get(system, GORDIAN_MATRIX_SINK, row, length - 1, &value, NULL) ==
          GORDIAN_OK);
    CHECK(value == 1);
}

static void check_chain(gordian_system *system, uint32_t length)
{
    for (uint32_t i = 0; i <= 16; i++)
        check_row(system, (uint32_t)((uint64_t)(length - 1) * i / 16), length);
}

static void run_list(struct long_chain *chain, bool far_end_first, struct samples *answers)
{
    double whole = 0;
    DO(long_chain_build(chain, far_end_first, answers->ns, &whole, &error));
    answers->count = chain->length - 1;
    print_one(chain->length,
              far_end_first ? "whole list, far end first" : "whole list, near end first", whole);
    print_row(chain->length, "  a blocked event in it, event to answer", answers);
}

static void time_block(struct long_chain *chain, uint32_t process, const char *what,
                       struct samples *answers, struct samples *settled)
{
    for (int i = 0; i < REPEATS; i++)
        DO(long_chain_block(chain, process, &answers->ns[answers->count++],
                            &settled->ns[settled->count++], &error));
    print_row(chain->length, what, answers);
    print_row(chain->length, "  the same with its bookkeeping", settled);
}

/* The deadlock, found; and given up again: a cycle that opens is made anew. */
static void close_and_open(struct long_chain *chain, struct samples *settled)
{
    for (int i = 0; i < 5; i++) {
        DO(long_chain_close_ring(chain, &error));
        DO(long_chain_cancel(chain, chain->length - 1, &settled->ns[settled->count++], &error));
    }
    print_row(chain->length, "a cycle opened by a cancel, rows made anew", settled);
    check_chain(chain->system, chain->length);
}

static void time_releases(struct long_chain *chain, uint64_t seed)
{
    double average = 0;
    DO(long_chain_release_all(chain, &average, &error));
    print_one(chain->length, "release with hand-over, average of the chain", average);
    DO(long_chain_release_random(chain, seed, 20, &average, &error));
    print_one(chain->length, "release, average of random load", average);
}

static void run_length(const struct osdda_run *run, uint32_t length, struct samples *answers,
                       struct samples *settled)
{
    for (int far_end_first = 0; far_end_first < 2; far_end_first++) {
        struct long_chain chain;
        gordian_error error = {0};
        gordian_status opened = long_chain_open(&chain, run->engine, length, 1, &error);
        CHECK_MSG(opened == GORDIAN_OK, "%s", error.message);
        if (opened != GORDIAN_OK)
            return;
        run_list(&chain, far_end_first, answers);
        check_chain(chain.system, length);
        if (far_end_first) {
            time_block(&chain, long_chain_worst(&chain), "worst blocked event, event to answer",
                       answers, settled);
            time_block(&chain, length - 2, "last block of the chain, event to answer", answers,
                       settled);
            check_chain(chain.system, length);
            close_and_open(&chain, settled);
            time_releases(&chain, run->seed);
        }
        CHECK(cuda_note(chain.system->state) == NULL);
        long_chain_close(&chain);
        fflush(stdout);
    }
}

unsigned long osdda_device_chains(const struct osdda_run *run)
{
    size_t room = run->longest > REPEATS ? run->longest : REPEATS;
    struct samples answers = {.ns = malloc(room * sizeof(double))};
    struct samples settled = {.ns = malloc(room * sizeof(double))};
    REQUIRE(answers.ns && settled.ns);
    printf("| length | what                                         |  median us |     p99 us |\n"
           "|-------:|----------------------------------------------|-----------:|-----------:|\n");
    uint32_t shortest = run->longest < 1024 ? run->longest : 1024;
    for (uint32_t length = shortest; length >= 4 && length <= run->longest;
         length *= length == 1024 ? 8 : 2)
        run_length(run, length, &answers, &settled);
    free(answers.ns);
    free(settled.ns);
    return test_failed;
}

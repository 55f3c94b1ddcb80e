#include "osdda_device.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/random.h"
#include "detect/cuda.h"
#include "detect/system.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

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
    *run = (struct osdda_run){
        .events = 1000000, .seed = 1, .processes = 256, .resources = 256, .longest = 65536};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !option(run, argv[i], argv[i + 1]))
            return false;
    return true;
}

/* ------------------------------------------------------------------ timings */

struct timings {
    double *us;
    size_t count, room;
};

static void note(struct timings *timings, uint64_t since)
{
    if (timings->count < timings->room)
        timings->us[timings->count++] = (double)(clock_ns() - since) / 1000;
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void print_row(uint32_t length, const char *what, struct timings *timings)
{
    if (!timings->count)
        return;
    qsort(timings->us, timings->count, sizeof *timings->us, by_size);
    printf("| %6u | %-44s | %10.2f | %10.2f |\n", length, what, timings->us[timings->count / 2],
           timings->us[timings->count * 99 / 100]);
    timings->count = 0;
}

static void print_one(uint32_t length, const char *what, double us)
{
    printf("| %6u | %-44s | %10.2f | %10s |\n", length, what, us, "");
}

/* ------------------------------------------------------------------ chains */

static gordian_system *open_square(uint32_t length)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = "cuda";
    gordian_system *system = NULL;
    gordian_error error = {0};
    if (gordian_open(&system, &options, &error) ||
        gordian_reserve(system, length, length, &error)) {
        CHECK_MSG(false, "%s", error.message);
        gordian_close(system);
        return NULL;
    }
    uint32_t id;
    for (uint32_t i = 0; i < length; i++) {
        REQUIRE(gordian_add_process(system, NULL, &id, NULL) == GORDIAN_OK);
        REQUIRE(gordian_add_resource(system, NULL, 1, &id, NULL) == GORDIAN_OK);
    }
    return system;
}

static gordian_outcome request(gordian_system *system, uint32_t process, uint32_t resource)
{
    gordian_outcome outcome = GORDIAN_REFUSED;
    CHECK(gordian_request(system, process, resource, 1, &outcome, NULL) == GORDIAN_OK);
    return outcome;
}

static void wait_for_device(gordian_system *system)
{
    CHECK_MSG(cuda_drain(system->state), "%s", cuda_note(system->state));
}

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

/* The papers' list of 2M events, all but the last. */
static void run_list(gordian_system *system, uint32_t length, bool backwards,
                     struct timings *answers)
{
    uint64_t start = clock_ns(), since;
    for (uint32_t i = 0; i < length; i++)
        CHECK(request(system, i, i) == GORDIAN_GRANTED);
    for (uint32_t i = 0; i + 1 < length; i++) {
        uint32_t p = backwards ? length - 2 - i : i;
        since = clock_ns();
        CHECK(request(system, p, p + 1) == GORDIAN_BLOCKED);
        note(answers, since);
    }
    wait_for_device(system);
    double us = (double)(clock_ns() - start) / 1000;
    print_one(length, backwards ? "whole list, far end first" : "whole list, near end first", us);
    print_row(length, "  a blocked event in it, event to answer", answers);
}

/* Half of the resources gain half of the path: the most a block event can change. */
static void time_worst(gordian_system *system, uint32_t length, struct timings *answers,
                       struct timings *whole)
{
    uint32_t middle = length / 2 - 1;
    for (int i = 0; i < 200; i++) {
        CHECK(gordian_cancel(system, middle, NULL, NULL) == GORDIAN_OK);
        wait_for_device(system);
        uint64_t since = clock_ns();
        CHECK(request(system, middle, middle + 1) == GORDIAN_BLOCKED);
        note(answers, since);
        wait_for_device(system);
        note(whole, since);
    }
    print_row(length, "worst blocked event, event to answer", answers);
    print_row(length, "  the same with its bookkeeping", whole);
}

static void time_last(gordian_system *system, uint32_t length, struct timings *answers,
                      struct timings *whole)
{
    for (int i = 0; i < 200; i++) {
        CHECK(gordian_cancel(system, length - 2, NULL, NULL) == GORDIAN_OK);
        wait_for_device(system);
        uint64_t since = clock_ns();
        CHECK(request(system, length - 2, length - 1) == GORDIAN_BLOCKED);
        note(answers, since);
        wait_for_device(system);
        note(whole, since);
    }
    print_row(length, "last block of the chain, event to answer", answers);
    print_row(length, "  the same with its bookkeeping", whole);
}

/* The deadlock, found; and taken apart from the middle: a cycle that opens is made anew. */
static void close_and_open(gordian_system *system, uint32_t length, struct timings *whole)
{
    for (int i = 0; i < 5; i++) {
        CHECK(request(system, length - 1, 0) == GORDIAN_DEADLOCK);
        wait_for_device(system);
        uint64_t since = clock_ns();
        CHECK(gordian_cancel(system, length - 1, NULL, NULL) == GORDIAN_OK);
        wait_for_device(system);
        note(whole, since);
    }
    print_row(length, "a cycle opened by a cancel, rows made anew", whole);
    check_chain(system, length);
}

/* The chain runs off from its far end: every release hands over to the one before. */
static void time_releases(gordian_system *system, uint32_t length)
{
    uint64_t start = clock_ns();
    for (uint32_t i = 0; i < length; i++)
        CHECK(gordian_release(system, length - 1 - i, length - 1 - i, 1, NULL, NULL) == GORDIAN_OK);
    wait_for_device(system);
    print_one(length, "release with hand-over, average of the chain",
              (double)(clock_ns() - start) / 1000 / length);
}

/* Requests and releases at random: what a release costs on the average. */
static void time_random_releases(gordian_system *system, uint32_t length, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    uint64_t spent = 0, releases = 0;
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < length; i++) {
            uint32_t p = (uint32_t)random_below(&random, length);
            if (!gordian_is_waiting(system, p))
                request(system, p, (uint32_t)random_below(&random, length));
        }
        wait_for_device(system);
        uint64_t since = clock_ns();
        for (uint32_t q = 0; q < length; q++) {
            gordian_edge edge;
            if (!gordian_holders(system, q, &edge, 1) || gordian_is_waiting(system, edge.process))
                continue;
            CHECK(gordian_release(system, edge.process, q, 1, NULL, NULL) == GORDIAN_OK);
            releases++;
        }
        wait_for_device(system);
        spent += clock_ns() - since;
    }
    if (releases)
        print_one(length, "release, average of random load",
                  (double)spent / 1000 / (double)releases);
}

static void run_length(uint32_t length, uint64_t seed, struct timings *answers,
                       struct timings *whole)
{
    for (int backwards = 0; backwards < 2; backwards++) {
        gordian_system *system = open_square(length);
        if (!system)
            return;
        run_list(system, length, backwards, answers);
        check_chain(system, length);
        if (backwards) {
            time_worst(system, length, answers, whole);
            time_last(system, length, answers, whole);
            check_chain(system, length);
            close_and_open(system, length, whole);
            time_releases(system, length);
            time_random_releases(system, length, seed);
        }
        CHECK(cuda_note(system->state) == NULL);
        gordian_close(system);
        fflush(stdout);
    }
}

unsigned long osdda_device_chains(const struct osdda_run *run)
{
    struct timings answers = {.room = 1u << 18}, whole = {.room = 1u << 18};
    answers.us = malloc(answers.room * sizeof *answers.us);
    whole.us = malloc(whole.room * sizeof *whole.us);
    REQUIRE(answers.us && whole.us);
    printf("| length | what                                         |  median us |     p99 us |\n"
           "|-------:|----------------------------------------------|-----------:|-----------:|\n");
    uint32_t shortest = run->longest < 1024 ? run->longest : 1024;
    for (uint32_t length = shortest; length >= 4 && length <= run->longest;
         length *= length == 1024 ? 8 : 2)
        run_length(length, run->seed, &answers, &whole);
    free(answers.us);
    free(whole.us);
    return test_failed;
}

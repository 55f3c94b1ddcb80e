/*
 * So many events in one batch, from C: what tests/python/events.py is compared with.
 *
 *     events [EVENTS]     prints events a second
 */
#include <gordian/gordian.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PROCESSES 1000
#define RESOURCES 1000

static void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "events: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

/* Each process in turn takes a resource and gives it back; the same as events.py makes. */
static void fill_events(gordian_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        events[i] = (gordian_event){
            .op = i / PROCESSES % 2 == 0 ? GORDIAN_OP_REQUEST : GORDIAN_OP_RELEASE,
            .process = (uint32_t)(i % PROCESSES),
            .resource = (uint32_t)(i % PROCESSES * 7 % RESOURCES),
            .to = GORDIAN_NONE,
            .units = 1,
        };
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000, done;
    gordian_event *events = calloc(count, sizeof *events);
    gordian_result *results = calloc(count, sizeof *results);
    gordian_system *system;
    gordian_error error;
    if (!events || !results)
        return EXIT_FAILURE;
    must(gordian_open(&system, NULL, &error), &error);
    for (unsigned i = 0; i < PROCESSES; i++)
        must(gordian_add_process(system, NULL, NULL, &error), &error);
    for (unsigned i = 0; i < RESOURCES; i++)
        must(gordian_add_resource(system, NULL, 1, NULL, &error), &error);
    double start = seconds();
    fill_events(events, count);
    must(gordian_feed_batch(system, events, count, results, &done, &error), &error);
    size_t granted = 0;
    for (size_t i = 0; i < count; i++)
        granted += results[i].outcome == GORDIAN_OUTCOME_GRANTED;
    printf("%.0f events a second, %zu granted\n", (double)count / (seconds() - start), granted);
    gordian_close(system);
    free(results);
    free(events);
    return EXIT_SUCCESS;
}

/*
 * The dining philosophers, with libgordian: each takes the left fork and then requests the right
 * one. The library reports which request closes the deadlock, and why. Then one philosopher is
 * removed so that the others can eat.
 *
 *     cc philosophers.c $(pkg-config --cflags --libs gordian)
 */
#include <gordian/gordian.h>

#include <stdio.h>
#include <stdlib.h>

#define SEATS 5

static const char *const names[SEATS] = {"Plato", "Hypatia", "Laozi", "Seneca", "Arendt"};

/* For this example only: a real program would return the status. */
static void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "philosophers: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

static void lay_the_table(gordian_system *table, uint32_t people[SEATS], uint32_t forks[SEATS])
{
    gordian_error error;
    for (unsigned membership = 0; membership < SEATS; membership++) {
        char fork[16];
        snprintf(fork, sizeof fork, "fork%u", membership);
        must(gordian_add_resource(table, fork, 1, &forks[membership], &error), &error);
        must(gordian_add_process(table, names[membership], &people[membership], &error), &error);
    }
}

static gordian_outcome take(gordian_system *table, uint32_t person, uint32_t fork)
{
    gordian_error error;
    gordian_outcome outcome;
    must(gordian_request(table, person, fork, 1, &outcome, &error), &error);
    printf("%-8s takes %s: %s\n", gordian_process_name(table, person),
           gordian_resource_name(table, fork), gordian_outcome_text(outcome));
    return outcome;
}

static void show_the_cycle(gordian_system *table, uint32_t person)
{
    gordian_error error;
    gordian_witness witness;
    must(gordian_explain(table, person, &witness, &error), &error);
    printf("\nThe deadlock:\n");
    for (size_t i = 0; i < witness.count; i++) {
        const gordian_edge *edge = &witness.edges[i];
        const char *process = gordian_process_name(table, edge->process);
        const char *resource = gordian_resource_name(table, edge->resource);
        if (edge->waits)
            printf("    %-8s waits for %s,", process, resource);
        else
            printf(" which %s holds\n", process);
    }
}

static void send_somebody_away(gordian_system *table)
{
    gordian_error error;
    gordian_victim victim;
    gordian_status status;
    printf("\nThe way out:\n");
    while ((status = gordian_recover_one(table, GORDIAN_POLICY_YOUNGEST, &victim, &error)) ==
           GORDIAN_OK) {
        printf("    %s came last and leaves:", gordian_process_name(table, victim.process));
        for (size_t i = 0; i < victim.frees_count; i++)
            printf(" %s is free", gordian_resource_name(table, victim.frees[i].resource));
        for (size_t i = 0; i < victim.served_count; i++)
            printf(", %s can eat", gordian_process_name(table, victim.served[i]));
        printf("\n");
    }
    if (status != GORDIAN_STATUS_END)
        must(status, &error);
}

int main(void)
{
    gordian_error error;
    gordian_system *table;
    must(gordian_open(&table, NULL, &error), &error);

    uint32_t people[SEATS], forks[SEATS];
    lay_the_table(table, people, forks);

    for (unsigned membership = 0; membership < SEATS; membership++)
        take(table, people[membership], forks[membership]);
    for (unsigned membership = 0; membership < SEATS; membership++) {
        uint32_t right = forks[(membership + 1) % SEATS];
        if (take(table, people[membership], right) == GORDIAN_OUTCOME_DEADLOCK)
            show_the_cycle(table, people[membership]);
    }
    send_somebody_away(table);

    gordian_close(table);
    return EXIT_SUCCESS;
}

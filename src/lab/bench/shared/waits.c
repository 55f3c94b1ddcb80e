#include "lab/bench/shared/shared.h"

#include <stdlib.h>

struct waiter {
    uint32_t row;    /* the row it waits for; GORDIAN_NONE: it runs */
    uint32_t next;   /* in the row's queue */
    uint32_t *edges; /* processes it waits for */
    size_t edge_count, edge_capacity;
    uint64_t seen; /* number of the last search that visited it */
    pthread_cond_t served;
};

struct row {
    uint32_t holder, head, tail;
};

struct waits {
    pthread_mutex_t lock;
    struct waiter *processes;
    struct row *rows;
    uint32_t *stack;
    uint32_t process_count;
    uint64_t search;
};

struct waits *waits_open(uint32_t processes, uint32_t rows)
{
    struct waits *waits = calloc(1, sizeof *waits);
    if (!waits)
        return NULL;
    pthread_mutex_init(&waits->lock, NULL);
    waits->processes = calloc(processes, sizeof *waits->processes);
    waits->rows = calloc(rows, sizeof *waits->rows);
    waits->stack = calloc(processes, sizeof *waits->stack);
    if (!waits->processes || !waits->rows || !waits->stack) {
        waits_close(waits);
        return NULL;
    }
    waits->process_count = processes;
    for (uint32_t p = 0; p < processes; p++) {
        waits->processes[p].row = GORDIAN_NONE;
        pthread_cond_init(&waits->processes[p].served, NULL);
    }
    for (uint32_t q = 0; q < rows; q++)
        waits->rows[q] = (struct row){GORDIAN_NONE, GORDIAN_NONE, GORDIAN_NONE};
    return waits;
}

void waits_close(struct waits *waits)
{
    if (!waits)
        return;
    for (uint32_t p = 0; waits->processes && p < waits->process_count; p++) {
        pthread_cond_destroy(&waits->processes[p].served);
        free(waits->processes[p].edges);
    }
    pthread_mutex_destroy(&waits->lock);
    free(waits->processes);
    free(waits->rows);
    free(waits->stack);
    free(waits);
}

/* Is there a path from one to the other? A search visits each process once. */
static bool leads_to(struct waits *waits, uint32_t from, uint32_t to)
{
    size_t depth = 0;
    waits->search++;
    waits->stack[depth++] = from;
    waits->processes[from].seen = waits->search;
    while (depth) {
        uint32_t at = waits->stack[--depth];
        if (at == to)
            return true;
        const struct waiter *waiter = &waits->processes[at];
        for (size_t i = 0; i < waiter->edge_count; i++) {
            struct waiter *next = &waits->processes[waiter->edges[i]];
            if (next->seen != waits->search)
                waits->stack[depth++] = waiter->edges[i];
            next->seen = waits->search;
        }
    }
    return false;
}

static bool add_wait_edge(struct waits *waits, uint32_t process, uint32_t holder)
{
    struct waiter *waiter = &waits->processes[process];
    if (waiter->edge_count == waiter->edge_capacity) {
        waiter->edge_capacity = waiter->edge_capacity ? 2 * waiter->edge_capacity : 1;
        waiter->edges = realloc(waiter->edges, waiter->edge_capacity * sizeof *waiter->edges);
        if (!waiter->edges)
            abort();
    }
    bool closes = leads_to(waits, holder, process);
    waiter->edges[waiter->edge_count++] = holder;
    return closes;
}

static void join_row_queue(struct waits *waits, uint32_t process, uint32_t row)
{
    struct row *at = &waits->rows[row];
    waits->processes[process].row = row;
    waits->processes[process].next = GORDIAN_NONE;
    if (at->head == GORDIAN_NONE)
        at->head = process;
    else
        waits->processes[at->tail].next = process;
    at->tail = process;
}

gordian_outcome waits_request(struct waits *waits, uint32_t process, uint32_t row)
{
    gordian_outcome outcome = GORDIAN_OUTCOME_GRANTED;
    pthread_mutex_lock(&waits->lock);
    struct row *at = &waits->rows[row];
    if (at->holder == GORDIAN_NONE) {
        at->holder = process;
    } else {
        outcome = add_wait_edge(waits, process, at->holder) ? GORDIAN_OUTCOME_DEADLOCK
                                                            : GORDIAN_OUTCOME_BLOCKED;
        join_row_queue(waits, process, row);
    }
    pthread_mutex_unlock(&waits->lock);
    return outcome;
}

uint32_t waits_release(struct waits *waits, uint32_t process, uint32_t row)
{
    pthread_mutex_lock(&waits->lock);
    struct row *at = &waits->rows[row];
    uint32_t next = at->holder == process ? at->head : GORDIAN_NONE;
    at->holder = next;
    if (next != GORDIAN_NONE) {
        struct waiter *served = &waits->processes[next];
        at->head = served->next;
        served->row = GORDIAN_NONE;
        served->edge_count = 0;
        for (uint32_t p = at->head; p != GORDIAN_NONE; p = waits->processes[p].next) {
            waits->processes[p].edge_count = 0;
            add_wait_edge(waits, p, next);
        }
        pthread_cond_signal(&served->served);
    }
    pthread_mutex_unlock(&waits->lock);
    return next;
}

void waits_await(struct waits *waits, uint32_t process)
{
    pthread_mutex_lock(&waits->lock);
    while (waits->processes[process].row != GORDIAN_NONE)
        pthread_cond_wait(&waits->processes[process].served, &waits->lock);
    pthread_mutex_unlock(&waits->lock);
}

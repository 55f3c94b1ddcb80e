/*
 * Two workers and two locks as a circuit of constraint automata, with libgordian. If the workers
 * take the locks in opposite orders, they can deadlock. The library shows a shortest path to the
 * deadlock and the state of every automaton. If they take the locks in the same order, they cannot
 * deadlock. If only finished work is visible, this circuit has three states: either worker can
 * finish next, or one of the two has begun.
 *
 *     cc circuit.c $(pkg-config --cflags --libs gordian)
 */
#include <gordian/compose.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "worker(take!, more!, done!) {\n"
    "    #CA\n"
    "    idle*   -> waiting : {take}\n"
    "    waiting -> working : {more}\n"
    "    working -> idle    : {done}\n"
    "}\n"
    "lock(one?, other?, back?, also?) {\n"
    "    #CA\n"
    "    free* -> held : {one}   free -> held : {other}\n"
    "    held  -> free : {back}  held -> free : {also}\n"
    "}\n"
    "crossed() {\n"
    "    worker(orders1, stock1, done1)  lock(orders1, orders2, done1, done2)\n"
    "    worker(stock2, orders2, done2)  lock(stock1, stock2, done1, done2)\n"
    "}\n"
    "ordered() {\n"
    "    worker(orders1, stock1, done1)  lock(orders1, orders2, done1, done2)\n"
    "    worker(orders2, stock2, done2)  lock(stock1, stock2, done1, done2)\n"
    "}\n";

/* For this example only: a real program would return the status. */
static void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "circuit: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

/* Reads a component of the text. An error has a file, a line and a column. */
static gordian_circuit *read_component(const char *name)
{
    gordian_circuit *circuit;
    gordian_circuit_options options;
    gordian_bytes bytes = {text, strlen(text)};
    gordian_source source = gordian_source_bytes(&bytes);
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options_init(&options);
    options.main = name;
    if (gordian_circuit_read(&circuit, GORDIAN_FORMAT_TREO, "locks.treo", &source, &options, &fault,
                             &error) != GORDIAN_OK) {
        fprintf(stderr, "%s:%d:%d: %s\n    %s\n", fault.file, (int)error.line, (int)error.column,
                error.message, fault.line);
        exit(EXIT_FAILURE);
    }
    return circuit;
}

/* Prints the steps, then the state of every automaton. */
static void show_deadlock(const gordian_circuit *circuit, const gordian_compose_deadlock *deadlock)
{
    char automaton[100], state[100];
    gordian_circuit_info info;
    gordian_circuit_describe(circuit, &info);
    for (size_t i = 0; i < deadlock->step_count; i++) {
        gordian_circuit_label_text(circuit, deadlock->labels + i * info.label_words, state,
                                   sizeof state);
        printf("    %zu  %s\n", i + 1, state);
    }
    for (size_t i = 0; i < info.automaton_count; i++) {
        gordian_circuit_automaton_text(circuit, i, automaton, sizeof automaton);
        gordian_circuit_state_text(circuit, i, deadlock->state[i], state, sizeof state);
        printf("    %-38s %s\n", automaton, state);
    }
}

static void show_component(const char *name)
{
    gordian_error error;
    gordian_compose_result result;
    gordian_circuit *circuit = read_component(name);
    must(gordian_compose(circuit, NULL, NULL, &result, &error), &error);
    printf("%s: %llu states, %llu transitions, deadlocks: %llu\n", name,
           (unsigned long long)result.states, (unsigned long long)result.transitions,
           (unsigned long long)result.deadlocks);
    if (result.found_count > 0)
        show_deadlock(circuit, &result.found[0]);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* Hides all names except those of finished work. */
static bool hides_locks(void *context, const char *name, size_t length)
{
    (void)context;
    return length < 4 || memcmp(name, "done", 4) != 0;
}

static bool write_to_file(void *context, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size;
}

/* Shows only finished work, with states merged that cannot be distinguished. */
static void show_outside(const char *name)
{
    gordian_error error;
    gordian_compose_result result;
    gordian_graph *product, *hidden, *minimal;
    gordian_hiding hiding = {hides_locks, NULL};
    gordian_writer writer = {write_to_file, NULL, stdout};
    gordian_circuit *circuit = read_component(name);
    must(gordian_compose_graph(&product, circuit, NULL, NULL, NULL, &result, &error), &error);
    must(gordian_graph_hide(&hidden, product, &hiding, &error), &error);
    must(gordian_graph_minimise(&minimal, hidden, &error), &error);
    printf("%s from outside: %u states, then %u\n", name, gordian_graph_states(hidden),
           gordian_graph_states(minimal));
    must(gordian_graph_write(minimal, name, circuit, GORDIAN_FORMAT_CA, &writer, &error), &error);
    gordian_graph_close(minimal);
    gordian_graph_close(hidden);
    gordian_graph_close(product);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

int main(void)
{
    show_component("crossed");
    show_component("ordered");
    show_outside("ordered");
    return EXIT_SUCCESS;
}

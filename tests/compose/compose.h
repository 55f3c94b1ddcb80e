/* What the tests of composition share: circuits and products from texts. */
#ifndef GORDIAN_TESTS_COMPOSE_H
#define GORDIAN_TESTS_COMPOSE_H

#include "compose/oracle.h"
#include "engines/compose/format/ca.h"
#include "engines/compose/treo/treo.h"
#include "test.h"

#include <string.h>

/* The circuit of a .treo text; NULL, and said why, if there is none. */
static inline gordian_circuit *read_circuit(const char *source, const char *main, const char *data)
{
    struct text text;
    gordian_circuit *circuit = NULL;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options options = {.main = main, .data = data};
    if (text_copy(&text, "test.treo", source, strlen(source), NULL, &error) != GORDIAN_OK)
        return NULL;
    if (treo_read(&circuit, &text, &options, &fault, &error) != GORDIAN_OK)
        fprintf(stderr, "%s:%d:%d: %s\n%s\n", fault.file, (int)error.line, (int)error.column,
                error.message, fault.line);
    text_free(&text);
    return circuit;
}

static inline gordian_circuit *read_ca(const char *source, const char *data)
{
    struct text text;
    gordian_circuit *circuit = NULL;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options options = {.data = data};
    if (text_copy(&text, "test.ca", source, strlen(source), NULL, &error) != GORDIAN_OK)
        return NULL;
    if (ca_read(&circuit, &text, &options, &fault, &error) != GORDIAN_OK)
        fprintf(stderr, "%s:%d:%d: %s\n%s\n", fault.file, (int)error.line, (int)error.column,
                error.message, fault.line);
    text_free(&text);
    return circuit;
}

static inline gordian_graph *product_of(const gordian_circuit *circuit)
{
    gordian_graph *graph = NULL;
    gordian_error error = {0};
    if (circuit && plain_product(&graph, circuit, false, NULL, &error) != GORDIAN_OK)
        fprintf(stderr, "product: %s\n", error.message);
    return graph;
}

/* The product of a .treo text. */
static inline gordian_graph *product_of_text(const char *source, const char *main, const char *data)
{
    gordian_circuit *circuit = read_circuit(source, main, data);
    gordian_graph *graph = product_of(circuit);
    gordian_circuit_close(circuit);
    return graph;
}

/* A graph that is made by hand: graph_state, put_arc for its arcs, the next state, ... */
static inline gordian_graph *new_graph(void)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_graph *graph = NULL;
    REQUIRE(graph_new(&graph, &memory, NULL) == GORDIAN_OK);
    return graph;
}

static inline void put_arc(gordian_graph *graph, const char *text, uint32_t to)
{
    uint32_t label;
    REQUIRE(labels_put(&graph->labels, text, strlen(text), &label, NULL) == GORDIAN_OK);
    REQUIRE(graph_arc(graph, label, to, NULL) == GORDIAN_OK);
}

static inline size_t deadlocks_of(const gordian_graph *graph)
{
    size_t count = 0;
    for (uint32_t s = 0; s < graph->state_count; s++)
        count += graph_is_deadlock(graph, s);
    return count;
}

#endif

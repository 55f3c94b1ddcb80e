/* Any bytes as a .treo, .ca or .aut text: it is read or refused with a place; what is read survives
 * being written and read again. */
#include "compose/oracle.h"
#include "engines/compose/format/aut.h"
#include "engines/compose/format/ca.h"
#include "engines/compose/treo/treo.h"
#include "foundation/base/io/output.h"
#include "fuzz.h"

#include <string.h>

#define SMALL 2000u

static void check_refusal(gordian_status status, const gordian_error *error,
                          const gordian_fault *fault)
{
    DEMAND(status == GORDIAN_STATUS_INPUT || status == GORDIAN_STATUS_MEMORY, "status %d: %s",
           status, error->message);
    DEMAND(error->message[0], "refused without a word");
    DEMAND(memchr(fault->line, '\0', sizeof fault->line) && fault->caret < sizeof fault->line,
           "a caret outside the line");
}

/* The product, if it is small; NULL otherwise. */
static gordian_graph *small_product(const gordian_circuit *circuit)
{
    gordian_graph *graph = NULL;
    size_t transitions = 1;
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        if (__builtin_mul_overflow(transitions, factor_shape(circuit, f)->transition_count + 1,
                                   &transitions) ||
            transitions > 20 * SMALL)
            return NULL;
    if (circuit->whole > SMALL)
        return NULL;
    gordian_error error = {0};
    gordian_status status = plain_product(&graph, circuit, false, NULL, &error);
    DEMAND(status == GORDIAN_OK, "%s", error.message);
    return graph;
}

static void check_aut(const gordian_graph *graph)
{
    struct output out;
    struct text text;
    gordian_graph *again = NULL;
    gordian_fault fault;
    gordian_error error = {0};
    uint32_t where;
    bool cut;
    DEMAND(output_open(&out, -1), "no memory");
    aut_write(graph, &out);
    gordian_status status = text_copy(&text, "again.aut", out.buffer, out.used, NULL, &error);
    if (status == GORDIAN_OK)
        status = aut_read(&again, &text, &cut, NULL, &fault, &error);
    DEMAND(status == GORDIAN_OK && !cut, "%s", error.message);
    DEMAND(again->arc_count == graph->arc_count && again->state_count == graph->state_count,
           "another graph came back");
    if (graph->initial_count == 1)
        DEMAND(graph_same(graph, again, &where), "state %u differs", where);
    gordian_graph_close(again);
    text_free(&text);
    output_close(&out);
}

static void check_circuit(const gordian_circuit *circuit)
{
    struct output out;
    struct text text;
    gordian_circuit *again = NULL;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_graph *graph = small_product(circuit);
    if (graph)
        check_aut(graph);
    DEMAND(output_open(&out, -1), "no memory");
    gordian_status status = ca_write_circuit(circuit, &out, &error);
    DEMAND(status == GORDIAN_OK, "%s", error.message);
    if (circuit->factor_count > 0) {
        status = text_copy(&text, "again.ca", out.buffer, out.used, NULL, &error);
        if (status == GORDIAN_OK)
            status = ca_read(&again, &text, NULL, &fault, &error);
        DEMAND(status == GORDIAN_OK, "%s\n%.*s", error.message, (int)out.used, out.buffer);
        gordian_graph *other = graph ? small_product(again) : NULL;
        if (graph)
            DEMAND(other && graph->state_count == other->state_count &&
                       graph->arc_count == other->arc_count,
                   "another product came back:\n%.*s", (int)out.used, out.buffer);
        gordian_graph_close(other);
        gordian_circuit_close(again);
        text_free(&text);
    }
    output_close(&out);
    gordian_graph_close(graph);
}

static void read_one(const struct text *text)
{
    gordian_circuit *circuit = NULL;
    gordian_graph *graph = NULL;
    gordian_fault fault = {0};
    gordian_error error = {0};
    gordian_status status;
    gordian_circuit_options options = {.max_instances = SMALL, .max_unfolded = SMALL};
    if (text->size >= 3 && memcmp(text->bytes, "des", 3) == 0)
        status = aut_read(&graph, text, NULL, NULL, &fault, &error);
    else if (strncmp(text->bytes, "data", 4) == 0 || strncmp(text->bytes, "automaton", 9) == 0)
        status = ca_read(&circuit, text, NULL, &fault, &error);
    else
        status = treo_read(&circuit, text, &options, &fault, &error);
    if (status != GORDIAN_OK)
        check_refusal(status, &error, &fault);
    if (graph)
        check_aut(graph);
    if (circuit)
        check_circuit(circuit);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size, 0};
    gordian_source source = fuzz_source(&input);
    struct text text;
    gordian_error error = {0};
    if (text_read(&text, "input", &source, NULL, &error) == GORDIAN_OK) {
        read_one(&text);
        text_free(&text);
    }
    return 0;
}

/* Any bytes as a net: it is read or refused with a place; a small one survives being written as a
 * net of its automata and read again. */
#include "engines/compose/format/pnml.h"
#include "foundation/base/io/output.h"
#include "fuzz.h"

#include <gordian/compose.h>
#include <string.h>

static gordian_circuit *read_net(const char *bytes, size_t size, gordian_error *error)
{
    struct text text;
    gordian_fault fault;
    gordian_circuit *circuit = NULL;
    gordian_status status = text_copy(&text, "x.pnml", bytes, size, NULL, error);
    if (status != GORDIAN_OK)
        return NULL;
    status = pnml_read(&circuit, &text, NULL, &fault, error);
    DEMAND(status == GORDIAN_OK || error->message[0], "refused without a word");
    DEMAND(memchr(fault.line, '\0', sizeof fault.line), "a line without an end");
    text_free(&text);
    return circuit;
}

static uint64_t count_states(const gordian_circuit *circuit)
{
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.engine = "cpu";
    options.threads = 1;
    options.count_transitions = false;
    options.max_states = 2000;
    DEMAND(gordian_compose(circuit, &options, NULL, &result, NULL) == GORDIAN_OK, "not composed");
    uint64_t states = result.stop == GORDIAN_COMPOSE_STOP_COMPLETE ? result.states : UINT64_MAX;
    gordian_compose_result_free(&result);
    return states;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gordian_error error = {0};
    struct output out;
    gordian_circuit *circuit = read_net((const char *)data, size, &error);
    if (!circuit || circuit->factor_count > 12) {
        gordian_circuit_close(circuit);
        return 0;
    }
    uint64_t states = count_states(circuit);
    DEMAND(output_open(&out, OUTPUT_MEMORY), "no memory");
    if (states != UINT64_MAX && pnml_write_circuit(circuit, &out, &error) == GORDIAN_OK) {
        gordian_circuit *again = read_net(out.buffer, out.used, &error);
        DEMAND(again || circuit->whole == 1, "%s", error.message);
        DEMAND(!again || count_states(again) == states, "another net came back");
        gordian_circuit_close(again);
    }
    output_close(&out);
    gordian_circuit_close(circuit);
    return 0;
}

/* The circuit of a net, written as a .ca text and read. */
#include "engines/compose/format/net.h"

#include "engines/compose/format/ca.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

void net_free(struct net *net)
{
    memory_free_all(&net->memory, net->arcs, net->marked);
    labels_free(&net->places);
    labels_free(&net->transitions);
}

static void write_place(const struct net *net, size_t first, size_t end, struct output *out)
{
    uint32_t place = net->arcs[first].place;
    output_text(out, "automaton ");
    ca_write_title(labels_text(&net->places, place), out);
    for (size_t i = first; i < end; i++)
        output_format(out, "%s`%s`", i == first ? " (" : ", ",
                      labels_text(&net->transitions, net->arcs[i].transition));
    output_format(out, ") {\n    %s : initial\n", net->marked[place] ? "one" : "none");
    for (size_t i = first; i < end; i++)
        output_format(out, "    %s -> %s : {`%s`}\n", net->arcs[i].takes ? "one" : "none",
                      net->arcs[i].puts ? "one" : "none",
                      labels_text(&net->transitions, net->arcs[i].transition));
    output_text(out, "}\n");
}

/* A transition without a place fires at any time. */
static gordian_status write_free(const struct net *net, struct output *out, gordian_error *error)
{
    uint8_t *bound = memory_zeroed(&net->memory, net->transitions.count + 1);
    if (!bound)
        return fail_memory(error);
    for (size_t i = 0; i < net->arc_count; i++)
        bound[net->arcs[i].transition] = 1;
    for (uint32_t t = 0; t < net->transitions.count; t++)
        if (!bound[t])
            output_format(out, "automaton free (`%s`) { one* -> one : {`%s`} }\n",
                          labels_text(&net->transitions, t), labels_text(&net->transitions, t));
    memory_free(&net->memory, bound);
    return GORDIAN_OK;
}

gordian_status net_circuit(gordian_circuit **out, struct net *net,
                           const gordian_circuit_options *options, gordian_error *error)
{
    struct output text;
    struct text made;
    if (!output_open(&text, OUTPUT_MEMORY))
        return fail_memory(error);
    for (size_t i = 0, end; i < net->arc_count; i = end) {
        for (end = i; end < net->arc_count && net->arcs[end].place == net->arcs[i].place;)
            end++;
        write_place(net, i, end, &text);
    }
    gordian_status status = write_free(net, &text, error);
    if (status == GORDIAN_OK && text.failure)
        status = fail_memory(error);
    THEN(status, text_copy(&made, net->title, text.buffer, text.used, &net->memory, error));
    output_close(&text);
    if (status != GORDIAN_OK)
        return status;
    status = ca_read(out, &made, options, NULL, error);
    text_free(&made);
    THEN(status, circuit_title(*out, net->title, error));
    THEN(status, net_watch(net, *out, error));
    if (status != GORDIAN_OK) {
        gordian_circuit_close(*out);
        *out = NULL;
    }
    return status;
}

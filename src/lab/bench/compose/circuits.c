/* The measured circuits, and one measured run of an engine. */
#include "engines/compose/format/ca.h"
#include "engines/compose/treo/treo.h"
#include "foundation/base/error.h"
#include "lab/bench/compose/compose.h"
#include "sources/gen/gen.h"

static gordian_status read_circuit_text(gordian_circuit **out, const struct output *text,
                                        bool automata, const char *data, const char *main,
                                        gordian_error *error)
{
    struct text source;
    gordian_circuit_options options = {.data = data, .main = main};
    TRY(text_copy(&source, "bench", text->buffer, text->used, NULL, error));
    gordian_status status = (automata ? ca_read : treo_read)(out, &source, &options, NULL, error);
    text_free(&source);
    return status;
}

gordian_status bench_circuit_text(gordian_circuit **out, const char *treo, const char *main,
                                  gordian_error *error)
{
    struct output text;
    *out = NULL;
    if (!output_open(&text, OUTPUT_MEMORY))
        return fail_memory(error);
    output_text(&text, treo);
    gordian_status status =
        text.failure ? fail_memory(error) : read_circuit_text(out, &text, false, NULL, main, error);
    output_close(&text);
    return status;
}

gordian_status bench_circuit(gordian_circuit **out, const char *kind, uint32_t size, uint64_t seed,
                             const char *data, gordian_error *error)
{
    struct output text;
    *out = NULL;
    if (!output_open(&text, -1))
        return fail_memory(error);
    struct gen_options options = gen_options_of(kind, seed, size);
    gordian_status status = gen_write(&options, &text, error);
    THEN(status, read_circuit_text(out, &text, false, data, NULL, error));
    output_close(&text);
    return status;
}

/* Writes two independent buffers as one automaton: state bit i says that buffer i is full; any
 * change of the two is a transition. */
static void write_circuit_pair(struct output *out, const char *title)
{
    output_format(out, "automaton %s (a%s0, a%s1, b%s0, b%s1) {\n    0 : initial\n", title, title,
                  title, title, title);
    for (unsigned from = 0; from < 4; from++)
        for (unsigned to = 0; to < 4; to++) {
            const char *between = "";
            if (from == to)
                continue;
            output_format(out, "    %u -> %u : {", from, to);
            for (unsigned i = 0; i < 2; i++)
                if (((from ^ to) >> i & 1) != 0) {
                    output_format(out, "%s%c%s%u", between, (to >> i & 1) != 0 ? 'a' : 'b', title,
                                  i);
                    between = ", ";
                }
            output_text(out, "}\n");
        }
    output_text(out, "}\n");
}

gordian_status bench_paper_circuit(gordian_circuit **out, gordian_error *error)
{
    struct output text;
    *out = NULL;
    if (!output_open(&text, -1))
        return fail_memory(error);
    write_circuit_pair(&text, "left");
    write_circuit_pair(&text, "right");
    gordian_status status =
        text.failure ? fail_memory(error) : read_circuit_text(out, &text, true, NULL, NULL, error);
    output_close(&text);
    return status;
}

/* ------------------------------------------------------------------ a run */

const struct compose_engine *compose_engine_named(const char *name)
{
    return (const struct compose_engine *)engine_find(&compose_family, name);
}

struct compose_side compose_side_of(const struct compose_engine *engine,
                                    const gordian_circuit *circuit)
{
    struct compose_side side = {.engine = engine, .circuit = circuit};
    gordian_compose_options_init(&side.options);
    return side;
}

/* If several threads work, wall-clock time counts. */
gordian_status compose_side_run(void *context, double *ns, gordian_error *error)
{
    struct compose_side *side = context;
    gordian_status status = GORDIAN_OK;
    uint64_t (*now)(void) = side->alone ? work_ns : clock_ns;
    uint64_t start = now();
    for (unsigned i = 0; i < (side->repeat ? side->repeat : 1) && status == GORDIAN_OK; i++) {
        gordian_compose_result_free(&side->result);
        status = side->engine->run(side->circuit, &side->options, NULL, &side->result, error);
    }
    *ns = (double)(now() - start);
    TRY(status);
    const gordian_compose_result *result = &side->result;
    if (result->stop != GORDIAN_COMPOSE_STOP_COMPLETE)
        return fail(error, GORDIAN_STATUS_MEMORY, "%s did not finish composing %s",
                    side->engine->about.name, side->circuit->title);
    if ((side->states && result->states != side->states) ||
        (side->transitions && result->transitions != side->transitions))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%s: %llu states and %llu transitions, expected %llu and %llu",
                    side->engine->about.name, (unsigned long long)result->states,
                    (unsigned long long)result->transitions, (unsigned long long)side->states,
                    (unsigned long long)side->transitions);
    return GORDIAN_OK;
}

void compose_side_free(struct compose_side *side)
{
    gordian_compose_result_free(&side->result);
}

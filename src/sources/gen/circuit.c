/* Generates circuits for `gordian compose` as .treo text: random circuits and classic circuits of
 * any size. */
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "sources/gen/kinds.h"

static void write_circuit_heading(const struct gen_options *options, struct output *out)
{
    output_format(out, "// gordian gen %s: seed %llu, %u automata\n", options->kind,
                  (unsigned long long)options->seed, options->processes);
}

/* ------------------------------------------------------------------ random circuits */

/* The components of a random circuit: the number of inputs and outputs, and the weight in
 * percent. */
static const struct {
    const char *name;
    unsigned ins, outs, weight;
} components[] = {
    {"fifo1", 1, 1, 30},          {"fifofull<0>", 1, 1, 10}, {"sync", 1, 1, 15},
    {"lossysync", 1, 1, 8},       {"syncdrain", 2, 0, 7},    {"asyncdrain", 2, 0, 3},
    {"syncspout", 0, 2, 2},       {"merger", 2, 1, 8},       {"replicator", 1, 2, 8},
    {"shiftlossyfifo1", 1, 1, 4}, {"router", 1, 2, 5},
};

#define ENDS_MAX 3

struct wiring {
    const struct gen_options *options;
    struct random random;
    uint64_t *taken, *put; /* by name: some component reads from it, writes to it */
};

/* Draws one component and the names of its ends. All ends differ. They are near `place` in the list
 * of names, so that large circuits stay loosely coupled. */
static size_t draw_automaton(struct wiring *wiring, uint32_t place, uint32_t ends[ENDS_MAX])
{
    const uint32_t names = wiring->options->resources;
    const uint32_t window = names < 6 ? names : 6;
    uint64_t centre = (uint64_t)place * names / wiring->options->processes;
    uint64_t roll = random_below(&wiring->random, 100);
    size_t component = 0;
    while (roll >= components[component].weight)
        roll -= components[component++].weight;
    for (unsigned e = 0; e < components[component].ins + components[component].outs; e++) {
        bool again = true;
        while (again) {
            ends[e] = (uint32_t)((centre + random_below(&wiring->random, window)) % names);
            again = false;
            for (unsigned k = 0; k < e; k++)
                again |= ends[k] == ends[e];
        }
    }
    return component;
}

static void write_random(struct wiring *wiring, struct output *out)
{
    const char *between = "";
    output_text(out, "main(");
    for (uint32_t n = 0; n < wiring->options->resources && !out->failure; n++) {
        bool in = bits_test(wiring->taken, n), put = bits_test(wiring->put, n);
        if (in == put)
            continue;
        output_format(out, "%sx%u%s", between, n, in ? "?" : "!");
        between = ", ";
    }
    output_text(out, ") {\n");
    for (uint32_t i = 0; i < wiring->options->processes && !out->failure; i++) {
        uint32_t ends[ENDS_MAX];
        size_t component = draw_automaton(wiring, i, ends);
        output_format(out, "    %s(", components[component].name);
        for (unsigned e = 0; e < components[component].ins + components[component].outs; e++)
            output_format(out, "%sx%u", e ? ", " : "", ends[e]);
        output_text(out, ")\n");
    }
    output_text(out, "}\n");
}

gordian_status circuit_random(const struct gen_options *options, struct output *out,
                              gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t bytes = bits_words(options->resources) * sizeof(uint64_t);
    struct wiring wiring = {.options = options};
    if (options->resources < ENDS_MAX)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a circuit needs at least %d resources, which are its names", ENDS_MAX);
    wiring.taken = memory_zeroed(&memory, bytes);
    wiring.put = memory_zeroed(&memory, bytes);
    gordian_status status = wiring.taken && wiring.put ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK) {
        random_seed(&wiring.random, options->seed);
        /* Note which names are read and written. A name that is only read, or only written, is a
         * port of the whole circuit. */
        for (uint32_t i = 0; i < options->processes; i++) {
            uint32_t ends[ENDS_MAX];
            size_t component = draw_automaton(&wiring, i, ends);
            for (unsigned e = 0; e < components[component].ins + components[component].outs; e++)
                bits_set(e < components[component].ins ? wiring.taken : wiring.put, ends[e]);
        }
        random_seed(&wiring.random, options->seed); /* draw the same circuit again */
        write_circuit_heading(options, out);
        write_random(&wiring, out);
    }
    memory_free_all(&memory, wiring.taken, wiring.put);
    return status;
}

/* ------------------------------------------------------------------ classic circuits */

gordian_status circuit_chain(const struct gen_options *options, struct output *out,
                             gordian_error *error)
{
    (void)error;
    uint32_t count = options->processes;
    write_circuit_heading(options, out);
    output_format(out,
                  "main(a[0]?, a[%u]!) {\n"
                  "    fifo1(a[i], a[i+1]) | i:<0..%u>\n"
                  "}\n",
                  count, count - 1);
    return GORDIAN_OK;
}

gordian_status circuit_apart(const struct gen_options *options, struct output *out,
                             gordian_error *error)
{
    (void)error;
    write_circuit_heading(options, out);
    output_format(out,
                  "main(a[1..%u]?, b[1..%u]!) {\n"
                  "    fifo1(a[i], b[i]) | i:<1..%u>\n"
                  "}\n",
                  options->processes, options->processes, options->processes);
    return GORDIAN_OK;
}

/* `units` of the buffers are full, spread evenly. */
gordian_status circuit_ring(const struct gen_options *options, struct output *out,
                            gordian_error *error)
{
    uint64_t count = options->processes, full = options->units;
    if (full > count)
        return fail(error, GORDIAN_STATUS_INPUT, "a ring of %llu buffers cannot hold %llu units",
                    (unsigned long long)count, (unsigned long long)full);
    write_circuit_heading(options, out);
    output_text(out, "main() {\n");
    for (uint64_t i = 0; i < count && !out->failure; i++) {
        bool is_full = (i + 1) * full / count > i * full / count;
        output_format(out, "    %s(x%llu, x%llu)\n", is_full ? "fifofull<0>" : "fifo1",
                      (unsigned long long)i, (unsigned long long)((i + 1) % count));
    }
    output_text(out, "}\n");
    return GORDIAN_OK;
}

gordian_status circuit_dining(const struct gen_options *options, struct output *out,
                              gordian_error *error)
{
    (void)error;
    uint32_t count = options->processes;
    write_circuit_heading(options, out);
    output_text(out, "philosopher(tl!, tr!, fl!, fr!) {\n"
                     "    #CA\n"
                     "    thinks* -> left   : {tl}\n"
                     "    left    -> eats   : {tr}\n"
                     "    eats    -> right  : {fl}\n"
                     "    right   -> thinks : {fr}\n"
                     "}\n"
                     "fork(tl?, tr?, fl?, fr?) {\n"
                     "    #CA\n"
                     "    free* -> used : {tl}\n"
                     "    free  -> used : {tr}\n"
                     "    used  -> free : {fl}\n"
                     "    used  -> free : {fr}\n"
                     "}\n");
    output_format(out,
                  "main() {\n"
                  "    philosopher(tl[i], tr[i], fl[i], fr[i])\n"
                  "    fork(tl[i], tr[(i+%u) %% %u], fl[i], fr[(i+%u) %% %u])\n"
                  "| i:<0..%u> }\n",
                  count - 1, count, count - 1, count, count - 1);
    return GORDIAN_OK;
}

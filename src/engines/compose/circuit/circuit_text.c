/* Labels and states of a sealed circuit as text. */
#include "engines/compose/circuit/circuit.h"
#include "foundation/base/io/output.h"

#include <string.h>

/* Is any of the bits from `bit` up to `end`, exclusive, set? */
static bool any_between(const uint64_t *label, size_t bit, size_t end)
{
    for (size_t w = bit / 64; w * 64 < end; w++) {
        uint64_t word = label[w];
        if (w == bit / 64)
            word &= ~UINT64_C(0) << (bit % 64);
        if (end - w * 64 < 64)
            word &= (UINT64_C(1) << (end - w * 64)) - 1;
        if (word)
            return true;
    }
    return false;
}

int label_compare(const uint64_t *left, const uint64_t *right, size_t words, size_t fires,
                  uint32_t value_bits)
{
    size_t w = 0;
    while (w < words && left[w] == right[w])
        w++;
    if (w == words)
        return 0;
    size_t bit = w * 64 + (size_t)__builtin_ctzll(left[w] ^ right[w]);
    if (bit >= fires) {
        size_t field = (bit - fires) / value_bits * value_bits + fires;
        uint64_t one = label_bits(left, field, value_bits),
                 other = label_bits(right, field, value_bits);
        return one < other ? -1 : 1;
    }
    /* Only one label has this name. It comes first unless the other label's list ends here. */
    bool in_left = bits_test(left, bit);
    bool goes_on = any_between(in_left ? right : left, bit + 1, fires);
    return in_left == goes_on ? -1 : 1;
}

void factor_label(const gordian_circuit *circuit, uint32_t factor, size_t t, uint64_t *label)
{
    const struct shape *shape = factor_shape(circuit, factor);
    const uint64_t *local = shape->labels + t * shape->label_words;
    uint32_t bits = circuit->value_bits;
    memset(label, 0, circuit->label_words * sizeof *label);
    for (uint32_t p = 0; p < shape->port_count; p++) {
        uint32_t name = circuit->factors[factor].names[p];
        if (!bits_test(local, p))
            continue;
        bits_set(label, name);
        label_set_bits(label, circuit->name_count + (size_t)name * bits, bits,
                       label_bits(local, shape->port_count + (size_t)p * bits, bits));
    }
}

void factor_mask(const gordian_circuit *circuit, uint32_t factor, uint64_t *mask)
{
    const struct shape *shape = factor_shape(circuit, factor);
    uint32_t bits = circuit->value_bits;
    memset(mask, 0, circuit->label_words * sizeof *mask);
    for (uint32_t p = 0; p < shape->port_count; p++) {
        uint32_t name = circuit->factors[factor].names[p];
        bits_set(mask, name);
        label_set_bits(mask, circuit->name_count + (size_t)name * bits, bits, ~UINT64_C(0));
    }
}

uint32_t gordian_circuit_value(const gordian_circuit *circuit, const uint64_t *label, uint32_t name)
{
    uint32_t bits = circuit->value_bits;
    return (uint32_t)label_bits(label, circuit->name_count + (size_t)name * bits, bits);
}

bool gordian_circuit_is_routing(const gordian_circuit *circuit)
{
    for (size_t s = 0; s < circuit->shape_count; s++)
        if (!circuit->shapes[s].routing)
            return false;
    /* Does at most one factor write each name? */
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        unsigned writers = circuit->boundary[n] && circuit->directions[n] == PORT_IN;
        for (size_t u = circuit->users_first[n]; u < circuit->users_first[n + 1]; u++) {
            const struct factor *factor = &circuit->factors[circuit->users[u]];
            const struct shape *shape = factor_shape(circuit, circuit->users[u]);
            for (uint32_t p = 0; p < shape->port_count; p++)
                if (factor->names[p] == n && shape->automaton->ports[p].direction == PORT_OUT)
                    writers++;
        }
        if (writers > 1)
            return false;
    }
    return true;
}

void circuit_write_label(const gordian_circuit *circuit, const uint64_t *label, struct output *out)
{
    bool any = false;
    for (size_t w = 0; w * 64 < circuit->name_count; w++) {
        uint64_t word = label[w];
        if (circuit->name_count - w * 64 < 64)
            word &= (UINT64_C(1) << (circuit->name_count - w * 64)) - 1;
        for (; word; word &= word - 1) {
            uint32_t name = (uint32_t)(w * 64 + (size_t)__builtin_ctzll(word));
            if (any)
                output_char(out, '|');
            any = true;
            output_text(out, names_text(&circuit->names, name));
            if (circuit->value_bits > 0) {
                output_char(out, '=');
                data_show(data_value_text(&circuit->data,
                                          1 + gordian_circuit_value(circuit, label, name)),
                          out);
            }
        }
    }
    if (!any)
        output_text(out, "tau");
}

void circuit_write_factor(const gordian_circuit *circuit, uint32_t factor, struct output *out)
{
    const struct shape *shape = factor_shape(circuit, factor);
    const struct factor *here = &circuit->factors[factor];
    output_text(out, here->title ? here->title : shape->automaton->title);
    output_char(out, '(');
    for (uint32_t p = 0; p < shape->port_count; p++) {
        if (p > 0)
            output_char(out, ',');
        output_text(out, names_text(&circuit->names, here->names[p]));
    }
    output_char(out, ')');
}

void circuit_write_state(const gordian_circuit *circuit, uint32_t factor, uint32_t state,
                         struct output *out)
{
    const struct shape *shape = factor_shape(circuit, factor);
    const struct automaton *automaton = shape->automaton;
    const uint32_t *values = shape->values + (size_t)state * (1 + automaton->cell_count);
    bool any = false;
    if (automaton->states[values[0]].name) {
        output_text(out, automaton->states[values[0]].name);
        any = true;
    } else if (automaton->state_count > 1 || automaton->cell_count == 0) {
        output_u64(out, values[0]);
        any = true;
    }
    for (size_t c = 0; c < automaton->cell_count; c++) {
        if (any)
            output_char(out, ' ');
        any = true;
        output_text(out, automaton->cells[c].name);
        output_char(out, '=');
        data_show(data_value_text(&circuit->data, values[1 + c]), out);
    }
}

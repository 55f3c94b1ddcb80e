/* Converts a circuit's automata to the matrices of the published product. */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "lab/published/compose/product.h"

/* Returns circuit->factor_count factors in the circuit's order; free them with
 * product_factors_free. A bit of a set is a bit of the circuit's labels, including data. On failure
 * *factors is NULL. */
gordian_status product_of_circuit(struct product_factor **factors, const gordian_circuit *circuit,
                                  const gordian_allocator *memory, gordian_error *error);

/* A circuit's automata as the matrices that the published product takes. */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "lab/published/compose/product.h"

/* circuit->factor_count of them, in the circuit's order, the caller's to free
 * (product_factors_free). A bit of a set is a bit of the circuit's labels, data included. On
 * failure *factors is NULL. */
gordian_status product_of_circuit(struct product_factor **factors, const gordian_circuit *circuit,
                                  const gordian_allocator *memory, gordian_error *error);

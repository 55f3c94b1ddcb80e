/* The thesis's reference on one core (cpu.c). */
#pragma once

#include "lab/published/kernels/published_product.h"

/* Computes all cells of those rows of the product; addresses are pointers. */
void product_fill_cpu(const struct published_product_arguments *arguments);

/* data/ptx-units.tsv, embedded by the build. */
#ifndef GORDIAN_PTX_UNITS_H
#define GORDIAN_PTX_UNITS_H

#include <stddef.h>

extern const char ptx_units[];
extern const size_t ptx_units_size;

#endif

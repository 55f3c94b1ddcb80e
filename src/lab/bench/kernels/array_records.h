/* The filter for elements of 8, 16 and 64 bytes: see array_records.cu. */
#pragma once

#include "lab/published/kernels/array_task.h"

/* array_records, array_records_plain: the filter for elements of 8, 16 and 64 bytes; the array's
 * pages have 1024 elements or more. */
struct array_records_arguments {
    uint64_t from; /* 16-byte aligned */
    uint64_t count;
    struct garray out;
    uint64_t plain, stored; /* array_records_plain: where to, and a zeroed uint64_t */
    uint32_t element;
    uint32_t below;
};

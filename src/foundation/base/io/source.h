/* What a source reads from, where that can be told; outputs as writers. */
#pragma once

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>

/* A writer to the output, which must outlive it. */
gordian_writer output_as_writer(struct output *out);

/* The rest of a regular file, which can be read in any order. */
struct source_file {
    int fd;
    uint64_t start, end;
};

/* Of a source by gordian_source_fd. */
bool source_is_file(const gordian_source *source, struct source_file *file);

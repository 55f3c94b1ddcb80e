/* Files behind sources, and writers to outputs. */
#pragma once

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>

/* Returns a writer to the output. The output must outlive it. */
gordian_writer output_as_writer(struct output *out);

/* The rest of a regular file, which can be read in any order. */
struct source_file {
    int fd;
    uint64_t start, end;
};

/* Is the source a regular file (of gordian_source_fd)? */
bool source_is_file(const gordian_source *source, struct source_file *file);

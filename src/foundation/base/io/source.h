/* What a source reads from, where that can be told. */
#pragma once

#include <gordian/gordian.h>

/* The rest of a regular file, which can be read in any order. */
struct source_file {
    int fd;
    uint64_t start, end;
};

/* Of a source by gordian_source_fd. */
bool source_is_file(const gordian_source *source, struct source_file *file);

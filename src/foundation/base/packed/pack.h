/* Packs a trace: reads lines of words and writes blocks (foundation/base/packed/packed.h). */
#pragma once

#include "foundation/base/names/interner.h"
#include "foundation/base/packed/packed.h"

struct pack {
    gordian_writer writer;
    struct names names; /* words by number, from 0 */
    uint32_t name_count;
    size_t name_bytes;
    struct bytes block;
    bool renew; /* this block begins with an empty table of names */
};

gordian_status pack_open(struct pack *pack, const gordian_writer *writer,
                         const gordian_allocator *memory, gordian_error *error);
gordian_status pack_line(struct pack *pack, const gordian_word *words, size_t count,
                         gordian_error *error);
/* Writes the last block, and the end mark. */
gordian_status pack_finish(struct pack *pack, gordian_error *error);
void pack_close(struct pack *pack);

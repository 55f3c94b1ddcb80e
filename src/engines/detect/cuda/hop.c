/* Node hopping on a GPU (cuda/hop.h). */
#include "engines/detect/cuda/hop.h"

#include "foundation/base/error.h"

#define WORD_BYTES    sizeof(uint32_t)
#define BARRIER_BYTES 64 /* larger than struct grid_barrier: a cache line of its own */

uint32_t hop_stride(uint32_t bits)
{
    uint32_t words = bits / 32 + (bits % 32 != 0);
    words = words ? words : 1;
    return (words + LMDDA_LINE - 1) / LMDDA_LINE * LMDDA_LINE;
}

static uint32_t at_least(uint32_t least, uint32_t value)
{
    return value < least ? least : value;
}

static uint32_t at_most(uint32_t most, uint32_t value)
{
    return value > most ? most : value;
}

/* Returns the words that a product reads for an inner size of that many bits. */
static uint32_t inner_words(uint32_t bits)
{
    return (bits + 127) / 128 * 4;
}

void hop_options_init(struct hop_options *options, const struct gpu_info *info)
{
    *options = (struct hop_options){.small = 2048, .block = 1024, .tensor = info->binary_mma};
}

/* ------------------------------------------------------------------ storage */

enum { PATHS, PANEL, HELD, HELD_TRANSPOSED, BARRIER, PARTS };

static void part_bytes(const struct hop_options *options, uint32_t slots, uint32_t processes,
                       uint64_t bytes[PARTS])
{
    uint64_t across_slots = hop_stride(slots) * WORD_BYTES;
    uint64_t across_block = hop_stride(options->block) * WORD_BYTES;
    bool large = slots > options->small;
    bytes[PATHS] = slots * across_slots;
    bytes[PANEL] = large ? slots * across_block : 16;
    bytes[HELD] = slots * (uint64_t)hop_stride(processes) * WORD_BYTES;
    bytes[HELD_TRANSPOSED] = large ? processes * across_slots : 16;
    bytes[BARRIER] = BARRIER_BYTES;
}

uint64_t hop_bytes(const struct hop_options *options, uint32_t slots, uint32_t processes)
{
    uint64_t bytes[PARTS], sum = 0;
    part_bytes(options, slots, processes, bytes);
    for (int i = 0; i < PARTS; i++)
        sum += bytes[i];
    return sum;
}

static void list_hop_memory(struct hop *hop, gpu_address *parts[PARTS])
{
    parts[PATHS] = &hop->paths;
    parts[PANEL] = &hop->panel;
    parts[HELD] = &hop->held;
    parts[HELD_TRANSPOSED] = &hop->held_transposed;
    parts[BARRIER] = &hop->barrier;
}

void hop_close(struct hop *hop)
{
    gpu_address *parts[PARTS];
    list_hop_memory(hop, parts);
    for (int i = 0; i < PARTS; i++) {
        gpu_free(hop->gpu, *parts[i]);
        *parts[i] = 0;
    }
}

/* Uses one block on each multiprocessor: more would only slow the barriers down. Threads of the
 * emulator are expensive. */
static gordian_status count_cooperative_blocks(struct hop *hop, gordian_error *error)
{
    const char *const kernels[] = {"lmdda_small", "bit_closure"};
    hop->cooperative_blocks = hop->info.emulated ? 3 : hop->info.multiprocessors;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        unsigned resident = 0;
        TRY(gpu_resident_blocks(hop->gpu, kernels[i], BOOL_TILE_THREADS, 0, &resident, error));
        hop->cooperative_blocks = at_most(resident, hop->cooperative_blocks);
    }
    if (hop->cooperative_blocks == 0)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "the device has no memory for a block of node hopping");
    return GORDIAN_OK;
}

gordian_status hop_open(struct hop *hop, struct gpu *gpu, const struct hop_options *options,
                        uint32_t slot_room, uint32_t process_room, gordian_error *error)
{
    *hop = (struct hop){.gpu = gpu,
                        .options = *options,
                        .slot_room = at_least(1, slot_room),
                        .process_room = at_least(1, process_room)};
    gpu_get_info(gpu, &hop->info);
    hop->slot_stride = hop_stride(hop->slot_room);
    hop->stride = hop_stride(hop->process_room);
    uint64_t bytes[PARTS];
    gpu_address *parts[PARTS];
    part_bytes(options, hop->slot_room, hop->process_room, bytes);
    list_hop_memory(hop, parts);
    gordian_status status = count_cooperative_blocks(hop, error);
    for (int i = 0; i < PARTS && status == GORDIAN_OK; i++)
        status = gpu_alloc(gpu, parts[i], bytes[i], error);
    THEN(status, gpu_zero(gpu, hop->barrier, bytes[BARRIER], error));
    if (status != GORDIAN_OK)
        hop_close(hop);
    return status;
}

/* ------------------------------------------------------------------ single steps */

static gordian_status launch_hop(struct gpu *gpu, const char *kernel, unsigned blocks,
                                 unsigned threads, const void *arguments, size_t size,
                                 gordian_error *error)
{
    struct gpu_launch launch = {.kernel = kernel,
                                .blocks = blocks,
                                .threads = threads,
                                .arguments = arguments,
                                .arguments_size = size};
    return gpu_launch(gpu, &launch, error);
}

gordian_status hop_product(struct gpu *gpu, const struct bool_product_arguments *product,
                           gordian_error *error)
{
    uint32_t tiles = BOOL_TILES(product->rows) * BOOL_TILES(product->columns);
    return launch_hop(gpu, "bool_product", at_least(1, tiles), BOOL_TILE_THREADS, product,
                      sizeof *product, error);
}

gordian_status hop_transpose(struct gpu *gpu, const struct bit_transpose_arguments *transpose,
                             gordian_error *error)
{
    uint32_t down = (transpose->rows + BIT_TRANSPOSE_TILE - 1) / BIT_TRANSPOSE_TILE;
    uint32_t across = (transpose->columns + BIT_TRANSPOSE_TILE - 1) / BIT_TRANSPOSE_TILE;
    return launch_hop(gpu, "bit_transpose", at_least(1, down * across), BIT_TRANSPOSE_THREADS,
                      transpose, sizeof *transpose, error);
}

static gordian_status launch_rows(const struct hop *hop, const char *kernel,
                                  const struct lmdda_hop_arguments *arguments, uint32_t rows,
                                  gordian_error *error)
{
    uint32_t most = hop->info.emulated ? 2 : hop->info.multiprocessors * 16;
    uint32_t blocks = at_most(most, rows / (LMDDA_THREADS / 32) + 1);
    return launch_hop(hop->gpu, kernel, blocks, LMDDA_THREADS, arguments, sizeof *arguments, error);
}

/* ------------------------------------------------------------------ closure by blocks */

/* A block of slots, and the addresses of its parts. */
struct block {
    uint32_t first, size;
    gpu_address rows;     /* paths[first ..][0 ..] */
    gpu_address columns;  /* paths[0 ..][first ..] */
    gpu_address diagonal; /* paths[first ..][first ..] */
};

/* out |= left . (the block's rows of paths), for `rows` rows of both. */
static gordian_status multiply_block(struct hop *hop, const struct block *block, gpu_address left,
                                     gpu_address out, uint32_t rows, uint32_t slots,
                                     gordian_error *error)
{
    uint32_t block_stride = hop_stride(hop->options.block);
    struct bit_transpose_arguments transpose = {.in = block->rows,
                                                .out = hop->panel,
                                                .in_stride = hop->slot_stride,
                                                .out_stride = block_stride,
                                                .rows = block->size,
                                                .columns = slots};
    TRY(hop_transpose(hop->gpu, &transpose, error));
    struct bool_product_arguments product = {.left = left,
                                             .right = hop->panel,
                                             .out = out,
                                             .left_stride = hop->slot_stride,
                                             .right_stride = block_stride,
                                             .out_stride = hop->slot_stride,
                                             .rows = rows,
                                             .columns = slots,
                                             .inner_words = inner_words(block->size),
                                             .tensor = hop->options.tensor};
    return hop_product(hop->gpu, &product, error);
}

static gordian_status close_paths(struct hop *hop, uint32_t slots, gordian_error *error)
{
    uint32_t blocks = (slots + hop->options.block - 1) / hop->options.block;
    gordian_status status = GORDIAN_OK;
    for (uint32_t i = 0; i < blocks && status == GORDIAN_OK; i++) {
        struct block block = {.first = i * hop->options.block};
        block.size = at_most(hop->options.block, slots - block.first);
        uint64_t down = (uint64_t)block.first * hop->slot_stride * WORD_BYTES;
        uint64_t across = block.first / 32 * WORD_BYTES;
        block.rows = hop->paths + down;
        block.columns = hop->paths + across;
        block.diagonal = hop->paths + down + across;
        /* Paths that stay inside the block. */
        struct bit_closure_arguments closure = {.paths = block.diagonal,
                                                .barrier = hop->barrier,
                                                .stride = hop->slot_stride,
                                                .size = block.size,
                                                .tensor = hop->options.tensor};
        uint32_t side = BOOL_TILES(block.size);
        status = gpu_launch(hop->gpu,
                            GPU_LAUNCH("bit_closure", at_most(hop->cooperative_blocks, side * side),
                                       BOOL_TILE_THREADS, closure, .cooperative = true),
                            error);
        if (status == GORDIAN_OK) /* from inside the block to anywhere */
            status =
                multiply_block(hop, &block, block.diagonal, block.rows, block.size, slots, error);
        if (status == GORDIAN_OK) /* from anywhere through the block to anywhere */
            status = multiply_block(hop, &block, block.columns, hop->paths, slots, slots, error);
    }
    return status;
}

/* ------------------------------------------------------------------ all of it */

/* held |= paths . held */
static gordian_status extend_held(struct hop *hop, uint32_t slots, uint32_t processes,
                                  gordian_error *error)
{
    struct bit_transpose_arguments transpose = {.in = hop->held,
                                                .out = hop->held_transposed,
                                                .in_stride = hop->stride,
                                                .out_stride = hop->slot_stride,
                                                .rows = slots,
                                                .columns = processes};
    TRY(hop_transpose(hop->gpu, &transpose, error));
    struct bool_product_arguments product = {.left = hop->paths,
                                             .right = hop->held_transposed,
                                             .out = hop->held,
                                             .left_stride = hop->slot_stride,
                                             .right_stride = hop->slot_stride,
                                             .out_stride = hop->stride,
                                             .rows = slots,
                                             .columns = processes,
                                             .inner_words = inner_words(slots),
                                             .tensor = hop->options.tensor};
    return hop_product(hop->gpu, &product, error);
}

static gordian_status start_large(struct hop *hop, const struct lmdda_hop_arguments *arguments,
                                  gordian_error *error)
{
    uint32_t slots = arguments->slot_count;
    gordian_status status = GORDIAN_OK;
    if (slots) {
        status = launch_rows(hop, "lmdda_relation", arguments, slots, error);
        THEN(status, close_paths(hop, slots, error));
        THEN(status, extend_held(hop, slots, arguments->process_count, error));
    }
    THEN(status, launch_rows(hop, "lmdda_rows", arguments, arguments->resource_count, error));
    return status;
}

static gordian_status start_small(struct hop *hop, const struct lmdda_hop_arguments *arguments,
                                  gordian_error *error)
{
    uint32_t side = BOOL_TILES(arguments->slot_count);
    uint32_t tiles = side * (side + BOOL_TILES(arguments->process_count));
    uint32_t warps = BOOL_TILE_THREADS / 32;
    uint32_t wanted = at_least(tiles, arguments->resource_count / warps + 1);
    return gpu_launch(hop->gpu,
                      GPU_LAUNCH("lmdda_small", at_most(hop->cooperative_blocks, wanted),
                                 BOOL_TILE_THREADS, *arguments, .cooperative = true),
                      error);
}

gordian_status hop_start(struct hop *hop, const struct lmdda_state *state, uint32_t slots,
                         uint32_t processes, uint32_t resources, gordian_error *error)
{
    struct lmdda_hop_arguments arguments = {.state = *state,
                                            .paths = hop->paths,
                                            .held = hop->held,
                                            .barrier = hop->barrier,
                                            .slot_stride = hop->slot_stride,
                                            .slot_count = slots,
                                            .process_count = processes,
                                            .resource_count = resources,
                                            .tensor = hop->options.tensor};
    return slots && slots <= hop->options.small ? start_small(hop, &arguments, error)
                                                : start_large(hop, &arguments, error);
}

#include "foundation/base/packed/packed_snapshot.h"

#include "foundation/base/crc.h"
#include "foundation/base/names/interner.h"

#include <stdio.h>

#define STEP       ((size_t)64 << 20) /* of allocation: a claimed size is not trusted */
#define LINES_FULL (64u << 10)

/* ------------------------------------------------------------------ layout */

static uint64_t mark_bytes(uint64_t names)
{
    return 8 * ((names + IMAGE_MARK - 1) / IMAGE_MARK);
}

static void lay_out_image(struct image_layout *layout, const struct image_counts *counts)
{
    const bool lists = counts->lists;
    const uint64_t sizes[IMAGE_PARTS] = {
        [IMAGE_TOTALS] = lists ? 8 * counts->resources : 0,
        [IMAGE_HOLDS] = lists ? IMAGE_EDGE * counts->holds : 4 * counts->resources,
        [IMAGE_WAITS] = lists ? IMAGE_EDGE * counts->waits : 4 * counts->processes,
        [IMAGE_PROCESS_MARKS] = mark_bytes(counts->processes),
        [IMAGE_PROCESS_NAMES] = counts->process_bytes,
        [IMAGE_RESOURCE_MARKS] = mark_bytes(counts->resources),
        [IMAGE_RESOURCE_NAMES] = counts->resource_bytes,
    };
    *layout = (struct image_layout){.lists = lists,
                                    .processes = counts->processes,
                                    .resources = counts->resources,
                                    .holds = counts->holds,
                                    .waits = counts->waits,
                                    .sums = IMAGE_HEAD};
    for (unsigned part = 0; part < IMAGE_PARTS; part++) {
        layout->sections[part] =
            (struct image_section){layout->sums, sizes[part], layout->sum_count};
        layout->sums += image_padded(sizes[part]);
        layout->sum_count += image_chunks(sizes[part]);
    }
    layout->size = layout->sums + image_padded(4 * layout->sum_count) + IMAGE_TAIL;
}

static bool counts_fit(const struct image_counts *counts)
{
    const uint64_t most = UINT64_C(1) << 48;
    if (counts->processes > IMAGE_MAX || counts->resources > IMAGE_MAX ||
        counts->process_bytes > most || counts->resource_bytes > most ||
        counts->holds > IMAGE_MAX * UINT64_C(2) || counts->waits > IMAGE_MAX * UINT64_C(2))
        return false;
    return counts->lists || (!counts->holds && !counts->waits);
}

/* A name has at least its NUL. */
static bool names_fit(uint64_t count, uint64_t bytes)
{
    return count <= bytes && (bytes == 0) == (count == 0);
}

bool image_read_head(struct image_layout *layout, const uint8_t head[IMAGE_HEAD])
{
    const struct image_counts counts = {
        .lists = packed_get32(head + 16) & IMAGE_LISTS,
        .processes = packed_get64(head + 24),
        .resources = packed_get64(head + 32),
        .process_bytes = packed_get64(head + 40),
        .resource_bytes = packed_get64(head + 48),
        .holds = packed_get64(head + 56),
        .waits = packed_get64(head + 64),
    };
    if (packed_get64(head + 80) != crc32c(0, head + PACKED_HEAD, 80 - PACKED_HEAD) ||
        packed_get64(head + 16) > IMAGE_LISTS || !counts_fit(&counts) ||
        !names_fit(counts.processes, counts.process_bytes) ||
        !names_fit(counts.resources, counts.resource_bytes))
        return false;
    lay_out_image(layout, &counts);
    return layout->size == packed_get64(head + 72);
}

bool image_sums_right(const struct image_layout *layout, const uint8_t *sums)
{
    size_t bytes = (size_t)image_padded(4 * layout->sum_count);
    return packed_get64(sums + bytes) == crc32c(0, sums, bytes);
}

/* Two times four numbers per step. */
typedef uint32_t image_numbers __attribute__((vector_size(16)));

static inline image_numbers more_of(image_numbers most, const uint32_t *array)
{
    image_numbers next;
    memcpy(&next, array, sizeof next);
    next += 1; /* GORDIAN_NONE: 0 */
    image_numbers more = (image_numbers)(next > most);
    return (next & more) | (most & ~more);
}

bool image_array_fits(const uint32_t *array, uint64_t count, uint64_t limit)
{
    image_numbers even = {0}, odd = {0};
    uint32_t most = 0;
    uint64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        even = more_of(even, array + i);
        odd = more_of(odd, array + i + 4);
    }
    for (unsigned k = 0; k < 4; k++) {
        most = even[k] > most ? even[k] : most;
        most = odd[k] > most ? odd[k] : most;
    }
    for (; i < count; i++) {
        uint32_t next = array[i] + 1;
        most = next > most ? next : most;
    }
    return most <= limit;
}

/* ------------------------------------------------------------------ loading */

static void find_names(struct packed_image *image, struct image_names *names, uint64_t count,
                       enum image_part marks)
{
    *names = (struct image_names){count, image->layout.sections[marks + 1].bytes,
                                  image->sections[marks], image->sections[marks + 1]};
}

/* `gone`: bytes of the file before the part that was kept. */
static void find_sections(struct packed_image *image, uint64_t gone)
{
    for (unsigned part = 0; part < IMAGE_PARTS; part++) {
        uint64_t at = image->layout.sections[part].at;
        image->sections[part] = at >= gone ? image->bytes.data + (at - gone) : NULL;
    }
    find_names(image, &image->processes, image->layout.processes, IMAGE_PROCESS_MARKS);
    find_names(image, &image->resources, image->layout.resources, IMAGE_RESOURCE_MARKS);
}

static bool take_more(struct packed_image *image, struct unpack *unpack, uint64_t size)
{
    struct bytes *bytes = &image->bytes;
    while (bytes->used < size) {
        uint64_t left = size - bytes->used, most = bytes->used > STEP ? bytes->used : STEP;
        size_t some = (size_t)(left < most ? left : most);
        if (!bytes_room(bytes, some)) {
            unpack->no_memory = true;
            return false;
        }
        if (!unpack_take(unpack, bytes->data + bytes->used, some))
            return false;
        bytes->used += some;
    }
    return true;
}

static bool section_right(const struct packed_image *image, const struct image_section *section)
{
    const uint8_t *at = image->bytes.data + section->at;
    const uint8_t *sum = image->bytes.data + image->layout.sums + 4 * section->sum;
    uint64_t left = image_padded(section->bytes);
    for (; left > 0; sum += 4) {
        size_t count = left < IMAGE_CHUNK ? (size_t)left : IMAGE_CHUNK;
        if (crc32c(0, at, count) != packed_get32(sum))
            return false;
        at += count;
        left -= count;
    }
    return true;
}

static bool edges_fit(const struct packed_image *image, const uint8_t *edges, uint64_t count)
{
    bool fit = true;
    for (uint64_t i = 0; i < count; i++) {
        struct image_edge edge = packed_image_edge(edges, i);
        fit &= edge.process < image->processes.count && edge.resource < image->resources.count;
    }
    return fit;
}

static bool array_fits(const uint8_t *array, uint64_t count, uint64_t limit)
{
    bool fit = true;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t value = packed_get32(array + 4 * i);
        fit &= value < limit || value == GORDIAN_NONE;
    }
    return fit;
}

static bool names_end(const struct image_names *names)
{
    return names->bytes == 0 || names->text[names->bytes - 1] == 0;
}

/* Are all numbers valid? */
static bool image_fits(const struct packed_image *image)
{
    const uint8_t *holds = image->sections[IMAGE_HOLDS], *waits = image->sections[IMAGE_WAITS];
    if (!names_end(&image->processes) || !names_end(&image->resources))
        return false;
    if (image->layout.lists)
        return edges_fit(image, holds, image->layout.holds) &&
               edges_fit(image, waits, image->layout.waits);
    return array_fits(waits, image->processes.count, image->resources.count) &&
           array_fits(holds, image->resources.count, image->processes.count);
}

bool packed_image_load(struct packed_image *image, struct unpack *unpack,
                       const gordian_allocator *memory)
{
    *image = (struct packed_image){0};
    bytes_init(&image->bytes, memory);
    if (!bytes_room(&image->bytes, IMAGE_HEAD)) {
        unpack->no_memory = true;
        return false;
    }
    packed_head(image->bytes.data, PACKED_SNAPSHOT);
    image->bytes.used = PACKED_HEAD;
    if (!take_more(image, unpack, IMAGE_HEAD))
        return false;
    if (!image_read_head(&image->layout, image->bytes.data)) {
        unpack_problem(unpack, PACKED_BAD_HEAD);
        return false;
    }
    if (!take_more(image, unpack, image->layout.size))
        return false;
    find_sections(image, 0);
    bool right = image_sums_right(&image->layout, image->bytes.data + image->layout.sums);
    for (unsigned part = 0; part < IMAGE_PARTS && right; part++)
        right = section_right(image, &image->layout.sections[part]);
    if (!right)
        unpack_problem(unpack, PACKED_DAMAGED);
    else if (!image_fits(image))
        unpack_problem(unpack, PACKED_SENSELESS);
    return !unpack->problem[0] && unpack_is_whole(unpack);
}

void packed_image_free(struct packed_image *image, const gordian_allocator *memory)
{
    if (image->bytes.data)
        memory_free(memory, image->bytes.data);
    memory_free_all(memory, image->awaits.starts, image->awaits.others);
    *image = (struct packed_image){0};
}

void packed_image_keep_names(struct packed_image *image)
{
    uint64_t begin = image->layout.sections[IMAGE_PROCESS_MARKS].at;
    size_t kept = (size_t)(image->layout.sums - begin);
    memmove(image->bytes.data, image->bytes.data + begin, kept);
    void *cut =
        image->bytes.memory.resize(image->bytes.memory.context, image->bytes.data, kept ? kept : 1);
    if (cut)
        image->bytes.data = cut;
    find_sections(image, begin);
}

/* ------------------------------------------------------------------ names and lines */

const char *packed_image_name(const struct image_names *names, uint32_t id)
{
    if (id >= names->count)
        return "";
    uint64_t at = packed_get64(names->marks + (size_t)(id / IMAGE_MARK) * 8);
    for (uint32_t skip = id % IMAGE_MARK; skip > 0 && at < names->bytes; skip--) {
        const uint8_t *end = memchr(names->text + at, 0, (size_t)(names->bytes - at));
        at = end ? (uint64_t)(end + 1 - names->text) : names->bytes;
    }
    return at < names->bytes ? (const char *)names->text + at : "";
}

struct image_edge packed_image_edge(const uint8_t *edges, uint64_t number)
{
    const uint8_t *edge = edges + IMAGE_EDGE * number;
    return (struct image_edge){packed_get64(edge), packed_get32(edge + 8), packed_get32(edge + 12)};
}

static void put_image_name(struct packed_image *image, struct bytes *text,
                           const struct image_names *names, uint32_t id)
{
    const char *name = packed_image_name(names, id), *why;
    size_t length = strlen(name);
    image->bad |= !names_valid(name, length, &why);
    bytes_put(text, " ", 1);
    bytes_put(text, name, length);
}

static void put_image_units(struct bytes *text, char before, uint64_t units)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%c%llu", before, (unsigned long long)units);
    if (units != 1)
        bytes_put(text, digits, (size_t)length);
}

/* ---- awaits, which are resources without names */

/* Is there an empty name? Every NUL ends a name. */
static bool has_nameless(const struct image_names *names)
{
    for (uint64_t at = 0, begin = 0; at < names->bytes; at++)
        if (names->text[at] == 0) {
            if (at == begin)
                return true;
            begin = at + 1;
        }
    return false;
}

static bool is_await_edge(const struct packed_image *image, uint32_t resource)
{
    return image->awaits.starts && !*packed_image_name(&image->resources, resource);
}

/* Returns hold number i, from the list or the array. False: there is none. */
static bool hold_at(const struct packed_image *image, uint64_t i, struct image_edge *edge)
{
    const uint8_t *section = image->sections[IMAGE_HOLDS];
    *edge = (struct image_edge){.units = 1, .resource = (uint32_t)i};
    if (image->layout.lists)
        *edge = packed_image_edge(section, i);
    else
        edge->process = packed_get32(section + 4 * i);
    return edge->process != GORDIAN_NONE;
}

/* Sorts the holds by resource. False: out of memory. */
static bool list_others(struct packed_image *image)
{
    const gordian_allocator *memory = &image->bytes.memory;
    uint64_t resources = image->resources.count;
    uint64_t holds = image->layout.lists ? image->layout.holds : resources;
    struct image_edge edge;
    uint32_t *starts = memory_zeroed(memory, (size_t)(resources + 2) * sizeof *starts);
    uint32_t *others = memory_alloc(memory, (size_t)(holds + 1) * sizeof *others);
    image->awaits = (struct image_awaits){starts, others};
    if (!starts || !others)
        return false;
    for (uint64_t i = 0; i < holds; i++)
        if (hold_at(image, i, &edge))
            starts[edge.resource + 2]++;
    for (uint64_t q = 2; q <= resources; q++)
        starts[q + 1] += starts[q];
    for (uint64_t i = 0; i < holds; i++)
        if (hold_at(image, i, &edge))
            others[starts[edge.resource + 1]++] = edge.process;
    return true;
}

static void put_await(struct packed_image *image, struct bytes *text, struct image_edge wait)
{
    const struct image_awaits *awaits = &image->awaits;
    uint32_t first = awaits->starts[wait.resource], end = awaits->starts[wait.resource + 1];
    char digits[32];
    int length = snprintf(digits, sizeof digits, " %llu of", (unsigned long long)wait.units);
    image->bad |= wait.units > end - first;
    bytes_put(text, "await", 5);
    put_image_name(image, text, &image->processes, wait.process);
    bytes_put(text, digits, (size_t)length);
    for (uint32_t i = first; i < end; i++)
        put_image_name(image, text, &image->processes, awaits->others[i]);
    bytes_put(text, "\n", 1);
}

static void put_image_declared(struct packed_image *image, struct bytes *text, uint64_t line)
{
    bool resource = line < image->resources.count;
    uint32_t id = (uint32_t)(resource ? line : line - image->resources.count);
    const char *verb = resource ? "resource" : "process";
    if (resource && is_await_edge(image, id))
        return;
    bytes_put(text, verb, strlen(verb));
    put_image_name(image, text, resource ? &image->resources : &image->processes, id);
    if (resource && image->layout.lists)
        put_image_units(text, ' ', packed_get64(image->sections[IMAGE_TOTALS] + 8 * (size_t)id));
    bytes_put(text, "\n", 1);
}

/* The order of lines: resources, processes (to keep their order), holds, waits, awaits. */
static bool put_image_line(struct packed_image *image, struct bytes *text, uint64_t line)
{
    const uint64_t declared = image->resources.count + image->processes.count;
    const bool lists = image->layout.lists;
    const uint64_t holds = lists ? image->layout.holds : image->resources.count;
    const uint64_t waits = lists ? image->layout.waits : image->processes.count;
    if (line >= declared + holds + waits)
        return false;
    if (line < declared) {
        put_image_declared(image, text, line);
        return true;
    }
    bool hold = line < declared + holds;
    uint64_t i = line - declared - (hold ? 0 : holds);
    struct image_edge edge = {.units = 1};
    const uint8_t *section = image->sections[hold ? IMAGE_HOLDS : IMAGE_WAITS];
    if (lists) {
        edge = packed_image_edge(section, i);
    } else {
        uint32_t other = packed_get32(section + 4 * i);
        if (other == GORDIAN_NONE)
            return true;
        edge.process = hold ? other : (uint32_t)i;
        edge.resource = hold ? (uint32_t)i : other;
    }
    if (!is_await_edge(image, edge.resource)) {
        const char *verb = hold ? "hold" : "wait";
        bytes_put(text, verb, strlen(verb));
        put_image_name(image, text, &image->processes, edge.process);
        put_image_name(image, text, &image->resources, edge.resource);
        put_image_units(text, '=', edge.units);
        bytes_put(text, "\n", 1);
    } else if (!hold)
        put_await(image, text, edge);
    return true;
}

bool packed_image_lines(struct packed_image *image, struct bytes *text)
{
    if (image->line == 0 && has_nameless(&image->resources) && !list_others(image)) {
        text->failed = true;
        return true;
    }
    while (text->used < LINES_FULL && !text->failed && !image->bad)
        if (!put_image_line(image, text, image->line++))
            return false;
    return true;
}

/* ------------------------------------------------------------------ writing */

static void write_image_bytes(struct image_writer *out, const void *bytes, size_t count)
{
    if (!out->failed && count > 0)
        out->failed = !out->writer.write(out->writer.context, bytes, count);
}

/* Writes whole chunks, or the end of a section. */
static void flush_chunks(struct image_writer *out)
{
    for (size_t at = 0; at < out->used; at += IMAGE_CHUNK) {
        size_t left = out->used - at;
        packed_put32(&out->sums[out->sum_count++],
                     crc32c(0, out->buffer + at, left < IMAGE_CHUNK ? left : IMAGE_CHUNK));
    }
    write_image_bytes(out, out->buffer, out->used);
    out->used = 0;
}

void image_bytes(struct image_writer *out, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    out->section += count;
    while (count > 0) {
        size_t some = sizeof out->buffer - out->used;
        some = some < count ? some : count;
        memcpy(out->buffer + out->used, from, some);
        out->used += some;
        from += some;
        count -= some;
        if (out->used == sizeof out->buffer)
            flush_chunks(out);
    }
}

void image_u32(struct image_writer *out, uint32_t value)
{
    uint8_t bytes[4];
    packed_put32(bytes, value);
    image_bytes(out, bytes, sizeof bytes);
}

void image_u64(struct image_writer *out, uint64_t value)
{
    uint8_t bytes[8];
    packed_put64(bytes, value);
    image_bytes(out, bytes, sizeof bytes);
}

void image_end_section(struct image_writer *out)
{
    image_bytes(out, (const uint8_t[8]){0}, (size_t)(image_padded(out->section) - out->section));
    flush_chunks(out);
    out->section = 0;
}

struct image_writer *image_begin(const gordian_writer *writer, const struct image_counts *counts,
                                 const gordian_allocator *memory)
{
    struct image_writer *out = memory_alloc(memory, sizeof *out);
    if (!out)
        return NULL;
    out->writer = *writer;
    out->memory = *memory;
    out->sum_count = out->section = 0;
    out->used = 0;
    out->failed = false;
    lay_out_image(&out->layout, counts);
    out->sums = memory_zeroed(memory, (size_t)image_padded(4 * out->layout.sum_count));
    if (!out->sums) {
        memory_free(memory, out);
        return NULL;
    }
    uint8_t head[IMAGE_HEAD] = {0};
    packed_head(head, PACKED_SNAPSHOT);
    packed_put32(head + 16, counts->lists ? IMAGE_LISTS : 0);
    packed_put64(head + 24, counts->processes);
    packed_put64(head + 32, counts->resources);
    packed_put64(head + 40, counts->process_bytes);
    packed_put64(head + 48, counts->resource_bytes);
    packed_put64(head + 56, counts->holds);
    packed_put64(head + 64, counts->waits);
    packed_put64(head + 72, out->layout.size);
    packed_put64(head + 80, crc32c(0, head + PACKED_HEAD, 80 - PACKED_HEAD));
    write_image_bytes(out, head, sizeof head);
    return out;
}

bool image_end(struct image_writer *out)
{
    gordian_allocator memory = out->memory;
    uint8_t tail[IMAGE_TAIL];
    size_t bytes = (size_t)image_padded(4 * out->layout.sum_count);
    packed_put64(tail, crc32c(0, out->sums, bytes));
    write_image_bytes(out, out->sums, bytes);
    write_image_bytes(out, tail, sizeof tail);
    bool written = !out->failed;
    memory_free_all(&memory, out->sums, out);
    return written;
}

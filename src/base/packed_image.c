#include "base/packed_image.h"

#include "base/crc.h"
#include "base/names.h"

#include <stdio.h>

#define STEP       ((size_t)64 << 20) /* a size that is only claimed is not believed at once */
#define LINES_FULL (64u << 10)

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static uint64_t mark_count(uint64_t names)
{
    return (names + IMAGE_MARK - 1) / IMAGE_MARK;
}

/* ------------------------------------------------------------------ loading */

/* Takes a section of so many bytes. */
static const uint8_t *next_section(const struct packed_image *image, uint64_t *at, uint64_t bytes)
{
    const uint8_t *section = image->bytes.data + *at;
    *at += padded(bytes);
    return section;
}

/* Counts and flags; the size of the file that follows from them, 0: they make no sense. */
static uint64_t read_counts(struct packed_image *image)
{
    const uint8_t *head = image->bytes.data;
    image->lists = packed_get32(head + 16) & IMAGE_LISTS;
    image->processes.count = packed_get64(head + 24);
    image->resources.count = packed_get64(head + 32);
    image->processes.bytes = packed_get64(head + 40);
    image->resources.bytes = packed_get64(head + 48);
    image->hold_count = packed_get64(head + 56);
    image->wait_count = packed_get64(head + 64);
    const uint64_t most = UINT64_C(1) << 48;
    if (packed_get32(head + 16) > IMAGE_LISTS || image->processes.count > IMAGE_MAX ||
        image->resources.count > IMAGE_MAX || image->processes.bytes > most ||
        image->resources.bytes > most || image->hold_count > IMAGE_MAX * UINT64_C(2) ||
        image->wait_count > IMAGE_MAX * UINT64_C(2))
        return 0;
    uint64_t size = IMAGE_HEAD + IMAGE_TAIL + 8 * mark_count(image->processes.count) +
                    8 * mark_count(image->resources.count) + padded(image->processes.bytes) +
                    padded(image->resources.bytes);
    if (image->lists)
        return size + 8 * image->resources.count +
               IMAGE_EDGE * (image->hold_count + image->wait_count);
    if (image->hold_count || image->wait_count)
        return 0;
    return size + padded(4 * image->processes.count) + padded(4 * image->resources.count);
}

static void find_sections(struct packed_image *image)
{
    uint64_t at = IMAGE_HEAD;
    struct image_names *kinds[] = {&image->processes, &image->resources};
    for (unsigned i = 0; i < 2; i++) {
        kinds[i]->marks = next_section(image, &at, 8 * mark_count(kinds[i]->count));
        kinds[i]->text = next_section(image, &at, kinds[i]->bytes);
    }
    if (image->lists) {
        image->totals = next_section(image, &at, 8 * image->resources.count);
        image->holds = next_section(image, &at, IMAGE_EDGE * image->hold_count);
        image->waits = next_section(image, &at, IMAGE_EDGE * image->wait_count);
    } else {
        image->wait = next_section(image, &at, 4 * image->processes.count);
        image->holder = next_section(image, &at, 4 * image->resources.count);
    }
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

static bool names_fit(const struct image_names *names)
{
    return names->count <= names->bytes && (names->bytes == 0) == (names->count == 0) &&
           (names->bytes == 0 || names->text[names->bytes - 1] == 0);
}

/* Does every number in it stand for something? */
static bool image_fits(const struct packed_image *image)
{
    if (!names_fit(&image->processes) || !names_fit(&image->resources))
        return false;
    if (image->lists)
        return edges_fit(image, image->holds, image->hold_count) &&
               edges_fit(image, image->waits, image->wait_count);
    return array_fits(image->wait, image->processes.count, image->resources.count) &&
           array_fits(image->holder, image->resources.count, image->processes.count);
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
    uint64_t size = read_counts(image);
    if (size == 0 || size != packed_get64(image->bytes.data + 72)) {
        unpack_problem(unpack, "a packed snapshot with a damaged header");
        return false;
    }
    if (!take_more(image, unpack, size))
        return false;
    const uint8_t *data = image->bytes.data;
    if (crc32c(0, data + PACKED_HEAD, size - PACKED_HEAD - IMAGE_TAIL) !=
            packed_get32(data + size - IMAGE_TAIL) ||
        packed_get32(data + size - IMAGE_TAIL + 4) != 0) {
        unpack_problem(unpack, "a packed snapshot that is damaged: its checksum differs");
        return false;
    }
    find_sections(image);
    if (!image_fits(image))
        unpack_problem(unpack, "a packed snapshot that makes no sense");
    return !unpack->problem[0] && unpack_is_whole(unpack);
}

void packed_image_free(struct packed_image *image, const gordian_allocator *memory)
{
    if (image->bytes.data)
        memory_free(memory, image->bytes.data);
    *image = (struct packed_image){0};
}

void packed_image_keep_names(struct packed_image *image)
{
    size_t end = (size_t)(image->resources.text - image->bytes.data + image->resources.bytes);
    void *kept = image->bytes.memory.resize(image->bytes.memory.context, image->bytes.data, end);
    if (kept)
        image->bytes.data = kept;
    find_sections(image);
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

static void put_name(struct packed_image *image, struct bytes *text,
                     const struct image_names *names, uint32_t id)
{
    const char *name = packed_image_name(names, id), *why;
    size_t length = strlen(name);
    image->bad |= !names_valid(name, length, &why);
    bytes_put(text, " ", 1);
    bytes_put(text, name, length);
}

static void put_units(struct bytes *text, char before, uint64_t units)
{
    char digits[24];
    if (units != 1)
        bytes_put(
            text, digits,
            (size_t)snprintf(digits, sizeof digits, "%c%llu", before, (unsigned long long)units));
}

static void put_edge(struct packed_image *image, struct bytes *text, const char *verb,
                     struct image_edge edge)
{
    bytes_put(text, verb, strlen(verb));
    put_name(image, text, &image->processes, edge.process);
    put_name(image, text, &image->resources, edge.resource);
    put_units(text, '=', edge.units);
    bytes_put(text, "\n", 1);
}

static void put_declared(struct packed_image *image, struct bytes *text, uint64_t line)
{
    bool resource = line < image->resources.count;
    uint32_t id = (uint32_t)(resource ? line : line - image->resources.count);
    const char *verb = resource ? "resource" : "process";
    bytes_put(text, verb, strlen(verb));
    put_name(image, text, resource ? &image->resources : &image->processes, id);
    if (resource && image->lists)
        put_units(text, ' ', packed_get64(image->totals + 8 * (size_t)id));
    bytes_put(text, "\n", 1);
}

/* Resources, processes (so that they keep their order), holds, waits. */
static bool put_line(struct packed_image *image, struct bytes *text, uint64_t line)
{
    const uint64_t declared = image->resources.count + image->processes.count;
    const uint64_t holds = image->lists ? image->hold_count : image->resources.count;
    const uint64_t waits = image->lists ? image->wait_count : image->processes.count;
    if (line >= declared + holds + waits)
        return false;
    if (line < declared) {
        put_declared(image, text, line);
        return true;
    }
    bool hold = line < declared + holds;
    uint64_t i = line - declared - (hold ? 0 : holds);
    struct image_edge edge = {.units = 1};
    if (image->lists) {
        edge = packed_image_edge(hold ? image->holds : image->waits, i);
    } else {
        uint32_t other = packed_get32((hold ? image->holder : image->wait) + 4 * i);
        if (other == GORDIAN_NONE)
            return true;
        edge.process = hold ? other : (uint32_t)i;
        edge.resource = hold ? (uint32_t)i : other;
    }
    put_edge(image, text, hold ? "hold" : "wait", edge);
    return true;
}

bool packed_image_lines(struct packed_image *image, struct bytes *text)
{
    while (text->used < LINES_FULL && !text->failed && !image->bad)
        if (!put_line(image, text, image->line++))
            return false;
    return true;
}

/* ------------------------------------------------------------------ writing */

static void flush_image(struct image_writer *out)
{
    if (!out->failed && out->used > 0)
        out->failed = !out->writer.write(out->writer.context, (const char *)out->buffer, out->used);
    out->used = 0;
}

void image_bytes(struct image_writer *out, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    out->crc = crc32c(out->crc, bytes, count);
    while (count > 0) {
        size_t some = sizeof out->buffer - out->used;
        some = some < count ? some : count;
        memcpy(out->buffer + out->used, from, some);
        out->used += some;
        from += some;
        count -= some;
        if (out->used == sizeof out->buffer)
            flush_image(out);
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

void image_pad(struct image_writer *out, uint64_t bytes)
{
    image_bytes(out, (const uint8_t[8]){0}, (size_t)(padded(bytes) - bytes));
}

void image_begin(struct image_writer *out, const gordian_writer *writer,
                 const struct image_counts *counts)
{
    uint64_t size = IMAGE_HEAD + IMAGE_TAIL + 8 * mark_count(counts->processes) +
                    8 * mark_count(counts->resources) + padded(counts->process_bytes) +
                    padded(counts->resource_bytes);
    size += counts->lists ? 8 * counts->resources + IMAGE_EDGE * (counts->holds + counts->waits)
                          : padded(4 * counts->processes) + padded(4 * counts->resources);
    out->writer = *writer;
    out->failed = false;
    out->used = PACKED_HEAD;
    out->crc = 0; /* the first bytes have their own */
    packed_head(out->buffer, PACKED_SNAPSHOT);
    image_u32(out, counts->lists ? IMAGE_LISTS : 0);
    image_u32(out, 0);
    image_u64(out, counts->processes);
    image_u64(out, counts->resources);
    image_u64(out, counts->process_bytes);
    image_u64(out, counts->resource_bytes);
    image_u64(out, counts->holds);
    image_u64(out, counts->waits);
    image_u64(out, size);
}

bool image_end(struct image_writer *out)
{
    image_u32(out, out->crc);
    image_u32(out, 0);
    flush_image(out);
    return !out->failed;
}

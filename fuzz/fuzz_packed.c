/* Any bytes as a packed file. Its checksums would hide everything behind them, so the input is
 * taken three times: as it is; as the block of a trace; and as a snapshot, with the checksums made
 * right. What can be unpacked is text that can be packed again, and comes back the same. */
#include "fuzz.h"

#include "foundation/base/crc.h"
#include "foundation/base/packed/packed_snapshot.h"

#include <string.h>

struct text {
    uint8_t *bytes;
    size_t used;
};

static bool add_bytes(void *context, const char *bytes, size_t size)
{
    struct text *text = context;
    uint8_t *grown = realloc(text->bytes, text->used + size + 1);
    DEMAND(grown, "out of memory");
    memcpy(grown + text->used, bytes, size);
    text->bytes = grown;
    text->used += size;
    return true;
}

static gordian_status convert(const uint8_t *bytes, size_t size, gordian_form to,
                              struct text *result)
{
    struct fuzz_input input = {.data = bytes, .size = size};
    gordian_source source = fuzz_source(&input);
    gordian_writer writer = {add_bytes, NULL, result};
    gordian_error error = {0};
    *result = (struct text){0};
    gordian_status status = gordian_convert(&source, &writer, to, NULL, &error);
    DEMAND(status == GORDIAN_OK || error.message[0], "a failure without a message");
    return status;
}

static void there_and_back(const uint8_t *bytes, size_t size)
{
    struct text text = {0}, packed = {0}, again = {0};
    if (convert(bytes, size, GORDIAN_FORM_TEXT, &text) == GORDIAN_OK &&
        size >= PACKED_MAGIC_BYTES && !memcmp(bytes, PACKED_MAGIC, PACKED_MAGIC_BYTES)) {
        gordian_status status = convert(text.bytes, text.used, GORDIAN_FORM_TRACE, &packed);
        DEMAND(status == GORDIAN_OK, "what was unpacked cannot be packed");
        status = convert(packed.bytes, packed.used, GORDIAN_FORM_TEXT, &again);
        DEMAND(status == GORDIAN_OK && again.used == text.used &&
                   (text.used == 0 || !memcmp(again.bytes, text.bytes, text.used)),
               "it comes back as something else");
    }
    free(text.bytes);
    free(packed.bytes);
    free(again.bytes);
}

/* As a snapshot it is judged, too: no number in it may lead astray. */
static void judge(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {.data = bytes, .size = size};
    gordian_source source = fuzz_source(&input);
    gordian_snapshot *snapshot;
    gordian_names *names;
    gordian_report report;
    gordian_error error = {0};
    if (gordian_snapshot_read(&snapshot, &names, &source, NULL, &error) != GORDIAN_OK)
        return;
    gordian_status status = gordian_snapshot_check(snapshot, &report, &error);
    DEMAND(status == GORDIAN_OK, "%s", error.message);
    for (size_t i = 0; i < report.deadlocked_count; i++)
        DEMAND(gordian_names_process(names, report.deadlocked[i]), "no name");
    gordian_snapshot_close(snapshot);
    gordian_names_close(names);
}

static void as_block(const uint8_t *data, size_t size)
{
    size_t whole = PACKED_HEAD + 8 + size + (size ? 8 : 0);
    uint8_t *file = calloc(1, whole);
    DEMAND(file, "out of memory");
    packed_head(file, PACKED_TRACE);
    packed_put32(file + PACKED_HEAD, (uint32_t)size);
    if (size)
        memcpy(file + PACKED_HEAD + 8, data, size);
    packed_put32(file + PACKED_HEAD + 4,
                 crc32c(crc32c(0, file + PACKED_HEAD, 4), file + PACKED_HEAD + 8, size));
    if (size)
        packed_put32(file + whole - 4, crc32c(0, file + whole - 8, 4));
    there_and_back(file, whole);
    free(file);
}

/* Checksums of the chunks of a section. */
static void sum_section(uint8_t *file, const struct image_layout *layout, unsigned part)
{
    const struct image_section *section = &layout->sections[part];
    uint8_t *sum = file + layout->sums + 4 * section->sum;
    uint64_t left = image_padded(section->bytes);
    for (uint64_t at = section->at; left > 0; sum += 4) {
        size_t count = left < IMAGE_CHUNK ? (size_t)left : IMAGE_CHUNK;
        packed_put32(sum, crc32c(0, file + at, count));
        at += count;
        left -= count;
    }
}

/* The input is what follows the first bytes, without the size, the checksums and the end: its
 * counts say how many bytes the sections have, zeros if there are too few. */
static void as_image(const uint8_t *data, size_t size)
{
    uint8_t head[IMAGE_HEAD] = {0};
    struct image_layout layout;
    if (size < 72 - PACKED_HEAD)
        return;
    memcpy(head + PACKED_HEAD, data, 72 - PACKED_HEAD);
    packed_put64(head + 80, crc32c(0, head + PACKED_HEAD, 80 - PACKED_HEAD));
    layout = (struct image_layout){0};
    image_read_head(&layout, head); /* fails: it is not that large; but the counts may be right */
    if (layout.size < IMAGE_HEAD || layout.size > (1u << 20))
        return;
    size_t whole = (size_t)layout.size, rest = size - (72 - PACKED_HEAD);
    uint8_t *file = calloc(1, whole);
    DEMAND(file, "out of memory");
    packed_put64(head + 72, whole);
    packed_put64(head + 80, crc32c(0, head + PACKED_HEAD, 80 - PACKED_HEAD));
    memcpy(file, head, sizeof head);
    packed_head(file, PACKED_SNAPSHOT);
    size_t body = (size_t)layout.sums - IMAGE_HEAD;
    memcpy(file + IMAGE_HEAD, data + (72 - PACKED_HEAD), rest < body ? rest : body);
    for (unsigned part = 0; part < IMAGE_PARTS; part++)
        sum_section(file, &layout, part);
    size_t sums = (size_t)image_padded(4 * layout.sum_count);
    packed_put64(file + whole - IMAGE_TAIL, crc32c(0, file + layout.sums, sums));
    there_and_back(file, whole);
    judge(file, whole);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    there_and_back(data, size);
    judge(data, size);
    if (size <= PACKED_BLOCK_MAX)
        as_block(data, size);
    as_image(data, size);
    return 0;
}

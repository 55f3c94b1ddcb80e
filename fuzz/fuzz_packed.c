/* Any bytes as a packed file. Its checksums would hide everything behind them, so the input is
 * taken three times: as it is; as the block of a trace; and as a snapshot, with the checksums made
 * right. What can be unpacked is text that can be packed again, and comes back the same. */
#include "fuzz.h"

#include "base/crc.h"
#include "base/packed_image.h"

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
    struct text text, packed = {0}, again = {0};
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

/* The input is what follows the first bytes, without the size and the end. */
static void as_image(const uint8_t *data, size_t size)
{
    size_t whole = PACKED_HEAD + size + IMAGE_TAIL;
    if (whole < IMAGE_HEAD + IMAGE_TAIL)
        return;
    uint8_t *file = calloc(1, whole);
    DEMAND(file, "out of memory");
    packed_head(file, PACKED_SNAPSHOT);
    memcpy(file + PACKED_HEAD, data, size);
    packed_put64(file + 72, whole);
    packed_put32(file + whole - IMAGE_TAIL, crc32c(0, file + PACKED_HEAD, size));
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

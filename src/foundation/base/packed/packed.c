#include "foundation/base/packed/packed.h"

#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/packed/pack.h"
#include "foundation/base/packed/packed_snapshot.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* Verbs by number. The numbers are part of the format. */
static const char *const verbs[] = {NULL,   "request", "release",  "cancel", "exit",
                                    "hold", "wait",    "resource", "process"};

#define VERB_COUNT (sizeof verbs / sizeof *verbs)
#define COUNT_MORE 15u /* in the first byte of a record: the count follows */
/* The table of words is cleared beyond these limits, to bound its memory. */
#define NAMES_MAX (UINT32_C(1) << 22)
#define BYTES_MAX ((size_t)64 << 20)
/* A block is read in steps of this size, which then double. */
#define BLOCK_STEP (1u << 16)
/* A block is written when it has this many bytes. */
#define BLOCK_FULL (64u << 10)
#define BLOCK_HEAD 8

void packed_head(uint8_t head[PACKED_HEAD], enum packed_kind kind)
{
    memcpy(head, PACKED_MAGIC, PACKED_MAGIC_BYTES);
    packed_put32(head + 8, PACKED_VERSION | (uint32_t)kind << 16);
    packed_put32(head + 12, crc32c(0, head, 12));
}

/* ------------------------------------------------------------------ packing */

static gordian_status write_pack_block(struct pack *pack, const void *bytes, size_t count,
                                       gordian_error *error)
{
    if (pack->writer.write(pack->writer.context, bytes, count))
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_IO, "cannot write: %s", strerror(errno));
}

gordian_status pack_open(struct pack *pack, const gordian_writer *writer,
                         const gordian_allocator *memory, gordian_error *error)
{
    uint8_t head[PACKED_HEAD];
    *pack = (struct pack){.writer = *writer};
    names_init(&pack->names, memory);
    bytes_init(&pack->block, memory);
    packed_head(head, PACKED_TRACE);
    return write_pack_block(pack, head, sizeof head, error);
}

void pack_close(struct pack *pack)
{
    names_free(&pack->names);
    bytes_free(&pack->block);
}

static gordian_status write_block(struct pack *pack, gordian_error *error)
{
    uint8_t head[BLOCK_HEAD];
    if (pack->block.failed)
        return fail_memory(error);
    packed_put32(head, (uint32_t)pack->block.used | (pack->renew ? PACKED_RENEW : 0));
    packed_put32(head + 4, crc32c(crc32c(0, head, 4), pack->block.data, pack->block.used));
    gordian_status status = write_pack_block(pack, head, sizeof head, error);
    if (status == GORDIAN_OK && pack->block.used > 0)
        status = write_pack_block(pack, pack->block.data, pack->block.used, error);
    pack->block.used = 0;
    pack->renew = false;
    return status;
}

/* Packs the number of a word and whether it has a value. 0: a new word, which follows. */
static bool pack_name(struct pack *pack, const gordian_word *name, bool value)
{
    bool known_kind = name->length > 0 && name->length <= GORDIAN_NAME_MAX;
    uint32_t id = known_kind ? names_find(&pack->names, name->text, name->length) : GORDIAN_NONE;
    if (id != GORDIAN_NONE) {
        bytes_u64(&pack->block, ((uint64_t)id + 2) << 1 | value);
        return true;
    }
    /* 1: too long for a name, so it gets no number. */
    bytes_u64(&pack->block, (uint64_t)!known_kind << 1 | value);
    bytes_text(&pack->block, name->text, name->length);
    if (!known_kind)
        return true;
    pack->name_bytes += name->length;
    return names_put(&pack->names, pack->name_count++, name->text, name->length);
}

static bool pack_word(struct pack *pack, const gordian_word *word)
{
    gordian_word name, value;
    word_split(word, &name, &value);
    if (!pack_name(pack, &name, value.text != NULL))
        return false;
    if (value.text) {
        /* A number in its usual form, below the largest one; otherwise a text. */
        uint64_t number;
        const char *why;
        bool plain = (value.length == 1 || (value.length > 0 && value.text[0] != '0')) &&
                     parse_u64(value.text, value.length, &number, &why) && number < UINT64_MAX;
        bytes_u64(&pack->block, plain ? number + 1 : 0);
        if (!plain)
            bytes_text(&pack->block, value.text, value.length);
    }
    return true;
}

gordian_status pack_line(struct pack *pack, const gordian_word *words, size_t count,
                         gordian_error *error)
{
    unsigned verb = VERB_COUNT - 1;
    while (verb > 0 && !word_is(&words[0], verbs[verb]))
        verb--;
    size_t first = verb > 0, rest = count - first;
    uint8_t head = (uint8_t)(verb << 4 | (rest < COUNT_MORE ? rest : COUNT_MORE));
    bool packed = true;
    bytes_put(&pack->block, &head, 1);
    if (rest >= COUNT_MORE)
        bytes_u64(&pack->block, rest);
    for (size_t i = first; i < count && packed; i++)
        packed = pack_word(pack, &words[i]);
    if (!packed || pack->block.failed)
        return fail_memory(error);
    /* A block consists of whole lines. */
    if (pack->block.used < BLOCK_FULL)
        return GORDIAN_OK;
    gordian_status status = write_block(pack, error);
    if (pack->name_count > NAMES_MAX || pack->name_bytes > BYTES_MAX) {
        gordian_allocator memory = pack->names.memory;
        names_free(&pack->names);
        names_init(&pack->names, &memory);
        pack->name_count = 0;
        pack->name_bytes = 0;
        pack->renew = true;
    }
    return status;
}

gordian_status pack_finish(struct pack *pack, gordian_error *error)
{
    TRY(pack->block.used > 0 ? write_block(pack, error) : GORDIAN_OK);
    return write_block(pack, error); /* an empty block is the end mark */
}

/* ------------------------------------------------------------------ unpacking */

void unpack_open(struct unpack *unpack, const gordian_source *source,
                 const gordian_allocator *memory)
{
    *unpack = (struct unpack){.inner = *source};
    bytes_init(&unpack->text, memory);
    bytes_init(&unpack->block, memory);
    bytes_init(&unpack->names, memory);
}

void unpack_close(struct unpack *unpack)
{
    if (unpack->image)
        packed_image_free(unpack->image, &unpack->text.memory);
    memory_free(&unpack->text.memory, unpack->image);
    memory_free(&unpack->names.memory, unpack->name_ends);
    bytes_free(&unpack->text);
    bytes_free(&unpack->block);
    bytes_free(&unpack->names);
    unpack->name_ends = NULL;
    unpack->image = NULL;
    unpack->name_room = unpack->name_count = 0;
}

void unpack_problem(struct unpack *unpack, const char *format, ...)
{
    va_list arguments;
    if (unpack->problem[0])
        return;
    va_start(arguments, format);
    vsnprintf(unpack->problem, sizeof unpack->problem, format, arguments);
    va_end(arguments);
}

gordian_status unpack_fail(const struct unpack *unpack, gordian_error *error)
{
    if (unpack->no_memory)
        return fail_memory(error);
    if (unpack->problem[0])
        return fail(error, GORDIAN_STATUS_INPUT, "%s", unpack->problem);
    return fail(error, GORDIAN_STATUS_IO, "reading failed: %s", strerror(errno));
}

/* Reads up to `size` bytes; fewer only at the end. -1: failed. */
static ptrdiff_t take_packed_bytes(struct unpack *unpack, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ptrdiff_t count =
            unpack->inner.read(unpack->inner.context, (char *)buffer + done, size - done);
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        done += (size_t)count;
    }
    unpack->at += done;
    return (ptrdiff_t)done;
}

bool unpack_take(struct unpack *unpack, void *buffer, size_t size)
{
    ptrdiff_t count = take_packed_bytes(unpack, buffer, size);
    if (count >= 0 && (size_t)count < size)
        unpack_problem(unpack, PACKED_CUT_SHORT, (unsigned long long)unpack->at);
    return count >= 0 && (size_t)count == size;
}

bool unpack_is_whole(struct unpack *unpack)
{
    char more;
    ptrdiff_t count = take_packed_bytes(unpack, &more, 1);
    if (count > 0)
        unpack_problem(unpack, PACKED_BEHIND_END, (unsigned long long)unpack->at - 1);
    return count == 0;
}

/* Reads and checks the header after the magic bytes. */
static bool check_head(struct unpack *unpack, uint8_t head[PACKED_HEAD])
{
    if (!unpack_take(unpack, head + PACKED_MAGIC_BYTES, PACKED_HEAD - PACKED_MAGIC_BYTES))
        return false;
    uint32_t what = packed_get32(head + 8), version = what & 0xffff, kind = what >> 16;
    if (packed_get32(head + 12) != crc32c(0, head, 12))
        unpack_problem(unpack, "packed file has a damaged header");
    else if (version != PACKED_VERSION)
        unpack_problem(unpack, "packed file has version %u: this program reads version %u", version,
                       PACKED_VERSION);
    else if (kind != PACKED_TRACE && kind != PACKED_SNAPSHOT)
        unpack_problem(unpack, "packed file has unknown kind %u", kind);
    unpack->kind = (enum packed_kind)kind;
    return !unpack->problem[0];
}

bool unpack_peek(struct unpack *unpack, enum packed_kind *kind)
{
    uint8_t head[PACKED_HEAD] = {0};
    size_t have = 0;
    ptrdiff_t count = 1;
    *kind = unpack->kind;
    if (unpack->known)
        return !unpack->problem[0] && !unpack->no_memory;
    /* Read byte by byte while the input may still be packed: live text must not be held up until
     * more bytes arrive. */
    while (count > 0 && magic_may_follow(head, have)) {
        count = take_packed_bytes(unpack, head + have, 1);
        have += count > 0;
    }
    if (count < 0)
        return false;
    unpack->known = true;
    unpack->plain_end = count == 0;
    const struct magic *magic = magic_find(head, have);
    if (magic->kind == MAGIC_COMPRESSED) {
        unpack_problem(unpack, MAGIC_REFUSAL, magic->format, magic->command);
        return false;
    }
    if (magic->kind != MAGIC_PACKED) {
        bytes_put(&unpack->text, head + magic->length, have - magic->length);
        unpack->no_memory = unpack->text.failed;
        return !unpack->no_memory;
    }
    bool good = check_head(unpack, head);
    *kind = unpack->kind;
    return good;
}

/* ---- blocks */

/* Allocate memory as bytes arrive: the length in the header may be wrong. */
static bool take_packed_block(struct unpack *unpack, size_t length)
{
    struct bytes *block = &unpack->block;
    block->used = 0;
    do {
        size_t left = length - block->used;
        size_t most = block->used > BLOCK_STEP ? block->used : BLOCK_STEP;
        size_t some = left < most ? left : most;
        if (!bytes_room(block, some + 1)) {
            unpack->no_memory = true;
            return false;
        }
        if (!unpack_take(unpack, block->data + block->used, some))
            return false;
        block->used += some;
    } while (block->used < length);
    return true;
}

static bool load_block(struct unpack *unpack)
{
    uint8_t head[BLOCK_HEAD];
    uint64_t begin = unpack->at;
    if (!unpack_take(unpack, head, sizeof head))
        return false;
    uint32_t length = packed_get32(head) & ~PACKED_RENEW;
    if (length > PACKED_BLOCK_MAX) {
        unpack_problem(unpack, "packed trace has a damaged block at byte %llu",
                       (unsigned long long)begin);
        return false;
    }
    if (packed_get32(head) & PACKED_RENEW)
        unpack->names.used = unpack->name_count = 0;
    if (!take_packed_block(unpack, length))
        return false;
    unpack->ended = length == 0;
    if (crc32c(crc32c(0, head, 4), unpack->block.data, length) == packed_get32(head + 4))
        return !unpack->ended || unpack_is_whole(unpack);
    unpack_problem(unpack, "packed trace has a damaged block at byte %llu",
                   (unsigned long long)begin);
    return false;
}

/* Adds a word to the text. Bytes that cannot be part of a word are an error. */
static void put_packed_text(struct unpack *unpack, struct bytes_in *in, const char *text,
                            size_t length)
{
    for (size_t i = 0; i < length; i++)
        in->bad |= !text[i] || strchr(" \t\r\n#", text[i]);
    bytes_put(&unpack->text, text, length);
}

static void unpack_name(struct unpack *unpack, struct bytes_in *in, uint64_t number)
{
    if (number >= 2) {
        size_t id = (size_t)(number - 2);
        in->bad |= id >= unpack->name_count;
        if (in->bad)
            return;
        size_t begin = id ? unpack->name_ends[id - 1] : 0;
        bytes_put(&unpack->text, unpack->names.data + begin, unpack->name_ends[id] - begin);
        return;
    }
    size_t length;
    const char *text = bytes_take_text(in, &length);
    if (!text)
        return;
    put_packed_text(unpack, in, text, length);
    if (number == 0) {
        bytes_put(&unpack->names, text, length);
        if (!memory_grow(&unpack->names.memory, &unpack->name_ends, &unpack->name_room,
                         unpack->name_count + 1, sizeof *unpack->name_ends))
            unpack->names.failed = true;
        else
            unpack->name_ends[unpack->name_count++] = unpack->names.used;
    }
}

static void unpack_value(struct unpack *unpack, struct bytes_in *in)
{
    uint64_t number = bytes_take_u64(in);
    size_t length;
    char digits[24];
    bytes_put(&unpack->text, "=", 1);
    if (number > 0) {
        int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)(number - 1));
        bytes_put(&unpack->text, digits, (size_t)count);
        return;
    }
    const char *text = bytes_take_text(in, &length);
    if (text)
        put_packed_text(unpack, in, text, length);
}

static void unpack_line(struct unpack *unpack, struct bytes_in *in)
{
    uint8_t first = *in->at++;
    unsigned verb = first >> 4;
    uint64_t count = first & 15;
    if (count == COUNT_MORE)
        count = bytes_take_count(in);
    in->bad |= verb >= VERB_COUNT || (verb == 0 && count == 0);
    if (!in->bad && verb > 0)
        bytes_put(&unpack->text, verbs[verb], strlen(verbs[verb]));
    for (uint64_t i = 0; i < count && !in->bad; i++) {
        if (verb > 0 || i > 0)
            bytes_put(&unpack->text, " ", 1);
        size_t before = unpack->text.used;
        uint64_t number = bytes_take_u64(in);
        unpack_name(unpack, in, number >> 1);
        if (number & 1)
            unpack_value(unpack, in);
        in->bad |= unpack->text.used == before; /* an empty word */
    }
    bytes_put(&unpack->text, "\n", 1);
}

static bool unpack_block(struct unpack *unpack)
{
    uint64_t begin = unpack->at;
    if (!load_block(unpack))
        return false;
    struct bytes_in in = {.at = unpack->block.data, .end = unpack->block.data + unpack->block.used};
    while (in.at < in.end && !in.bad && !unpack->text.failed)
        unpack_line(unpack, &in);
    if (in.bad)
        unpack_problem(unpack, "packed trace has an invalid block at byte %llu",
                       (unsigned long long)begin);
    if (unpack->text.failed || unpack->names.failed)
        unpack->no_memory = true;
    return !in.bad && !unpack->text.failed && !unpack->names.failed;
}

/* ---- packed snapshots */

/* Loads the snapshot first, then produces some lines at a time. */
static bool unpack_image(struct unpack *unpack)
{
    if (!unpack->image) {
        unpack->image = memory_zeroed(&unpack->text.memory, sizeof *unpack->image);
        if (!unpack->image || !packed_image_load(unpack->image, unpack, &unpack->text.memory)) {
            unpack->no_memory |= !unpack->image;
            return false;
        }
    }
    unpack->ended = !packed_image_lines(unpack->image, &unpack->text);
    if (unpack->image->bad)
        unpack_problem(unpack, PACKED_SENSELESS);
    if (unpack->text.failed)
        unpack->no_memory = true;
    return !unpack->image->bad && !unpack->text.failed;
}

/* ---- as a source */

ptrdiff_t unpack_read(void *context, char *buffer, size_t size)
{
    struct unpack *unpack = context;
    enum packed_kind kind;
    if (!unpack_peek(unpack, &kind))
        return -1;
    if (unpack->given == unpack->text.used) {
        unpack->given = unpack->text.used = 0;
        if (kind == PACKED_TEXT)
            return unpack->plain_end ? 0 : unpack->inner.read(unpack->inner.context, buffer, size);
        while (unpack->text.used == 0 && !unpack->ended)
            if (!(kind == PACKED_TRACE ? unpack_block : unpack_image)(unpack))
                return -1;
    }
    size_t left = unpack->text.used - unpack->given;
    size_t count = left < size ? left : size;
    if (count > 0)
        memcpy(buffer, unpack->text.data + unpack->given, count);
    unpack->given += count;
    return (ptrdiff_t)count;
}

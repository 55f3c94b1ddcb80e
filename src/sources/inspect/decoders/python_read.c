#include "sources/inspect/decoders/python.h"

#include "foundation/base/memory.h"

#include <string.h>

#define TABLE_MOST (1u << 20)
#define SLOTS_MOST 4096

enum {
    OBJECT_TYPE = 8,
    OBJECT_SIZE = 16,
    TYPE_NAME = 24,
    BYTES_BEGIN = 32,
    TEXT_LENGTH = 16,
    TEXT_STATE = 32,
    BLOCK_SIZE = 12, /* before 3.11 */
    BLOCK_LEVEL = 8,
    BLOCKS_MOST = 20,
    OWNED_BY_C = 3, /* since 3.12: a frame without a function, below frames called from C */
};

/* ------------------------------------------------------------------ texts */

/* Writes a character as UTF-8; returns the number of bytes. */
static size_t put_character(char *to, uint32_t c)
{
    if (c < 0x80)
        return to[0] = (char)c, 1;
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | (c >> 18 & 7));
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Reads a text as UTF-8, truncated to fit. False: not a text. */
static bool read_python_text(struct python *python, uint64_t object, char *text, size_t size)
{
    unsigned char head[TEXT_STATE + 4], raw[1024];
    uint64_t length;
    uint32_t state;
    text[0] = '\0';
    if (!object || !target_read_all(python->target, object, head, sizeof head))
        return false;
    memcpy(&length, head + TEXT_LENGTH, sizeof length);
    memcpy(&state, head + TEXT_STATE, sizeof state);
    unsigned width = state >> 2 & 7;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4) || length > UINT32_MAX)
        return false;
    size_t most = sizeof raw / width, used = 0;
    size_t count = length < most ? (size_t)length : most;
    uint64_t from = object + (ascii ? python->layout.text_ascii : python->layout.text_wide);
    if (!target_read_all(python->target, from, raw, count * width))
        return false;
    for (size_t i = 0; i < count && used + 5 <= size; i++) {
        uint32_t c = 0; /* both machines are little-endian */
        memcpy(&c, raw + i * width, width);
        used += put_character(text + used, c < 32 ? '?' : c);
    }
    text[used] = '\0';
    return true;
}

/* ------------------------------------------------------------------ types */

static enum python_type name_type(struct python *python, uint64_t type)
{
    static const struct {
        const char *name;
        enum python_type type;
    } known[] = {
        {"_thread.lock", PYTHON_LOCK},
        {"_thread.RLock", PYTHON_RLOCK},
        {"builtin_function_or_method", PYTHON_FUNCTION},
    };
    uint64_t name = 0;
    char text[32] = "";
    if (!target_read_u64(python->target, type + TYPE_NAME, &name) ||
        target_read(python->target, name, text, sizeof text - 1) == 0)
        return PYTHON_OTHER;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].name) == 0)
            return known[i].type;
    return PYTHON_OTHER;
}

enum python_type python_type(struct python *python, uint64_t object)
{
    uint64_t type = 0;
    if (!object || object % 8 || !target_read_u64(python->target, object + OBJECT_TYPE, &type) ||
        !type || type % 8)
        return PYTHON_OTHER;
    for (size_t i = 0; i < python->type_count; i++)
        if (python->types[i].address == type)
            return python->types[i].type;
    enum python_type found = name_type(python, type);
    /* Caches other types as well, but keeps space for the three that matter. */
    size_t room = found == PYTHON_OTHER ? PYTHON_TYPES - 8 : PYTHON_TYPES;
    if (python->type_count < room) {
        python->types[python->type_count].address = type;
        python->types[python->type_count++].type = found;
    }
    return found;
}

/* ------------------------------------------------------------------ code */

bool python_code_names(struct python *python, uint64_t code, char *function, size_t function_size,
                       char *file, size_t file_size)
{
    uint64_t name = 0, path = 0;
    return target_read_u64(python->target, code + python->layout.code_name, &name) &&
           target_read_u64(python->target, code + python->layout.code_file, &path) &&
           read_python_text(python, name, function, function_size) &&
           read_python_text(python, path, file, file_size);
}

/* Reads a table of bytes of a code object, to be freed. NULL: none. */
static unsigned char *read_table(struct python *python, uint64_t code, uint16_t field, size_t *size)
{
    uint64_t object = 0, length = 0;
    if (!target_read_u64(python->target, code + field, &object) ||
        !target_read_u64(python->target, object + OBJECT_SIZE, &length) || length > TABLE_MOST)
        return NULL;
    unsigned char *table = memory_alloc(&python->target->memory, length + 1);
    if (table && !target_read_all(python->target, object + BYTES_BEGIN, table, length)) {
        memory_free(&python->target->memory, table);
        table = NULL;
    }
    *size = length;
    return table;
}

/* ------------------------------------------------------------------ lines */

struct cursor {
    const unsigned char *at, *end;
};

/* Reads a number: six bits per byte, lowest first. */
static uint32_t take_number(struct cursor *cursor)
{
    uint32_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 30; shift += 6) {
        unsigned char byte = *cursor->at++;
        value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

/* Since 3.11: entries with a length in 2-byte instructions, and the change of the line. */
static uint32_t line_of_positions(struct cursor cursor, int64_t line, uint32_t instruction)
{
    uint32_t at = 0;
    while (cursor.at < cursor.end) {
        unsigned first = *cursor.at++, code = first >> 3 & 15;
        bool has_line = code != 15;
        at += ((first & 7) + 1) * 2;
        if (code >= 10 && code <= 12)
            line += code - 10;
        if (code == 13 || code == 14) {
            uint32_t change = take_number(&cursor);
            line += change & 1 ? -(int64_t)(change >> 1) : (int64_t)(change >> 1);
        }
        /* The next entry starts at the next byte with the highest bit set. */
        while (cursor.at < cursor.end && !(*cursor.at & 128))
            cursor.at++;
        if (instruction < at)
            return has_line && line > 0 ? (uint32_t)line : 0;
    }
    return 0;
}

/* 3.10: pairs of a length in bytes and a change of the line; -128: no line. */
static uint32_t line_of_pairs(struct cursor cursor, int64_t line, uint32_t instruction)
{
    uint32_t at = 0;
    for (; cursor.end - cursor.at >= 2; cursor.at += 2) {
        int change = cursor.at[1] < 128 ? cursor.at[1] : cursor.at[1] - 256;
        at += cursor.at[0];
        line += change == -128 ? 0 : change;
        if (instruction < at)
            return change == -128 ? 0 : (uint32_t)line;
    }
    return 0;
}

/* Reads the line table of Python 3.9: pairs of an offset in bytes and a change of the line
 * number. */
static uint32_t line_of_steps(struct cursor cursor, int64_t line, uint32_t instruction)
{
    uint32_t at = 0;
    for (; cursor.end - cursor.at >= 2; cursor.at += 2) {
        at += cursor.at[0];
        if (at > instruction)
            break;
        line += (signed char)cursor.at[1];
    }
    return (uint32_t)line;
}

uint32_t python_line(struct python *python, uint64_t code, uint32_t instruction)
{
    uint32_t first = 0, line;
    size_t size;
    if (!target_read_u32(python->target, code + python->layout.code_first_line, &first))
        return 0;
    unsigned char *table = read_table(python, code, python->layout.code_lines, &size);
    if (!table)
        return first;
    struct cursor cursor = {table, table + size};
    if (python->layout.minor >= 11)
        line = line_of_positions(cursor, first, instruction);
    else if (python->layout.minor == 10)
        line = line_of_pairs(cursor, first, instruction);
    else
        line = line_of_steps(cursor, first, instruction);
    memory_free(&python->target->memory, table);
    return line ? line : first;
}

/* ------------------------------------------------------------------ frames */

/* Reads the offset in bytes of the frame's current instruction. */
static bool read_instruction(struct python *python, struct python_frame *frame)
{
    const struct python_layout *layout = &python->layout;
    uint64_t pointer = 0, begin = frame->code + layout->code_bytes;
    uint32_t index = 0;
    if (layout->minor < 11) {
        if (!target_read_u32(python->target, frame->address + layout->frame_instruction, &index))
            return false;
        index = index > INT32_MAX ? 0 : index; /* -1: not started */
        frame->instruction = layout->minor == 10 ? index * 2 : index;
        return true;
    }
    if (!target_read_u64(python->target, frame->address + layout->frame_instruction, &pointer))
        return false;
    uint64_t distance = pointer > begin ? pointer - begin : 0;
    frame->instruction = (uint32_t)distance;
    return distance < UINT32_MAX;
}

size_t python_frames(struct python *python, const struct python_thread *thread,
                     struct python_frame *frames, size_t most)
{
    const struct python_layout *layout = &python->layout;
    uint64_t at = 0;
    size_t count = 0;
    bool indirect = layout->minor == 11 || layout->minor == 12;
    bool more = target_read_u64(python->target, thread->state + layout->thread_frame, &at) &&
                (!indirect || target_read_u64(python->target, at + layout->holder_frame, &at));
    for (unsigned steps = 0; more && at && count < most && steps < 2 * PYTHON_FRAMES; steps++) {
        struct python_frame frame = {.address = at, .entry = layout->minor < 11};
        unsigned char owner = 0;
        if (layout->frame_owner &&
            !target_read_all(python->target, at + layout->frame_owner, &owner, 1))
            break;
        if (layout->minor >= 12 && owner == OWNED_BY_C) {
            if (count)
                frames[count - 1].entry = true;
        } else if (target_read_u64(python->target, at + layout->frame_code, &frame.code) &&
                   frame.code && read_instruction(python, &frame)) {
            frame.entry = frame.entry || (layout->minor == 11 && owner);
            frames[count++] = frame;
        } else {
            break;
        }
        more = target_read_u64(python->target, at + layout->frame_previous, &at);
    }
    return count;
}

/* ------------------------------------------------------------------ evaluation stack */

/* Reads a number: six bits per byte, highest first. */
static uint32_t take_offset(struct cursor *cursor)
{
    uint32_t value = 0;
    while (cursor->at < cursor->end) {
        unsigned char byte = *cursor->at++;
        value = value << 6 | (byte & 63u);
        if (!(byte & 64))
            break;
    }
    return value;
}

/* Since 3.11: the exception table contains the stack depth of each handler. */
static uint32_t handled_depth(struct python *python, const struct python_frame *frame)
{
    size_t size;
    uint32_t depth = 0, unit = frame->instruction / 2;
    unsigned char *table = read_table(python, frame->code, python->layout.code_handlers, &size);
    struct cursor cursor = {table, table ? table + size : table};
    while (cursor.at < cursor.end) {
        uint32_t start = take_offset(&cursor), length = take_offset(&cursor);
        take_offset(&cursor); /* the handler */
        uint32_t found = take_offset(&cursor) >> 1;
        if (unit >= start && unit < start + length)
            depth = found;
    }
    memory_free(&python->target->memory, table);
    return depth;
}

/* Before 3.11: the frame has a stack of blocks. */
static uint32_t blocked_depth(struct python *python, const struct python_frame *frame)
{
    const struct python_layout *layout = &python->layout;
    uint32_t count = 0, depth = 0;
    if (!target_read_u32(python->target, frame->address + layout->frame_block_count, &count) ||
        count > BLOCKS_MOST)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t level = 0;
        target_read_u32(python->target,
                        frame->address + layout->frame_blocks + i * BLOCK_SIZE + BLOCK_LEVEL,
                        &level);
        depth = level > depth ? level : depth;
    }
    return depth;
}

bool python_stack(struct python *python, const struct python_frame *frame, uint64_t *slots,
                  uint32_t *most, uint32_t *used)
{
    const struct python_layout *layout = &python->layout;
    uint32_t locals = 0;
    if (!target_read_u32(python->target, frame->code + layout->code_stack, most) ||
        *most > SLOTS_MOST)
        return false;
    *slots = frame->address + layout->frame_slots;
    if (layout->minor < 11) {
        *used = blocked_depth(python, frame);
        return target_read_u64(python->target, *slots, slots) && *used <= *most;
    }
    if (!target_read_u32(python->target, frame->code + layout->code_locals, &locals) ||
        locals > SLOTS_MOST)
        return false;
    *slots += locals * sizeof(uint64_t);
    *used = handled_depth(python, frame);
    return *used <= *most;
}

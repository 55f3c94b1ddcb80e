/* Converts between text and the packed forms. */
#include "engines/detect/check/snapshot.h"
#include "engines/detect/check/snapshot_text.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"
#include "foundation/base/packed/pack.h"

#include <errno.h>

#define COPIED (64u << 10)

static gordian_status copy_unpacked(struct unpack *unpack, const gordian_writer *writer,
                                    const gordian_allocator *memory, gordian_error *error)
{
    char *buffer = memory_alloc(memory, COPIED);
    gordian_status status = buffer ? GORDIAN_OK : fail_memory(error);
    ptrdiff_t count = 1;
    while (status == GORDIAN_OK && count > 0) {
        count = unpack_read(unpack, buffer, COPIED);
        if (count < 0)
            status = unpack_fail(unpack, error);
        else if (count > 0 && !writer->write(writer->context, buffer, (size_t)count))
            status = fail(error, GORDIAN_STATUS_IO, "cannot write: %s", strerror(errno));
    }
    memory_free(memory, buffer);
    return status;
}

static gordian_status pack_lines(struct pack *pack, struct reader *reader, struct unpack *unpack,
                                 gordian_error *error)
{
    gordian_status status;
    while ((status = reader_next(reader, error)) == GORDIAN_OK) {
        status = pack_line(pack, reader->words, reader->word_count, error);
        if (status != GORDIAN_OK)
            return status;
    }
    if (status == GORDIAN_STATUS_IO && unpack_knows(unpack))
        return unpack_fail(unpack, error);
    return status == GORDIAN_STATUS_END ? pack_finish(pack, error) : status;
}

static gordian_status pack_trace(struct unpack *unpack, const gordian_writer *writer,
                                 const gordian_allocator *memory, gordian_error *error)
{
    struct reader reader;
    struct pack pack;
    TRY(reader_open(&reader, &(gordian_source){unpack_read, unpack}, memory, error));
    gordian_status status = pack_open(&pack, writer, memory, error);
    THEN(status, pack_lines(&pack, &reader, unpack, error));
    pack_close(&pack);
    reader_close(&reader);
    return status;
}

static const char *snapshot_process_name(void *names, uint32_t id)
{
    return gordian_names_process(names, id);
}

static const char *snapshot_resource_name(void *names, uint32_t id)
{
    return gordian_names_resource(names, id);
}

gordian_status gordian_convert(const gordian_source *source, const gordian_writer *writer,
                               gordian_form to, const gordian_allocator *allocator,
                               gordian_error *error)
{
    gordian_allocator memory = memory_allocator(allocator);
    struct unpack unpack;
    enum packed_kind kind;
    if (to == GORDIAN_FORM_SNAPSHOT) {
        gordian_snapshot *snapshot;
        gordian_names *names;
        TRY(gordian_snapshot_read(&snapshot, &names, source, allocator, error));
        const struct snapshot_naming naming = {snapshot_process_name, snapshot_resource_name,
                                               names};
        gordian_status status = snapshot_pack(snapshot, &naming, writer, &memory, error);
        if (status == GORDIAN_OK) /* written already, with names that may be damaged */
            status = gordian_names_check(names, error);
        gordian_names_close(names);
        gordian_snapshot_close(snapshot);
        return status;
    }
    unpack_open(&unpack, source, &memory);
    gordian_status status = unpack_peek(&unpack, &kind) ? GORDIAN_OK : unpack_fail(&unpack, error);
    if (status == GORDIAN_OK && to == GORDIAN_FORM_OTHER)
        to = kind == PACKED_TEXT ? GORDIAN_FORM_TRACE : GORDIAN_FORM_TEXT;
    THEN(status,
         (to == GORDIAN_FORM_TEXT ? copy_unpacked : pack_trace)(&unpack, writer, &memory, error));
    unpack_close(&unpack);
    return status;
}

/*
 * The serialized form of a served system:
 *
 *     version, name, configuration as text, opened, seq, counters
 *     counts: processes, resources, waiting, bytes of names
 *     the system (engines/detect/serialize.c) or the bank (engines/avoid/serialize.c)
 *     by process id, if in use: since, owner + 1, wants
 *
 * Not included: the lists of processes by owner and the open incidents, which core/replay.c saves,
 * and the change log (system/recent.h), which starts empty.
 */
#include "service/serve/system/serialize.h"

#include "engines/avoid/serialize.h"
#include "engines/detect/serialize.h"
#include "foundation/base/error.h"
#include "service/serve/system/system.h"

#define SERIALIZED_VERSION 1
#define COUNTERS           (sizeof(struct served_counters) / sizeof(uint64_t)) /* all are u64 */
#define NONE_OR_ID(id)     ((uint64_t)(uint32_t)((id) + 1)) /* GORDIAN_NONE is 0 */

/* ---- saving */

static bool is_process_in_use(const struct served *served, uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    return served_process_name(served, process, buffer) != NULL;
}

static void serialize_process(const struct served_process *process, struct bytes *bytes)
{
    bytes_u64(bytes, process->since);
    bytes_u64(bytes, NONE_OR_ID(process->owner));
    const gordian_want *wants = served_waits(process);
    bytes_u64(bytes, process->want_count);
    for (uint32_t i = 0; i < process->want_count; i++) {
        bytes_u64(bytes, wants[i].resource);
        bytes_u64(bytes, wants[i].units);
    }
}

gordian_status served_serialize(const struct served *served, struct bytes *bytes,
                                gordian_error *error)
{
    char text[SERVED_CONFIG_TEXT_MAX];
    bytes_u64(bytes, SERIALIZED_VERSION);
    bytes_text(bytes, served->name, strlen(served->name));
    bytes_u64(bytes, served->config.kind);
    served_config_text(&served->config, text);
    bytes_text(bytes, text, strlen(text));
    bytes_u64(bytes, served->opened);
    bytes_u64(bytes, served->seq);
    for (size_t i = 0; i < COUNTERS; i++)
        bytes_u64(bytes, ((const uint64_t *)&served->counters)[i]);
    bytes_u64(bytes, served->process_count);
    bytes_u64(bytes, served->resource_count);
    bytes_u64(bytes, served->waiting);
    bytes_u64(bytes, served->name_bytes);
    if (served->config.kind == SERVED_DETECT)
        system_serialize(served->system, bytes);
    else
        bank_serialize(served->bank, bytes);
    for (uint32_t p = 0; p < served_process_limit(served); p++)
        if (is_process_in_use(served, p))
            serialize_process(&served->processes[p], bytes);
    return bytes->failed ? fail_memory(error) : GORDIAN_OK;
}

/* ---- loading */

static gordian_status damaged_system(gordian_error *error, const char *what)
{
    return fail(error, GORDIAN_STATUS_INPUT, "damaged snapshot of a system: %s", what);
}

static gordian_status open_deserialized(struct served **out, struct bytes_in *in,
                                        const gordian_allocator *allocator, gordian_error *error)
{
    struct served_config config;
    size_t name_length, text_length;
    const char *name = bytes_take_text(in, &name_length);
    uint64_t kind = bytes_take_upto(in, SERVED_AVOID);
    const char *text = bytes_take_text(in, &text_length);
    if (in->bad || kind < SERVED_DETECT)
        return damaged_system(error, "name");
    served_config_init(&config, (enum served_kind)kind);
    TRY(served_config_parse(&config, text, text_length, error));
    return served_reopen(out, name, name_length, &config, allocator, error);
}

static gordian_status deserialize_process(struct served *served, uint32_t id, struct bytes_in *in,
                                          gordian_error *error)
{
    TRY(served_reserve(served, id, error));
    struct served_process *process = &served->processes[id];
    process->since = bytes_take_u64(in);
    process->owner = (uint32_t)bytes_take_upto(in, UINT32_MAX) - 1;
    uint32_t count = (uint32_t)bytes_take_count(in);
    if (count > 1 && !memory_grow32(&served->memory, &process->wants, &process->want_room, count,
                                    sizeof *process->wants))
        return fail_memory(error);
    process->want_count = count;
    for (uint32_t i = 0; i < count; i++) {
        gordian_want *want = count == 1 ? &process->want : &process->wants[i];
        want->resource = (uint32_t)bytes_take_upto(in, UINT32_MAX);
        want->units = bytes_take_u64(in);
        in->bad |= want->resource >= served_resource_limit(served);
    }
    if (in->bad)
        return damaged_system(error, "wants of a process");
    return (count > 0) == served_is_waiting(served, id)
               ? GORDIAN_OK
               : damaged_system(error, "waiting processes");
}

static gordian_status load_all(struct served *served, struct bytes_in *in, gordian_error *error)
{
    served->opened = bytes_take_u64(in);
    served->seq = bytes_take_u64(in);
    for (size_t i = 0; i < COUNTERS; i++)
        ((uint64_t *)&served->counters)[i] = bytes_take_u64(in);
    served->process_count = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    served->resource_count = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    served->waiting = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    served->name_bytes = bytes_take_u64(in);
    if (in->bad)
        return damaged_system(error, "counters");
    TRY(served->system ? system_deserialize(served->system, in, error)
                       : bank_deserialize(served->bank, in, error));
    for (uint32_t p = 0; p < served_process_limit(served); p++)
        if (is_process_in_use(served, p))
            TRY(deserialize_process(served, p, in, error));
    return in->bad || bytes_left(in) > 0 ? damaged_system(error, "end") : GORDIAN_OK;
}

gordian_status served_deserialize(struct served **out, const void *image, size_t length,
                                  const gordian_allocator *allocator, gordian_error *error)
{
    struct bytes_in in = {.at = image, .end = (const uint8_t *)image + length};
    *out = NULL;
    if (bytes_take_u64(&in) != SERIALIZED_VERSION)
        return damaged_system(error, "version");
    gordian_status status = open_deserialized(out, &in, allocator, error);
    THEN(status, load_all(*out, &in, error));
    if (status != GORDIAN_OK) {
        served_close(*out);
        *out = NULL;
    }
    return status;
}

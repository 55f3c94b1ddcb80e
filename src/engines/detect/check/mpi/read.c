/* Reads pieces, each by one rank. */
#include "engines/detect/check/mpi/job.h"
#include "engines/detect/check/snapshot_text.h"
#include "engines/rag/trace.h"
#include "foundation/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void job_trouble(struct mpi_job *job, uint64_t place, enum trouble_kind kind, uint64_t other)
{
    if (place < job->trouble.place)
        job->trouble = (struct trouble){.place = place, .other = other, .kind = kind};
}

/* ------------------------------------------------------------------ the lines of a piece */

/* Gets a declaration, a hold, a wait or an await, each with a number. `item` is what is held or
 * waited for. */
typedef gordian_status visitor(void *context, const gordian_trace *trace,
                               const gordian_trace_item *item, uint64_t number,
                               gordian_error *error);

static gordian_status visit_line(gordian_trace *trace, visitor *visit, void *context,
                                 uint64_t *number, gordian_error *error)
{
    char shown[TRACE_SHOWN_MAX];
    struct trace_attributes ignored;
    gordian_status status = GORDIAN_OK;
    if (trace->kind == GORDIAN_LINE_EVENT && trace->op == GORDIAN_OP_AWAIT) {
        status = visit(context, trace, NULL, *number, error);
        *number += 1 + trace->item_count; /* one for each name */
        return status;
    }
    if (trace->kind == GORDIAN_LINE_EVENT && trace->op != GORDIAN_OP_HOLD &&
        trace->op != GORDIAN_OP_WAIT)
        return trace_fail(trace, &trace->verb, error,
                          "'%s' is an event: use gordian detect for traces",
                          trace_show(&trace->verb, shown));
    if (trace->kind == GORDIAN_LINE_PROCESS)
        status = trace_attributes(trace, &ignored, error);
    if (trace->kind != GORDIAN_LINE_EVENT)
        return status == GORDIAN_OK ? visit(context, trace, NULL, (*number)++, error) : status;
    for (size_t i = 0; i < trace->item_count && status == GORDIAN_OK; i++)
        status = visit(context, trace, &trace->items[i], (*number)++, error);
    return status;
}

/* Visits all lines until one fails. *number becomes the number of the next line. */
static gordian_status walk_piece(const struct mpi_job *job, uint32_t piece, visitor *visit,
                                 void *context, uint64_t *number, gordian_error *error)
{
    gordian_trace trace;
    int fd;
    *number = 0;
    TRY(check_open_file(job->files[piece], &fd, error));
    gordian_source source = gordian_source_fd(&fd);
    gordian_status status = gordian_trace_open(&trace, &source, &job->memory, error);
    trace.acts = true;
    while (status == GORDIAN_OK) {
        status = gordian_trace_next(&trace, error);
        THEN(status, visit_line(&trace, visit, context, number, error));
    }
    gordian_trace_close(&trace);
    if (fd > STDERR_FILENO)
        close(fd);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

/* ------------------------------------------------------------------ storing them */

/* Returns the local number of a name and adds it if it is new. NONE: out of memory. */
static uint32_t meet_name(struct mpi_job *job, enum name_kind kind, const gordian_word *name)
{
    struct local_names *names = &job->kinds[kind];
    uint32_t local = names_find(&names->names, name->text, name->length);
    if (local != GORDIAN_NONE)
        return local;
    if (!memory_grow32(&job->memory, &names->list, &names->room, names->count + 1,
                       sizeof *names->list) ||
        !names_put(&names->names, names->count, name->text, name->length))
        return GORDIAN_NONE;
    names->list[names->count] =
        (struct local_name){.first = NOWHERE, .again = NOWHERE, .used = NOWHERE, .id = NONE};
    return names->count++;
}

static void note_first(uint64_t *first, uint64_t place)
{
    if (*first == NOWHERE)
        *first = place;
}

struct keeping {
    struct mpi_job *job;
    uint32_t piece;
};

static bool keep_resource(struct mpi_job *job, const gordian_trace *trace, uint64_t place)
{
    uint32_t local = meet_name(job, NAME_RESOURCE, &trace->name);
    if (local == GORDIAN_NONE)
        return false;
    struct local_name *name = &job->kinds[NAME_RESOURCE].list[local];
    if (name->first != NOWHERE) {
        note_first(&name->again, place);
    } else {
        name->first = place;
        name->units = trace->units;
    }
    return true;
}

static bool keep_edge_record(struct mpi_job *job, struct edge_list *list, struct edge_record edge)
{
    if (!memory_grow(&job->memory, &list->edges, &list->room, list->count + 1, sizeof edge))
        return false;
    list->edges[list->count++] = edge;
    return true;
}

/* The processes that can act hold a unit each, in the order in which one reader would meet them. */
static bool keep_others(struct mpi_job *job, const gordian_trace *trace, uint32_t resource,
                        uint64_t place)
{
    size_t first = job->holds.count;
    for (size_t i = 0; i < trace->item_count; i++) {
        uint32_t other = meet_name(job, NAME_PROCESS, &trace->items[i].name);
        if (other == GORDIAN_NONE)
            return false;
        struct local_name *name = &job->kinds[NAME_PROCESS].list[other];
        note_first(&name->first, place + 1 + i);
        if (name->listed == place + 1) /* a process named twice counts once */
            continue;
        name->listed = place + 1;
        if (!keep_edge_record(job, &job->holds,
                              (struct edge_record){place + 1 + i, 1, other, resource}))
            return false;
    }
    job->kinds[NAME_RESOURCE].list[resource].units = job->holds.count - first;
    return true;
}

static bool keep_edge(struct mpi_job *job, const gordian_trace *trace,
                      const gordian_trace_item *item, uint32_t process, uint64_t place)
{
    struct edge_list *list = trace->op == GORDIAN_OP_HOLD ? &job->holds : &job->waits;
    uint32_t resource = meet_name(job, NAME_RESOURCE, &item->name);
    if (resource == GORDIAN_NONE)
        return false;
    note_first(&job->kinds[NAME_RESOURCE].list[resource].used, place);
    return keep_edge_record(job, list, (struct edge_record){place, item->units, process, resource});
}

static gordian_status keep_rank_line(void *context, const gordian_trace *trace,
                                     const gordian_trace_item *item, uint64_t number,
                                     gordian_error *error)
{
    const struct keeping *keeping = context;
    struct mpi_job *job = keeping->job;
    uint64_t place = text_place(keeping->piece, number);
    bool kept;
    if (trace->kind == GORDIAN_LINE_EVENT && trace->op == GORDIAN_OP_AWAIT) {
        /* Ranks name an await by its place after a blank, which no other name contains. */
        char text[24];
        snprintf(text, sizeof text, " %llx", (unsigned long long)place);
        const gordian_word name = {.text = text, .length = (uint32_t)strlen(text)};
        uint32_t process = meet_name(job, NAME_PROCESS, &trace->name);
        uint32_t resource = meet_name(job, NAME_RESOURCE, &name);
        if (process == GORDIAN_NONE || resource == GORDIAN_NONE)
            return fail_memory(error);
        struct local_name *own = &job->kinds[NAME_RESOURCE].list[resource];
        own->first = own->used = place;
        note_first(&job->kinds[NAME_PROCESS].list[process].first, place);
        if (!keep_others(job, trace, resource, place))
            return fail_memory(error);
        uint64_t others = job->kinds[NAME_RESOURCE].list[resource].units;
        uint64_t needed = trace->units == trace->item_count ? others : trace->units;
        if (needed > others)
            return trace_fail(trace, &trace->verb, error, SNAPSHOT_TOO_MANY_ACTS);
        return keep_edge_record(job, &job->waits,
                                (struct edge_record){place, needed, process, resource})
                   ? GORDIAN_OK
                   : fail_memory(error);
    }
    if (trace->kind == GORDIAN_LINE_RESOURCE) {
        kept = keep_resource(job, trace, place);
    } else {
        uint32_t process = meet_name(job, NAME_PROCESS, &trace->name);
        kept = process != GORDIAN_NONE;
        if (kept)
            note_first(&job->kinds[NAME_PROCESS].list[process].first, place);
        if (kept && item)
            kept = keep_edge(job, trace, item, process, place);
    }
    return kept ? GORDIAN_OK : fail_memory(error);
}

static void read_pieces(struct mpi_job *job)
{
    for (uint32_t piece = (uint32_t)job->rank; piece < job->file_count && !job->no_memory;
         piece += (uint32_t)job->ranks) {
        struct keeping keeping = {job, piece};
        gordian_error error = {0};
        uint64_t number;
        gordian_status status = walk_piece(job, piece, keep_rank_line, &keeping, &number, &error);
        job->no_memory = status == GORDIAN_STATUS_MEMORY;
        if (status == GORDIAN_OK || job->no_memory)
            continue;
        job_trouble(job, text_place(piece, number), TROUBLE_TOLD, 0);
        job->trouble.error = error;
        return; /* what follows it does not matter */
    }
}

/* ------------------------------------------------------------------ a part of a packed file */

static bool keep_packed(struct mpi_job *job, enum image_part part, const uint8_t *entry,
                        uint64_t number)
{
    const struct image_layout *layout = packed_file_layout(job->packed);
    bool hold = part == IMAGE_HOLDS;
    struct edge_record edge = {.place = hold ? number : text_place(0, UINT32_MAX + number),
                               .units = 1};
    if (layout->lists) {
        struct image_edge listed = packed_image_edge(entry, 0);
        edge.units = listed.units;
        edge.process = listed.process;
        edge.resource = listed.resource;
        if (edge.units == 0)
            job_trouble(job, edge.place, TROUBLE_HOLDS, 0);
    } else {
        uint32_t other = packed_get32(entry);
        if (other == GORDIAN_NONE)
            return true;
        edge.process = hold ? other : (uint32_t)number;
        edge.resource = hold ? (uint32_t)number : other;
    }
    if (edge.process >= layout->processes || edge.resource >= layout->resources) {
        job_trouble(job, edge.place, TROUBLE_HOLDS, 0);
        return true;
    }
    return keep_edge_record(job, hold ? &job->holds : &job->waits, edge);
}

/* Stores the units of own resources. Chunks may also reach into other ranks' blocks. */
static void keep_total(struct mpi_job *job, const uint8_t *entry, uint64_t number)
{
    uint32_t begin = job->begin[NAME_RESOURCE];
    if (number < begin || number - begin >= job->own[NAME_RESOURCE])
        return;
    job->totals[number - begin] = packed_get64(entry);
    if (job->totals[number - begin] == 0)
        job_trouble(job, 0, TROUBLE_HOLDS, 0);
}

/* Reads this rank's share of the chunks of a section. Of the totals it reads the chunks of its own
 * block of ids.
 */
static void read_section(struct mpi_job *job, enum image_part part, uint8_t *buffer)
{
    const struct image_layout *layout = packed_file_layout(job->packed);
    uint64_t bytes = layout->sections[part].bytes, chunks = image_chunks(bytes);
    uint64_t size = part == IMAGE_TOTALS ? 8 : layout->lists ? IMAGE_EDGE : 4;
    uint64_t first = chunks * (uint64_t)job->rank / (uint64_t)job->ranks;
    uint64_t end = chunks * (uint64_t)(job->rank + 1) / (uint64_t)job->ranks;
    if (part == IMAGE_TOTALS) {
        first = job->begin[NAME_RESOURCE] * size / IMAGE_CHUNK;
        end = image_chunks(((uint64_t)job->begin[NAME_RESOURCE] + job->own[NAME_RESOURCE]) * size);
    }
    for (uint64_t chunk = first; chunk < end && !job->no_memory; chunk++) {
        gordian_error error = {0};
        uint64_t left = bytes - chunk * IMAGE_CHUNK;
        size_t some = left < IMAGE_CHUNK ? (size_t)left : IMAGE_CHUNK;
        if (packed_file_read(job->packed, part, chunk, buffer, some, &error) != GORDIAN_OK) {
            job_trouble(job, 0, TROUBLE_TOLD, 0);
            job->trouble.error = error;
            return;
        }
        for (size_t at = 0; at < some && !job->no_memory; at += size) {
            uint64_t number = (chunk * IMAGE_CHUNK + at) / size;
            if (part == IMAGE_TOTALS)
                keep_total(job, buffer + at, number);
            else
                job->no_memory = !keep_packed(job, part, buffer + at, number);
        }
    }
}

static void read_packed(struct mpi_job *job)
{
    const bool lists = packed_file_layout(job->packed)->lists;
    uint8_t *buffer = memory_alloc(&job->memory, IMAGE_CHUNK);
    job->totals = memory_alloc(&job->memory, job->own[NAME_RESOURCE] * sizeof *job->totals);
    job->no_memory = !buffer || !job->totals;
    for (uint32_t q = 0; q < job->own[NAME_RESOURCE] && !job->no_memory; q++)
        job->totals[q] = 1;
    for (unsigned part = lists ? IMAGE_TOTALS : IMAGE_HOLDS; part <= IMAGE_WAITS; part++)
        if (!job->no_memory)
            read_section(job, (enum image_part)part, buffer);
    memory_free(&job->memory, buffer);
}

void job_read(struct mpi_job *job)
{
    (job->packed ? read_packed : read_pieces)(job);
}

/* ------------------------------------------------------------------ error messages */

struct explaining {
    struct mpi_job *job;
    uint64_t number, other; /* number of the error's line; number of the line with the first
                               declaration, if it is in this piece */
    uint64_t line;          /* the line of the first declaration */
};

static gordian_status explain_line(void *context, const gordian_trace *trace,
                                   const gordian_trace_item *item, uint64_t number,
                                   gordian_error *error)
{
    struct explaining *explaining = context;
    char shown[TRACE_SHOWN_MAX], name[TRACE_SHOWN_MAX];
    if (number == explaining->other)
        explaining->line = trace->line;
    if (number != explaining->number)
        return GORDIAN_OK;
    if (!item && explaining->line == 0)
        return trace_fail(trace, &trace->name, error, "resource '%s' exists already",
                          trace_show(&trace->name, shown));
    if (!item)
        return trace_fail(trace, &trace->name, error,
                          "resource '%s' was declared before, at line %llu",
                          trace_show(&trace->name, shown), (unsigned long long)explaining->line);
    trace_show(&item->name, name);
    switch (explaining->job->trouble.kind) {
    case TROUBLE_UNDECLARED:
        return trace_fail(trace, &item->word, error, "resource '%s' was never declared", name);
    case TROUBLE_HOLDS:
        return trace_fail(trace, &item->word, error,
                          "'%s': the holds of resource '%s' exceed its units",
                          trace_show(&item->word, shown), name);
    default:
        return trace_fail(trace, &item->word, error, "'%s': more units than resource '%s' has",
                          trace_show(&item->word, shown), name);
    }
}

void job_explain(struct mpi_job *job)
{
    struct trouble *trouble = &job->trouble;
    if (trouble->kind == TROUBLE_TOLD)
        return;
    if (job->packed) {
        fail(&trouble->error, GORDIAN_STATUS_INPUT, PACKED_SENSELESS);
        return;
    }
    uint32_t piece = (uint32_t)(trouble->place >> PLACE_BITS);
    struct explaining explaining = {job, trouble->place % (UINT64_C(1) << PLACE_BITS), NOWHERE, 0};
    if (trouble->kind == TROUBLE_REDECLARED && trouble->other >> PLACE_BITS == piece)
        explaining.other = trouble->other % (UINT64_C(1) << PLACE_BITS);
    uint64_t number;
    gordian_status status =
        walk_piece(job, piece, explain_line, &explaining, &number, &trouble->error);
    if (status == GORDIAN_OK) /* the file has changed, or it was standard input */
        fail(&trouble->error, GORDIAN_STATUS_INPUT,
             "the file is inconsistent: it changed while it was read, or is damaged");
}

/*
 * Assigns ids to names that many ranks have met: the ids that one reader of all pieces would give.
 *
 * Every name goes to the rank that its hash selects. That rank finds the first place of the name in
 * all pieces and informs the rank that has read that piece. The reader numbers the names whose
 * first place is in its pieces, in the order of the text. Its numbers follow the numbers of the
 * earlier pieces. The ids are returned on the same path.
 */
#include "engines/detect/check/mpi/job.h"
#include "foundation/base/error.h"
#include "foundation/base/hash.h"
#include "foundation/base/sort.h"

#include <stdlib.h>

/* From the rank that has met a name to the one that its hash selects. The text follows. */
struct met_record {
    uint64_t first, again, used, units;
    uint32_t local, length;
};

/* A name at the rank that its hash selects. */
struct entry {
    uint64_t first, again, used;
    uint32_t from, local; /* the rank that has it first, and its number there */
    uint32_t id;
};

/* A rank that needs the id of a name. */
struct asker {
    uint32_t entry, rank, local;
};

/* To the rank that numbers it; and back, with the id as the place. */
struct first_record {
    uint64_t place;
    uint32_t entry, local;
};

struct fresh {
    uint64_t place;
    uint32_t rank, entry, local;
};

struct numbering {
    struct mpi_job *job;
    struct local_names *own;
    enum name_kind kind;
    struct names table; /* names whose hash selects this rank */
    struct entry *entries;
    uint32_t entry_count, entry_room;
    struct asker *askers;
    size_t asker_count, asker_room;
    struct fresh *fresh;
    size_t fresh_count, fresh_room;
    bool fine;
};

/* ------------------------------------------------------------------ at the rank of the hash */

static uint32_t find_or_add_entry(struct numbering *numbering, const char *text, size_t length)
{
    uint32_t found = names_find(&numbering->table, text, length);
    if (found != GORDIAN_NONE)
        return found;
    numbering->fine =
        numbering->fine &&
        memory_grow32(&numbering->job->memory, &numbering->entries, &numbering->entry_room,
                      numbering->entry_count + 1, sizeof *numbering->entries) &&
        names_put(&numbering->table, numbering->entry_count, text, length);
    if (!numbering->fine)
        return GORDIAN_NONE;
    numbering->entries[numbering->entry_count] =
        (struct entry){.first = NOWHERE, .again = NOWHERE, .used = NOWHERE, .id = NONE};
    return numbering->entry_count++;
}

static void take_least(uint64_t *least, uint64_t value)
{
    *least = value < *least ? value : *least;
}

static void receive_names(struct numbering *numbering)
{
    struct exchange *exchange = &numbering->job->exchange;
    struct met_record met;
    while (numbering->fine && exchange_read(exchange, &met, sizeof met)) {
        uint32_t from = (uint32_t)exchange->from;
        uint32_t number =
            find_or_add_entry(numbering, exchange_take(exchange, met.length), met.length);
        numbering->fine =
            numbering->fine &&
            memory_grow(&numbering->job->memory, &numbering->askers, &numbering->asker_room,
                        numbering->asker_count + 1, sizeof *numbering->askers);
        if (!numbering->fine)
            return;
        numbering->askers[numbering->asker_count++] = (struct asker){number, from, met.local};
        struct entry *entry = &numbering->entries[number];
        take_least(&entry->again, met.again);
        take_least(&entry->used, met.used);
        if (met.first < entry->first) { /* the former first place is a repetition now */
            take_least(&entry->again, entry->first);
            entry->first = met.first;
            entry->from = from;
            entry->local = met.local;
        } else {
            take_least(&entry->again, met.first);
        }
    }
}

/* ------------------------------------------------------------------ numbers */

static void take_firsts(struct numbering *numbering)
{
    struct exchange *exchange = &numbering->job->exchange;
    struct first_record first;
    while (numbering->fine && exchange_read(exchange, &first, sizeof first)) {
        numbering->fine =
            memory_grow(&numbering->job->memory, &numbering->fresh, &numbering->fresh_room,
                        numbering->fresh_count + 1, sizeof *numbering->fresh);
        if (numbering->fine)
            numbering->fresh[numbering->fresh_count++] =
                (struct fresh){first.place, (uint32_t)exchange->from, first.entry, first.local};
    }
}

/* Counts the names that come first in earlier pieces, for each piece. */
static bool count_pieces(struct numbering *numbering)
{
    struct mpi_job *job = numbering->job;
    uint32_t pieces = job->file_count;
    uint64_t *counts = numbering->own->before =
        memory_zeroed(&job->memory, (pieces + 1) * sizeof *counts);
    uint64_t sum = 0;
    if (!exchange_all(counts != NULL))
        return false;
    for (size_t i = 0; i < numbering->fresh_count; i++)
        counts[numbering->fresh[i].place >> PLACE_BITS]++;
    MPI_Allreduce(MPI_IN_PLACE, counts, (int)pieces + 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (uint32_t piece = 0; piece <= pieces; piece++) {
        uint64_t count = counts[piece];
        counts[piece] = sum;
        sum += count;
    }
    return true;
}

static void send_ids(struct numbering *numbering)
{
    struct local_names *own = numbering->own;
    uint64_t piece = NOWHERE, next = 0;
    for (size_t i = 0; i < numbering->fresh_count; i++) {
        const struct fresh *fresh = &numbering->fresh[i];
        if (fresh->place >> PLACE_BITS != piece) {
            piece = fresh->place >> PLACE_BITS;
            next = own->before[piece];
        }
        own->fresh[own->fresh_count++] = fresh->local;
        struct first_record record = {next++, fresh->entry, fresh->local};
        exchange_put(&numbering->job->exchange, fresh->rank, &record, sizeof record);
    }
}

/* ------------------------------------------------------------------ return path */

static void pass_ids_on(struct numbering *numbering)
{
    struct exchange *exchange = &numbering->job->exchange;
    struct first_record record;
    while (exchange_read(exchange, &record, sizeof record)) {
        numbering->entries[record.entry].id = (uint32_t)record.place;
    }
    for (size_t i = 0; i < numbering->asker_count; i++) {
        const struct asker *asker = &numbering->askers[i];
        uint32_t answer[2] = {asker->local, numbering->entries[asker->entry].id};
        exchange_put(exchange, asker->rank, answer, sizeof answer);
    }
}

/* Checks that there are not more names than ids. */
static void check_total(struct numbering *numbering)
{
    struct local_names *own = numbering->own;
    struct mpi_job *job = numbering->job;
    uint64_t total = own->before[job->file_count];
    own->total = (uint32_t)total;
    if (total <= SNAPSHOT_MAX)
        return;
    job_trouble(job, 0, TROUBLE_TOLD, 0);
    fail(&job->trouble.error, GORDIAN_STATUS_INPUT, "a snapshot takes at most %u %s", SNAPSHOT_MAX,
         numbering->kind == NAME_PROCESS ? "processes" : "resources");
}

static bool number_kind(struct numbering *numbering)
{
    struct mpi_job *job = numbering->job;
    struct local_names *own = numbering->own;
    for (uint32_t i = 0; i < numbering->own->count; i++) {
        const struct local_name *name = &numbering->own->list[i];
        const char *text = names_text(&numbering->own->names, i);
        size_t length = strlen(text);
        uint32_t to = (uint32_t)(hash_bytes(text, length) % (uint32_t)job->ranks);
        struct met_record record = {name->first, name->again, name->used,
                                    name->units, i,           (uint32_t)length};
        exchange_put(&job->exchange, to, &record, sizeof record);
        exchange_put(&job->exchange, to, text, length);
    }
    if (!exchange_run(&job->exchange))
        return false;
    receive_names(numbering);
    /* A resource is declared once, and before it is used. */
    for (uint32_t i = 0; i < numbering->entry_count && numbering->kind == NAME_RESOURCE; i++) {
        const struct entry *entry = &numbering->entries[i];
        if (entry->used < entry->first)
            job_trouble(numbering->job, entry->used, TROUBLE_UNDECLARED, 0);
        if (entry->again != NOWHERE)
            job_trouble(numbering->job, entry->again, TROUBLE_REDECLARED, entry->first);
    }
    for (uint32_t i = 0; i < numbering->entry_count; i++) {
        const struct entry *entry = &numbering->entries[i];
        struct first_record record = {entry->first, i, entry->local};
        if (entry->first != NOWHERE)
            exchange_put(&numbering->job->exchange, entry->from, &record, sizeof record);
    }
    if (!exchange_all(numbering->fine) || !exchange_run(&job->exchange))
        return false;
    take_firsts(numbering);
    if (numbering->fresh_count > 1)
        qsort(numbering->fresh, numbering->fresh_count, sizeof *numbering->fresh, compare_places);
    own->fresh = memory_alloc(&job->memory, numbering->fresh_count * sizeof *own->fresh);
    if (!exchange_all(numbering->fine && own->fresh) || !count_pieces(numbering))
        return false;
    check_total(numbering);
    send_ids(numbering);
    if (!exchange_run(&job->exchange))
        return false;
    pass_ids_on(numbering);
    if (!exchange_run(&job->exchange))
        return false;
    uint32_t record[2];
    while (exchange_read(&numbering->job->exchange, record, sizeof record)) {
        numbering->own->list[record[0]].id = record[1];
    }
    return true;
}

bool job_number_names(struct mpi_job *job)
{
    bool fine = true;
    for (unsigned kind = 0; kind < NAME_KINDS && fine; kind++) {
        struct numbering numbering = {
            .job = job, .own = &job->kinds[kind], .kind = (enum name_kind)kind, .fine = true};
        names_init(&numbering.table, &job->memory);
        fine = number_kind(&numbering);
        const gordian_allocator *memory = &numbering.job->memory;
        names_free(&numbering.table);
        memory_free_all(memory, numbering.entries, numbering.askers, numbering.fresh);
    }
    return fine;
}

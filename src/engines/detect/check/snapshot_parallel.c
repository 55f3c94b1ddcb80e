/*
 * Reads a snapshot with many threads.
 *
 * The file is cut into pieces at line ends. A round takes as many pieces as there are threads, one
 * each. In a round
 *
 *   1. each thread reads its piece, finds its lines and names (foundation/base/io/scan.h,
 *      engines/rag/trace_ahead.h) and groups the names by shard;
 *   2. the names are looked up, each shard by one thread, in the order of the text
 *      (foundation/base/names/sharded_interner.h), and the new ones are counted;
 *   3. each thread numbers the new ones of its piece in the order of the text and clears their
 *      places, so that many threads touch their memory first;
 *   4. each thread puts the holds and waits of its piece in their places.
 *
 * The threads wait for each other between the steps. So the ids, and everything else, are the same
 * as with one thread.
 *
 * This is for plain files: resources of one unit and one holder each, processes that wait for at
 * most one resource. If a file has anything else, or an error, the result is dropped and one thread
 * reads the file and reports the error.
 */
#include "engines/detect/check/snapshot.h"
#include "engines/detect/check/snapshot_text.h"
#include "engines/rag/trace_ahead.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/threads/thread_pool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINE_REST  4096 /* how far the last line of a piece may reach beyond it */
#define LINE_LEAST 9    /* "hold p q\n" */
#define PREFETCH   16   /* lines ahead */
#define NAME_BYTES 48   /* of a file, for each process or resource: hardly ever fewer */

enum name_kind { NAME_PROCESSES, NAME_RESOURCES, NAME_KINDS };

struct piece {
    char *text;
    uint32_t line_count;
    uint8_t *ops; /* by line: GORDIAN_OP_HOLD, _WAIT, or 0: a resource is declared */
    struct names_query *queries[NAME_KINDS]; /* by line; once looked up, the id is the answer */
    struct sharded_interner_name *sorted[NAME_KINDS]; /* by shard, and by line within it */
    uint32_t *answers[NAME_KINDS]; /* the answers to `sorted`; written by other threads */
    uint32_t ends[NAME_KINDS][SHARDED_INTERNER_SHARDS];
    uint32_t fresh_of[NAME_KINDS]
                     [SHARDED_INTERNER_SHARDS]; /* names met first here; written by other threads */
    uint32_t fresh[NAME_KINDS];
    struct reader_ahead ahead;
    struct trace_ahead glances;
};

struct parallel_reading {
    gordian_snapshot *snapshot;
    struct sharded_interner *interners[NAME_KINDS];
    const struct source_file *file;
    size_t piece_bytes, line_room;
    uint64_t piece_count;
    unsigned threads;
    struct piece *pieces; /* one for each thread */
    struct thread_pool *workers;
    unsigned next_shard; /* the next shard to be looked up in this round */
    /* Errors: the file is not plain, or memory ran out. Each flag is written in some steps and read
     * only after other steps, so all threads read the same value. */
    bool odd_lines, odd_names, odd_room;
};

static void set_flag(bool *flag)
{
    __atomic_store_n(flag, true, __ATOMIC_RELAXED);
}

static bool get_flag(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

/* ---- 1: lines */

/* Reads up to `size` bytes from `at`. Returns fewer only at the end of the file, or if it fails. */
static size_t pread_fully(int fd, char *buffer, size_t size, uint64_t at)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count = pread(fd, buffer + done, size - done, (off_t)(at + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    return done;
}

/* Finds text and length of the lines that begin in piece `number`. Returns false if they are not as
 * expected. */
static bool load_text_piece(const struct parallel_reading *reading, struct piece *piece,
                            uint64_t number, char **text, size_t *length)
{
    const struct source_file *file = reading->file;
    uint64_t begin = file->start + number * reading->piece_bytes;
    uint64_t left = file->end - begin;
    bool last = left <= reading->piece_bytes;
    size_t before = number > 0; /* if that byte is a newline, a line begins here */
    size_t own = last ? (size_t)left : reading->piece_bytes;
    size_t rest = left - own < LINE_REST ? (size_t)(left - own) : LINE_REST;
    char *buffer = piece->text;
    if (pread_fully(file->fd, buffer, before + own + rest, begin - before) != before + own + rest)
        return false; /* the file has become shorter */
    char *first = before ? memchr(buffer, '\n', before + own) : buffer;
    *text = first ? first + before : buffer;
    *length = 0;
    if (!first || *text == buffer + before + own)
        return true; /* no line begins here */
    char *end = memchr(buffer + before + own - 1, '\n', rest + 1);
    if (!end) {
        if (left - own > rest)
            return false;
        end = buffer + before + own + rest;
        *end = '\n';
    }
    *length = (size_t)(end + 1 - *text);
    memset(end + 1, 0, READER_SLACK);
    return true;
}

static bool keep_piece_line(struct piece *piece, uint32_t i, size_t room)
{
    const struct trace_plain *plain = &piece->glances.lines[i];
    uint32_t line = piece->line_count;
    if (plain->shape == TRACE_BLANK)
        return true;
    bool edge = plain->shape == TRACE_EVENT &&
                (plain->op == GORDIAN_OP_HOLD || plain->op == GORDIAN_OP_WAIT);
    if ((!edge && plain->shape != TRACE_DECLARE) || line == room)
        return false;
    piece->ops[line] = edge ? (uint8_t)plain->op : 0;
    piece->queries[NAME_PROCESSES][line] = piece->glances.processes[i];
    piece->queries[NAME_RESOURCES][line] = piece->glances.resources[i];
    piece->line_count++;
    return true;
}

static bool split_piece(const struct parallel_reading *reading, struct piece *piece,
                        const char *text, size_t length)
{
    while (length > 0) {
        reader_scan(&piece->ahead, text, length);
        if (piece->ahead.line_count == 0 || piece->ahead.equals)
            return false;
        trace_classify(&piece->ahead, &piece->glances);
        for (uint32_t i = 0; i < piece->ahead.line_count; i++)
            if (!keep_piece_line(piece, i, reading->line_room))
                return false;
        size_t taken = piece->ahead.ends[piece->ahead.line_count - 1] + 1;
        text += taken;
        length -= taken;
    }
    return true;
}

/* Computes where each shard's names begin. */
static void part_starts(const struct piece *piece, enum name_kind kind, uint32_t *starts)
{
    starts[0] = 0;
    memcpy(starts + 1, piece->ends[kind], (SHARDED_INTERNER_SHARDS - 1) * sizeof *starts);
}

/* Groups the names by shard, in the order of the text. */
static void sort_piece(struct piece *piece, enum name_kind kind)
{
    uint32_t *ends = piece->ends[kind], starts[SHARDED_INTERNER_SHARDS];
    const struct names_query *queries = piece->queries[kind];
    memset(ends, 0, sizeof piece->ends[kind]);
    for (uint32_t i = 0; i < piece->line_count; i++)
        ends[sharded_interner_shard(queries[i].hash)] += queries[i].length > 0;
    for (unsigned part = 1; part < SHARDED_INTERNER_SHARDS; part++)
        ends[part] += ends[part - 1];
    part_starts(piece, kind, starts);
    for (uint32_t i = 0; i < piece->line_count; i++)
        if (queries[i].length > 0)
            piece->sorted[kind][starts[sharded_interner_shard(queries[i].hash)]++] =
                sharded_interner_name(&queries[i]);
}

static void read_text_piece(struct parallel_reading *reading, unsigned member, uint64_t number)
{
    struct piece *piece = &reading->pieces[member];
    char *text;
    size_t length;
    piece->line_count = 0;
    if (number < reading->piece_count &&
        (!load_text_piece(reading, piece, number, &text, &length) ||
         !split_piece(reading, piece, text, length)))
        set_flag(&reading->odd_lines);
    for (unsigned kind = 0; kind < NAME_KINDS; kind++)
        sort_piece(piece, (enum name_kind)kind);
}

/* ---- 2: names */

static bool intern_part(struct parallel_reading *reading, enum name_kind kind, unsigned part)
{
    for (unsigned i = 0; i < reading->threads; i++) {
        struct piece *piece = &reading->pieces[i];
        uint32_t begin = part ? piece->ends[kind][part - 1] : 0;
        if (!sharded_interner_take(reading->interners[kind], part, piece->sorted[kind] + begin,
                                   piece->ends[kind][part] - begin, piece->answers[kind] + begin,
                                   &piece->fresh_of[kind][part]))
            return false;
    }
    return true;
}

/* ---- 3: numbers */

/* One thread does it for all. */
static void reserve_new_names(void *context)
{
    struct parallel_reading *reading = context;
    uint64_t more[NAME_KINDS] = {0};
    reading->next_shard = 0; /* all have been taken */
    if (get_flag(&reading->odd_names))
        return;
    for (unsigned i = 0; i < reading->threads; i++)
        for (unsigned kind = 0; kind < NAME_KINDS; kind++) {
            struct piece *piece = &reading->pieces[i];
            piece->fresh[kind] = 0;
            for (unsigned part = 0; part < SHARDED_INTERNER_SHARDS; part++)
                piece->fresh[kind] += piece->fresh_of[kind][part];
            more[kind] += piece->fresh[kind];
        }
    bool room = snapshot_enlarge(reading->snapshot, more[NAME_PROCESSES], more[NAME_RESOURCES]);
    for (unsigned kind = 0; kind < NAME_KINDS && room; kind++)
        room = sharded_interner_reserve(reading->interners[kind], (uint32_t)more[kind]);
    if (!room)
        set_flag(&reading->odd_room);
}

static void number_new_names(struct parallel_reading *reading, unsigned member, enum name_kind kind)
{
    struct sharded_interner *crowd = reading->interners[kind];
    const struct piece *piece = &reading->pieces[member];
    uint32_t *places = kind == NAME_PROCESSES ? reading->snapshot->wait : reading->snapshot->holder;
    uint32_t id = crowd->count, next[SHARDED_INTERNER_SHARDS];
    bool odd = false;
    for (unsigned i = member; i < reading->threads; i++)
        id -= reading->pieces[i].fresh[kind];
    for (uint32_t i = 0; i < piece->fresh[kind]; i++)
        places[id + i] = NONE;
    part_starts(piece, kind, next);
    for (uint32_t i = 0; i < piece->line_count; i++) {
        struct names_query *query = &piece->queries[kind][i];
        if (query->length == 0)
            continue;
        unsigned part = sharded_interner_shard(query->hash);
        query->id = piece->answers[kind][next[part]++];
        bool fresh = (query->id & CROWD_UNNUMBERED) && (query->id & CROWD_NEW);
        /* A resource must be declared once, and before it is used: where it is new, and nowhere
         * else. */
        odd |= kind == NAME_RESOURCES && fresh != (piece->ops[i] == 0);
        if (fresh)
            sharded_interner_number(crowd, part, query->id, id++);
    }
    if (odd)
        set_flag(&reading->odd_lines);
}

/* ---- 4: edges */

/* Returns false if the place is taken. */
static bool put_alone(uint32_t *place, uint32_t value)
{
    uint32_t none = NONE;
    return __atomic_compare_exchange_n(place, &none, value, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static void expect_line(const struct parallel_reading *reading, const struct piece *piece,
                        uint32_t line)
{
    if (line >= piece->line_count || piece->ops[line] == 0)
        return;
    for (unsigned kind = 0; kind < NAME_KINDS; kind++)
        sharded_interner_prefetch(reading->interners[kind],
                                  sharded_interner_shard(piece->queries[kind][line].hash),
                                  piece->queries[kind][line].id);
}

static uint32_t line_id(const struct parallel_reading *reading, const struct piece *piece,
                        enum name_kind kind, uint32_t line)
{
    const struct names_query *query = &piece->queries[kind][line];
    return sharded_interner_id(reading->interners[kind], sharded_interner_shard(query->hash),
                               query->id);
}

/* ---- all */

static void read_rounds(void *context, unsigned member)
{
    struct parallel_reading *reading = context;
    for (uint64_t first = 0; first < reading->piece_count; first += reading->threads) {
        read_text_piece(reading, member, first + member);
        thread_pool_meet(reading->workers);
        if (get_flag(&reading->odd_lines))
            return;
        /* Threads take shards dynamically: pieces are read at different speeds. */
        for (unsigned i; (i = __atomic_fetch_add(&reading->next_shard, 1, __ATOMIC_RELAXED)) <
                         NAME_KINDS * SHARDED_INTERNER_SHARDS;)
            if (!intern_part(reading, (enum name_kind)(i / SHARDED_INTERNER_SHARDS),
                             i % SHARDED_INTERNER_SHARDS))
                set_flag(&reading->odd_names);
        thread_pool_meet_to(reading->workers, reserve_new_names, reading);
        if (get_flag(&reading->odd_names) || get_flag(&reading->odd_room))
            return;
        for (unsigned kind = 0; kind < NAME_KINDS; kind++)
            number_new_names(reading, member, (enum name_kind)kind);
        thread_pool_meet(reading->workers);
        struct piece *piece = &reading->pieces[member];
        for (uint32_t i = 0; i < piece->line_count; i++) {
            expect_line(reading, piece, i + PREFETCH);
            if (piece->ops[i] == 0)
                continue;
            uint32_t process = line_id(reading, piece, NAME_PROCESSES, i);
            uint32_t resource = line_id(reading, piece, NAME_RESOURCES, i);
            bool put = piece->ops[i] == GORDIAN_OP_HOLD
                           ? put_alone(&reading->snapshot->holder[resource], process)
                           : put_alone(&reading->snapshot->wait[process], resource);
            if (!put)
                set_flag(&reading->odd_lines);
        }
    }
}

static bool open_piece(const struct parallel_reading *reading, struct piece *piece,
                       const gordian_allocator *memory)
{
    bool opened = true;
    *piece = (struct piece){0};
    piece->text = memory_alloc(memory, 1 + reading->piece_bytes + LINE_REST + 1 + READER_SLACK);
    piece->ops = memory_alloc(memory, reading->line_room);
    for (unsigned kind = 0; kind < NAME_KINDS; kind++) {
        piece->queries[kind] = memory_alloc(memory, reading->line_room * sizeof **piece->queries);
        piece->sorted[kind] = memory_alloc(memory, reading->line_room * sizeof **piece->sorted);
        piece->answers[kind] = memory_alloc(memory, reading->line_room * sizeof **piece->answers);
        opened &= piece->queries[kind] && piece->sorted[kind] && piece->answers[kind];
    }
    return opened && piece->text && piece->ops;
}

static gordian_status open_reading(struct parallel_reading *reading,
                                   const struct snapshot_split *wanted,
                                   const gordian_allocator *memory)
{
    reading->piece_bytes = wanted->piece;
    reading->line_room = (wanted->piece + LINE_REST) / LINE_LEAST + 2;
    reading->piece_count =
        (reading->file->end - reading->file->start + wanted->piece - 1) / wanted->piece;
    TRY(thread_pool_open(&reading->workers, wanted->threads, memory, NULL));
    reading->threads = thread_pool_size(reading->workers);
    reading->pieces = memory_zeroed(memory, reading->threads * sizeof *reading->pieces);
    bool opened = reading->pieces != NULL;
    for (unsigned i = 0; i < reading->threads && opened; i++)
        opened = open_piece(reading, &reading->pieces[i], memory);
    return opened ? GORDIAN_OK : GORDIAN_STATUS_MEMORY;
}

gordian_status snapshot_read_parallel(gordian_snapshot *snapshot, gordian_names *names,
                                      const struct source_file *file,
                                      const struct snapshot_split *wanted,
                                      const gordian_allocator *memory)
{
    struct parallel_reading reading = {
        .snapshot = snapshot,
        .interners = {&names->process_interner, &names->resource_interner},
        .file = file,
    };
    bool plain = open_reading(&reading, wanted, memory) == GORDIAN_OK;
    /* Where arrays grow one thread moves them while the others wait. */
    uint64_t bytes = reading.file->end - reading.file->start;
    uint64_t likely = bytes / NAME_BYTES < SNAPSHOT_MAX ? bytes / NAME_BYTES : SNAPSHOT_MAX;
    snapshot_prepare(reading.snapshot, (uint32_t)likely, (uint32_t)likely);
    for (unsigned kind = 0; kind < NAME_KINDS; kind++)
        sharded_interner_prepare(reading.interners[kind], bytes / 2, (uint32_t)likely);
    if (plain) {
        thread_pool_do(reading.workers, read_rounds, &reading);
        plain = !reading.odd_lines && !reading.odd_names && !reading.odd_room;
    }
    thread_pool_close(reading.workers);
    for (unsigned i = 0; i < reading.threads && reading.pieces; i++) {
        struct piece *piece = &reading.pieces[i];
        memory_free_all(memory, piece->text, piece->ops);
        for (unsigned kind = 0; kind < NAME_KINDS; kind++)
            memory_free_all(memory, piece->queries[kind], piece->sorted[kind],
                            piece->answers[kind]);
    }
    memory_free(memory, reading.pieces);
    names->crowded = plain;
    for (unsigned kind = 0; kind < NAME_KINDS; kind++)
        (plain ? sharded_interner_settle : sharded_interner_free)(reading.interners[kind]);
    if (!plain)
        snapshot_clear(snapshot);
    return plain ? GORDIAN_OK : GORDIAN_STATUS_END;
}

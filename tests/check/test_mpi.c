/* Snapshots in pieces judged over MPI against one reader of them all: the same report, and the same
 * words for what is wrong. Run by mpirun with any number of ranks: rank 0 compares, the others
 * work. */
#include "engines/detect/check/mpi/mpi.h"
#include "foundation/base/random.h"
#include "foundation/ranks/ranks.h"
#include "scratch.h"
#include "test.h"

#include <gordian/gordian.h>

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#define PIECES 6
#define LINES  2000

static char folder[SCRATCH_SIZE], paths[PIECES][SCRATCH_SIZE + 20];
static const char *files[PIECES];

/* ------------------------------------------------------------------ random snapshots */

struct drawing {
    struct random random;
    unsigned kind; /* 0 one unit each, 1 several, 2 several resources at once, 3 all of it */
    unsigned processes, resources;
    unsigned wrong; /* per mille of lines that are */
    uint64_t left[LINES];
    bool waits[LINES];
    char lines[LINES][120];
    unsigned count;
};

static char *next_line(struct drawing *drawing)
{
    REQUIRE(drawing->count < LINES);
    return drawing->lines[drawing->count++];
}

static void draw_resources(struct drawing *drawing)
{
    for (unsigned q = 0; q < drawing->resources; q++) {
        bool several = drawing->kind % 2 && random_below(&drawing->random, 2);
        drawing->left[q] = several ? 1 + random_below(&drawing->random, 5) : 1;
        if (drawing->left[q] == 1)
            sprintf(next_line(drawing), "resource q%u\n", q);
        else
            sprintf(next_line(drawing), "resource q%u %u\n", q, (unsigned)drawing->left[q]);
    }
}

static void draw_hold(struct drawing *drawing)
{
    struct random *random = &drawing->random;
    unsigned p = (unsigned)random_below(random, drawing->processes);
    unsigned q = (unsigned)random_below(random, drawing->resources);
    uint64_t units = drawing->kind == 3 ? 1 + random_below(random, 3) : 1;
    if (drawing->left[q] < units)
        return;
    drawing->left[q] -= units;
    if (units == 1)
        sprintf(next_line(drawing), "hold p%u q%u\n", p, q);
    else
        sprintf(next_line(drawing), "hold p%u q%u=%u\n", p, q, (unsigned)units);
}

/* Somebody awaits acts of some, who may be named twice; too many, now and then, if it may be wrong.
 */
static void draw_await(struct drawing *drawing)
{
    struct random *random = &drawing->random;
    char *line = next_line(drawing);
    unsigned others = 1 + (unsigned)random_below(random, 4);
    line += sprintf(line, "await p%u", (unsigned)random_below(random, drawing->processes));
    if (drawing->wrong && random_below(random, 2))
        line += sprintf(line, " %u of", 1 + (unsigned)random_below(random, others));
    else if (random_below(random, 2))
        line += sprintf(line, " any of");
    for (unsigned i = 0; i < others; i++)
        line += sprintf(line, " p%u", (unsigned)random_below(random, drawing->processes));
    sprintf(line, "\n");
}

static void draw_wait(struct drawing *drawing)
{
    struct random *random = &drawing->random;
    unsigned p = (unsigned)random_below(random, drawing->processes);
    unsigned q = (unsigned)random_below(random, drawing->resources);
    unsigned more = (unsigned)random_below(random, drawing->resources);
    if (drawing->waits[p] && drawing->kind < 2)
        return;
    if (drawing->kind >= 2 && random_below(random, 3) == 0) {
        draw_await(drawing);
        return;
    }
    drawing->waits[p] = true;
    if (drawing->kind >= 2 && q != more && random_below(random, 2))
        sprintf(next_line(drawing), "wait p%u q%u q%u\n", p, q, more);
    else
        sprintf(next_line(drawing), "wait p%u q%u\n", p, q);
}

static void draw_wrong(struct drawing *drawing)
{
    static const char *const wrong[] = {
        "hold p1 nothing\n", "wait p2 q0=100\n", "resource q1\n",      "hold p0 q0=77\n",
        "hold p0\n",         "request p0 q0\n",  "process p cost=x\n", "gibberish\n",
        "wait p3 q1=0\n",    "resource late\n",
    };
    strcpy(next_line(drawing), wrong[random_below(&drawing->random, 10)]);
}

static void draw_snapshot(struct drawing *drawing, uint64_t seed)
{
    struct random *random = &drawing->random;
    *drawing = (struct drawing){0};
    random_seed(random, seed);
    drawing->kind = (unsigned)random_below(random, 4);
    drawing->processes = 1 + (unsigned)random_below(random, seed % 3 ? 20 : 200);
    drawing->resources = 1 + (unsigned)random_below(random, seed % 3 ? 20 : 200);
    drawing->wrong = random_below(random, 3) ? 0 : 10;
    unsigned lines = 1 + (unsigned)random_below(random, 3 * drawing->processes);
    draw_resources(drawing);
    for (unsigned i = 0; i < lines; i++) {
        if (random_below(random, 1000) < drawing->wrong)
            draw_wrong(drawing);
        else if (random_below(random, 20) == 0)
            sprintf(next_line(drawing), "process p%u # a comment\n",
                    (unsigned)random_below(random, 2 * drawing->processes));
        else if (random_below(random, 2))
            draw_hold(drawing);
        else
            draw_wait(drawing);
    }
}

/* ------------------------------------------------------------------ files */

static void write_piece(unsigned piece, const struct drawing *drawing, unsigned from, unsigned to)
{
    FILE *file = fopen(paths[piece], "w");
    REQUIRE(file);
    for (unsigned i = from; i < to; i++)
        fputs(drawing->lines[i], file);
    REQUIRE(fclose(file) == 0);
}

static unsigned write_pieces(struct drawing *drawing)
{
    unsigned count = 1 + (unsigned)random_below(&drawing->random, PIECES), from = 0;
    for (unsigned piece = 0; piece < count; piece++) {
        unsigned left = drawing->count - from;
        unsigned some =
            piece + 1 < count ? (unsigned)random_below(&drawing->random, left + 1) : left;
        write_piece(piece, drawing, from, from + some);
        from += some;
    }
    return count;
}

/* ------------------------------------------------------------------ comparing */

static void same_processes(const gordian_judged *one, const uint32_t *list, size_t count,
                           const gordian_judged *many, const uint32_t *other, size_t other_count)
{
    REQUIRE(count == other_count);
    for (size_t i = 0; i < count; i++)
        CHECK(strcmp(gordian_names_process(one->names, list[i]),
                     gordian_names_process(many->names, other[i])) == 0);
}

static void same_edges(gordian_judged *one, const gordian_part *part, gordian_judged *many,
                       const gordian_part *other)
{
    const gordian_edge *edges, *others;
    size_t count, other_count;
    gordian_status status = gordian_snapshot_edges(one->snapshot, part, &edges, &count, NULL);
    REQUIRE(status == GORDIAN_OK);
    status = gordian_snapshot_edges(many->snapshot, other, &others, &other_count, NULL);
    REQUIRE(status == GORDIAN_OK && count == other_count);
    for (size_t i = 0; i < count; i++) {
        CHECK(edges[i].units == others[i].units && edges[i].waits == others[i].waits);
        CHECK(strcmp(gordian_names_process(one->names, edges[i].process),
                     gordian_names_process(many->names, others[i].process)) == 0);
        CHECK(strcmp(gordian_names_resource(one->names, edges[i].resource),
                     gordian_names_resource(many->names, others[i].resource)) == 0);
    }
}

static void same_judged(gordian_judged *one, gordian_judged *many)
{
    CHECK(one->report.model == many->report.model);
    CHECK(strcmp(many->report.engine, "mpi") == 0);
    CHECK(one->processes == many->processes && one->resources == many->resources);
    same_processes(one, one->report.deadlocked, one->report.deadlocked_count, many,
                   many->report.deadlocked, many->report.deadlocked_count);
    REQUIRE(one->report.part_count == many->report.part_count);
    for (size_t i = 0; i < one->report.part_count; i++) {
        const gordian_part *part = &one->report.parts[i], *other = &many->report.parts[i];
        CHECK(part->cycle == other->cycle && part->resource_count == other->resource_count);
        same_processes(one, part->processes, part->process_count, many, other->processes,
                       other->process_count);
        same_edges(one, part, many, other);
    }
}

/* True: there was nothing wrong with them. */
static bool compare(size_t count, uint64_t seed)
{
    gordian_judged one, many;
    gordian_error error = {0}, other = {0};
    unsigned long before = test_failed;
    gordian_status status =
        gordian_check_files(&one, files, count, &(gordian_check_options){"sparse", 1}, &error);
    gordian_status again =
        gordian_check_files(&many, files, count, &(gordian_check_options){"mpi", 0}, &other);
    CHECK_MSG(status == again, "%s, not %s", other.message, error.message);
    if (status == GORDIAN_OK && again == GORDIAN_OK) {
        same_judged(&one, &many);
    } else {
        CHECK_MSG(strcmp(error.message, other.message) == 0, "'%s', not '%s'", other.message,
                  error.message);
        CHECK_MSG(error.line == other.line && error.column == other.column && one.file == many.file,
                  "'%s': %zu:%llu:%llu, not %zu:%llu:%llu", error.message, many.file,
                  (unsigned long long)other.line, (unsigned long long)other.column, one.file,
                  (unsigned long long)error.line, (unsigned long long)error.column);
    }
    if (test_failed > before)
        fprintf(stderr, "seed %llu, %zu pieces\n", (unsigned long long)seed, count);
    gordian_judged_close(&one);
    gordian_judged_close(&many);
    return status == GORDIAN_OK;
}

/* The first file, packed. */
static void pack_first(void)
{
    int from = open(paths[0], O_RDONLY), to = open(paths[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    gordian_source source = gordian_source_fd(&from);
    gordian_writer writer = gordian_writer_fd(&to);
    gordian_status status = gordian_convert(&source, &writer, GORDIAN_FORM_SNAPSHOT, NULL, NULL);
    REQUIRE(status == GORDIAN_OK);
    close(from);
    close(to);
    REQUIRE(rename(paths[1], paths[0]) == 0);
}

/* A byte changed: one message, whoever reads it. */
static void spoil_first(struct random *random)
{
    int fd = open(paths[0], O_RDWR);
    uint8_t byte;
    off_t size = lseek(fd, 0, SEEK_END), at = 16 + (off_t)random_below(random, (uint64_t)size - 16);
    REQUIRE(pread(fd, &byte, 1, at) == 1);
    byte ^= 4;
    REQUIRE(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

static void test_random(unsigned long count)
{
    static struct drawing drawing;
    for (uint64_t seed = 1; seed <= count; seed++) {
        draw_snapshot(&drawing, seed);
        if (!compare(write_pieces(&drawing), seed))
            continue;
        write_piece(0, &drawing, 0, drawing.count);
        pack_first();
        compare(1, seed);
        spoil_first(&drawing.random);
        gordian_judged judged;
        gordian_error error = {0};
        gordian_status status =
            gordian_check_files(&judged, files, 1, &(gordian_check_options){"mpi", 0}, &error);
        CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_INPUT, "%s", error.message);
        CHECK(status == GORDIAN_OK || strstr(error.message, "packed"));
        gordian_judged_close(&judged);
    }
}

/* A chain through all, so long that ways are doubled; open or closed at its end. */
static void test_long(unsigned length, bool closed)
{
    FILE *file[3];
    for (unsigned i = 0; i < 3; i++) {
        file[i] = fopen(paths[i], "w");
        REQUIRE(file[i]);
    }
    for (unsigned i = 0; i < length; i++)
        fprintf(file[0], "resource q%u\n", i);
    for (unsigned i = 0; i < length; i++) {
        unsigned p = (unsigned)((uint64_t)i * 7919 % length), next = (p + 1) % length;
        fprintf(file[1 + i % 2], "hold p%u q%u\n", p, p);
        if (closed || next != 0)
            fprintf(file[1 + i % 2], "wait p%u q%u\n", p, next);
    }
    for (unsigned i = 0; i < 3; i++)
        fclose(file[i]);
    compare(3, length);
}

static void test_all(void)
{
    bool made = scratch_make(folder, "checkmpi");
    REQUIRE(made);
    for (unsigned i = 0; i < PIECES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%u", folder, i);
        files[i] = paths[i];
    }
    test_random(test_scaled(150));
    test_long(1, true);
    test_long(1000, false);
    test_long(5000, true);
    for (unsigned i = 0; i < PIECES; i++)
        unlink(paths[i]);
    compare(2, 0); /* they are not there */
    rmdir(folder);
}

int main(int argc, char **argv)
{
    static void (*const services[RANKS_SERVICES])(void) = {[RANKS_CHECK] = check_mpi_serve};
    int rank, failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        test_all();
        failed = test_done();
        ranks_call(RANKS_DISMISSED);
    } else {
        ranks_serve(services);
    }
    MPI_Finalize();
    return failed;
}

/* The packed forms: random traces and snapshots there and back, files that are cut short, and files
 * with a byte changed. */
#include "alloc/failing.h"
#include "foundation/base/io/temporary.h"
#include "foundation/base/memory.h"
#include "foundation/base/meter.h"
#include "foundation/base/packed/packed.h"
#include "foundation/base/random.h"
#include "test.h"

#include <gordian/gordian.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a text that grows */

struct buffer {
    char *bytes;
    size_t used, room;
};

static bool write_buffer(void *context, const char *bytes, size_t size)
{
    struct buffer *buffer = context;
    gordian_allocator memory = memory_allocator(NULL);
    if (!memory_grow(&memory, &buffer->bytes, &buffer->room, buffer->used + size + 1, 1))
        return false;
    memcpy(buffer->bytes + buffer->used, bytes, size);
    buffer->used += size;
    buffer->bytes[buffer->used] = '\0';
    return true;
}

static void free_buffer(struct buffer *buffer)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, buffer->bytes);
    *buffer = (struct buffer){0};
}

static gordian_status convert(const char *bytes, size_t size, gordian_form to,
                              struct buffer *result, gordian_error *error)
{
    gordian_bytes from = {bytes, size};
    gordian_source source = gordian_source_bytes(&from);
    gordian_writer writer = {write_buffer, NULL, result};
    *result = (struct buffer){0};
    *error = (gordian_error){0};
    gordian_status status = write_buffer(result, "", 0)
                                ? gordian_convert(&source, &writer, to, NULL, error)
                                : GORDIAN_STATUS_MEMORY;
    return status;
}

static void converts(const struct buffer *from, gordian_form to, struct buffer *result)
{
    gordian_error error;
    gordian_status status = convert(from->bytes, from->used, to, result, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
}

static bool same_bytes(const struct buffer *one, const struct buffer *other)
{
    return one->used == other->used && memcmp(one->bytes, other->bytes, one->used) == 0;
}

/* ---- texts as they come back: words with a blank between, no comments */

static void add_text(struct buffer *buffer, const char *text)
{
    bool added = write_buffer(buffer, text, strlen(text));
    REQUIRE(added);
}

static void draw_word(struct random *random, char *word)
{
    static const char *const values[] = {
        "", "=", "=0", "=1", "=007", "=x", "=-5", "=18446744073709551615", "=18446744073709551614"};
    unsigned length = 1 + (unsigned)random_below(random, random_below(random, 50) ? 3 : 300);
    for (unsigned i = 0; i < length; i++)
        word[i] = "abcpq\x01\xff="[random_below(random, i ? 8 : 7)];
    strcpy(word + length, random_below(random, 3) ? "" : values[random_below(random, 9)]);
}

static void draw_trace(struct random *random, struct buffer *buffer)
{
    static const char *const verbs[] = {"request", "release",  "cancel",  "exit",    "hold",
                                        "wait",    "resource", "process", "requests"};
    unsigned lines = (unsigned)random_below(random, 200);
    add_text(buffer, "");
    for (unsigned i = 0; i < lines; i++) {
        unsigned words = (unsigned)random_below(random, random_below(random, 20) ? 5 : 40);
        add_text(buffer, verbs[random_below(random, 9)]);
        for (unsigned w = 0; w < words; w++) {
            char word[400] = " ";
            draw_word(random, word + 1);
            add_text(buffer, word);
        }
        add_text(buffer, "\n");
    }
}

static void draw_snapshot(struct random *random, struct buffer *buffer)
{
    unsigned count = 1 + (unsigned)random_below(random, 150);
    bool plain = random_below(random, 2);
    char line[100];
    for (unsigned i = 0; i < count; i++) {
        sprintf(line, "resource q%u%s\n", i * i, plain || i % 3 ? "" : " 18446744073709551615");
        add_text(buffer, line);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned other = (unsigned)random_below(random, count);
        sprintf(line, "process p%u\n", i);
        add_text(buffer, line);
        sprintf(line, "hold p%u q%u\n", other, i * i);
        if (random_below(random, 3))
            add_text(buffer, line);
        sprintf(line, "wait p%u q%u\n", i, other * other);
        if (random_below(random, 3))
            add_text(buffer, line);
        sprintf(line, "wait p%u q%u q0%s\n", i, i * i, i % 2 ? "" : "=1000");
        if (!plain && i > 0 && other != i && random_below(random, 3) == 0)
            add_text(buffer, line);
    }
}

/* ---- there and back */

static void traces(void)
{
    for (uint64_t seed = 0; seed < test_scaled(1000); seed++) {
        struct random random;
        struct buffer text = {0}, packed, again;
        random_seed(&random, seed);
        draw_trace(&random, &text);
        converts(&text, seed % 2 ? GORDIAN_FORM_TRACE : GORDIAN_FORM_OTHER, &packed);
        CHECK(packed.used < text.used + 64);
        converts(&packed, seed % 3 ? GORDIAN_FORM_TEXT : GORDIAN_FORM_OTHER, &again);
        CHECK(same_bytes(&text, &again));
        free_buffer(&again);
        converts(&packed, GORDIAN_FORM_TRACE, &again);
        CHECK(same_bytes(&packed, &again));
        free_buffer(&text);
        free_buffer(&packed);
        free_buffer(&again);
    }
}

struct judged {
    gordian_snapshot *snapshot;
    gordian_names *names;
    gordian_report report;
};

static void judge(struct judged *judged, const struct buffer *buffer)
{
    gordian_bytes bytes = {buffer->bytes, buffer->used};
    gordian_source source = gordian_source_bytes(&bytes);
    gordian_error error = {0};
    gordian_status status =
        gordian_snapshot_read(&judged->snapshot, &judged->names, &source, NULL, &error);
    if (status == GORDIAN_OK)
        status = gordian_snapshot_check(judged->snapshot, &judged->report, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
}

static void judged_close(struct judged *judged)
{
    gordian_snapshot_close(judged->snapshot);
    gordian_names_close(judged->names);
}

static void same_judgement(const struct buffer *text, const struct buffer *packed)
{
    struct judged one, other;
    judge(&one, text);
    judge(&other, packed);
    REQUIRE(one.report.deadlocked_count == other.report.deadlocked_count);
    CHECK(one.report.part_count == other.report.part_count);
    CHECK(one.report.model == other.report.model);
    for (size_t i = 0; i < one.report.deadlocked_count; i++)
        CHECK(strcmp(gordian_names_process(one.names, one.report.deadlocked[i]),
                     gordian_names_process(other.names, other.report.deadlocked[i])) == 0);
    CHECK(strcmp(gordian_names_resource(other.names, GORDIAN_NONE), "") == 0);
    judged_close(&one);
    judged_close(&other);
}

static void snapshots(void)
{
    for (uint64_t seed = 0; seed < test_scaled(300); seed++) {
        struct random random;
        struct buffer text = {0}, packed, again, packed_again, trace;
        random_seed(&random, seed);
        draw_snapshot(&random, &text);
        converts(&text, GORDIAN_FORM_SNAPSHOT, &packed);
        same_judgement(&text, &packed);
        converts(&packed, GORDIAN_FORM_TEXT, &again);
        same_judgement(&text, &again);
        converts(&again, GORDIAN_FORM_SNAPSHOT, &packed_again);
        CHECK(same_bytes(&packed, &packed_again));
        converts(&packed, GORDIAN_FORM_TRACE, &trace);
        same_judgement(&text, &trace);
        free_buffer(&text);
        free_buffer(&packed);
        free_buffer(&again);
        free_buffer(&packed_again);
        free_buffer(&trace);
    }
}

/* ---- files that are not whole */

static void fails(const char *bytes, size_t size, gordian_form to, const char *message)
{
    struct buffer result;
    gordian_error error;
    CHECK(convert(bytes, size, to, &result, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, message), "%s", error.message);
    free_buffer(&result);
}

/* Cut short anywhere behind the magic, and any byte changed. */
static void spoil(struct buffer *packed)
{
    for (size_t size = 8; size < packed->used; size++)
        fails(packed->bytes, size, GORDIAN_FORM_TEXT, "truncated");
    size_t whole = packed->used;
    add_text(packed, "x");
    fails(packed->bytes, packed->used, GORDIAN_FORM_TEXT, "after its end");
    packed->used = whole;
    for (size_t i = 8; i < packed->used; i++) {
        packed->bytes[i] ^= 1 << i % 8;
        fails(packed->bytes, packed->used, GORDIAN_FORM_TEXT, "packed");
        packed->bytes[i] ^= 1 << i % 8;
    }
}

static void spoiled_files(void)
{
    struct buffer text = {0}, packed;
    add_text(&text, "resource q\nresource r 2\nhold p q\nwait p r=2\nprocess other cost=3\n");
    converts(&text, GORDIAN_FORM_TRACE, &packed);
    spoil(&packed);
    free_buffer(&packed);
    text.used = 0;
    add_text(&text, "resource q\nresource r\nhold p q\nwait p r\nwait s q\n");
    converts(&text, GORDIAN_FORM_SNAPSHOT, &packed);
    spoil(&packed);
    free_buffer(&packed);
    free_buffer(&text);
    fails("resource q\nresource q\n", 22, GORDIAN_FORM_SNAPSHOT, "declared before");
}

/* What only begins like a packed file is text. */
static void almost_packed(void)
{
    static const char text[] = "\x89GRD\r\n";
    struct buffer result;
    gordian_error error;
    for (size_t size = 0; size < sizeof text; size++) {
        CHECK(convert(text, size, GORDIAN_FORM_TEXT, &result, &error) == GORDIAN_OK);
        CHECK(result.used == size && memcmp(result.bytes, text, size) == 0);
        free_buffer(&result);
    }
}

/* Every allocation fails once. */
static void out_of_memory(const struct buffer *from, gordian_form to)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct failing failing = {.fail_at = fail_at, .for_good = true};
        gordian_allocator allocator = {failing_resize, &failing};
        gordian_bytes bytes = {from->bytes, from->used};
        gordian_source source = gordian_source_bytes(&bytes);
        struct buffer result = {0};
        gordian_writer writer = {write_buffer, NULL, &result};
        gordian_error error = {0};
        gordian_status status = gordian_convert(&source, &writer, to, &allocator, &error);
        free_buffer(&result);
        CHECK(failing.live_blocks == 0);
        if (status == GORDIAN_OK)
            break;
        CHECK_MSG(status == GORDIAN_STATUS_MEMORY && error.status == GORDIAN_STATUS_MEMORY, "%s",
                  error.message);
        REQUIRE(fail_at < 1000);
    }
}

static void no_memory(void)
{
    struct buffer text = {0}, packed;
    add_text(&text, "resource q\nresource r 2\nhold p q\nwait p r=2\n");
    out_of_memory(&text, GORDIAN_FORM_TRACE);
    out_of_memory(&text, GORDIAN_FORM_SNAPSHOT);
    for (int form = GORDIAN_FORM_TRACE; form <= GORDIAN_FORM_SNAPSHOT; form++) {
        converts(&text, (gordian_form)form, &packed);
        out_of_memory(&packed, GORDIAN_FORM_TEXT);
        out_of_memory(&packed, GORDIAN_FORM_TRACE);
        out_of_memory(&packed, GORDIAN_FORM_SNAPSHOT);
        free_buffer(&packed);
    }
    free_buffer(&text);
}

/* A head that promises much more than comes: no more memory is taken than there are bytes for. */
static void promises(void)
{
    uint8_t bytes[PACKED_HEAD + 10] = {0};
    gordian_bytes from = {(const char *)bytes, sizeof bytes};
    gordian_source source = gordian_source_bytes(&from);
    struct buffer result = {0};
    gordian_writer writer = {write_buffer, NULL, &result};
    gordian_error error = {0};
    struct meter meter;
    packed_head(bytes, PACKED_TRACE);
    packed_put32(bytes + PACKED_HEAD, 67108864);
    meter_open(&meter, NULL, 1 << 20);
    gordian_status status =
        gordian_convert(&source, &writer, GORDIAN_FORM_TEXT, &meter.memory, &error);
    CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, "truncated"), "%s",
              error.message);
    meter_close(&meter);
    free_buffer(&result);
}

/* ---- files, of which no more is read than is asked for */

/* A file that has a name no longer, from byte `place` on. */
static int make_file(const struct buffer *buffer, size_t place)
{
    char path[PATH_MAX];
    int fd;
    REQUIRE(temporary_file("gordian-packed", "", path, sizeof path, &fd, NULL) == GORDIAN_OK);
    unlink(path);
    bool written = pwrite(fd, buffer->bytes, buffer->used, (off_t)place) == (ssize_t)buffer->used;
    REQUIRE(written && lseek(fd, (off_t)place, SEEK_SET) == (off_t)place);
    return fd;
}

static gordian_status read_file(struct judged *judged, int fd, unsigned threads,
                                gordian_error *error)
{
    gordian_source source = gordian_source_fd(&fd);
    const gordian_check_options options = {"sparse", threads};
    *error = (gordian_error){0};
    gordian_status status = gordian_snapshot_read_for(&judged->snapshot, &judged->names, &source,
                                                      &options, NULL, error);
    close(fd);
    return status;
}

/* Asks for every name. */
static gordian_status ask_names(const struct judged *judged, gordian_error *error)
{
    for (uint32_t p = 0; p < gordian_snapshot_processes(judged->snapshot); p++)
        CHECK(gordian_names_process(judged->names, p));
    for (uint32_t q = 0; q < gordian_snapshot_resources(judged->snapshot); q++)
        CHECK(gordian_names_resource(judged->names, q));
    return gordian_names_check(judged->names, error);
}

static void same_names(const struct judged *one, const struct judged *other)
{
    REQUIRE(gordian_snapshot_processes(one->snapshot) ==
            gordian_snapshot_processes(other->snapshot));
    REQUIRE(gordian_snapshot_resources(one->snapshot) ==
            gordian_snapshot_resources(other->snapshot));
    for (uint32_t p = gordian_snapshot_processes(one->snapshot); p-- > 0;)
        CHECK(strcmp(gordian_names_process(one->names, p),
                     gordian_names_process(other->names, p)) == 0);
    for (uint32_t q = 0; q < gordian_snapshot_resources(one->snapshot); q++)
        CHECK(strcmp(gordian_names_resource(one->names, q),
                     gordian_names_resource(other->names, q)) == 0);
    CHECK(gordian_names_check(other->names, NULL) == GORDIAN_OK);
}

/* The same as from a stream, wherever in a file it begins. */
static void same_file(const struct buffer *packed, unsigned threads)
{
    struct judged stream, file;
    gordian_error error;
    judge(&stream, packed);
    gordian_status status = read_file(&file, make_file(packed, threads), threads, &error);
    if (status == GORDIAN_OK)
        status = gordian_snapshot_check(file.snapshot, &file.report, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    CHECK(stream.report.deadlocked_count == file.report.deadlocked_count);
    CHECK(stream.report.part_count == file.report.part_count);
    CHECK(strcmp(gordian_names_process(file.names, GORDIAN_NONE), "") == 0);
    same_names(&stream, &file);
    judged_close(&stream);
    judged_close(&file);
}

/* Any byte changed is found: when it is read, or when the names are. */
static void spoil_file(struct buffer *packed)
{
    struct judged judged;
    gordian_error error;
    for (size_t i = 0; i < packed->used; i++) {
        packed->bytes[i] ^= 1 << i % 8;
        gordian_status status =
            i < 8 ? GORDIAN_STATUS_INPUT : read_file(&judged, make_file(packed, 0), 1, &error);
        if (status == GORDIAN_OK) {
            status = ask_names(&judged, &error);
            judged_close(&judged);
        }
        CHECK_MSG(status == GORDIAN_STATUS_INPUT, "byte %zu", i);
        CHECK(status != GORDIAN_STATUS_INPUT || i < 8 || strstr(error.message, "packed"));
        packed->bytes[i] ^= 1 << i % 8;
    }
    size_t whole = packed->used;
    for (packed->used = 20; packed->used < whole; packed->used += 7) {
        CHECK(read_file(&judged, make_file(packed, 3), 1, &error) == GORDIAN_STATUS_INPUT);
        CHECK_MSG(strstr(error.message, "truncated"), "%s", error.message);
    }
    packed->used = whole;
    add_text(packed, "x");
    CHECK(read_file(&judged, make_file(packed, 0), 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, "after its end"), "%s", error.message);
}

/* Names of all lengths, so many that they lie in many chunks and across their ends. */
static void draw_names(struct buffer *buffer, unsigned count)
{
    char name[256], line[800];
    for (unsigned i = 0; i < count; i++) {
        unsigned length = i * 7 % 200;
        memset(name, 'a' + i % 26, length);
        sprintf(name + length, "%u", i);
        sprintf(line, "resource %s\n%s %s %s\n", name, i % 2 ? "hold" : "wait", name, name);
        add_text(buffer, line);
    }
}

static void files(void)
{
    struct buffer text = {0}, packed;
    for (uint64_t seed = 0; seed < test_scaled(50); seed++) {
        struct random random;
        random_seed(&random, seed);
        draw_snapshot(&random, &text);
        converts(&text, GORDIAN_FORM_SNAPSHOT, &packed);
        same_file(&packed, (unsigned)seed % 3);
        if (seed < 4 && packed.used < 6000)
            spoil_file(&packed);
        free_buffer(&packed);
        free_buffer(&text);
    }
    draw_names(&text, 5000);
    converts(&text, GORDIAN_FORM_SNAPSHOT, &packed);
    same_file(&packed, 2);
    free_buffer(&packed);
    free_buffer(&text);
}

/* Large enough for several threads. */
static void large_file(void)
{
    struct buffer text = {0}, packed;
    char line[100];
    const unsigned count = 1100000; /* two threads' worth of pieces, once packed */
    struct judged judged;
    gordian_error error;
    for (unsigned i = 0; i < count; i++) {
        sprintf(line, "resource %u\nhold %u %u\nwait %u %u\n", i, i, i, i, i % 1000 ? i - 1 : i);
        add_text(&text, line);
    }
    converts(&text, GORDIAN_FORM_SNAPSHOT, &packed);
    same_file(&packed, 4);
    /* A number that stands for nobody, in the middle of the waits. */
    packed.bytes[88 + 4 * (size_t)count + 2 * (size_t)count + 3] ^= 64;
    CHECK(read_file(&judged, make_file(&packed, 0), 4, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, "checksum"), "%s", error.message);
    free_buffer(&packed);
    free_buffer(&text);
}

int main(void)
{
    traces();
    snapshots();
    spoiled_files();
    almost_packed();
    no_memory();
    promises();
    files();
    large_file();
    return test_done();
}

/* Any bytes as a snapshot: what the library accepts, a second reader written here must understand,
 * and plain reduction (the tests' naive model) must find the same deadlocks. */
#include "fuzz.h"

#include "../tests/differential/witness.h"

#include <string.h>

enum {
    ROOM = 64, /* processes and resources; larger snapshots are only read */
};

struct list {
    const char *names[ROOM];
    uint32_t count;
};

struct second_reader {
    struct naive naive;
    struct list processes, resources;
    bool too_large;
};

/* The id of a name, a new one if need be; in order of appearance. */
static uint32_t id_of(struct second_reader *reader, struct list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (!strcmp(list->names[i], name))
            return i;
    }
    if (list->count == ROOM) {
        reader->too_large = true;
        return 0;
    }
    list->names[list->count] = name;
    return list->count++;
}

static uint32_t process_of(struct second_reader *reader, const char *name)
{
    uint32_t process = id_of(reader, &reader->processes, name);
    reader->naive.processes[process].known = true;
    return process;
}

static void declare(struct second_reader *reader, const char *name, const char *units)
{
    uint32_t resource = id_of(reader, &reader->resources, name);
    uint64_t total = units ? strtoull(units, NULL, 10) : 1;
    reader->naive.resources[resource] =
        (struct naive_resource){.known = true, .total = total, .free = total};
}

/* Splits "Q=N" in place. */
static uint32_t split_want(struct second_reader *reader, char *word, uint64_t *units)
{
    char *equals = strchr(word, '=');
    *units = equals ? strtoull(equals + 1, NULL, 10) : 1;
    if (equals)
        *equals = '\0';
    uint32_t resource = id_of(reader, &reader->resources, word);
    DEMAND(reader->too_large || reader->naive.resources[resource].known, "%s is not declared",
           word);
    return resource;
}

static void hold(struct second_reader *reader, uint32_t process, char *word)
{
    uint64_t units;
    uint32_t resource = split_want(reader, word, &units);
    uint64_t *held = &reader->naive.held[process * ROOM + resource];
    DEMAND(reader->too_large || units <= reader->naive.resources[resource].free,
           "more units are held than exist");
    reader->naive.processes[process].held_kinds += *held == 0;
    *held += units;
    reader->naive.resources[resource].free -= units;
}

static void wait_for(struct second_reader *reader, uint32_t process, char *word)
{
    uint64_t units;
    uint32_t resource = split_want(reader, word, &units);
    struct naive_process *waiter = &reader->naive.processes[process];
    uint32_t at = 0;
    while (at < waiter->want_count && waiter->wants[at].resource != resource)
        at++;
    if (at == NAIVE_WANTS) {
        reader->too_large = true;
        return;
    }
    if (at == waiter->want_count)
        waiter->wants[waiter->want_count++] = (gordian_want){0, resource};
    waiter->wants[at].units += units;
    DEMAND(reader->too_large || waiter->wants[at].units <= reader->naive.resources[resource].total,
           "waits for more than there is");
}

/* An await: a resource without a name, a unit of which each of the others holds. */
static void await_acts(struct second_reader *reader, uint32_t process, char *word, char **rest)
{
    struct list *resources = &reader->resources;
    uint64_t held[ROOM] = {0}, total = 0, named = 0;
    char *second = strtok_r(NULL, " \t\r", rest), *words[2] = {word, second};
    char *end;
    uint64_t needed = second && !strcmp(second, "of") ? strtoull(word, &end, 10) : 0;
    bool counted = second && !strcmp(second, "of") &&
                   (!strcmp(word, "any") || !strcmp(word, "all") || (needed && !*end));
    if (counted && !strcmp(word, "any"))
        needed = 1;
    for (int i = counted ? 2 : 0; i < 2 || word; i++) {
        word = i < 2 ? words[i] : strtok_r(NULL, " \t\r", rest);
        if (!word)
            break;
        uint32_t other = process_of(reader, word);
        named++;
        total += !held[other];
        held[other] = 1;
    }
    needed = needed && needed != named ? needed : total;
    DEMAND(reader->too_large || (needed <= total && total > 0), "more is awaited than can be");
    if (resources->count == ROOM)
        reader->too_large = true;
    if (reader->too_large || reader->naive.processes[process].want_count == NAIVE_WANTS) {
        reader->too_large = true;
        return;
    }
    uint32_t resource = resources->count++;
    resources->names[resource] = "";
    reader->naive.resources[resource] = (struct naive_resource){.known = true, .total = total};
    for (uint32_t p = 0; p < ROOM; p++) {
        reader->naive.held[p * ROOM + resource] = held[p];
        reader->naive.processes[p].held_kinds += held[p] > 0;
    }
    struct naive_process *waiter = &reader->naive.processes[process];
    waiter->wants[waiter->want_count++] = (gordian_want){needed, resource};
}

static void read_line(struct second_reader *reader, char *line)
{
    line[strcspn(line, "#")] = '\0';
    char *rest;
    char *verb = strtok_r(line, " \t\r", &rest);
    if (!verb)
        return;
    char *name = strtok_r(NULL, " \t\r", &rest);
    char *word = strtok_r(NULL, " \t\r", &rest);
    DEMAND(name, "a line with one word was accepted");
    if (!strcmp(verb, "resource")) {
        declare(reader, name, word);
        return;
    }
    uint32_t process = process_of(reader, name);
    if (!strcmp(verb, "process"))
        return;
    DEMAND(word, "a line without a resource was accepted");
    if (!strcmp(verb, "hold")) {
        hold(reader, process, word);
        return;
    }
    if (!strcmp(verb, "await")) {
        await_acts(reader, process, word, &rest);
        return;
    }
    DEMAND(!strcmp(verb, "wait"), "'%s' was accepted", verb);
    for (; word; word = strtok_r(NULL, " \t\r", &rest))
        wait_for(reader, process, word);
}

static void read_again(struct second_reader *reader, char *text)
{
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(reader, line);
    struct naive *naive = &reader->naive;
    for (uint32_t p = 0; p < ROOM; p++) {
        if (naive->processes[p].want_count > 0)
            naive->queue[naive->queue_count++] = p;
    }
    naive->model = GORDIAN_MODEL_GENERAL; /* the report's model may be anything below */
}

static void check_names(const struct second_reader *reader, const gordian_names *names)
{
    for (uint32_t p = 0; p < reader->processes.count; p++)
        DEMAND(!strcmp(gordian_names_process(names, p), reader->processes.names[p]),
               "process %u has another name", (unsigned)p);
    for (uint32_t q = 0; q < reader->resources.count; q++)
        DEMAND(!strcmp(gordian_names_resource(names, q), reader->resources.names[q]),
               "resource %u has another name", (unsigned)q);
}

static void check_edges(struct second_reader *reader, gordian_snapshot *snapshot,
                        const gordian_report *report)
{
    for (size_t i = 0; i < report->part_count; i++) {
        gordian_error error;
        const gordian_edge *edges;
        size_t count;
        gordian_status status =
            gordian_snapshot_edges(snapshot, &report->parts[i], &edges, &count, &error);
        DEMAND(status == GORDIAN_OK, "%s", error.message);
        const char *why = witness_part_edges(&reader->naive, &report->parts[i], edges, count);
        DEMAND(!why, "edges of a part: %s", why);
    }
}

static void judge(gordian_snapshot *snapshot, const gordian_names *names, char *text)
{
    gordian_error error;
    gordian_report report;
    gordian_status status = gordian_snapshot_check(snapshot, &report, &error);
    DEMAND(status == GORDIAN_OK, "%s", error.message);

    struct second_reader reader = {0};
    naive_open(&reader.naive, ROOM, ROOM);
    read_again(&reader, text);
    if (!reader.too_large) {
        uint32_t part_of[ROOM];
        check_names(&reader, names);
        witness_parts(&reader.naive, part_of);
        const char *why = witness_report(&reader.naive, &report, part_of);
        DEMAND(!why, "the report: %s", why);
        check_edges(&reader, snapshot, &report);
    }
    naive_close(&reader.naive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size, 0};
    gordian_source source = fuzz_source(&input);
    gordian_snapshot *snapshot = NULL;
    gordian_names *names = NULL;
    gordian_error error;
    gordian_status status = gordian_snapshot_read(&snapshot, &names, &source, NULL, &error);
    if (status == GORDIAN_OK) {
        char *text = calloc(size + 1, 1);
        DEMAND(text, "out of memory");
        if (size > 0)
            memcpy(text, data, size);
        judge(snapshot, names, text);
        free(text);
    } else {
        DEMAND(status == GORDIAN_STATUS_INPUT, "%s", gordian_status_text(status));
        DEMAND(error.message[0], "a fault without a message");
    }
    gordian_names_close(names);
    gordian_snapshot_close(snapshot);
    return 0;
}

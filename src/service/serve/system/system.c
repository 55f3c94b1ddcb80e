/* A served system: configuration, opening, declarations, owners, edges. For events see feed.c. */
#include "service/serve/system/system.h"

#include "engines/detect/system.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"

#include <stdio.h>
#include <string.h>

#define KEEP_WANTS 16

/* ------------------------------------------------------------------ configuration */

void served_config_init(struct served_config *config, enum served_kind kind)
{
    *config = (struct served_config){
        .kind = kind,
        .engine = "auto",
        .on_loss = SERVED_DROP,
        .queue = true,
        .patience = 16,
    };
}

static gordian_status bad_option(const gordian_word *word, const char *expected,
                                 gordian_error *error)
{
    int length = word->length < 60 ? (int)word->length : 60;
    return fail_at(error, GORDIAN_STATUS_INPUT, 0, word->column, "'%.*s': expected %s", length,
                   word->text, expected);
}

static gordian_status set_option(struct served_config *config, const gordian_word *word,
                                 gordian_error *error)
{
    const char *why, *expected = "engine=, on-loss=, recover=, queue= or patience=";
    bool good = false, detect = config->kind == SERVED_DETECT;
    char text[sizeof config->engine] = "";
    gordian_word name, value;
    uint64_t number;
    word_split(word, &name, &value);
    if (!value.text)
        return bad_option(word, "key=value", error);
    bool fits = value.length < sizeof text;
    memcpy(text, value.text, fits ? value.length : 0);
    if (word_is(&name, "engine")) {
        expected = "the name of an engine";
        good = value.length > 0 && fits;
        memcpy(config->engine, text, sizeof text);
    } else if (word_is(&name, "on-loss")) {
        expected = "on-loss=drop or on-loss=keep";
        config->on_loss = word_is(&value, "drop") ? SERVED_DROP : SERVED_KEEP;
        good = config->on_loss == SERVED_DROP || word_is(&value, "keep");
    } else if (word_is(&name, "recover") && !detect) {
        expected = "no recover=, as the system avoids deadlocks";
    } else if (word_is(&name, "recover")) {
        expected = "recover=none, youngest, oldest, cheapest, priority or fewest-held";
        config->recover = 0;
        good = strcmp(text, "none") == 0 || gordian_policy_parse(text, &config->recover);
    } else if (detect && (word_is(&name, "queue") || word_is(&name, "patience"))) {
        expected = "queue= and patience= only for a system that avoids deadlocks";
    } else if (word_is(&name, "queue")) {
        expected = "yes or no";
        config->queue = word_is(&value, "yes");
        good = config->queue || word_is(&value, "no");
    } else if (word_is(&name, "patience")) {
        expected = "patience= with a number";
        good = parse_u64(value.text, value.length, &number, &why) && number <= UINT32_MAX;
        config->patience = good ? (uint32_t)number : 0;
    }
    return good ? GORDIAN_OK : bad_option(word, expected, error);
}

gordian_status served_config_parse(struct served_config *config, const char *text, size_t length,
                                   gordian_error *error)
{
    struct served_config next = *config;
    for (size_t at = 0; at < length;) {
        size_t start = at;
        while (at < length && text[at] != ' ' && text[at] != '\t')
            at++;
        gordian_word word = {text + start, (uint32_t)(at - start), (uint32_t)start + 1};
        if (word.length)
            TRY(set_option(&next, &word, error));
        at++;
    }
    *config = next;
    return GORDIAN_OK;
}

const char *served_config_text(const struct served_config *config,
                               char buffer[SERVED_CONFIG_TEXT_MAX])
{
    int used = snprintf(buffer, SERVED_CONFIG_TEXT_MAX, "engine=%s on-loss=%s", config->engine,
                        config->on_loss == SERVED_DROP ? "drop" : "keep");
    size_t left = SERVED_CONFIG_TEXT_MAX - (size_t)used;
    if (config->kind == SERVED_DETECT)
        snprintf(buffer + used, left, " recover=%s",
                 config->recover ? gordian_policy_text(config->recover) : "none");
    else
        snprintf(buffer + used, left, " queue=%s patience=%u", config->queue ? "yes" : "no",
                 config->patience);
    return buffer;
}

bool served_config_equal(const struct served_config *left, const struct served_config *right)
{
    char a[SERVED_CONFIG_TEXT_MAX], b[SERVED_CONFIG_TEXT_MAX];
    return left->kind == right->kind &&
           strcmp(served_config_text(left, a), served_config_text(right, b)) == 0;
}

/* ------------------------------------------------------------------ opening */

gordian_status served_open(struct served **out, const char *name, size_t length,
                           const struct served_config *config, const gordian_allocator *allocator,
                           gordian_error *error)
{
    const char *why;
    *out = NULL;
    if (!names_valid(name, length, &why))
        return fail(error, GORDIAN_STATUS_INPUT, "invalid system name: %s", why);
    gordian_allocator memory = memory_allocator(allocator);
    struct served *served = memory_zeroed(&memory, sizeof *served);
    if (!served)
        return fail_memory(error);
    served->memory = memory;
    served->config = *config;
    served->opener.session = GORDIAN_NONE;
    served->incident_free = GORDIAN_NONE;
    served->step = UINT32_MAX;
    tags_init(&served->tags, &served->memory);
    memcpy(served->name, name, length);
    gordian_answer_init(&served->answer, GORDIAN_DETAIL_VERDICT);
    served->operations = config->kind == SERVED_DETECT ? &served_detection : &served_avoidance;
    gordian_status status = served->operations->open(served, error);
    if (status != GORDIAN_OK) {
        served_close(served);
        return status;
    }
    *out = served;
    return GORDIAN_OK;
}

gordian_status served_reopen(struct served **out, const char *name, size_t length,
                             const struct served_config *config, const gordian_allocator *allocator,
                             gordian_error *error)
{
    struct served_config other = *config;
    gordian_status status = served_open(out, name, length, config, allocator, error);
    if (status != GORDIAN_STATUS_UNAVAILABLE)
        return status;
    strcpy(other.engine, "auto");
    TRY(served_open(out, name, length, &other, allocator, error));
    (*out)->config = *config;
    return GORDIAN_OK;
}

void served_close(struct served *served)
{
    if (!served)
        return;
    gordian_allocator memory = served->memory;
    gordian_close(served->system);
    gordian_answer_free(&served->answer);
    gordian_bank_close(served->bank);
    for (uint32_t i = 0; i < served->process_room; i++)
        memory_free(&memory, served->processes[i].wants);
    for (uint32_t i = 0; i < served->incident_limit; i++)
        memory_free_all(&memory, served->incidents[i].members, served->incidents[i].concerned);
    tags_free(&served->tags);
    recent_free(&served->recent, &memory);
    memory_free_all(&memory, served->processes, served->adders, served->incidents, served->edges,
                    served->granted_list, served);
}

/* ------------------------------------------------------------------ names */

static const char *label_of_id(const char *name, uint32_t id, char *buffer)
{
    if (!name || !*name) {
        snprintf(buffer, GORDIAN_NAME_MAX + 1, "#%u", id);
        return buffer;
    }
    return name;
}

const char *served_process_label(const struct served *served, uint32_t process, char *buffer)
{
    return label_of_id(served_process_name(served, process, buffer), process, buffer);
}

const char *served_resource_label(const struct served *served, uint32_t resource, char *buffer)
{
    if (served_is_await(served, resource))
        return "an act";
    return label_of_id(served_resource_name(served, resource, buffer), resource, buffer);
}

static const char *label_process(const void *context, uint32_t process)
{
    const struct served_names *names = context;
    return served_process_label(names->served, process, names->buffers[0]);
}

static const char *label_resource(const void *context, uint32_t resource)
{
    const struct served_names *names = context;
    return served_resource_label(names->served, resource, names->buffers[1]);
}

static const char *label_holding(const void *context, uint32_t resource)
{
    const struct served_names *names = context;
    return served_is_await(names->served, resource) ? "of" : "held by";
}

struct labels served_labels(const struct served_names *names)
{
    return (struct labels){label_process, label_resource, NULL, names, label_holding};
}

void served_processes_json(struct json *json, const char *key, const struct served *served,
                           const uint32_t *processes, size_t count)
{
    char buffers[2][GORDIAN_NAME_MAX + 1];
    struct labels labels = served_labels(&(struct served_names){served, buffers});
    json_processes(json, key, &labels, processes, count);
}

/* ------------------------------------------------------------------ records of processes */

static const struct served_process fresh = {
    .owner = GORDIAN_NONE, .next = GORDIAN_NONE, .prev = GORDIAN_NONE, .incident = GORDIAN_NONE};

gordian_status served_reserve(struct served *served, uint32_t process, gordian_error *error)
{
    uint32_t old = served->process_room;
    if (process < old)
        return GORDIAN_OK;
    if (!memory_grow32(&served->memory, &served->processes, &served->process_room, process + 1,
                       sizeof *served->processes))
        return fail_memory(error);
    for (uint32_t i = old; i < served->process_room; i++)
        served->processes[i] = fresh;
    return GORDIAN_OK;
}

/* Resets the record of a process. Its id may be reused, so a small list of wants is kept. */
static void reset_record(struct served *served, uint32_t process)
{
    struct served_process *record = &served->processes[process];
    struct served_process next = fresh;
    tags_drop(&served->tags, TAGS_PROCESS, process);
    if (record->want_room > KEEP_WANTS) {
        memory_free(&served->memory, record->wants);
    } else {
        next.wants = record->wants;
        next.want_room = record->want_room;
    }
    *record = next;
}

bool served_reserve_adder(struct served *served)
{
    static const struct served_owner nobody = {.session = GORDIAN_NONE};
    uint32_t old = served->adder_room;
    if (!memory_grow32(&served->memory, &served->adders, &served->adder_room,
                       served_resource_limit(served) + 1, sizeof *served->adders))
        return false;
    for (uint32_t i = old; i < served->adder_room; i++)
        served->adders[i] = nobody;
    return true;
}

static gordian_status restore_wants(struct served *served, uint32_t process, gordian_error *error)
{
    struct served_process *record = &served->processes[process];
    const gordian_edge *edges = NULL;
    size_t count = 0;
    TRY(served_edges(served, SERVED_WANTED, process, &edges, &count, error));
    if (count > 1 && !memory_grow32(&served->memory, &record->wants, &record->want_room,
                                    (uint32_t)count, sizeof *record->wants))
        return fail_memory(error);
    record->want_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        *(count == 1 ? &record->want : &record->wants[i]) =
            (gordian_want){edges[i].units, edges[i].resource};
    served_restore_await(served, process);
    return GORDIAN_OK;
}

gordian_status served_restored(struct served *served, gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    uint32_t limit = served_process_limit(served);
    gordian_status status = limit ? served_reserve(served, limit - 1, error) : GORDIAN_OK;
    served->process_count = served->resource_count = served->waiting = 0;
    served->unresolved = true;
    served->name_bytes = 0;
    for (uint32_t p = 0; p < limit && status == GORDIAN_OK; p++) {
        const char *name = served_process_name(served, p, buffer);
        if (!name)
            continue;
        served->process_count++;
        served->name_bytes += strlen(name);
        served_recount_held(served, p);
        if (!served_is_waiting(served, p))
            continue;
        served->waiting++;
        if (served->processes[p].since == 0)
            served->processes[p].since = 1;
        status = restore_wants(served, p, error);
    }
    for (uint32_t q = 0; q < served_resource_limit(served); q++) {
        const char *name =
            served_is_await(served, q) ? NULL : served_resource_name(served, q, buffer);
        served->resource_count += name != NULL;
        served->name_bytes += name ? strlen(name) : 0;
    }
    return status;
}

void served_set_owner(struct served *served, uint32_t process, uint32_t owner, uint32_t *head)
{
    struct served_process *record = &served->processes[process];
    record->owner = owner;
    record->prev = GORDIAN_NONE;
    record->next = *head;
    if (*head != GORDIAN_NONE)
        served->processes[*head].prev = process;
    *head = process;
}

void served_drop_owner(struct served *served, uint32_t process, uint32_t *head)
{
    struct served_process *record = &served->processes[process];
    if (record->prev == GORDIAN_NONE)
        *head = record->next;
    else
        served->processes[record->prev].next = record->next;
    if (record->next != GORDIAN_NONE)
        served->processes[record->next].prev = record->prev;
    record->owner = record->next = record->prev = GORDIAN_NONE;
}

/* ------------------------------------------------------------------ declarations */

static void note_other(struct served *served)
{
    recent_grow(&served->recent, &served->memory);
    recent_change(&served->recent, RECENT_OTHER, GORDIAN_NONE, GORDIAN_NONE, 0);
}

/* Copies a name and appends a NUL. Fails if it is not a valid name. */
static gordian_status copy_served_name(char *to, const char *name, size_t length,
                                       gordian_error *error)
{
    const char *why;
    if (!names_valid(name, length, &why))
        return fail(error, GORDIAN_STATUS_INPUT, "invalid name: %s", why);
    memcpy(to, name, length);
    to[length] = '\0';
    return GORDIAN_OK;
}

gordian_status served_declare_resource(struct served *served, const char *name, size_t length,
                                       uint64_t units, uint32_t *id, gordian_error *error)
{
    char copy[GORDIAN_NAME_MAX + 1];
    TRY(copy_served_name(copy, name, length, error));
    uint32_t known = served_find_resource(served, name, length);
    served->granted_count = 0;
    if (!served_reserve_granted(served))
        return fail_memory(error);
    if (known == GORDIAN_NONE) {
        TRY(engine_add_resource(served, copy, units, &known, error));
        served->resource_count++;
        served->name_bytes += length;
    } else if (served_units(served, known) != units) {
        if (served->system)
            return fail(error, GORDIAN_STATUS_INPUT, "'%.60s' exists already, with %llu units",
                        copy, (unsigned long long)served_units(served, known));
        TRY(bank_set_units(served, known, copy, units, error));
    }
    note_other(served);
    *id = known;
    return GORDIAN_OK;
}

gordian_status served_declare_process(struct served *served, const char *name, size_t length,
                                      const gordian_want *claims, size_t count, uint32_t *id,
                                      gordian_error *error)
{
    char copy[GORDIAN_NAME_MAX + 1];
    TRY(copy_served_name(copy, name, length, error));
    uint32_t known = served_find_process(served, name, length);
    bool is_new = known == GORDIAN_NONE;
    served->granted_count = 0;
    if (!served_reserve_granted(served))
        return fail_memory(error);
    /* The id of the new process will be below this. */
    if (is_new)
        TRY(served_reserve(served, served_process_limit(served) + 1, error));
    uint64_t before = is_new ? 0 : served_process_cost(served, known);
    if (served->bank)
        TRY(bank_set_claims(served, copy, claims, count, &known, error));
    else if (is_new)
        TRY(gordian_add_process(served->system, copy, &known, error));
    if (is_new) {
        reset_record(served, known);
        served->process_count++;
        served->name_bytes += length;
        note_other(served);
    } else {
        served_charge(served, served->processes[known].owner, before,
                      served_process_cost(served, known));
    }
    *id = known;
    return GORDIAN_OK;
}

gordian_status served_remove_resource(struct served *served, uint32_t resource,
                                      gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const char *name = served_resource_name(served, resource, buffer);
    if (!name)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no resource %u", resource);
    size_t length = strlen(name);
    TRY(engine_remove_resource(served, resource, error));
    served->resource_count--;
    served->name_bytes -= length;
    tags_drop(&served->tags, TAGS_RESOURCE, resource);
    note_other(served);
    return GORDIAN_OK;
}

gordian_status served_remove_process(struct served *served, uint32_t process, gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const char *name = served_process_name(served, process, buffer);
    if (!name)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    size_t length = strlen(name);
    if (served->operations->forgets)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "in a system that avoids deadlocks, only its exit removes a process");
    TRY(gordian_remove_process(served->system, process, error));
    reset_record(served, process);
    served->process_count--;
    served->name_bytes -= length;
    note_other(served);
    return GORDIAN_OK;
}

gordian_status served_weigh(struct served *served, uint32_t process, int64_t priority, int64_t cost,
                            gordian_error *error)
{
    if (served->bank)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a system that avoids deadlocks has no priorities or costs");
    TRY(gordian_set_priority(served->system, process, priority, error));
    return gordian_set_cost(served->system, process, cost, error);
}

gordian_status served_label(struct served *served, enum tags_of of, uint32_t id,
                            const struct wire_text *texts, size_t count, uint32_t payer,
                            gordian_error *error)
{
    uint64_t before = tags_cost(&served->tags, of, id);
    TRY(tags_change(&served->tags, of, id, texts, count, error));
    served_charge(served, payer, before, tags_cost(&served->tags, of, id));
    note_other(served);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ edges */

gordian_status served_edges(struct served *served, enum served_side side, uint32_t id,
                            const gordian_edge **edges, size_t *count, gordian_error *error)
{
    static served_list *const lists[] = {
        [SERVED_HELD] = served_holdings,
        [SERVED_WANTED] = served_pending,
        [SERVED_HOLDERS] = served_holders,
        [SERVED_WAITERS] = served_waiters,
    };
    size_t there = lists[side](served, id, served->edges, served->edge_room);
    if (there > served->edge_room) {
        if (!memory_grow(&served->memory, &served->edges, &served->edge_room, there,
                         sizeof *served->edges))
            return fail_memory(error);
        lists[side](served, id, served->edges, served->edge_room);
    }
    *edges = served->edges;
    *count = there;
    return GORDIAN_OK;
}

size_t served_first_edges(struct served *served, enum served_side side, uint32_t id,
                          gordian_edge *edges, size_t room)
{
    static struct rag_edge (*const follow[])(const struct rag *, uint32_t) = {
        [SERVED_HELD] = rag_held,
        [SERVED_WANTED] = rag_wanted,
        [SERVED_HOLDERS] = rag_holder,
        [SERVED_WAITERS] = rag_queued,
    };
    if (served->bank) {
        const gordian_edge *all;
        size_t there;
        if (served_edges(served, side, id, &all, &there, NULL) != GORDIAN_OK)
            return 0;
        there = there < room ? there : room;
        if (there > 0)
            memcpy(edges, all, there * sizeof *edges);
        return there;
    }
    const struct rag *graph = system_graph(served->system);
    bool of_process = side == SERVED_HELD || side == SERVED_WANTED;
    size_t count = 0;
    uint32_t ref = NONE;
    if (of_process ? !rag_is_process(graph, id) : !rag_is_resource(graph, id))
        return 0;
    if (side == SERVED_HELD)
        ref = graph->processes[id].held;
    else if (side == SERVED_WANTED)
        ref = rag_waits(graph, id) ? id : NONE;
    else
        ref =
            side == SERVED_HOLDERS ? rag_first_holder(graph, id) : graph->resources[id].queue_head;
    for (struct rag_edge edge; ref != NONE && count < room; ref = edge.next) {
        edge = follow[side](graph, ref);
        edges[count++] = (gordian_edge){edge.units, edge.process, edge.resource,
                                        side == SERVED_WANTED || side == SERVED_WAITERS};
    }
    return count;
}

/*
 * Incidents: the record of a deadlock from its beginning to its end.
 *
 * An incident begins with the request that closes a deadlock. Its members are the processes of the
 * witness that are not members of another incident. It ends when no member is deadlocked any more.
 * Only a cancel, an exit, a recovery or a lost session can cause that. It need not be the exit or
 * cancel of a member if a witness contains members of several incidents.
 *
 * In a single-unit system an incident is a cycle. The engine knows which request closed it, and
 * which cancel or exit opens it. Its members need not be listed, so a cycle of half a million
 * processes begins and ends as fast as one of two. For queries and notifications, its members are
 * visited a few at a time.
 *
 * A request that waits behind a deadlock is counted, and does not begin an incident. In a
 * multi-unit system such processes may be deadlocked on their own: if deadlocked processes remain
 * when the last incident ends, the next one begins. Ids follow the order of the journal, so a
 * replay gives every incident its id again.
 */
#include "engines/detect/system.h"
#include "service/serve/core/service_internal.h"

#include <stdlib.h>
#include <string.h>

/* names listed per incident */
#define NAMES_MAX  2000
#define LABELS_MAX 64 /* labels listed per incident */
/* Members of a cycle visited per iteration of the event loop. */
#define WALK_STEP 4096

/* ------------------------------------------------------------------ texts */

/* Begins a JSON array in a text that end_incident_text ends with a NUL. */
static void begin_incident_text(struct json *json, struct output *text)
{
    text_clear(text);
    *json = (struct json){.out = text};
}

static const char *end_incident_text(struct output *text)
{
    output_char(text, '\0');
    return text->failure ? NULL : text->buffer;
}

static const char *names_text_of(struct served *served, const uint32_t *members, size_t count,
                                 struct output *text)
{
    struct json json;
    char buffer[GORDIAN_NAME_MAX + 1];
    begin_incident_text(&json, text);
    json_open(&json, NULL, '[');
    for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
        const char *name =
            members[i] == GORDIAN_NONE ? NULL : served_process_name(served, members[i], buffer);
        if (name)
            json_text(&json, name);
    }
    json_shut(&json);
    return end_incident_text(text);
}

static const char *witness_text(struct served *served, const gordian_witness *witness,
                                struct output *text)
{
    struct labels labels = labels_of_system(served->system);
    gordian_witness brief = *witness;
    struct json json;
    if (brief.count > 2 * NAMES_MAX)
        brief.count = 2 * NAMES_MAX;
    begin_incident_text(&json, text);
    json_witness(&json, NULL, &labels, &brief);
    return end_incident_text(text);
}

static void add_labels(struct json *json, struct served *served, enum tags_of of, uint32_t id,
                       uint32_t seen[LABELS_MAX], size_t *count)
{
    for (uint32_t i = 0; i < tags_count(&served->tags, of, id); i++) {
        const char *text = tags_text(&served->tags, of, id, i);
        uint32_t number = tags_find(&served->tags, text);
        size_t at = 0;
        while (at < *count && seen[at] != number)
            at++;
        if (at < *count || at == LABELS_MAX)
            continue;
        seen[(*count)++] = number;
        json_text(json, text);
    }
}

/* The labels of all processes and resources in a witness, each once; NULL: none. */
static const char *incident_labels_text(struct served *served, const gordian_witness *witness,
                                        struct output *text)
{
    uint32_t seen[LABELS_MAX];
    size_t count = 0;
    struct json json;
    if (served->tags.limit == 0)
        return NULL;
    begin_incident_text(&json, text);
    json_open(&json, NULL, '[');
    for (size_t i = 0; i < witness->count && i < 2 * NAMES_MAX; i++) {
        add_labels(&json, served, TAGS_PROCESS, witness->edges[i].process, seen, &count);
        add_labels(&json, served, TAGS_RESOURCE, witness->edges[i].resource, seen, &count);
    }
    json_shut(&json);
    return count ? end_incident_text(text) : NULL;
}

/* ------------------------------------------------------------------ slots */

/* Frees a slot. The serial number changes, so members of the old incident do not become members of
 * the next one. */
static void free_place(struct service *service, struct served *served, uint32_t place)
{
    struct open_incident *open = &served->incidents[place];
    served->cycles -= open->cycle;
    service->work->walking -= open->walked != GORDIAN_NONE;
    memory_free_all(&served->memory, open->members, open->concerned);
    *open = (struct open_incident){.serial = open->serial + 1, .requester = served->incident_free};
    served->incident_free = place;
    served->incident_count--;
}

/* Returns a free slot; GORDIAN_NONE: out of memory. */
static uint32_t take_incident_place(struct served *served)
{
    uint32_t place = served->incident_free;
    if (place != GORDIAN_NONE) {
        served->incident_free = served->incidents[place].requester;
        return place;
    }
    place = served->incident_limit;
    if (!memory_grow32(&served->memory, &served->incidents, &served->incident_room, place + 1,
                       sizeof *served->incidents))
        return GORDIAN_NONE;
    served->incidents[place] = (struct open_incident){0};
    served->incident_limit++;
    return place;
}

/* ------------------------------------------------------------------ members */

static bool is_incident_member(const struct served *served, uint32_t place, uint32_t process)
{
    return process != GORDIAN_NONE && served_incident(served, process) == place;
}

static void join_incident(struct served *served, uint32_t place, uint32_t process)
{
    served->processes[process].incident = place;
    served->processes[process].serial = served->incidents[place].serial;
}

/* Lists the waiting processes of the witness as members, each once. False: out of memory. */
static bool list_incident_members(struct served *served, uint32_t place,
                                  const gordian_witness *witness)
{
    struct open_incident *open = &served->incidents[place];
    open->members = memory_alloc(&served->memory, (witness->count + 1) * sizeof(uint32_t));
    for (size_t i = 0; open->members && i < witness->count; i++) {
        uint32_t process = witness->edges[i].process;
        if (!witness->edges[i].waits || served_incident(served, process) != GORDIAN_NONE)
            continue;
        join_incident(served, place, process);
        open->members[open->member_count++] = process;
    }
    return open->members;
}

/* The first members, for texts. The members of a cycle are in the order of the witness. */
static size_t first_members(const struct open_incident *open, const gordian_witness *witness,
                            uint32_t few[NAMES_MAX])
{
    size_t count = 0;
    for (uint32_t i = 0; i < open->member_count && count < NAMES_MAX; i++)
        few[count++] = open->members[i];
    for (size_t i = 0; open->cycle && i < witness->count && count < NAMES_MAX; i++)
        if (witness->edges[i].waits)
            few[count++] = witness->edges[i].process;
    return count;
}

/* ------------------------------------------------------------------ members of a cycle */

static void add_concerned(struct service *service, struct served *served,
                          struct open_incident *open, uint32_t owner)
{
    if (owner == GORDIAN_NONE || service->sessions[owner].last_cycle == open->id ||
        !memory_grow32(&served->memory, &open->concerned, &open->concerned_room,
                       open->concerned_count + 1, sizeof *open->concerned))
        return;
    service->sessions[owner].last_cycle = open->id;
    open->concerned[open->concerned_count++] = owner;
}

/* Visits some more members of a cycle, which may have half of all processes. */
static void walk_cycle(struct service *service, struct served *served, uint32_t place)
{
    struct open_incident *open = &served->incidents[place];
    served->marked++;
    for (unsigned i = 0; i < WALK_STEP && open->walked != GORDIAN_NONE; i++) {
        uint32_t at = open->walked;
        join_incident(served, place, at);
        add_concerned(service, served, open, served->processes[at].owner);
        at = system_next_ahead(served->system, at);
        open->walked = at == open->requester ? GORDIAN_NONE : at;
    }
    if (!open->cycle) /* the cycle was listed meanwhile */
        open->walked = GORDIAN_NONE;
}

/* ------------------------------------------------------------------ the beginning */

/* May another incident of this second be stored with its replay? */
static bool keep_replay(struct service *service)
{
    struct service_work *work = service->work;
    uint64_t second = work->now / 1000;
    if (second != work->replay_second) {
        work->replay_second = second;
        work->replays = 0;
    }
    return work->replays++ < service->options.limits.incidents_second;
}

/* The store keeps the labels in a separate record. */
static void append_incident(struct service *service, const struct incident *incident)
{
    const struct service_journal *journal = &service->options.journal;
    const struct incident entry = {.id = incident->id | INCIDENT_LABELS,
                                   .system = incident->system,
                                   .processes = incident->labels};
    if (journal->incident)
        journal->incident(journal->context, incident);
    if (journal->incident && incident->labels)
        journal->incident(journal->context, &entry);
}

static void report_begin(struct service *service, struct served *served,
                         const struct open_incident *open, const gordian_witness *witness,
                         enum notify_who who)
{
    struct service_work *work = service->work;
    char requester[GORDIAN_NAME_MAX + 1];
    uint32_t few[NAMES_MAX];
    size_t count = first_members(open, witness, few);
    struct incident incident = {
        .id = open->id,
        .system = served->name,
        .at = open->at,
        .requester = served_process_name(served, open->requester, requester),
        .witness = witness_text(served, witness, &work->text),
        .processes = names_text_of(served, few, count, &work->more),
    };
    incident.labels = incident_labels_text(served, witness, &work->labels);
    if (who != NOTIFY_MEMBERS && keep_replay(service)) {
        text_clear(&work->replay);
        incident_replay(service, served, few, count, &work->replay);
        incident.replay = end_incident_text(&work->replay);
    }
    if (who != NOTIFY_MEMBERS)
        append_incident(service, &incident);
    notify_mark(service, served, open, GORDIAN_NONE);
    notify_incident(service, served, &incident, who);
}

void incident_begin(struct service *service, struct served *served, uint32_t requester,
                    uint8_t outcome)
{
    gordian_witness witness;
    if (outcome == GORDIAN_OUTCOME_DOOMED && served->incident_count > 0) {
        /* One open incident counts all doomed requests while it is open. */
        while (served->doomed_place >= served->incident_limit ||
               served->incidents[served->doomed_place].id == 0)
            served->doomed_place = (served->doomed_place + 1) % served->incident_limit;
        served->incidents[served->doomed_place].doomed++;
        return;
    }
    if (!served_list_cycles(served) || served_incident(served, requester) != GORDIAN_NONE)
        return; /* it awaits more, and was deadlocked before */
    uint64_t id = service->next_incident++;
    served->counters.incidents++;
    if (system_explain_some(served->system, requester, (size_t)2 * NAMES_MAX, &witness, NULL))
        return;
    uint32_t place = take_incident_place(served);
    if (place == GORDIAN_NONE)
        return;
    struct open_incident *open = &served->incidents[place];
    open->id = id;
    open->at = service->work->now;
    open->requester = requester;
    open->walked = GORDIAN_NONE;
    served->incident_count++;
    if (system_closed_by(served->system, requester) == requester) {
        open->cycle = true;
        served->cycles++;
        open->walked = requester;
        walk_cycle(service, served, place);
        service->work->walking += open->walked != GORDIAN_NONE;
    } else if (!list_incident_members(served, place, &witness)) {
        free_place(service, served, place);
        return;
    }
    if (service->replaying)
        return;
    open->unreported = open->walked != GORDIAN_NONE;
    report_begin(service, served, open, &witness, open->unreported ? NOTIFY_OTHERS : NOTIFY_ALL);
}

/* All members of the cycle are known: notifies them. */
static void end_walk(struct service *service, struct served *served, struct open_incident *open)
{
    gordian_witness witness;
    service->work->walking--;
    if (!open->unreported)
        return;
    open->unreported = false;
    notify_mark(service, served, open, GORDIAN_NONE);
    if (notify_has_members(service, served) &&
        system_explain_some(served->system, open->requester, (size_t)2 * NAMES_MAX, &witness,
                            NULL) == GORDIAN_OK)
        report_begin(service, served, open, &witness, NOTIFY_MEMBERS);
}

bool incidents_walk(struct service *service)
{
    for (uint32_t i = 0; i < service->system_limit && service->work->walking > 0; i++) {
        struct served *served = service->systems[i];
        for (uint32_t j = 0; served && j < served->incident_limit; j++) {
            struct open_incident *open = &served->incidents[j];
            if (open->id == 0 || open->walked == GORDIAN_NONE)
                continue;
            walk_cycle(service, served, j);
            if (open->walked == GORDIAN_NONE)
                end_walk(service, served, open);
            return service->work->walking > 0;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ the end */

/* Reports the end. The session of the process that left is notified as well. If members of a cycle
 * were not visited, their sessions are not notified. */
static void report_end(struct service *service, struct served *served,
                       const struct open_incident *open, const char *how, const char *victim,
                       uint32_t leaver)
{
    const struct service_journal *journal = &service->options.journal;
    char requester[GORDIAN_NAME_MAX + 1];
    struct incident incident = {
        .id = open->id,
        .system = served->name,
        .at = open->at,
        .ended = service->work->now,
        .how = how,
        .requester = served_process_name(served, open->requester, requester),
        .victim = victim,
    };
    if (journal->incident)
        journal->incident(journal->context, &incident);
    notify_mark(service, served, open, leaver);
    notify_incident(service, served, &incident, NOTIFY_ALL);
}

static void end_incident(struct service *service, struct served *served, uint32_t place,
                         const char *how, bool victim, uint32_t leaver)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    if (!service->replaying)
        report_end(service, served, &served->incidents[place], how,
                   victim ? served_process_name(served, leaver, buffer) : NULL, leaver);
    free_place(service, served, place);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Is a member among the deadlocked processes (ascending)? */
static bool still_stands(const struct served *served, uint32_t place, const uint32_t *dead,
                         size_t count)
{
    const struct open_incident *open = &served->incidents[place];
    for (uint32_t i = 0; i < open->member_count; i++)
        if (count > 0 && is_incident_member(served, place, open->members[i]) &&
            bsearch(&open->members[i], dead, count, sizeof *dead, compare_ids))
            return true;
    return false;
}

/* Ends incidents of a multi-unit system after a process gave up, which may end any of them. */
static void settle_incidents(struct service *service, struct served *served, const char *how,
                             bool victim, uint32_t leaver)
{
    const uint32_t *dead;
    size_t count;
    if (gordian_deadlocked(served->system, &dead, &count, NULL))
        return; /* out of memory: the next time */
    for (uint32_t i = served->incident_limit; i-- > 0;)
        if (served->incidents[i].id && !still_stands(served, i, dead, count))
            end_incident(service, served, i, how, victim, leaver);
    /* recovery continues until no process is deadlocked */
    if (served->incident_count == 0 && count > 0 && !victim)
        incident_begin(service, served, dead[0], GORDIAN_OUTCOME_DEADLOCK);
}

void incident_left(struct service *service, struct served *served, uint32_t process,
                   const char *how, bool victim)
{
    uint32_t place = served->left;
    served->left = GORDIAN_NONE;
    if (place == GORDIAN_NONE)
        return;
    struct open_incident *open = &served->incidents[place];
    for (uint32_t i = 0; i < open->member_count; i++)
        if (open->members[i] == process)
            open->members[i] = GORDIAN_NONE;
    served->processes[process].incident = GORDIAN_NONE;
    if (gordian_system_model(served->system) == GORDIAN_MODEL_SINGLE_UNIT)
        end_incident(service, served, place, how, victim, process); /* the cycle is broken */
    else
        settle_incidents(service, served, how, victim, process);
}

void incidents_close_all(struct service *service, struct served *served)
{
    for (uint32_t i = served->incident_limit; i-- > 0;)
        if (served->incidents[i].id)
            end_incident(service, served, i, "closed", false, GORDIAN_NONE);
}

/* ------------------------------------------------------------------ snapshots */

static void save_members(const struct served *served, uint32_t place, struct bytes *bytes)
{
    const struct open_incident *open = &served->incidents[place];
    uint32_t at = open->requester, length = 0;
    for (; open->cycle && (length == 0 || at != open->requester); length++)
        at = system_next_ahead(served->system, at);
    uint32_t count = length;
    for (uint32_t i = 0; i < open->member_count; i++)
        count += is_incident_member(served, place, open->members[i]);
    bytes_u64(bytes, count);
    for (uint32_t i = 0; i < length; i++, at = system_next_ahead(served->system, at))
        bytes_u64(bytes, at);
    for (uint32_t i = 0; i < open->member_count; i++)
        if (is_incident_member(served, place, open->members[i]))
            bytes_u64(bytes, open->members[i]);
}

void incidents_save(const struct served *served, struct bytes *bytes)
{
    bytes_u64(bytes, served->incident_count);
    for (uint32_t i = 0; i < served->incident_limit; i++) {
        const struct open_incident *open = &served->incidents[i];
        if (open->id == 0)
            continue;
        bytes_u64(bytes, open->id);
        bytes_u64(bytes, open->at);
        bytes_u64(bytes, open->requester);
        bytes_u64(bytes, open->doomed);
        save_members(served, i, bytes);
    }
}

/* Are its members the cycle of its requester, and does the engine know that? */
static bool is_witness_cycle(const struct served *served, const struct open_incident *open)
{
    uint32_t at = open->requester;
    if (open->member_count == 0 || system_closed_by(served->system, at) == GORDIAN_NONE)
        return false;
    for (uint32_t i = 0; i < open->member_count; i++) {
        if ((i > 0 && at == open->requester) || open->members[i] != at)
            return false;
        at = system_next_ahead(served->system, at);
    }
    return at == open->requester;
}

static gordian_status load_one(struct service *service, struct served *served, struct bytes_in *in,
                               gordian_error *error)
{
    struct open_incident next = {
        .id = bytes_take_u64(in), .at = bytes_take_u64(in), .walked = GORDIAN_NONE};
    next.requester = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    next.doomed = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    uint64_t count = bytes_take_count(in);
    if (in->bad || next.id == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "damaged snapshot: incidents");
    uint32_t place = take_incident_place(served);
    if (place == GORDIAN_NONE)
        return fail_memory(error);
    struct open_incident *open = &served->incidents[place];
    *open = next;
    served->incident_count++;
    open->members = memory_alloc(&served->memory, (count + 1) * sizeof *open->members);
    if (!open->members)
        return fail_memory(error);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t process = bytes_take_u64(in);
        if (in->bad || process >= served->process_room ||
            served_incident(served, (uint32_t)process) != GORDIAN_NONE)
            return fail(error, GORDIAN_STATUS_INPUT, "damaged snapshot: members of an incident");
        join_incident(served, place, (uint32_t)process);
        open->members[open->member_count++] = (uint32_t)process;
    }
    if (!is_witness_cycle(served, open))
        return GORDIAN_OK;
    /* the engine knows the members of a cycle: no list is needed */
    for (uint32_t i = 0; i < open->member_count; i++)
        add_concerned(service, served, open, served->processes[open->members[i]].owner);
    memory_free(&served->memory, open->members);
    open->members = NULL;
    open->member_count = 0;
    open->cycle = true;
    served->cycles++;
    return GORDIAN_OK;
}

gordian_status incidents_load(struct service *service, struct served *served, struct bytes_in *in,
                              gordian_error *error)
{
    uint64_t count = bytes_take_count(in);
    for (uint64_t i = 0; i < count; i++)
        TRY(load_one(service, served, in, error));
    return GORDIAN_OK;
}

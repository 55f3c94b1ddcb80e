/*
 * Incidents: what stays to be told of a deadlock.
 *
 * An incident begins with the request that closes a deadlock. Its members are the processes of the
 * witness that are not members of another one. It ends when none of them is deadlocked any more,
 * which can only come about by somebody giving up: a cancel, an exit, recovery, a lost session; not
 * always of a member, where a witness leads through the members of several incidents.
 *
 * Requests that come to wait behind a deadlock do not begin another one; they are counted. Where
 * units are counted, some of them may be deadlocked without it, too: when the last incident has
 * ended and somebody can still never run again, the next one begins there and then.
 * Ids are handed out in the order of the journal, so a replay gives every incident its own again.
 */
#include "serve/service/parts.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY GORDIAN_NONE
/* Names written out for one incident. */
#define NAMES_MAX 10000

/* ------------------------------------------------------------------ texts */

/* An array on its own, ended by NUL. */
static void text_begin(struct json *json, struct output *text)
{
    text_clear(text);
    *json = (struct json){.out = text};
}

static const char *text_end(struct output *text)
{
    output_char(text, '\0');
    return text->failure ? NULL : text->buffer;
}

static const char *names_text_of(struct served *served, const uint32_t *members, size_t count,
                                 struct output *text)
{
    struct json json;
    char buffer[GORDIAN_NAME_MAX + 1];
    text_begin(&json, text);
    json_open(&json, NULL, '[');
    for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
        const char *name =
            members[i] == NOBODY ? NULL : served_process_name(served, members[i], buffer);
        if (name)
            json_text(&json, name);
    }
    json_shut(&json);
    return text_end(text);
}

static const char *witness_text(struct served *served, const gordian_witness *witness,
                                struct output *text)
{
    struct labels labels = labels_of_system(served->system);
    gordian_witness brief = *witness;
    struct json json;
    if (brief.count > 2 * NAMES_MAX)
        brief.count = 2 * NAMES_MAX;
    text_begin(&json, text);
    json_witness(&json, NULL, &labels, &brief);
    return text_end(text);
}

/* ------------------------------------------------------------------ members */

static void free_incident(struct served *served, struct open_incident *incident)
{
    for (uint32_t i = 0; i < incident->member_count; i++)
        if (incident->members[i] != NOBODY)
            served->processes[incident->members[i]].incident = NOBODY;
    memory_free(&served->memory, incident->members);
}

static void remove_incident(struct served *served, uint32_t index)
{
    free_incident(served, &served->incidents[index]);
    uint32_t last = --served->incident_count;
    if (index == last)
        return;
    struct open_incident *moved = &served->incidents[index];
    *moved = served->incidents[last];
    for (uint32_t i = 0; i < moved->member_count; i++)
        if (moved->members[i] != NOBODY)
            served->processes[moved->members[i]].incident = index;
}

/* Opens an incident at the end of the list, with everybody who waits in the witness as a member,
 * each once. NULL: no memory. */
static struct open_incident *add_incident(struct served *served, const gordian_witness *witness)
{
    uint32_t index = served->incident_count;
    if (!memory_grow32(&served->memory, &served->incidents, &served->incident_room, index + 1,
                       sizeof *served->incidents))
        return NULL;
    struct open_incident *incident = &served->incidents[index];
    *incident = (struct open_incident){
        .members = memory_alloc(&served->memory, (witness->count + 1) * sizeof(uint32_t))};
    if (!incident->members)
        return NULL;
    for (size_t i = 0; i < witness->count; i++) {
        uint32_t process = witness->edges[i].process;
        if (!witness->edges[i].waits || served->processes[process].incident != NOBODY)
            continue;
        served->processes[process].incident = index;
        incident->members[incident->member_count++] = process;
    }
    incident->left = incident->member_count;
    served->incident_count++;
    return incident;
}

/* ------------------------------------------------------------------ the beginning */

/* Of the incidents of one second only so many are kept with what led to them. */
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

static void tell_incident(struct service *service, struct served *served,
                          const struct incident *incident, const uint32_t *members, size_t count)
{
    const struct service_journal *journal = &service->options.journal;
    if (journal->incident)
        journal->incident(journal->context, incident);
    notify_incident(service, served, incident, members, count);
}

static void tell_begin(struct service *service, struct served *served,
                       const struct open_incident *open, const gordian_witness *witness)
{
    struct service_work *work = service->work;
    char requester[GORDIAN_NAME_MAX + 1];
    struct incident incident = {
        .id = open->id,
        .system = served->name,
        .at = open->at,
        .requester = served_process_name(served, open->requester, requester),
        .witness = witness_text(served, witness, &work->text),
        .processes = names_text_of(served, open->members, open->member_count, &work->more),
    };
    if (keep_replay(service)) {
        text_clear(&work->replay);
        incident_replay(service, served, open->members, open->member_count, &work->replay);
        incident.replay = text_end(&work->replay);
    }
    tell_incident(service, served, &incident, open->members, open->member_count);
}

void incident_begin(struct service *service, struct served *served, uint32_t requester,
                    uint8_t outcome)
{
    gordian_witness witness;
    if (outcome == GORDIAN_OUTCOME_DOOMED && served->incident_count > 0) {
        served->incidents[0].doomed++;
        return;
    }
    if (served->processes[requester].incident != NOBODY)
        return; /* it awaits more, and was deadlocked before */
    uint64_t id = service->next_incident++;
    served->counters.incidents++;
    if (gordian_explain(served->system, requester, &witness, NULL))
        return;
    struct open_incident *open = add_incident(served, &witness);
    if (!open)
        return;
    open->id = id;
    open->at = service->work->now;
    open->requester = requester;
    if (!service->replaying)
        tell_begin(service, served, open, &witness);
}

/* ------------------------------------------------------------------ the end */

static void tell_end(struct service *service, struct served *served,
                     const struct open_incident *open, const char *how, const char *victim,
                     uint32_t leaver)
{
    struct service_work *work = service->work;
    char requester[GORDIAN_NAME_MAX + 1];
    /* who has left is told, too */
    uint32_t *place = open->members + open->member_count; /* room was made for one more */
    *place = leaver;
    struct incident incident = {
        .id = open->id,
        .system = served->name,
        .at = open->at,
        .ended = work->now,
        .how = how,
        .requester = served_process_name(served, open->requester, requester),
        .victim = victim,
    };
    tell_incident(service, served, &incident, open->members, open->member_count + 1);
}

static void end_incident(struct service *service, struct served *served, uint32_t index,
                         const char *how, bool victim, uint32_t leaver)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    if (!service->replaying)
        tell_end(service, served, &served->incidents[index], how,
                 victim ? served_process_name(served, leaver, buffer) : NULL, leaver);
    remove_incident(served, index);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Is any of its members among the deadlocked, ascending? */
static bool still_stands(const struct open_incident *open, const uint32_t *dead, size_t count)
{
    for (uint32_t i = 0; i < open->member_count; i++)
        if (open->members[i] != NOBODY && count > 0 &&
            bsearch(&open->members[i], dead, count, sizeof *dead, compare_ids))
            return true;
    return false;
}

/* Somebody has given up in a system whose units are counted: that may end any of the incidents. */
static void settle_incidents(struct service *service, struct served *served, const char *how,
                             bool victim, uint32_t leaver)
{
    const uint32_t *dead;
    size_t count;
    if (gordian_deadlocked(served->system, &dead, &count, NULL))
        return; /* no memory: the next one to leave settles it */
    for (uint32_t i = served->incident_count; i-- > 0;)
        if (!still_stands(&served->incidents[i], dead, count))
            end_incident(service, served, i, how, victim, leaver);
    /* recovery goes on until nobody is left */
    if (served->incident_count == 0 && count > 0 && !victim)
        incident_begin(service, served, dead[0], GORDIAN_OUTCOME_DEADLOCK);
}

void incident_left(struct service *service, struct served *served, uint32_t process,
                   const char *how, bool victim)
{
    uint32_t index = served->processes[process].incident;
    if (index == NOBODY)
        return;
    struct open_incident *open = &served->incidents[index];
    for (uint32_t i = 0; i < open->member_count; i++)
        if (open->members[i] == process)
            open->members[i] = NOBODY;
    served->processes[process].incident = NOBODY;
    open->left--;
    if (gordian_system_model(served->system) == GORDIAN_MODEL_SINGLE_UNIT)
        end_incident(service, served, index, how, victim, process); /* a cycle, and it is broken */
    else
        settle_incidents(service, served, how, victim, process);
}

void incidents_close_all(struct service *service, struct served *served)
{
    while (served->incident_count > 0) {
        uint32_t index = served->incident_count - 1;
        if (!service->replaying)
            tell_end(service, served, &served->incidents[index], "closed", NULL, NOBODY);
        remove_incident(served, index);
    }
}

/* ------------------------------------------------------------------ snapshots */

void incidents_save(const struct served *served, struct bytes *bytes)
{
    bytes_u64(bytes, served->incident_count);
    for (uint32_t i = 0; i < served->incident_count; i++) {
        const struct open_incident *open = &served->incidents[i];
        bytes_u64(bytes, open->id);
        bytes_u64(bytes, open->at);
        bytes_u64(bytes, open->requester);
        bytes_u64(bytes, open->doomed);
        bytes_u64(bytes, open->left);
        for (uint32_t j = 0; j < open->member_count; j++)
            if (open->members[j] != NOBODY)
                bytes_u64(bytes, open->members[j]);
    }
}

static gordian_status load_one(struct served *served, struct bytes_in *in, gordian_error *error)
{
    struct open_incident open = {.id = bytes_take_u64(in), .at = bytes_take_u64(in)};
    uint32_t index = served->incident_count;
    open.requester = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    open.doomed = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    uint64_t count = bytes_take_count(in);
    if (in->bad)
        return fail(error, GORDIAN_STATUS_INPUT, "a damaged snapshot: incidents");
    if (!memory_grow32(&served->memory, &served->incidents, &served->incident_room, index + 1,
                       sizeof *served->incidents))
        return fail_memory(error);
    open.members = memory_alloc(&served->memory, (count + 1) * sizeof *open.members);
    if (!open.members)
        return fail_memory(error);
    served->incidents[index] = open;
    served->incident_count++;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t process = bytes_take_u64(in);
        if (in->bad || process >= served->process_room ||
            served->processes[process].incident != NOBODY)
            return fail(error, GORDIAN_STATUS_INPUT, "a damaged snapshot: members of an incident");
        served->processes[process].incident = index;
        served->incidents[index].members[i] = (uint32_t)process;
        served->incidents[index].member_count = served->incidents[index].left = (uint32_t)i + 1;
    }
    return GORDIAN_OK;
}

gordian_status incidents_load(struct served *served, struct bytes_in *in, gordian_error *error)
{
    uint64_t count = bytes_take_count(in);
    gordian_status status = GORDIAN_OK;
    for (uint64_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = load_one(served, in, error);
    return status;
}

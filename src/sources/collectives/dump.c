/* Reads the flight recorder dump of one rank: turns values into operations and members of
 * groups. */
#include "sources/collectives/coalesced.h"

#include "foundation/base/error.h"
#include "foundation/base/json/json_read.h"
#include "sources/collectives/pickle.h"

#include <stdio.h>
#include <stdlib.h>

/* At most this many tensors, dimensions and bytes are read: a malicious file may repeat one list a
 * million times. */
#define TENSORS_MOST    256
#define DIMENSIONS_MOST 16
#define TEXT_MOST       200
/* The groups of a dump are searched linearly. */
#define GROUPS_MOST 4096
/* Supported versions of the format. */
#define VERSION_MAJOR      2
#define VERSION_MINOR_MOST 10
#define VERSIONS_READ      "2.0 to 2.10"

/* A group in a dump. */
struct local_group {
    const struct value *name;
    uint32_t group;
    int64_t id; /* the id in the group's status; -1: not known */
};

struct dump_reader {
    struct training *job;
    struct arena arena;
    struct names texts, group_names; /* names that this reader has already looked up, with the job's
                                        ids */
    struct local_group *locals;
    size_t local_count, local_capacity;
    struct recorded *entries;
    size_t entry_count, entry_capacity;
    struct membership *memberships;
    size_t membership_count, membership_capacity;
    bool completed; /* some entry is completed */
    bool untimed;   /* some entry is completed without a start time */
    gordian_error *error;
};

enum key {
    KEY_OTHER = 1,
    KEY_RECORD,
    KEY_PG_ID,
    KEY_GROUP,
    KEY_SEQUENCE,
    KEY_P2P_SEQUENCE,
    KEY_NAME,
    KEY_INPUT_SIZES,
    KEY_INPUT_TYPES,
    KEY_OUTPUT_SIZES,
    KEY_OUTPUT_TYPES,
    KEY_STATE,
    KEY_CREATED,
    KEY_STARTED,
    KEY_COMPLETED,
    KEY_IS_P2P,
    KEY_FRAMES,
    KEY_COUNT,
};

static const char *const key_names[KEY_COUNT] = {
    [KEY_RECORD] = "record_id",
    [KEY_PG_ID] = "pg_id",
    [KEY_GROUP] = "process_group",
    [KEY_SEQUENCE] = "collective_seq_id",
    [KEY_P2P_SEQUENCE] = "p2p_seq_id",
    [KEY_NAME] = "profiling_name",
    [KEY_INPUT_SIZES] = "input_sizes",
    [KEY_INPUT_TYPES] = "input_dtypes",
    [KEY_OUTPUT_SIZES] = "output_sizes",
    [KEY_OUTPUT_TYPES] = "output_dtypes",
    [KEY_STATE] = "state",
    [KEY_CREATED] = "time_created_ns",
    [KEY_STARTED] = "time_discovered_started_ns",
    [KEY_COMPLETED] = "time_discovered_completed_ns",
    [KEY_IS_P2P] = "is_p2p",
    [KEY_FRAMES] = "frames",
};

/* Returns which key it is. Caches the result in the value, because a pickle reuses the same key
 * value. */
static enum key key_of(struct value *value)
{
    if (value->mark == 0) {
        value->mark = KEY_OTHER;
        for (unsigned i = KEY_OTHER + 1; i < KEY_COUNT; i++)
            if (value_says(value, key_names[i]))
                value->mark = (uint8_t)i;
    }
    return (enum key)value->mark;
}

/* ------------------------------------------------------------------ texts and groups */

/* Returns the number of a name in the job's table, which the caller has locked, and caches it in
 * this reader's table. NONE: out of memory. */
static uint32_t intern_name(struct names *known, struct names *all, const char *text, size_t length,
                            uint32_t next, bool *is_new)
{
    uint32_t id = names_find(all, text, length);
    *is_new = id == GORDIAN_NONE;
    if (*is_new) {
        id = next;
        if (!names_put(all, id, text, length))
            return GORDIAN_NONE;
    }
    return names_put(known, id, text, length) ? id : GORDIAN_NONE;
}

static uint32_t text_id(struct dump_reader *reader, const char *text, size_t length)
{
    struct training *job = reader->job;
    bool is_new;
    if (length == 0)
        return 0;
    length = length > TEXT_MOST ? TEXT_MOST : length;
    uint32_t id = names_find(&reader->texts, text, length);
    if (id != GORDIAN_NONE)
        return id;
    pthread_mutex_lock(&job->lock);
    id = intern_name(&reader->texts, &job->texts, text, length, job->text_count, &is_new);
    job->text_count += id != GORDIAN_NONE && is_new;
    pthread_mutex_unlock(&job->lock);
    return id;
}

static uint32_t value_text_id(struct dump_reader *reader, const struct value *value)
{
    return value_is(value, VALUE_TEXT) ? text_id(reader, value->text, value->count) : 0;
}

/* Parses ranks from the text "[0, 1, 5]" or from a list of numbers. *count is 0 if there are
 * none. */
static uint32_t *parse_members(struct dump_reader *reader, const struct value *ranks,
                               uint32_t *count)
{
    bool text = value_is(ranks, VALUE_TEXT);
    size_t capacity = ranks && (text || value_is(ranks, VALUE_LIST)) ? ranks->count : 0;
    uint32_t *members = memory_alloc(&reader->job->memory, (capacity + 1) * sizeof *members);
    *count = 0;
    for (size_t i = 0; members && !text && i < capacity; i++) {
        int64_t rank = value_integer(ranks->items[i], -1);
        if (rank >= 0 && rank < COLLECTIVES_RANKS_MOST)
            members[(*count)++] = (uint32_t)rank;
    }
    for (size_t i = 0; members && text && i < capacity;) {
        uint64_t rank = 0;
        if (ranks->text[i] < '0' || ranks->text[i] > '9') {
            i++;
            continue;
        }
        for (; i < capacity && ranks->text[i] >= '0' && ranks->text[i] <= '9'; i++)
            rank =
                rank > COLLECTIVES_RANKS_MOST ? rank : 10 * rank + (uint64_t)(ranks->text[i] - '0');
        if (rank < COLLECTIVES_RANKS_MOST)
            members[(*count)++] = (uint32_t)rank;
    }
    return members;
}

/* Adds a group. The caller holds the lock. */
static bool add_group(struct dump_reader *reader, const struct value *name,
                      const struct value *about, const struct value *ranks)
{
    struct training *job = reader->job;
    if (!memory_extend(&job->memory, job->groups, job->group_capacity, job->group_count))
        return false;
    struct group group = {.name = name->count ? value_text_id(reader, name) : 0,
                          .about = value_text_id(reader, about)};
    group.members = parse_members(reader, ranks, &group.count);
    if (!group.members || group.name == GORDIAN_NONE || group.about == GORDIAN_NONE) {
        memory_free(&job->memory, group.members);
        return false;
    }
    job->groups[job->group_count++] = group;
    return true;
}

/* Groups with the same name and different ranks are different groups. */
static uint32_t group_id(struct dump_reader *reader, const struct value *name,
                         const struct value *about, const struct value *ranks)
{
    struct training *job = reader->job;
    char key[TEXT_MOST + 24];
    uint64_t hash = value_is(ranks, VALUE_TEXT) ? hash_bytes(ranks->text, ranks->count) : 0;
    int length = snprintf(key, sizeof key, "%.*s %016llx",
                          (int)(name->count > TEXT_MOST ? TEXT_MOST : name->count), name->text,
                          (unsigned long long)hash);
    uint32_t id = names_find(&reader->group_names, key, (size_t)length);
    bool is_new;
    if (id != GORDIAN_NONE)
        return id;
    /* intern the texts first, because interning takes the lock */
    if (value_text_id(reader, name) == GORDIAN_NONE || value_text_id(reader, about) == GORDIAN_NONE)
        return GORDIAN_NONE;
    pthread_mutex_lock(&job->lock);
    id = intern_name(&reader->group_names, &job->group_names, key, (size_t)length,
                     (uint32_t)job->group_count, &is_new);
    if (id != GORDIAN_NONE && is_new && !add_group(reader, name, about, ranks)) {
        names_drop(&job->group_names, id);
        names_drop(&reader->group_names, id);
        id = GORDIAN_NONE;
    }
    pthread_mutex_unlock(&job->lock);
    return id;
}

static struct local_group *find_local(struct dump_reader *reader, const struct value *name)
{
    for (size_t i = 0; i < reader->local_count; i++) {
        const struct value *known = reader->locals[i].name;
        if (known == name ||
            (known->count == name->count && memcmp(known->text, name->text, name->count) == 0))
            return &reader->locals[i];
    }
    return NULL;
}

/* Returns the dump's group of that name; adds it if it is new. NULL: out of memory, or too many
 * groups. */
static struct local_group *local_group(struct dump_reader *reader, const struct value *name,
                                       const struct value *about, const struct value *ranks)
{
    struct local_group *local = find_local(reader, name);
    if (local || reader->local_count == GROUPS_MOST)
        return local;
    uint32_t group = group_id(reader, name, about, ranks);
    if (group == GORDIAN_NONE || !memory_extend(&reader->job->memory, reader->locals,
                                                reader->local_capacity, reader->local_count))
        return NULL;
    local = &reader->locals[reader->local_count++];
    *local = (struct local_group){.name = name, .group = group, .id = -1};
    return local;
}

static gordian_status read_groups(struct dump_reader *reader, const struct value *config)
{
    if (value_is(config, VALUE_DICT) && config->count > GROUPS_MOST)
        return fail(reader->error, GORDIAN_STATUS_INPUT, "more than %d groups", GROUPS_MOST);
    for (uint32_t i = 0; value_is(config, VALUE_DICT) && i < config->count; i++) {
        const struct value *name = config->items[2 * i], *group = config->items[2 * i + 1];
        if (!value_is(name, VALUE_TEXT))
            return fail(reader->error, GORDIAN_STATUS_INPUT, "the name of a group is not a text");
        if (!local_group(reader, name, value_find(group, "desc"), value_find(group, "ranks")))
            return fail_memory(reader->error);
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ entries */

static uint64_t count_elements(const struct value *sizes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < value_count(sizes) && i < TENSORS_MOST; i++) {
        const struct value *tensor = sizes->items[i];
        uint64_t elements = 1;
        if (!value_is(tensor, VALUE_LIST))
            continue;
        for (uint32_t j = 0; j < tensor->count && j < DIMENSIONS_MOST; j++)
            elements *= (uint64_t)value_integer(tensor->items[j], 0);
        sum += elements;
    }
    return sum;
}

/* Returns the innermost Python frame as text. */
static uint32_t frame_text(struct dump_reader *reader, const struct value *frames)
{
    char text[TEXT_MOST + 1];
    const struct value *frame = value_item(frames, 0);
    const struct value *file = value_find(frame, "filename"), *name = value_find(frame, "name");
    if (!value_is(file, VALUE_TEXT))
        return 0;
    const char *from = file->text;
    for (uint32_t i = 0; i + 1 < file->count; i++)
        if (file->text[i] == '/')
            from = file->text + i + 1;
    int length = snprintf(
        text, sizeof text, "%.*s:%lld%s%.*s", (int)(file->text + file->count - from), from,
        (long long)value_integer(value_find(frame, "line"), 0),
        value_is(name, VALUE_TEXT) ? " " : "", value_is(name, VALUE_TEXT) ? (int)name->count : 0,
        value_is(name, VALUE_TEXT) ? name->text : "");
    return text_id(reader, text, (size_t)length > TEXT_MOST ? TEXT_MOST : (size_t)length);
}

/* Parses a number at text[*at] and advances *at. */
static bool take_digits(const char *text, size_t length, size_t *at, uint32_t *number)
{
    size_t from = *at;
    uint64_t value = 0;
    for (; *at < length && text[*at] >= '0' && text[*at] <= '9' && *at - from < 9; (*at)++)
        value = 10 * value + (uint64_t)(text[*at] - '0');
    *number = (uint32_t)value;
    return *at > from;
}

/* Parses "send 0->3" or "recv 0<-3". The second number is the peer's index in the group. */
static bool parse_peer(const char *text, size_t length, bool *sends, uint32_t *peer)
{
    uint32_t self;
    size_t at = 5;
    if (length < 5 || (memcmp(text, "send ", 5) != 0 && memcmp(text, "recv ", 5) != 0))
        return false;
    *sends = text[0] == 's';
    if (!take_digits(text, length, &at, &self) || length - at < 2 ||
        memcmp(text + at, *sends ? "->" : "<-", 2) != 0)
        return false;
    at += 2;
    return take_digits(text, length, &at, peer) && at == length;
}

/* Returns the name of an operation without the prefix of its backend, "nccl:". */
static const char *plain_name(const struct value *name, size_t *length)
{
    const char *colon = memchr(name->text, ':', name->count);
    const char *text = colon ? colon + 1 : name->text;
    *length = (size_t)(name->text + name->count - text);
    return text;
}

static bool read_name(struct dump_reader *reader, const struct value *name,
                      struct operation *operation)
{
    uint32_t place;
    size_t length;
    if (!value_is(name, VALUE_TEXT))
        return true;
    const char *text = plain_name(name, &length);
    if (parse_peer(text, length, &operation->sends, &place)) {
        operation->peer = place;
        length = 4;
    }
    operation->name = text_id(reader, text, length);
    return operation->name != GORDIAN_NONE;
}

struct entry {
    const struct value *fields[KEY_COUNT];
};

static uint64_t field_number(const struct entry *entry, enum key key)
{
    int64_t number = value_integer(entry->fields[key], 0);
    return number < 0 ? 0 : (uint64_t)number;
}

/* Returns the rank at an index of a group. Without a list of members the index is the rank. */
static uint32_t member_at(struct training *job, uint32_t group, uint32_t place)
{
    uint32_t rank = place;
    pthread_mutex_lock(&job->lock);
    const struct group *known = &job->groups[group];
    if (known->count)
        rank = place < known->count ? known->members[place] : GORDIAN_NONE;
    pthread_mutex_unlock(&job->lock);
    return rank < COLLECTIVES_RANKS_MOST ? rank : GORDIAN_NONE;
}

static gordian_status read_group_field(struct dump_reader *reader, const struct entry *entry,
                                       struct operation *operation)
{
    const struct value *pair = entry->fields[KEY_GROUP];
    const struct value *name = value_item(pair, 0);
    if (!value_is(name, VALUE_TEXT))
        return fail(reader->error, GORDIAN_STATUS_INPUT, "an entry has no process_group");
    struct local_group *local = local_group(reader, name, value_item(pair, 1), NULL);
    if (!local)
        return fail_memory(reader->error);
    operation->group = local->group;
    if (entry->fields[KEY_PG_ID])
        local->id = value_integer(entry->fields[KEY_PG_ID], -1);
    return GORDIAN_OK;
}

/* Returns the rank's member record of a group; adds it if it is new. NULL: out of memory. */
static struct membership *reader_membership(struct dump_reader *reader, uint32_t group)
{
    for (size_t i = reader->membership_count; i-- > 0;)
        if ((&reader->memberships[i])->group == group)
            return &reader->memberships[i];
    if (!memory_extend(&reader->job->memory, reader->memberships, reader->membership_capacity,
                       reader->membership_count))
        return NULL;
    struct membership *membership = &reader->memberships[reader->membership_count++];
    *membership =
        (struct membership){.group = group, .enqueued = -1, .completed = -1, .last = GORDIAN_NONE};
    return membership;
}

/* Updates the member record with what an entry says about its group. A send or a receive carries
 * the number of the last collective queued before it. */
static gordian_status note_membership(struct dump_reader *reader, struct recorded *entry)
{
    uint64_t reached = entry->collective + entry->is_p2p;
    struct membership *membership = reader_membership(reader, entry->operation.group);
    if (!membership)
        return fail_memory(reader->error);
    membership->reached = reached > membership->reached ? reached : membership->reached;
    membership->top = entry->collective > membership->top ? entry->collective : membership->top;
    membership->top_p2p = entry->p2p > membership->top_p2p ? entry->p2p : membership->top_p2p;
    entry->previous = membership->last;
    membership->last = (uint32_t)reader->entry_count;
    if (entry->is_p2p || entry->p2p) {
        pthread_mutex_lock(&reader->job->lock);
        reader->job->groups[entry->operation.group].peers = true;
        pthread_mutex_unlock(&reader->job->lock);
    }
    return GORDIAN_OK;
}

static gordian_status read_operation(struct dump_reader *reader, const struct entry *entry,
                                     struct operation *operation)
{
    TRY(read_group_field(reader, entry, operation));
    operation->record = field_number(entry, KEY_RECORD);
    operation->created = field_number(entry, KEY_CREATED);
    operation->input = count_elements(entry->fields[KEY_INPUT_SIZES]);
    operation->output = count_elements(entry->fields[KEY_OUTPUT_SIZES]);
    if (value_says(entry->fields[KEY_STATE], "completed") || field_number(entry, KEY_COMPLETED))
        operation->state = STATE_COMPLETED;
    else if (value_says(entry->fields[KEY_STATE], "started"))
        operation->state = STATE_STARTED;
    reader->untimed |= operation->state == STATE_COMPLETED && !field_number(entry, KEY_STARTED);
    operation->type = value_text_id(reader, value_item(entry->fields[KEY_INPUT_TYPES], 0));
    if (operation->type == 0)
        operation->type = value_text_id(reader, value_item(entry->fields[KEY_OUTPUT_TYPES], 0));
    operation->place = frame_text(reader, entry->fields[KEY_FRAMES]);
    if (!read_name(reader, entry->fields[KEY_NAME], operation) || operation->type == GORDIAN_NONE ||
        operation->place == GORDIAN_NONE)
        return fail_memory(reader->error);
    return GORDIAN_OK;
}

/* Does the entry close a coalesced group? A collective of several tensors has a similar name, but
 * also sizes. */
static bool closes_group(const struct entry *entry, const struct operation *operation)
{
    const struct value *name = entry->fields[KEY_NAME];
    size_t length;
    if (!value_is(name, VALUE_TEXT) || operation->peer != GORDIAN_NONE)
        return false;
    const char *text = plain_name(name, &length);
    return name_is_closing(text, length) &&
           (length == strlen("coalesced") || (!operation->input && !operation->output));
}

static gordian_status read_entry(struct dump_reader *reader, const struct value *dict)
{
    struct entry entry = {0};
    struct recorded recorded = {.operation = {.peer = GORDIAN_NONE}};
    struct operation *operation = &recorded.operation;
    if (!value_is(dict, VALUE_DICT))
        return fail(reader->error, GORDIAN_STATUS_INPUT, "an entry is not a dictionary");
    for (uint32_t i = 0; i < dict->count; i++)
        entry.fields[key_of(dict->items[2 * i])] = dict->items[2 * i + 1];
    if (!entry.fields[KEY_SEQUENCE])
        return fail(reader->error, GORDIAN_STATUS_INPUT, "an entry has no collective_seq_id");
    TRY(read_operation(reader, &entry, operation));
    recorded.collective = field_number(&entry, KEY_SEQUENCE);
    recorded.p2p = field_number(&entry, KEY_P2P_SEQUENCE);
    recorded.is_p2p =
        operation->peer != GORDIAN_NONE || value_integer(entry.fields[KEY_IS_P2P], 0) != 0;
    recorded.closing = closes_group(&entry, operation);
    reader->completed |= operation->state == STATE_COMPLETED;
    operation->sequence = recorded.is_p2p ? recorded.p2p : recorded.collective;
    operation->other = recorded.is_p2p ? recorded.collective : recorded.p2p;
    TRY(note_membership(reader, &recorded));
    if (operation->peer != GORDIAN_NONE)
        operation->peer = member_at(reader->job, operation->group, operation->peer);
    /* A send or a receive without a peer is useless, unless it closes a group. */
    recorded.dropped = recorded.is_p2p && operation->peer == GORDIAN_NONE && !recorded.closing;
    if (!memory_extend(&reader->job->memory, reader->entries, reader->entry_capacity,
                       reader->entry_count))
        return fail_memory(reader->error);
    reader->entries[reader->entry_count++] = recorded;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ statuses */

static int compare_numbers(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int compare_names(const void *left, const void *right)
{
    const struct local_group *a = left, *b = right;
    int64_t x = value_integer(a->name, -1), y = value_integer(b->name, -1);
    return (x > y) - (x < y);
}

/* Assigns status ids to groups. Entries give the ids of their groups. The other groups get theirs
 * by order of creation, if both names and ids follow that order and all known ids agree. */
static bool guess_ids(struct dump_reader *reader, const int64_t *ids, size_t count)
{
    if (count != reader->local_count)
        return false;
    qsort(reader->locals, count, sizeof *reader->locals, compare_names);
    for (size_t i = 0; i < count; i++) {
        const struct local_group *local = &reader->locals[i];
        if (value_integer(local->name, -1) < 0 || (local->id >= 0 && local->id != ids[i]))
            return false;
    }
    for (size_t i = 0; i < count; i++)
        reader->locals[i].id = ids[i];
    return true;
}

static gordian_status place_status(struct dump_reader *reader, int64_t id,
                                   const struct value *status)
{
    for (size_t i = 0; i < reader->local_count; i++) {
        if (reader->locals[i].id != id)
            continue;
        struct membership *membership = reader_membership(reader, reader->locals[i].group);
        if (!membership)
            return fail_memory(reader->error);
        membership->known = true;
        membership->enqueued = value_integer(value_find(status, "last_enqueued_collective"), -1);
        membership->completed = value_integer(value_find(status, "last_completed_collective"), -1);
    }
    return GORDIAN_OK;
}

static gordian_status read_statuses(struct dump_reader *reader, const struct value *statuses)
{
    if (!value_is(statuses, VALUE_DICT) || statuses->count == 0 || statuses->count > GROUPS_MOST)
        return GORDIAN_OK;
    int64_t *ids = arena_alloc(&reader->arena, statuses->count * sizeof *ids);
    if (!ids)
        return fail_memory(reader->error);
    for (uint32_t i = 0; i < statuses->count; i++)
        ids[i] = value_integer(statuses->items[2 * i], -1);
    qsort(ids, statuses->count, sizeof *ids, compare_numbers);
    guess_ids(reader, ids, statuses->count);
    for (uint32_t i = 0; i < statuses->count; i++) {
        int64_t id = value_integer(statuses->items[2 * i], -1);
        if (id >= 0)
            TRY(place_status(reader, id, statuses->items[2 * i + 1]));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ sorting */

static int compare_operations(const void *left, const void *right)
{
    const struct operation *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->peer != b->peer) /* collectives come first: their peer is the highest number */
        return a->peer > b->peer ? -1 : 1;
    if (a->peer == GORDIAN_NONE && a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

/* Assigns the operations to the members. */
static void assign_operations(struct rank *rank)
{
    struct membership *membership = rank->memberships;
    for (uint32_t i = 0; i < rank->operation_count; i++) {
        const struct operation *operation = &rank->operations[i];
        while (membership->group != operation->group)
            membership++;
        if (membership->count++ == 0)
            membership->first = i;
        membership->collectives += operation->peer == GORDIAN_NONE;
        rank->latest = operation->created > rank->latest ? operation->created : rank->latest;
        rank->flights += in_flight(operation);
        if (in_flight(operation) && !operation->sends && operation->order < rank->oldest)
            rank->oldest = operation->order;
    }
}

/* Drops repeated collectives of a damaged dump. The first entry counts. */
static void drop_repeated(struct rank *rank)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rank->operation_count; i++) {
        const struct operation *a = kept ? &rank->operations[kept - 1] : NULL;
        const struct operation *b = &rank->operations[i];
        if (!a || a->group != b->group || a->peer != b->peer || b->peer != GORDIAN_NONE ||
            a->sequence != b->sequence)
            rank->operations[kept++] = *b;
    }
    rank->operation_count = kept;
}

/* Copies what was read into the rank, without spare capacity. */
static gordian_status keep_rank(struct dump_reader *reader, struct rank *rank)
{
    uint32_t count = 0;
    for (size_t i = 0; i < reader->entry_count; i++)
        count += !reader->entries[i].dropped;
    size_t memberships = reader->membership_count * sizeof *rank->memberships;
    rank->operations = memory_alloc(&reader->job->memory, count * sizeof *rank->operations + 1);
    rank->memberships = memory_alloc(&reader->job->memory, memberships + 1);
    if (!rank->operations || !rank->memberships) {
        memory_free_all(&reader->job->memory, rank->operations, rank->memberships);
        *rank = (struct rank){.listed = rank->listed};
        return fail_memory(reader->error);
    }
    for (size_t i = 0; i < reader->entry_count; i++)
        if (!reader->entries[i].dropped)
            rank->operations[rank->operation_count++] = reader->entries[i].operation;
    if (memberships)
        memcpy(rank->memberships, reader->memberships, memberships);
    rank->membership_count = (uint32_t)reader->membership_count;
    rank->oldest = UINT64_MAX;
    rank->untimed = reader->untimed;
    rank->active = !reader->completed;
    rank->heard = true;
    qsort(rank->operations, rank->operation_count, sizeof *rank->operations, compare_operations);
    drop_repeated(rank);
    qsort(rank->memberships, rank->membership_count, sizeof *rank->memberships,
          compare_memberships);
    assign_operations(rank);
    return GORDIAN_OK;
}

/* Parses "2.9". False: it is not a version. */
static bool parse_version(const struct value *version, uint32_t *major, uint32_t *minor)
{
    size_t at = 0;
    if (!value_is(version, VALUE_TEXT) || !take_digits(version->text, version->count, &at, major) ||
        at == version->count || version->text[at++] != '.')
        return false;
    return take_digits(version->text, version->count, &at, minor) && at == version->count;
}

/* A new minor version adds fields, and a new major version changes them. It is not known which
 * fields an unknown version changed. */
static gordian_status check_version(struct dump_reader *reader, const struct value *version)
{
    uint32_t major, minor;
    if (!version)
        return fail(reader->error, GORDIAN_STATUS_INPUT,
                    "the dump has no version: supported flight recorder versions are %s",
                    VERSIONS_READ);
    if (!parse_version(version, &major, &minor))
        return fail(reader->error, GORDIAN_STATUS_INPUT,
                    "the version of the dump is not a number: supported versions are %s",
                    VERSIONS_READ);
    if (major < VERSION_MAJOR)
        return fail(reader->error, GORDIAN_STATUS_INPUT,
                    "version %u.%u of the flight recorder numbers collectives and sends together "
                    "(seq_id): supported are versions %s, which PyTorch 2.4 and later write",
                    major, minor, VERSIONS_READ);
    if (major > VERSION_MAJOR || minor > VERSION_MINOR_MOST)
        return fail(reader->error, GORDIAN_STATUS_INPUT,
                    "version %u.%u of the flight recorder is unknown: supported versions are %s",
                    major, minor, VERSIONS_READ);
    return GORDIAN_OK;
}

static gordian_status read_dump(struct dump_reader *reader, const struct value *dump)
{
    const struct value *entries = value_find(dump, "entries");
    if (!value_is(dump, VALUE_DICT))
        return fail(reader->error, GORDIAN_STATUS_INPUT,
                    "not a flight recorder dump of versions %s: it is not a dictionary",
                    VERSIONS_READ);
    TRY(check_version(reader, value_find(dump, "version")));
    if (!entries && !value_find(dump, "pg_config"))
        return fail(reader->error, GORDIAN_STATUS_INPUT,
                    "not a flight recorder dump: it has no entries");
    TRY(read_groups(reader, value_find(dump, "pg_config")));
    for (uint32_t i = 0; i < value_count(entries); i++)
        TRY(read_entry(reader, entries->items[i]));
    return read_statuses(reader, value_find(dump, "pg_status"));
}

gordian_status dump_read(struct dump_reader *reader, const char *bytes, size_t size,
                         struct rank *rank, gordian_error *error)
{
    const struct value *dump = NULL;
    reader->error = error;
    reader->local_count = reader->entry_count = reader->membership_count = 0;
    reader->untimed = reader->completed = false;
    gordian_status status =
        size == 0 ? fail(error, GORDIAN_STATUS_INPUT, "the dump is empty")
        : pickle_begins((const uint8_t *)bytes, size)
            ? pickle_read(&dump, &reader->arena, (const uint8_t *)bytes, size, error)
            : json_read(&dump, &reader->arena, bytes, size, error);
    THEN(status, read_dump(reader, dump));
    if (status == GORDIAN_OK) {
        resolve_coalesced(reader->entries, reader->entry_count, reader->memberships,
                          reader->membership_count, !reader->completed);
        status = keep_rank(reader, rank);
    }
    arena_free(&reader->arena);
    return status;
}

gordian_status dump_reader_open(struct dump_reader **out, struct training *job,
                                gordian_error *error)
{
    struct dump_reader *reader = memory_zeroed(&job->memory, sizeof *reader);
    if (!reader)
        return fail_memory(error);
    reader->job = job;
    arena_init(&reader->arena, &job->memory);
    names_init(&reader->texts, &job->memory);
    names_init(&reader->group_names, &job->memory);
    *out = reader;
    return GORDIAN_OK;
}

void dump_reader_close(struct dump_reader *reader)
{
    if (!reader)
        return;
    gordian_allocator memory = reader->job->memory;
    arena_free(&reader->arena);
    names_free(&reader->texts);
    names_free(&reader->group_names);
    memory_free_all(&memory, reader->locals, reader->entries, reader->memberships, reader);
}

/* Labels of processes and resources, by string interning. */
#include "service/serve/system/tags.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/names/interner.h"

#include <string.h>

/* A text with its table entry, its number in a list, and its own list. */
#define TEXT_BYTES(length) ((((uint64_t)(length) + 6 + 7) / 8) * 10 + 40)
#define SET_BYTES          48

void tags_init(struct tags *tags, const gordian_allocator *memory)
{
    *tags = (struct tags){.memory = *memory, .free_one = GORDIAN_NONE};
}

void tags_free(struct tags *tags)
{
    for (int of = 0; of < TAGS_SIDES; of++) {
        for (uint32_t id = 0; id < tags->set_room[of]; id++)
            memory_free(&tags->memory, tags->sets[of][id]);
        memory_free(&tags->memory, tags->sets[of]);
    }
    if (tags->texts)
        names_free(tags->texts);
    memory_free_all(&tags->memory, tags->list, tags->texts);
}

/* ------------------------------------------------------------------ texts */

static void release_number(struct tags *tags, uint32_t number)
{
    struct tag *tag = &tags->list[number];
    if (tag->users[TAGS_PROCESS] || tag->users[TAGS_RESOURCE])
        return;
    names_drop(tags->texts, number);
    tag->next_free = tags->free_one;
    tags->free_one = number;
}

static uint32_t find_text(const struct tags *tags, const char *text, size_t length)
{
    bool fits = tags->texts && length > 0 && length <= GORDIAN_NAME_MAX;
    return fits ? names_find(tags->texts, text, length) : GORDIAN_NONE;
}

/* Interns a label and returns its number. GORDIAN_NONE: out of memory. */
static uint32_t intern_label(struct tags *tags, const struct wire_text *text)
{
    uint32_t number = find_text(tags, text->text, text->length);
    if (number != GORDIAN_NONE)
        return number;
    if (!tags->texts) {
        tags->texts = memory_alloc(&tags->memory, sizeof *tags->texts);
        if (!tags->texts)
            return GORDIAN_NONE;
        names_init(tags->texts, &tags->memory);
    }
    bool used_before = tags->free_one != GORDIAN_NONE;
    number = used_before ? tags->free_one : tags->limit;
    if (!memory_grow32(&tags->memory, &tags->list, &tags->room, number + 1, sizeof *tags->list) ||
        !names_reserve(tags->texts, number + 1, text->length) ||
        !names_put(tags->texts, number, text->text, text->length))
        return GORDIAN_NONE;
    if (used_before)
        tags->free_one = tags->list[number].next_free;
    else
        tags->limit++;
    tags->list[number] = (struct tag){.next_free = GORDIAN_NONE};
    return number;
}

/* ------------------------------------------------------------------ lists */

static struct tag_set *set_of(const struct tags *tags, enum tags_of of, uint32_t id)
{
    return id < tags->set_room[of] ? tags->sets[of][id] : NULL;
}

static void drop_key(const struct tags *tags, struct tag_set *set, const char *key, size_t length)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const char *text = names_text(tags->texts, set->numbers[i]);
        if (strncmp(text, key, length) != 0 || text[length] != ':')
            continue;
        set->count--;
        memmove(&set->numbers[i], &set->numbers[i + 1], (set->count - i) * sizeof *set->numbers);
        return;
    }
}

static gordian_status plan_label(struct tags *tags, struct tag_set *set,
                                 const struct wire_text *text, gordian_error *error)
{
    const char *why;
    size_t length = names_label_key(text->text, text->length, &why);
    if (length == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "invalid label: %s", why);
    drop_key(tags, set, text->text, length);
    if (length + 1 == text->length)
        return GORDIAN_OK;
    if (set->count == TAGS_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "too many labels: at most %d", TAGS_MAX);
    uint32_t number = intern_label(tags, text);
    if (number == GORDIAN_NONE)
        return fail_memory(error);
    set->numbers[set->count++] = number;
    return GORDIAN_OK;
}

/* Releases the numbers of labels that were interned and are unused. */
static void release_unused(struct tags *tags, const struct wire_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number = find_text(tags, texts[i].text, texts[i].length);
        if (number != GORDIAN_NONE)
            release_number(tags, number);
    }
}

static bool reserve_sets(struct tags *tags, enum tags_of of, uint32_t id)
{
    uint32_t old = tags->set_room[of];
    if (!memory_grow32(&tags->memory, &tags->sets[of], &tags->set_room[of], id + 1,
                       sizeof *tags->sets[of]))
        return false;
    for (uint32_t i = old; i < tags->set_room[of]; i++)
        tags->sets[of][i] = NULL;
    return true;
}

static void replace_set(struct tags *tags, enum tags_of of, uint32_t id, struct tag_set *fresh)
{
    struct tag_set *old = tags->sets[of][id];
    tags->sets[of][id] = fresh;
    for (uint32_t i = 0; fresh && i < fresh->count; i++)
        tags->list[fresh->numbers[i]].users[of]++;
    for (uint32_t i = 0; old && i < old->count; i++) {
        tags->list[old->numbers[i]].users[of]--;
        release_number(tags, old->numbers[i]);
    }
    memory_free(&tags->memory, old);
}

gordian_status tags_change(struct tags *tags, enum tags_of of, uint32_t id,
                           const struct wire_text *texts, size_t count, gordian_error *error)
{
    const struct tag_set *old = set_of(tags, of, id);
    struct tag_set plan = {.count = old ? old->count : 0}, *fresh = NULL;
    gordian_status status = GORDIAN_OK;
    if (old)
        memcpy(plan.numbers, old->numbers, old->count * sizeof *old->numbers);
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = plan_label(tags, &plan, &texts[i], error);
    if (status == GORDIAN_OK && plan.count > 0) {
        size_t size = sizeof plan.count + plan.count * sizeof *plan.numbers;
        fresh = memory_alloc(&tags->memory, size);
        if (!fresh || !reserve_sets(tags, of, id))
            status = fail_memory(error);
        else
            memcpy(fresh, &plan, size);
    }
    if (status != GORDIAN_OK)
        memory_free(&tags->memory, fresh);
    else if (fresh || old)
        replace_set(tags, of, id, fresh);
    release_unused(tags, texts, count);
    return status;
}

void tags_drop(struct tags *tags, enum tags_of of, uint32_t id)
{
    if (set_of(tags, of, id))
        replace_set(tags, of, id, NULL);
}

/* ------------------------------------------------------------------ queries */

uint32_t tags_count(const struct tags *tags, enum tags_of of, uint32_t id)
{
    const struct tag_set *set = set_of(tags, of, id);
    return set ? set->count : 0;
}

const char *tags_text(const struct tags *tags, enum tags_of of, uint32_t id, uint32_t index)
{
    return names_text(tags->texts, tags->sets[of][id]->numbers[index]);
}

uint64_t tags_cost(const struct tags *tags, enum tags_of of, uint32_t id)
{
    uint32_t count = tags_count(tags, of, id);
    uint64_t bytes = count ? SET_BYTES : 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += TEXT_BYTES(strlen(tags_text(tags, of, id, i)));
    return bytes;
}

uint64_t tags_more_cost(const struct wire_text *texts, size_t count)
{
    uint64_t bytes = SET_BYTES;
    for (size_t i = 0; i < count; i++)
        bytes += TEXT_BYTES(texts[i].length);
    return bytes;
}

uint32_t tags_find(const struct tags *tags, const char *text)
{
    return find_text(tags, text, strlen(text));
}

const char *tags_label(const struct tags *tags, uint32_t number)
{
    return tags->texts ? names_text(tags->texts, number) : "";
}

bool tags_has(const struct tags *tags, enum tags_of of, uint32_t id, uint32_t number)
{
    const struct tag_set *set = set_of(tags, of, id);
    for (uint32_t i = 0; set && i < set->count; i++)
        if (set->numbers[i] == number)
            return true;
    return false;
}

uint32_t tags_users(const struct tags *tags, enum tags_of of, uint32_t number)
{
    return number == GORDIAN_NONE ? 0 : tags->list[number].users[of];
}

void tags_look(struct tag_texts *texts, const struct tags *tags, enum tags_of of, uint32_t id)
{
    texts->count = tags_count(tags, of, id);
    for (uint32_t i = 0; i < texts->count; i++)
        texts->texts[i] = tags_text(tags, of, id, i);
}

void tag_texts_json(struct json *json, const struct tag_texts *texts)
{
    if (texts->count == 0)
        return;
    json_open(json, "labels", '[');
    for (uint32_t i = 0; i < texts->count; i++)
        json_text(json, texts->texts[i]);
    json_shut(json);
}

void tags_json(struct json *json, const struct tags *tags, enum tags_of of, uint32_t id)
{
    struct tag_texts texts;
    tags_look(&texts, tags, of, id);
    tag_texts_json(json, &texts);
}

/* ------------------------------------------------------------------ snapshots */

void tags_save(const struct tags *tags, struct bytes *bytes)
{
    for (int of = 0; of < TAGS_SIDES; of++) {
        uint64_t sets = 0;
        for (uint32_t id = 0; id < tags->set_room[of]; id++)
            sets += tags->sets[of][id] != NULL;
        bytes_u64(bytes, sets);
        for (uint32_t id = 0; id < tags->set_room[of]; id++) {
            uint32_t count = tags_count(tags, (enum tags_of)of, id);
            if (count == 0)
                continue;
            bytes_u64(bytes, id);
            bytes_u64(bytes, count);
            for (uint32_t i = 0; i < count; i++) {
                const char *text = tags_text(tags, (enum tags_of)of, id, i);
                bytes_text(bytes, text, strlen(text));
            }
        }
    }
}

gordian_status tags_load(struct bytes_in *in,
                         gordian_status (*take)(void *context, enum tags_of of, uint32_t id,
                                                const struct wire_text *texts, size_t count,
                                                gordian_error *error),
                         void *context, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (int of = 0; of < TAGS_SIDES; of++) {
        uint64_t sets = bytes_take_count(in);
        for (uint64_t i = 0; i < sets && status == GORDIAN_OK; i++) {
            struct wire_text texts[TAGS_MAX];
            uint32_t id = (uint32_t)bytes_take_upto(in, UINT32_MAX - 1);
            uint64_t count = bytes_take_upto(in, TAGS_MAX);
            for (uint64_t j = 0; j < count; j++)
                texts[j].text = bytes_take_text(in, &texts[j].length);
            if (in->bad || count == 0)
                return fail(error, GORDIAN_STATUS_INPUT, "damaged snapshot: labels");
            status = take(context, (enum tags_of)of, id, texts, (size_t)count, error);
        }
    }
    return status;
}

/*
 * Labels of processes and resources: texts KEY:VALUE, one per key, to find what belongs together.
 * They are called *tags* here, because output/show/json.h uses "labels" for names.
 *
 * Each text is stored once, with a number and a count of users; a process or resource has a list of
 * numbers. So a filter compares numbers, and a text that nothing has is found at once.
 */
#pragma once

#include "foundation/base/bytes.h"
#include "foundation/base/json/json_write.h"
#include "service/wire/wire.h"

#define TAGS_MAX 16 /* per process or resource */

enum tags_of {
    TAGS_PROCESS,
    TAGS_RESOURCE,
    TAGS_SIDES,
};

struct names;

struct tag_set {
    uint32_t count;
    uint32_t numbers[TAGS_MAX]; /* allocated for `count` of them */
};

struct tag {
    uint32_t users[TAGS_SIDES];
    uint32_t next_free; /* of an unused number */
};

struct tags {
    gordian_allocator memory;
    struct names *texts; /* by number; NULL before the first label */
    struct tag *list;    /* by number; NULL before the first label */
    uint32_t limit, room, free_one;
    struct tag_set **sets[TAGS_SIDES]; /* by id; NULL: none */
    uint32_t set_room[TAGS_SIDES];
};

void tags_init(struct tags *tags, const gordian_allocator *memory);
void tags_free(struct tags *tags);

/* Sets all of these labels, or none: KEY:VALUE replaces the value of the key, KEY: removes it.
 * GORDIAN_STATUS_INPUT: a text is not a valid label, or there would be too many labels. */
gordian_status tags_change(struct tags *tags, enum tags_of of, uint32_t id,
                           const struct wire_text *texts, size_t count, gordian_error *error);
/* Removes all labels of an id that is no longer in use. */
void tags_drop(struct tags *tags, enum tags_of of, uint32_t id);
/* Memory cost as in cost.c: of the labels of an id; the most that these texts add. */
uint64_t tags_cost(const struct tags *tags, enum tags_of of, uint32_t id);
uint64_t tags_more_cost(const struct wire_text *texts, size_t count);

/* How many labels it has; the text of one of them. */
uint32_t tags_count(const struct tags *tags, enum tags_of of, uint32_t id);
const char *tags_text(const struct tags *tags, enum tags_of of, uint32_t id, uint32_t index);
/* The number of a text; GORDIAN_NONE: no process or resource has this label. */
uint32_t tags_find(const struct tags *tags, const char *text);
bool tags_has(const struct tags *tags, enum tags_of of, uint32_t id, uint32_t number);
/* The text of a number below tags->limit; "" if nothing has it. */
const char *tags_label(const struct tags *tags, uint32_t number);
/* How many processes or resources have it. */
uint32_t tags_users(const struct tags *tags, enum tags_of of, uint32_t number);
/* All texts of one id, valid until its labels change. */
struct tag_texts {
    uint32_t count;
    const char *texts[TAGS_MAX];
};

void tags_look(struct tag_texts *texts, const struct tags *tags, enum tags_of of, uint32_t id);
/* Writes "labels":[..] unless there are none. */
void tags_json(struct json *json, const struct tags *tags, enum tags_of of, uint32_t id);
void tag_texts_json(struct json *json, const struct tag_texts *texts);

/* For snapshots: the id and the texts of everything that has labels. tags_load calls `take` for
 * each; it calls tags_change. A status other than GORDIAN_OK stops it. */
void tags_save(const struct tags *tags, struct bytes *bytes);
gordian_status tags_load(struct bytes_in *in,
                         gordian_status (*take)(void *context, enum tags_of of, uint32_t id,
                                                const struct wire_text *texts, size_t count,
                                                gordian_error *error),
                         void *context, gordian_error *error);

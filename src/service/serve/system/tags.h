/*
 * Labels of the processes and resources of a system: words KEY:VALUE, one for each key, by which
 * people find what belongs together. In here they are *tags*: "labels" are what drawings call names
 * (output/show/json.h).
 *
 * Each text is kept once, with a number of its own and how many have it; what has tags has a list
 * of numbers. So a filter compares numbers, and whether anybody has a tag is known at once.
 */
#pragma once

#include "foundation/base/bytes.h"
#include "foundation/base/json/json_write.h"
#include "service/wire/wire.h"

#define TAGS_MAX 16 /* of one process or resource */

enum tags_of {
    TAGS_PROCESS,
    TAGS_RESOURCE,
    TAGS_SIDES,
};

struct names;

struct tag_set {
    uint32_t count;
    uint32_t numbers[TAGS_MAX]; /* room for `count` of them */
};

struct tag {
    uint32_t users[TAGS_SIDES];
    uint32_t next_free; /* of a number that nobody has */
};

struct tags {
    gordian_allocator memory;
    struct names *texts; /* by number; NULL: there was none yet */
    struct tag *list;    /* likewise */
    uint32_t limit, room, free_one;
    struct tag_set **sets[TAGS_SIDES]; /* by id; NULL: none */
    uint32_t set_room[TAGS_SIDES];
};

void tags_init(struct tags *tags, const gordian_allocator *memory);
void tags_free(struct tags *tags);

/* Sets all of these, or nothing: KEY:VALUE replaces what there is of that key, KEY: alone takes it
 * away. GORDIAN_STATUS_INPUT: one is no label, or they would be too many. */
gordian_status tags_change(struct tags *tags, enum tags_of of, uint32_t id,
                           const struct wire_text *texts, size_t count, gordian_error *error);
/* Whoever had this id has gone. */
void tags_drop(struct tags *tags, enum tags_of of, uint32_t id);
/* What they take, as system/cost.c reckons; and no more than so much more with these. */
uint64_t tags_cost(const struct tags *tags, enum tags_of of, uint32_t id);
uint64_t tags_more_cost(const struct wire_text *texts, size_t count);

/* How many it has; the text of one of them. */
uint32_t tags_count(const struct tags *tags, enum tags_of of, uint32_t id);
const char *tags_text(const struct tags *tags, enum tags_of of, uint32_t id, uint32_t index);
/* Its number; GORDIAN_NONE: nobody has it. */
uint32_t tags_find(const struct tags *tags, const char *text);
bool tags_has(const struct tags *tags, enum tags_of of, uint32_t id, uint32_t number);
/* The text of a number below tags->limit; "" if nobody has it. */
const char *tags_label(const struct tags *tags, uint32_t number);
/* How many have it. */
uint32_t tags_users(const struct tags *tags, enum tags_of of, uint32_t number);
/* All of one, valid until they change. */
struct tag_texts {
    uint32_t count;
    const char *texts[TAGS_MAX];
};

void tags_look(struct tag_texts *texts, const struct tags *tags, enum tags_of of, uint32_t id);
/* "labels":[..], unless there are none; the same of what has been looked up. */
void tags_json(struct json *json, const struct tags *tags, enum tags_of of, uint32_t id);
void tag_texts_json(struct json *json, const struct tag_texts *texts);

/* For snapshots: of everything that has some, its id and their texts. What is loaded is told to
 * `take`, which calls tags_change; anything but GORDIAN_OK ends it. */
void tags_save(const struct tags *tags, struct bytes *bytes);
gordian_status tags_load(struct bytes_in *in,
                         gordian_status (*take)(void *context, enum tags_of of, uint32_t id,
                                                const struct wire_text *texts, size_t count,
                                                gordian_error *error),
                         void *context, gordian_error *error);

/* Interned texts: the labels of a graph, the places and transitions of a net. */
#include "engines/compose/circuit/label_table.h"

#include "foundation/base/error.h"

#include <string.h>

void labels_free(struct label_table *labels)
{
    hash_free(&labels->table, &labels->memory);
    memory_free_all(&labels->memory, labels->starts, labels->text);
    *labels = (struct label_table){.memory = labels->memory};
}

gordian_status labels_init(struct label_table *labels, const gordian_allocator *memory,
                           gordian_error *error)
{
    uint32_t tau;
    *labels = (struct label_table){.memory = *memory};
    gordian_status status = labels_put(labels, "tau", 3, &tau, error);
    if (status != GORDIAN_OK)
        labels_free(labels);
    return status;
}

const char *labels_text(const struct label_table *labels, uint32_t label)
{
    return labels->text + labels->starts[label];
}

uint32_t labels_find(const struct label_table *labels, const char *text, size_t length)
{
    struct hash_probe probe = hash_probe(&labels->table, hash_bytes(text, length));
    while (hash_meet(&labels->table, &probe)) {
        const char *there = labels_text(labels, probe.number);
        if (strncmp(there, text, length) == 0 && there[length] == '\0')
            return probe.number;
    }
    return GORDIAN_NONE;
}

static void put_labels(const void *context, struct hash *table)
{
    const struct label_table *labels = context;
    for (uint32_t i = 0; i < labels->count; i++) {
        const char *text = labels_text(labels, i);
        hash_put(table, hash_bytes(text, strlen(text)), i);
    }
}

gordian_status labels_put(struct label_table *labels, const char *text, size_t length,
                          uint32_t *label, gordian_error *error)
{
    uint32_t found = labels_find(labels, text, length);
    if (found != GORDIAN_NONE) {
        *label = found;
        return GORDIAN_OK;
    }
    if (labels->count == GORDIAN_NONE - 1 ||
        !hash_reserve(&labels->table, &labels->memory, labels->count + 1, labels->count + 1,
                      put_labels, labels) ||
        !memory_extend(&labels->memory, labels->starts, labels->start_room, labels->count) ||
        !memory_grow(&labels->memory, &labels->text, &labels->text_room,
                     labels->text_used + length + 1, 1))
        return fail_memory(error);
    labels->starts[labels->count] = labels->text_used;
    memcpy(labels->text + labels->text_used, text, length);
    labels->text[labels->text_used + length] = '\0';
    labels->text_used += length + 1;
    hash_put(&labels->table, hash_bytes(text, length), labels->count);
    *label = labels->count++;
    return GORDIAN_OK;
}

gordian_status labels_copy(struct label_table *to, const struct label_table *from, uint32_t *new_of,
                           gordian_error *error)
{
    for (uint32_t i = 0, number; i < from->count; i++) {
        const char *text = labels_text(from, i);
        TRY(labels_put(to, text, strlen(text), new_of ? &new_of[i] : &number, error));
    }
    return GORDIAN_OK;
}

bool label_next(const char **at, struct label_part *part)
{
    const char *name = *at;
    size_t length = strcspn(name, "|"), name_length = strcspn(name, "=|");
    bool datum = name_length < length;
    *part = (struct label_part){.name = name,
                                .datum = datum ? name + name_length + 1 : NULL,
                                .name_length = name_length,
                                .datum_length = datum ? length - name_length - 1 : 0,
                                .length = length};
    *at += length + (name[length] == '|');
    return *name != '\0';
}

bool label_part_is(const struct label_part *part, const char *name)
{
    return strlen(name) == part->name_length && memcmp(name, part->name, part->name_length) == 0;
}

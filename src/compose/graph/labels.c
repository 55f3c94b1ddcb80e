/* Texts of any length and their numbers. */
#include "base/error.h"
#include "compose/graph/graph.h"

#include <string.h>

static size_t hash_text(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (size_t)(hash ^ hash >> 32);
}

void labels_free(struct label_table *labels)
{
    memory_free(&labels->memory, labels->slots);
    memory_free(&labels->memory, labels->starts);
    memory_free(&labels->memory, labels->text);
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

/* The slot where the text is, or would go. */
static size_t slot_of(const struct label_table *labels, const char *text, size_t length)
{
    size_t mask = labels->slot_count - 1;
    size_t slot = hash_text(text, length) & mask;
    for (; labels->slots[slot]; slot = (slot + 1) & mask) {
        const char *there = labels_text(labels, labels->slots[slot] - 1);
        if (strncmp(there, text, length) == 0 && there[length] == '\0')
            break;
    }
    return slot;
}

uint32_t labels_find(const struct label_table *labels, const char *text, size_t length)
{
    if (labels->slot_count == 0)
        return GORDIAN_NONE;
    uint32_t found = labels->slots[slot_of(labels, text, length)];
    return found ? found - 1 : GORDIAN_NONE;
}

static bool grow_slots(struct label_table *labels)
{
    size_t wanted = labels->slot_count ? 2 * labels->slot_count : 64;
    uint32_t *slots = memory_zeroed(&labels->memory, wanted * sizeof *slots);
    if (!slots)
        return false;
    memory_free(&labels->memory, labels->slots);
    labels->slots = slots;
    labels->slot_count = wanted;
    for (uint32_t i = 0; i < labels->count; i++) {
        const char *text = labels_text(labels, i);
        slots[slot_of(labels, text, strlen(text))] = i + 1;
    }
    return true;
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
        (2 * ((size_t)labels->count + 1) > labels->slot_count && !grow_slots(labels)) ||
        !memory_grow(&labels->memory, &labels->starts, &labels->start_room,
                     (size_t)labels->count + 1, sizeof *labels->starts) ||
        !memory_grow(&labels->memory, &labels->text, &labels->text_room,
                     labels->text_used + length + 1, 1))
        return fail_memory(error);
    labels->starts[labels->count] = labels->text_used;
    memcpy(labels->text + labels->text_used, text, length);
    labels->text[labels->text_used + length] = '\0';
    labels->text_used += length + 1;
    labels->slots[slot_of(labels, text, length)] = labels->count + 1;
    *label = labels->count++;
    return GORDIAN_OK;
}

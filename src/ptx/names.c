#include "ptx/parts.h"

#include <string.h>

void ptx_names_free(struct ptx_names *names)
{
    if (names->slots)
        memory_free(&names->memory, names->slots);
    names->slots = NULL;
    names->slot_count = names->used = 0;
}

static size_t hash_of(uint32_t scope, const char *text, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ scope;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return (size_t)(hash ^ hash >> 29);
}

/* Where the name is, or would be. */
static struct ptx_name *find_slot(const struct ptx_names *names, uint32_t scope, const char *text,
                                  size_t length)
{
    size_t mask = names->slot_count - 1;
    for (size_t i = hash_of(scope, text, length) & mask;; i = (i + 1) & mask) {
        struct ptx_name *slot = &names->slots[i];
        if (!slot->text || (slot->length == length && slot->scope == scope &&
                            memcmp(slot->text, text, length) == 0))
            return slot;
    }
}

uint32_t ptx_names_find(const struct ptx_names *names, uint32_t scope, const char *text,
                        size_t length)
{
    if (names->used == 0)
        return PTX_NONE;
    const struct ptx_name *slot = find_slot(names, scope, text, length);
    return slot->text ? slot->value : PTX_NONE;
}

static bool grow(struct ptx_names *names)
{
    struct ptx_names larger = {.memory = names->memory,
                               .slot_count = names->slot_count ? names->slot_count * 2 : 64,
                               .used = names->used};
    larger.slots = memory_zeroed(&names->memory, larger.slot_count * sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < names->slot_count; i++) {
        const struct ptx_name *slot = &names->slots[i];
        if (slot->text)
            *find_slot(&larger, slot->scope, slot->text, slot->length) = *slot;
    }
    memory_free(&names->memory, names->slots);
    *names = larger;
    return true;
}

bool ptx_names_put(struct ptx_names *names, uint32_t scope, const char *text, size_t length,
                   uint32_t value)
{
    if ((names->used + 1) * 4 > names->slot_count * 3 && !grow(names))
        return false;
    struct ptx_name *slot = find_slot(names, scope, text, length);
    names->used += !slot->text;
    *slot = (struct ptx_name){text, (uint32_t)length, scope, value};
    return true;
}

/* A number at the start of text; *length: what is left of it. */
static bool take_count(const char **text, size_t *length, size_t *count)
{
    size_t digits = 0;
    *count = 0;
    for (; digits < *length && digits < 6 && (*text)[digits] >= '0' && (*text)[digits] <= '9';
         digits++)
        *count = *count * 10 + (size_t)((*text)[digits] - '0');
    *text += digits;
    *length -= digits;
    return digits > 0 && *count > 0 && *count <= *length;
}

void ptx_plain_name(const char **text, size_t *length)
{
    if (*length < 4 || memcmp(*text, "_Z", 2) != 0)
        return;
    const char *at = *text + 2, *found = NULL;
    size_t left = *length - 2, count, found_length = 0;
    bool nested = *at == 'N';
    while (left > 0 && (*at == 'N' || *at == 'K' || *at == 'L')) {
        at++;
        left--;
    }
    while (take_count(&at, &left, &count)) {
        found = at;
        found_length = count;
        at += count;
        left -= count;
        if (!nested)
            break;
    }
    if (found) {
        *text = found;
        *length = found_length;
    }
}

/* Names by scope, in a hash table; demangled names. */
#include "engines/ptx/ptx_internal.h"

#include <string.h>

void ptx_names_free(struct ptx_names *names)
{
    if (names->list) {
        hash_free(&names->table, &names->memory);
        memory_free(&names->memory, names->list);
    }
    *names = (struct ptx_names){.memory = names->memory};
}

static uint64_t hash_name(uint32_t scope, const char *text, size_t length)
{
    return hash_stir(hash_bytes(text, length), scope);
}

static struct ptx_name *find_scoped_name(const struct ptx_names *names, uint32_t scope,
                                         const char *text, size_t length)
{
    struct hash_probe probe = hash_probe(&names->table, hash_name(scope, text, length));
    while (hash_meet(&names->table, &probe)) {
        struct ptx_name *name = &names->list[probe.number];
        if (name->length == length && name->scope == scope && memcmp(name->text, text, length) == 0)
            return name;
    }
    return NULL;
}

uint32_t ptx_names_find(const struct ptx_names *names, uint32_t scope, const char *text,
                        size_t length)
{
    const struct ptx_name *name = find_scoped_name(names, scope, text, length);
    return name ? name->value : PTX_NONE;
}

static void rehash_names(const void *context, struct hash *table)
{
    const struct ptx_names *names = context;
    for (uint32_t i = 0; i < names->count; i++) {
        const struct ptx_name *name = &names->list[i];
        hash_put(table, hash_name(name->scope, name->text, name->length), i);
    }
}

bool ptx_names_put(struct ptx_names *names, uint32_t scope, const char *text, size_t length,
                   uint32_t value)
{
    struct ptx_name *name = find_scoped_name(names, scope, text, length);
    uint32_t count = names->count + 1;
    if (!name) {
        if (!memory_grow32(&names->memory, &names->list, &names->room, count,
                           sizeof *names->list) ||
            !hash_reserve(&names->table, &names->memory, count, count, rehash_names, names))
            return false;
        hash_put(&names->table, hash_name(scope, text, length), names->count);
        name = &names->list[names->count++];
    }
    *name = (struct ptx_name){text, (uint32_t)length, scope, value};
    return true;
}

/* Parses a number at the start of the text. *length: the rest. */
static bool parse_count(const char **text, size_t *length, size_t *count)
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
    while (parse_count(&at, &left, &count)) {
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

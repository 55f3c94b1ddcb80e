/* Ring buffer of the last changes of a system. */
#include "service/serve/system/recent.h"

#define RECENT_MIN 256u

void recent_free(struct recent *recent, const gordian_allocator *memory)
{
    memory_free(memory, recent->items);
    *recent = (struct recent){0};
}

void recent_grow(struct recent *recent, const gordian_allocator *memory)
{
    if (recent->room == RECENT_MAX || recent->written < recent->room)
        return;
    uint32_t room = recent->room ? recent->room * 2 : RECENT_MIN;
    struct recent_item *items = memory_alloc(memory, room * sizeof *items);
    if (!items)
        return;
    /* Items counted while there was no memory are lost: their kind is 0. */
    for (uint32_t i = 0; i < room; i++)
        items[i] = (struct recent_item){0};
    for (uint64_t i = recent_first(recent); recent->room && i < recent->written; i++)
        items[i & (room - 1)] = *recent_at(recent, i);
    memory_free(memory, recent->items);
    recent->items = items;
    recent->room = room;
}

void recent_json(struct json *json, const struct recent_item *item)
{
    static const char *const texts[] = {[RECENT_ADD_WAIT] = "+w",
                                        [RECENT_DROP_WAIT] = "-w",
                                        [RECENT_ADD_HOLD] = "+h",
                                        [RECENT_DROP_HOLD] = "-h"};
    json_open(json, NULL, '[');
    json_text(json, texts[item->kind]);
    json_u64(json, item->process);
    json_u64(json, item->resource);
    json_u64(json, item->units);
    if (item->await)
        json_u64(json, 1);
    json_shut(json);
}

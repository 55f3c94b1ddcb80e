/* Collects the nodes and arrows of a wait-for graph. */
#include "output/show/picture.h"

#include <string.h>

static const char *copy_text(struct picture *picture, const char *text)
{
    const char *copy = arena_text(&picture->arena, text, strlen(text));
    picture->failed = picture->failed || !copy;
    return copy ? copy : "";
}

void picture_open(struct picture *picture, const char *title)
{
    gordian_allocator memory = memory_allocator(NULL);
    *picture = (struct picture){.memory = memory};
    arena_init(&picture->arena, &memory);
    picture->title = copy_text(picture, title);
}

void picture_close(struct picture *picture)
{
    arena_free(&picture->arena);
    memory_free_all(&picture->memory, picture->nodes, picture->arrows);
    *picture = (struct picture){.memory = picture->memory};
}

uint32_t picture_node(struct picture *picture, const char *name, const char *kind, bool lock)
{
    if (!memory_grow(&picture->memory, &picture->nodes, &picture->node_room,
                     picture->node_count + 1, sizeof *picture->nodes)) {
        picture->failed = true;
        return 0;
    }
    picture->nodes[picture->node_count] = (struct picture_node){
        .name = copy_text(picture, name), .kind = copy_text(picture, kind), .lock = lock};
    return (uint32_t)picture->node_count++;
}

void picture_arrow(struct picture *picture, uint32_t from, uint32_t to, bool waits,
                   const char *word, const char *place)
{
    if (from >= picture->node_count || to >= picture->node_count ||
        !memory_grow(&picture->memory, &picture->arrows, &picture->arrow_room,
                     picture->arrow_count + 1, sizeof *picture->arrows)) {
        picture->failed = true;
        return;
    }
    picture->arrows[picture->arrow_count++] = (struct picture_arrow){
        from, to, waits, copy_text(picture, word), copy_text(picture, place)};
    picture->nodes[from].drawn = picture->nodes[to].drawn = true;
}

/* As a picture: sessions, and what they wait for. */
#include "output/show/picture.h"
#include "sources/watch/tell.h"

#include <stdio.h>

#define NAME_SIZE 200

static void add_session(struct picture *picture, const struct telling *telling,
                        struct member member)
{
    const struct session *session = member_session(telling->sources, member);
    char name[NAME_SIZE], kind[NAME_SIZE];
    tell_name(telling, member, name, sizeof name);
    snprintf(kind, sizeof kind, "%.60s%s%.60s", session->user, *session->application ? ", " : "",
             session->application);
    picture_node(picture, name, kind, false);
}

static void add_resource(struct picture *picture, const struct telling *telling,
                         const struct arrow_between *arrow)
{
    const struct look *look = &telling->sources[arrow->from.source]->look;
    char name[NAME_SIZE];
    const char *kind = "client";
    tell_resource(telling, arrow, name, sizeof name);
    if (arrow->edge != LOOK_NONE)
        kind = look->waits[look->edges[arrow->edge].wait].object;
    picture_node(picture, name, kind, true);
}

/* The first words of what a session runs. */
static void short_query(const struct session *session, char *text, size_t size)
{
    snprintf(text, size, "%.40s", session->query);
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
}

static void draw_deadlock(struct picture *picture, const struct telling *telling,
                          const struct deadlock *deadlock)
{
    uint32_t count = (uint32_t)deadlock->cycle_count;
    char text[NAME_SIZE];
    tell_title(deadlock, text, sizeof text);
    picture_open(picture, text);
    for (uint32_t i = 0; i < count; i++) {
        add_session(picture, telling, deadlock->cycle[i].from);
        add_resource(picture, telling, &deadlock->cycle[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct arrow_between *arrow = &deadlock->cycle[i];
        short_query(member_session(telling->sources, arrow->from), text, sizeof text);
        picture_arrow(picture, 2 * i, 2 * i + 1, true, "waits for", text);
        picture_arrow(picture, 2 * i + 1, i + 1 < count ? 2 * i + 2 : 0, false,
                      tell_holding(telling, arrow), "");
    }
    picture->cycle = true;
}

void tell_dot(const struct telling *telling, const struct deadlock *deadlock, struct output *out)
{
    struct picture picture;
    draw_deadlock(&picture, telling, deadlock);
    picture_dot(&picture, out);
    picture_close(&picture);
}

void tell_svg(const struct telling *telling, const struct deadlock *deadlock, struct output *out)
{
    struct picture picture;
    draw_deadlock(&picture, telling, deadlock);
    picture_svg(&picture, out);
    picture_close(&picture);
}

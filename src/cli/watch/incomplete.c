/* What could not be seen, and the exit code for it. */
#include "cli/watch/watch.h"

#include <stdio.h>
#include <string.h>

/* "shop/4711 (and 2 more) ", "shop: " */
static void name_unseen(const struct watching *watching, const struct unseen *unseen, char *text,
                        size_t size)
{
    const struct telling telling = watching_telling(watching);
    char name[200];
    if (!unseen->sessions) {
        snprintf(text, size, "%s: ", telling.sources[unseen->source]->label);
        return;
    }
    tell_name(&telling, (struct member){unseen->source, unseen->session}, name, sizeof name);
    if (unseen->sessions == 1)
        snprintf(text, size, "%s ", name);
    else
        snprintf(text, size, "%s (and %zu more) ", name, unseen->sessions - 1);
}

bool take_unseen(struct watching *watching)
{
    const struct servers *servers = &watching->servers;
    return unseen_take(&watching->unseen, servers->sources, servers->count, &servers->links);
}

void tell_unseen_once(struct watching *watching)
{
    struct telling telling = watching_telling(watching);
    char text[256];
    for (size_t i = 0; i < watching->unseen.count; i++) {
        const struct unseen *unseen = &watching->unseen.list[i];
        name_unseen(watching, unseen, text, sizeof text);
        output_text(telling.out, "  not seen: ");
        style_name(&telling.style, telling.out, COLOR_PLAIN, text);
        style_name(&telling.style, telling.out, COLOR_PLAIN, unseen->reason);
        output_char(telling.out, '\n');
    }
}

/* Has this been told of? Otherwise it is from now on. */
static bool is_told(struct watching *watching, uint64_t key)
{
    for (size_t i = 0; i < watching->unseen_told_count; i++)
        if (watching->unseen_told[i] == key)
            return true;
    if (memory_grow(&watching->memory, &watching->unseen_told, &watching->unseen_told_room,
                    watching->unseen_told_count + 1, sizeof *watching->unseen_told))
        watching->unseen_told[watching->unseen_told_count++] = key;
    else
        watching->failed = true;
    return false;
}

/* Each reason once for a server. What concerns a whole server is told elsewhere. */
void tell_unseen(struct watching *watching)
{
    char text[256];
    if (!take_unseen(watching))
        watching->failed = true;
    for (size_t i = 0; i < watching->unseen.count; i++) {
        const struct unseen *unseen = &watching->unseen.list[i];
        const struct source *source = watching->servers.sources[unseen->source];
        if (!source->look.whole && !*source->trouble)
            continue; /* it is about to be looked at for the first time */
        watching->incomplete = true;
        struct telling telling = watching_telling(watching);
        uint64_t key =
            hash_stir(hash_bytes(unseen->reason, strlen(unseen->reason)), unseen->source);
        if (is_told(watching, key))
            continue;
        if (watching->cli->json)
            tell_unseen_json(&telling, unseen);
        if (!unseen->sessions || watching->cli->quiet)
            continue;
        name_unseen(watching, unseen, text, sizeof text);
        cli_say(watching->cli, "%s%s", text, unseen->reason);
    }
}

int watching_code(struct watching *watching)
{
    if (watching->failed)
        return EXIT_BROKEN;
    if (watching->found)
        return EXIT_FOUND;
    return watching->incomplete || !take_unseen(watching) || watching->unseen.count
               ? EXIT_INCOMPLETE
               : EXIT_NOTHING;
}

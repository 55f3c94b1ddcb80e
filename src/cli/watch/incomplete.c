/* Reports what the watch could not see, and determines the exit status for that. */
#include "cli/watch/watch.h"

#include <stdio.h>
#include <string.h>

/* Writes "shop/4711 (and 2 more) " or "shop: ". */
static void name_unseen(const struct watching *watching, const struct unseen *unseen, char *text,
                        size_t size)
{
    const struct telling telling = watching_report_context(watching);
    char name[200];
    if (!unseen->sessions) {
        snprintf(text, size, "%s: ", telling.sources[unseen->source]->label);
        return;
    }
    write_member_name(&telling, (struct member){unseen->source, unseen->session}, name,
                      sizeof name);
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

static void write_unseen(const struct watching *watching, const struct unseen *unseen,
                         struct output *out)
{
    const struct style style = cli_style(watching->cli);
    char text[256];
    name_unseen(watching, unseen, text, sizeof text);
    output_text(out, "  not seen: ");
    style_name(&style, out, COLOR_PLAIN, text);
    style_name(&style, out, COLOR_PLAIN, unseen->reason);
    output_char(out, '\n');
}

void report_unseen_once(struct watching *watching)
{
    for (size_t i = 0; i < watching->unseen.count; i++)
        write_unseen(watching, &watching->unseen.list[i], &watching->cli->out);
}

/* Was this reported before? Remembers it otherwise. */
static bool was_reported(struct watching *watching, uint64_t key)
{
    for (size_t i = 0; i < watching->unseen_reported_count; i++)
        if (watching->unseen_reported[i] == key)
            return true;
    if (memory_grow(&watching->memory, &watching->unseen_reported, &watching->unseen_told_room,
                    watching->unseen_reported_count + 1, sizeof *watching->unseen_reported))
        watching->unseen_reported[watching->unseen_reported_count++] = key;
    else
        watching->failed = true;
    return false;
}

/* Is it missing, for a reason that was not yet reported for its server? */
static bool is_news(struct watching *watching, const struct unseen *unseen)
{
    const struct source *source = watching->servers.sources[unseen->source];
    if (!source->scan.whole && !*source->trouble)
        return false; /* the first poll is still outstanding */
    watching->incomplete = true;
    return !was_reported(
        watching, hash_stir(hash_bytes(unseen->reason, strlen(unseen->reason)), unseen->source));
}

/* Reports each reason once per server. report_servers reports what concerns a whole server. */
void report_unseen(struct watching *watching)
{
    char text[256];
    if (!take_unseen(watching))
        watching->failed = true;
    for (size_t i = 0; i < watching->unseen.count; i++) {
        const struct unseen *unseen = &watching->unseen.list[i];
        struct telling telling = watching_report_context(watching);
        if (!is_news(watching, unseen))
            continue;
        if (watching->cli->json)
            watch_unseen_json(&telling, unseen);
        if (!unseen->sessions || watching->cli->quiet)
            continue;
        name_unseen(watching, unseen, text, sizeof text);
        cli_say(watching->cli, "%s%s", text, unseen->reason);
    }
}

void collect_unseen(struct watching *watching, struct output *missed)
{
    if (!take_unseen(watching))
        watching->failed = true;
    for (size_t i = 0; i < watching->unseen.count; i++)
        if (is_news(watching, &watching->unseen.list[i]))
            write_unseen(watching, &watching->unseen.list[i], missed);
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

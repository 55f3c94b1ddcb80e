/* gordian tail --since: the deadlocks of before, from the service's HTTP interface. */
#define _GNU_SOURCE
#include "cli/tail.h"

#include "base/error.h"
#include "base/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ANSWER_MOST (64u << 20)
#define PAGE        500

bool tail_parse_since(const char *text, uint64_t *ms)
{
    static const char letters[] = "smhd";
    static const uint64_t factors[] = {1000, 60000, 3600000, 86400000};
    size_t length = strlen(text);
    const char *why, *letter = length ? strchr(letters, text[length - 1]) : NULL;
    uint64_t factor = letter ? factors[letter - letters] : 1000;
    if (!parse_u64(text, length - (letter != NULL), ms, &why) || *ms > UINT64_MAX / factor)
        return false;
    *ms *= factor;
    return true;
}

/* ------------------------------------------------------------------ HTTP */

/* The body of an answer that ends with its connection; false: it is not a good one. */
static bool find_body(const char *text, size_t length, struct json_value *body, unsigned *code)
{
    const char *end = memmem(text, length, "\r\n\r\n", 4);
    if (!end || sscanf(text, "HTTP/1.%*u %3u", code) != 1)
        return false;
    *body = json_line(end + 4, length - (size_t)(end + 4 - text));
    return body->length > 0;
}

/* Asks and reads to the end: HTTP/1.0, one question a connection. */
static gordian_status get(struct tail *tail, const char *path, struct line_link *http,
                          struct json_value *body, gordian_error *error)
{
    char request[2000], uri[300];
    unsigned code = 0;
    snprintf(uri, sizeof uri, "tcp://%.250s", tail->http);
    gordian_status status = line_link_find(http, uri, error);
    if (status == GORDIAN_OK)
        status = line_link_connect(http, error);
    if (status != GORDIAN_OK)
        return status;
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.0\r\nHost: %.250s\r\nConnection: close\r\n%s%s%s\r\n",
                          path, tail->http, *tail->token ? "Authorization: Bearer " : "",
                          tail->token, *tail->token ? "\r\n" : "");
    if (!line_link_put(http, request, (size_t)length))
        return fail_memory(error);
    while (status == GORDIAN_OK && fifo_count(&http->in) < ANSWER_MOST)
        status = line_link_step(http, -1, 30000, error);
    if (!http->ended || !find_body(fifo_front(&http->in), fifo_count(&http->in), body, &code))
        return fail(error, GORDIAN_IO, "http://%.250s: no good answer", tail->http);
    if (code == 200)
        return GORDIAN_OK;
    char message[200] = "";
    struct json_value inner;
    if (json_member(*body, "error", &inner))
        json_member_string(inner, "message", message, sizeof message);
    return fail(error, GORDIAN_INPUT, "http://%.250s: %u %s", tail->http, code, message);
}

/* ------------------------------------------------------------------ pages */

/* The answers, newest first: shown in the opposite order. */
struct pages {
    struct line_link links[64];
    struct json_value bodies[64];
    size_t count;
};

/* A name as a part of a URL. */
static void write_escaped(char *to, size_t size, const char *name)
{
    size_t used = 0;
    for (; *name && used + 4 < size; name++) {
        unsigned char c = (unsigned char)*name;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     strchr("-_.~", c);
        used += (size_t)snprintf(to + used, size - used, plain ? "%c" : "%%%02X", c);
    }
    to[used] = '\0';
}

static gordian_status fetch(struct tail *tail, struct pages *pages, uint64_t since,
                            gordian_error *error)
{
    char path[1200], system[800];
    uint64_t before = 0;
    write_escaped(system, sizeof system, tail->system ? tail->system : "default");
    for (; pages->count < 64; pages->count++) {
        struct json_value *body = &pages->bodies[pages->count];
        int used = snprintf(path, sizeof path, "/api/v1/incidents?system=%s&since=%llu&limit=%d",
                            system, (unsigned long long)since, PAGE);
        if (before)
            snprintf(path + used, sizeof path - (size_t)used, "&before=%llu",
                     (unsigned long long)before);
        gordian_status status = get(tail, path, &pages->links[pages->count], body, error);
        if (status != GORDIAN_OK) {
            pages->count++; /* to be closed */
            return status;
        }
        if (!json_member_number(*body, "next", &before) || before == 0) {
            pages->count++;
            break;
        }
    }
    return GORDIAN_OK;
}

/* A page, from its end to its start. */
static void show_page(struct tail *tail, struct json_value body)
{
    struct json_value list, item, items[PAGE];
    size_t count = 0;
    if (!json_member(body, "incidents", &list))
        return;
    for (struct json_value rest = json_items(list); count < PAGE && json_item(&rest, &item);)
        items[count++] = item;
    while (count-- > 0) {
        tail->shown++;
        tail->found = true;
        if (tail->cli->json)
            output_format(&tail->cli->out, "{\"incident\":%.*s}\n", (int)items[count].length,
                          items[count].text);
        else
            tail_incident(tail, items[count]);
    }
}

gordian_status tail_history(struct tail *tail, gordian_error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    struct pages *pages = calloc(1, sizeof *pages);
    if (!pages)
        return fail_memory(error);
    gordian_status status =
        fetch(tail, pages, ms > tail->since_ms ? ms - tail->since_ms : 0, error);
    for (size_t i = pages->count; i-- > 0;) {
        if (status == GORDIAN_OK)
            show_page(tail, pages->bodies[i]);
        line_link_close(&pages->links[i]);
    }
    free(pages);
    output_flush(&tail->cli->out);
    return status;
}

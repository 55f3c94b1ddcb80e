/* gordian tail --since: the deadlocks of before, from the service's HTTP interface. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/service/tail.h"

#include "base/error.h"
#include "base/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define ANSWER_MOST (64u << 20)
#define PAGE        500
#define USUAL_PORT  7420

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

/* Where HTTP is answered. */
struct place {
    char host[300]; /* HOST:PORT */
    bool secure;
};

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* As --http says, or else on the service's own machine at the usual port. A service that speaks TLS
 * does so here, too; and whoever speaks of TLS does not mean to send a token without. */
static struct place find_place(const struct tail *tail)
{
    const struct secure_wishes *tls = &tail->tls;
    const char *host = tail->link.address.host, *given = tail->http;
    struct place place = {.secure = tail->link.secure || tls->ca || tls->name || tls->certificate};
    if (given && has_prefix(given, "https://"))
        place.secure = true;
    else if (given && has_prefix(given, "http://"))
        place.secure = false;
    if (given && strstr(given, "://"))
        given = strstr(given, "://") + 3;
    if (given)
        snprintf(place.host, sizeof place.host, "%.250s", given);
    else if (*host)
        snprintf(place.host, sizeof place.host, strchr(host, ':') ? "[%.250s]:%d" : "%.250s:%d",
                 host, USUAL_PORT);
    else
        snprintf(place.host, sizeof place.host, "127.0.0.1:%d", USUAL_PORT);
    size_t length = strlen(place.host);
    if (length > 0 && place.host[length - 1] == '/')
        place.host[length - 1] = '\0';
    return place;
}

/* Is all of the body here, as far as the head tells? */
static bool is_whole(const char *head, size_t head_length, size_t body_length)
{
    static const char name[] = "\r\ncontent-length:";
    for (size_t i = 0; i + sizeof name < head_length; i++)
        if (strncasecmp(head + i, name, sizeof name - 1) == 0)
            return strtoull(head + i + sizeof name - 1, NULL, 10) == body_length;
    return true;
}

/* The body of an answer that ends with its connection; false: it is not a good one. */
static bool find_body(const char *text, size_t length, struct json_value *body, unsigned *code)
{
    const char *end = memmem(text, length, "\r\n\r\n", 4);
    if (!end || sscanf(text, "HTTP/1.%*u %3u", code) != 1)
        return false;
    size_t head = (size_t)(end - text) + 4;
    if (!is_whole(text, head, length - head))
        return false;
    *body = json_line(text + head, length - head);
    return body->length > 0;
}

static gordian_status connect_to(const struct tail *tail, const struct place *place,
                                 struct line_link *http, gordian_error *error)
{
    static const struct secure_wishes none = {0};
    char uri[320];
    snprintf(uri, sizeof uri, "%s://%s", place->secure ? "tls" : "tcp", place->host);
    gordian_status status = line_link_find(http, uri, place->secure ? &tail->tls : &none, error);
    return status == GORDIAN_OK ? line_link_connect(http, error) : status;
}

/* Asks and reads to the end: HTTP/1.0, one question a connection. */
static gordian_status get(struct tail *tail, const char *path, struct line_link *http,
                          struct json_value *body, gordian_error *error)
{
    struct place place = find_place(tail);
    const char *scheme = place.secure ? "https" : "http";
    char request[2000];
    unsigned code = 0;
    gordian_status status = connect_to(tail, &place, http, error);
    if (status != GORDIAN_OK)
        return status;
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.0\r\nHost: %.250s\r\nConnection: close\r\n%s%s%s\r\n",
                          path, place.host, *tail->token ? "Authorization: Bearer " : "",
                          tail->token, *tail->token ? "\r\n" : "");
    if (!line_link_put(http, request, (size_t)length))
        return fail_memory(error);
    while (status == GORDIAN_OK && fifo_count(&http->in) < ANSWER_MOST)
        status = line_link_step(http, -1, 30000, error);
    if (status != GORDIAN_STATUS_IO && status != GORDIAN_OK)
        return status;
    if (!http->ended || !find_body(fifo_front(&http->in), fifo_count(&http->in), body, &code))
        return fail(error, GORDIAN_STATUS_IO, "%s://%.250s: no good answer", scheme, place.host);
    if (code == 200)
        return GORDIAN_OK;
    char message[200] = "";
    struct json_value inner;
    if (json_member(*body, "error", &inner))
        json_member_string(inner, "message", message, sizeof message);
    return fail(error, GORDIAN_STATUS_INPUT, "%s://%.250s: %u %s", scheme, place.host, code,
                message);
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

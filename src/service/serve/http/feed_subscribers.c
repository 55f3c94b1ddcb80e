/* The feed: every committed event of a system as server-sent events. */
#include "service/serve/http/feed_subscribers.h"

#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"
#include "service/serve/http/api.h"

#include <string.h>

#define FOLLOWERS_MAX 16
#define ITEMS         4096         /* items of the ring sent per iteration, over all feeds */
#define FULL          (256u << 10) /* unread bytes: pause (back-pressure) */

struct subscriber {
    struct subscriber *next;
    struct followers *of;
    struct http_connection *connection; /* NULL: closed */
    const struct served *served;
    uint64_t opened;
    uint64_t cursor; /* next item of the ring */
    uint64_t seq;    /* last event sent */
    bool gap;        /* later items are no longer in the ring */
};

/* How far a system's ring is committed. */
struct feed_commit {
    const struct served *served;
    uint64_t opened, written;        /* committed items */
    uint64_t marked, marked_written; /* when this record is committed, this many items are */
    bool pending;
};

struct followers {
    gordian_allocator memory;
    struct api *api;
    struct subscriber *list;
    unsigned count, generation;
    struct feed_commit *feed_commit; /* by slot */
    size_t room;
};

/* ------------------------------------------------------------------ committed events */

static struct feed_commit *commit_of(struct followers *followers, const struct served *served)
{
    const struct api *api = followers->api;
    if (!memory_grow_zeroed(&followers->memory, &followers->feed_commit, &followers->room,
                            (size_t)served->slot + 1, sizeof *followers->feed_commit))
        return NULL;
    struct feed_commit *feed_commit = &followers->feed_commit[served->slot];
    if (feed_commit->served != served || feed_commit->opened != served->opened)
        *feed_commit = (struct feed_commit){.served = served, .opened = served->opened};
    if (feed_commit->pending && store_committed(api->store) >= feed_commit->marked) {
        feed_commit->written = feed_commit->marked_written;
        feed_commit->pending = false;
    }
    if (!api->service->append_pending && store_committed(api->store) >= store_last(api->store)) {
        feed_commit->written = served->recent.written;
        feed_commit->pending = false;
    } else if (!feed_commit->pending) {
        feed_commit->pending = true;
        feed_commit->marked = store_last(api->store);
        feed_commit->marked_written = served->recent.written;
    }
    return feed_commit;
}

/* ------------------------------------------------------------------ sending */

static void write_effect(struct json *json, const struct served *served,
                         const struct recent_item *item)
{
    static const char *const signs[] = {[RECENT_ADD_WAIT] = "+w",
                                        [RECENT_DROP_WAIT] = "-w",
                                        [RECENT_ADD_HOLD] = "+h",
                                        [RECENT_DROP_HOLD] = "-h"};
    char label[GORDIAN_NAME_MAX + 1];
    json_open(json, NULL, '[');
    json_text(json, signs[item->kind]);
    json_text(json, served_process_label(served, item->process, label));
    if (item->await)
        json_text(json, "");
    else
        json_text(json, served_resource_label(served, item->resource, label));
    json_u64(json, item->units);
    json_shut(json);
}

/* Writes the event at `at` with its effects. Returns the position of the next one. */
static uint64_t write_feed_event(struct output *out, const struct served *served, uint64_t at,
                                 uint64_t end)
{
    const struct recent *recent = &served->recent;
    const struct recent_item *event = recent_at(recent, at);
    char label[GORDIAN_NAME_MAX + 1];
    struct json json;
    output_format(out, "id: %llu\nevent: event\ndata: ", (unsigned long long)event->seq);
    json_begin(&json, out);
    json_key_u64(&json, "seq", event->seq);
    json_key_u64(&json, "at", event->at);
    json_key_text(&json, "op", gordian_op_text((gordian_op)event->op));
    json_key_text(&json, "process", served_process_label(served, event->process, label));
    json_key_text(&json, "result", served_outcome_text(served, event->result));
    json_open(&json, "effects", '[');
    for (at++; at < end && recent_is_change(recent_at(recent, at)); at++)
        write_effect(&json, served, recent_at(recent, at));
    json_shut(&json);
    json_end(&json);
    output_char(out, '\n');
    return at;
}

static void write_seq(struct output *out, const char *name, uint64_t from, uint64_t seq)
{
    struct json json;
    output_format(out, "id: %llu\nevent: %s\ndata: ", (unsigned long long)seq, name);
    json_begin(&json, out);
    if (from != seq)
        json_key_u64(&json, "from", from);
    json_key_u64(&json, "seq", seq);
    json_end(&json);
    output_char(out, '\n');
}

/* The cursor has left the ring: reports the lost events. */
static void write_gap(struct subscriber *subscriber, struct output *out)
{
    const struct recent *recent = &subscriber->served->recent;
    uint64_t at = recent_first(recent);
    while (at < recent->written && recent_at(recent, at)->kind != RECENT_EVENT)
        at++;
    uint64_t seq = at < recent->written ? recent_at(recent, at)->seq - 1 : subscriber->served->seq;
    if (seq > subscriber->seq)
        write_seq(out, "gap", subscriber->seq, seq);
    subscriber->seq = seq > subscriber->seq ? seq : subscriber->seq;
    subscriber->cursor = at;
    subscriber->gap = false;
}

/* Sends some committed items. Returns their number. */
static uint64_t send_events(struct subscriber *subscriber, uint64_t feed_commit, uint64_t most)
{
    const struct served *served = subscriber->served;
    const struct recent *recent = &served->recent;
    struct output out;
    uint64_t start;
    output_open(&out, -1);
    if (subscriber->gap || subscriber->cursor < recent_first(recent))
        write_gap(subscriber, &out);
    start = subscriber->cursor;
    while (subscriber->cursor < feed_commit && subscriber->cursor - start < most &&
           out.used < FULL / 2) {
        const struct recent_item *item = recent_at(recent, subscriber->cursor);
        if (item->kind == RECENT_EVENT && item->seq > subscriber->seq) {
            subscriber->seq = item->seq;
            subscriber->cursor = write_feed_event(&out, served, subscriber->cursor, feed_commit);
            continue;
        }
        if (item->kind == RECENT_OTHER)
            write_seq(&out, "other", subscriber->seq, subscriber->seq);
        subscriber->cursor++;
    }
    if (!out.failure && out.used > 0)
        http_stream_write(subscriber->connection, out.buffer, out.used);
    output_close(&out);
    return subscriber->cursor - start;
}

static bool is_system_there(const struct followers *followers, const struct subscriber *subscriber)
{
    const struct service *service = followers->api->service;
    for (uint32_t i = 0; i < service->system_limit; i++)
        if (service->systems[i] == subscriber->served &&
            service->systems[i]->opened == subscriber->opened)
            return true;
    return false;
}

static void remove_subscriber(struct followers *followers, struct subscriber **link)
{
    struct subscriber *subscriber = *link;
    *link = subscriber->next;
    followers->count--;
    memory_free(&followers->memory, subscriber);
}

void subscribers_send(struct followers *followers)
{
    uint64_t left = ITEMS;
    if (!followers || !followers->list)
        return;
    bool stale = followers->generation != auth_generation(followers->api->auth);
    followers->generation = auth_generation(followers->api->auth);
    for (struct subscriber **link = &followers->list; *link;) {
        struct subscriber *subscriber = *link;
        if (subscriber->connection && (stale || !is_system_there(followers, subscriber))) {
            http_stream_end(subscriber->connection);
            subscriber->connection = NULL;
        }
        if (!subscriber->connection) {
            remove_subscriber(followers, link);
            continue;
        }
        const struct feed_commit *feed_commit = commit_of(followers, subscriber->served);
        if (feed_commit && left > 0 && http_stream_pending(subscriber->connection) < FULL)
            left -= send_events(subscriber, feed_commit->written, left);
        link = &subscriber->next;
    }
}

/* ------------------------------------------------------------------ opening and closing */

static void on_subscriber_gone(void *context)
{
    struct subscriber *subscriber = context;
    subscriber->connection = NULL;
}

/* Returns the position behind this event and its effects. *gap: the next event is no longer in the
 * ring. Searches from the end, because most clients have seen nearly everything. */
static uint64_t find_cursor(const struct served *served, uint64_t seq, bool *gap)
{
    const struct recent *recent = &served->recent;
    uint64_t first = recent_first(recent), next = recent->written;
    *gap = false;
    if (seq >= served->seq)
        return next;
    *gap = true;
    for (uint64_t at = next; at-- > first;) {
        const struct recent_item *item = recent_at(recent, at);
        if (item->kind != RECENT_EVENT)
            continue;
        *gap = item->seq > seq + 1;
        if (item->seq <= seq)
            break;
        next = at;
    }
    return next;
}

int api_feed(struct api_call *call)
{
    struct followers *followers = call->api->followers;
    const char *from = call->request->last_event_id ? call->request->last_event_id
                                                    : http_query(call->request, "from");
    const char *why;
    uint64_t seq = call->system->seq;
    if (from && *from && !parse_u64(from, strlen(from), &seq, &why))
        return api_fail(call, 400, "'from' is not the number of an event");
    if (call->request->method == HTTP_HEAD)
        return 200;
    if (followers->count >= FOLLOWERS_MAX)
        return api_fail(call, 503, "too many feeds: the limit is %d", FOLLOWERS_MAX);
    struct subscriber *subscriber = memory_zeroed(&followers->memory, sizeof *subscriber);
    if (!subscriber)
        return api_fail(call, 503, "out of memory");
    *subscriber = (struct subscriber){.of = followers,
                                      .connection = call->connection,
                                      .served = call->system,
                                      .opened = call->system->opened,
                                      .seq = seq < call->system->seq ? seq : call->system->seq};
    subscriber->cursor = find_cursor(call->system, subscriber->seq, &subscriber->gap);
    if (!http_stream_begin(call->connection, "text/event-stream", on_subscriber_gone, subscriber)) {
        memory_free(&followers->memory, subscriber);
        return API_LATER;
    }
    subscriber->next = followers->list;
    followers->list = subscriber;
    followers->count++;
    return API_LATER;
}

gordian_status subscribers_open(struct followers **out, struct api *api, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct followers *followers = memory_zeroed(&memory, sizeof *followers);
    *out = followers;
    if (!followers)
        return fail_memory(error);
    followers->memory = memory;
    followers->api = api;
    followers->generation = auth_generation(api->auth);
    return GORDIAN_OK;
}

void subscribers_close(struct followers *followers)
{
    if (!followers)
        return;
    while (followers->list) {
        if (followers->list->connection)
            http_stream_end(followers->list->connection);
        remove_subscriber(followers, &followers->list);
    }
    gordian_allocator memory = followers->memory;
    memory_free_all(&memory, followers->feed_commit, followers);
}

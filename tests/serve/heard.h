/* What a client that has subscribed to every event is told, through lost connections: each number
 * follows the one before, or a notice says which are missing. */
#ifndef GORDIAN_TESTS_SERVE_HEARD_H
#define GORDIAN_TESTS_SERVE_HEARD_H

#include "test.h"

#include <gordian/client.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hearer {
    uint64_t at; /* the newest event that was told, or said to be missing */
    unsigned events, deadlocks, gaps;
    unsigned unsaid; /* gaps without numbers */
    unsigned wrong;  /* notices that do not follow the one before */
};

static inline uint64_t heard_number(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : UINT64_MAX;
}

/* A gordian_notice_function. */
static inline void heard_notice(void *context, gordian_notice kind, const char *text, size_t length)
{
    struct hearer *heard = context;
    char json[1000];
    snprintf(json, sizeof json, "%.*s", (int)length, text);
    uint64_t seq = heard_number(json, "\"seq\":"), from = heard_number(json, "{\"gap\":{\"from\":");
    heard->deadlocks += kind == GORDIAN_NOTICE_DEADLOCK;
    if (kind == GORDIAN_NOTICE_EVENT) {
        heard->events++;
        heard->wrong += seq != heard->at + 1;
        heard->at = seq;
    }
    if (kind == GORDIAN_NOTICE_GAP) {
        heard->gaps++;
        if (strcmp(json, "{\"gap\":{}}") == 0) {
            heard->unsaid++;
            return;
        }
        heard->wrong += from != heard->at || seq < from;
        heard->at = seq;
    }
}

/* Until so many events were told or said to be missing, and so many gaps told. */
static inline void heard_wait(gordian_client *client, const struct hearer *heard, uint64_t at,
                              unsigned gaps)
{
    gordian_error why = {0};
    gordian_status status = GORDIAN_OK;
    for (int tries = 0;
         tries < 12000 && status == GORDIAN_OK && (heard->at < at || heard->gaps < gaps); tries++) {
        status = gordian_client_ping(client, &why);
        usleep(5000);
    }
    CHECK_MSG(status == GORDIAN_OK, "%s", why.message);
    CHECK_MSG(heard->at >= at && heard->gaps >= gaps && heard->wrong == 0,
              "%llu of %llu, %u gaps, %u wrong", (unsigned long long)heard->at,
              (unsigned long long)at, heard->gaps, heard->wrong);
}

/* A client that has subscribed, in a system that is not the one it began with. */
static inline gordian_client *heard_client(const char *uri, struct hearer *heard, unsigned mask)
{
    gordian_client *client;
    gordian_error why = {0};
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.lease_ms = 600000;
    options.timeout_ms = 120000;
    options.notice = heard_notice;
    options.context = heard;
    gordian_status status = gordian_client_open(&client, uri, &options, &why);
    if (status == GORDIAN_OK)
        status =
            gordian_client_open_system(client, "heard", GORDIAN_SERVICE_KIND_DETECTS, NULL, &why);
    if (status == GORDIAN_OK)
        status = gordian_client_subscribe(client, mask, &why);
    CHECK_MSG(status == GORDIAN_OK, "%s", why.message);
    REQUIRE(client != NULL);
    return client;
}

/* One request and its release: two events. */
static inline void heard_say(gordian_client *client)
{
    gordian_error why = {0};
    gordian_reply reply;
    uint32_t process, resource;
    CHECK(!gordian_client_add_resource(client, "said", 1, &resource, &why));
    CHECK(!gordian_client_add_process(client, "speaker", &process, &why));
    CHECK(!gordian_client_request(client, process, resource, 1, &reply, &why));
    CHECK_MSG(!gordian_client_release(client, process, resource, 1, &reply, &why), "%s",
              why.message);
}

#endif

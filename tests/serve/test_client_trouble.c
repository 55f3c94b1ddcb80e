/* The client library when its service fails it: sessions and events that are lost, answers that do
 * not come, quotas, what cannot be sent. The service is the fake one (fake.h). */
#define _GNU_SOURCE
#include "fake.h"
#include "service/client/client.h"
#include "test.h"

#include <gordian/client.h>

#include <string.h>

static gordian_error error;

struct ends {
    unsigned told, good;
    gordian_status status;
    bool linked;
};

static void note_end(void *context, const gordian_reply *reply)
{
    struct ends *ends = context;
    ends->told++;
    ends->good += reply->status == GORDIAN_OK;
    if (reply->status != GORDIAN_OK) {
        ends->status = reply->status;
        CHECK(reply->message && reply->message[0]);
    }
}

/* A session that is gone cannot be resumed: everybody is told. */
static void test_lost_session(bool lease)
{
    struct fake fake;
    struct fake_options options = {.seed = 3, .cut_percent = 100, .forget_sessions = true};
    struct ends ends = {0};
    REQUIRE(fake_start(&fake, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = lease ? 10000 : 0;
    gordian_client *client = fake_client(&fake, &wanted);
    uint32_t q, p;
    CHECK(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    for (unsigned i = 0; i < 10; i++) {
        gordian_event event = {.op = i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                               .process = p,
                               .resource = q,
                               .units = 1,
                               .to = GORDIAN_NONE};
        CHECK(gordian_client_send(client, &event, note_end, &ends, &error) == GORDIAN_OK);
    }
    gordian_status status = gordian_client_drain(client, GORDIAN_FOREVER, &error);
    CHECK_MSG(status == (lease ? GORDIAN_STATUS_UNAVAILABLE : GORDIAN_STATUS_IO), "%d %s",
              (int)status, error.message);
    CHECK(ends.told == 10 && ends.good < 10 && ends.status == status);
    CHECK(gordian_client_ping(client, &error) == status);
    CHECK(gordian_client_fd(client) == -1);
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* A service that has lost what it had acknowledged: that is said, not papered over. */
static void test_lost_events(void)
{
    struct fake fake;
    REQUIRE(fake_start(
        &fake, &(struct fake_options){.seed = 13, .cut_percent = 30, .forget_events = true}));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = 10000;
    gordian_client *client = fake_client(&fake, &wanted);
    gordian_reply reply;
    uint32_t q, p;
    CHECK(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    gordian_status status = GORDIAN_OK;
    for (unsigned i = 0; i < 400 && status == GORDIAN_OK; i++)
        status = i % 2 ? gordian_client_release(client, p, q, 1, &reply, &error)
                       : gordian_client_request(client, p, q, 1, &reply, &error);
    CHECK_MSG(status == GORDIAN_STATUS_IO && strstr(error.message, "lost events"), "%d %s",
              (int)status, error.message);
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* A service that is gone for longer than the lease is not waited for any more. */
static void test_lease_over(void)
{
    struct fake fake;
    struct ends ends = {0};
    REQUIRE(fake_start(&fake, &(struct fake_options){.seed = 16}));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.lease_ms = 200;
    gordian_client *client = fake_client(&fake, &wanted);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    fake_stop(&fake);
    fake_free(&fake);
    gordian_event event = {.op = GORDIAN_OP_CANCEL, .resource = GORDIAN_NONE, .to = GORDIAN_NONE};
    CHECK(gordian_client_send(client, &event, note_end, &ends, &error) == GORDIAN_OK);
    CHECK(gordian_client_drain(client, 20000, &error) == GORDIAN_STATUS_IO);
    CHECK(ends.told == 1 && ends.status == GORDIAN_STATUS_IO);
    gordian_client_close(client);
}

/* An event that the service could not take in time: its number is the next one's. */
static void test_busy(void)
{
    struct fake fake;
    REQUIRE(fake_start(&fake, &(struct fake_options){.seed = 17, .busy = true}));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.timeout_ms = 600000;
    gordian_client *client = fake_client(&fake, &wanted);
    gordian_reply reply;
    uint32_t q, p, other;
    CHECK(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "other", &other, &error) == GORDIAN_OK);
    struct ends ends = {0};
    gordian_event event = {
        .op = GORDIAN_OP_REQUEST, .process = p, .resource = q, .units = 1, .to = GORDIAN_NONE};
    client->timeout_ms = 500; /* only for what is not to be answered */
    CHECK(gordian_client_send(client, &event, note_end, &ends, &error) == GORDIAN_OK);
    CHECK(gordian_client_drain(client, GORDIAN_FOREVER, &error) == GORDIAN_OK);
    CHECK(ends.told == 1 && ends.status == GORDIAN_STATUS_IO);
    client->timeout_ms = 600000;
    fake.accepts = true;
    CHECK(gordian_client_request(client, p, q, 1, &reply, &error) == GORDIAN_OK);
    CHECK(reply.outcome == GORDIAN_OUTCOME_GRANTED && reply.number == 1);
    /* one that has ended does not wait */
    CHECK(gordian_client_request(client, other, q, 1, &reply, &error) == GORDIAN_OK &&
          reply.outcome == GORDIAN_OUTCOME_BLOCKED && events_is_waiting(client, other));
    CHECK(gordian_client_exit(client, other, &reply, &error) == GORDIAN_OK);
    CHECK(!events_is_waiting(client, other));
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* A quota with no time to come back is not tried again; an answer with too much in it is none. */
static void test_refused(void)
{
    struct fake fake;
    REQUIRE(fake_start(&fake, &(struct fake_options){.seed = 14, .refuse_events = WIRE_QUOTA}));
    gordian_client *client = fake_client(&fake, NULL);
    gordian_reply reply;
    uint32_t p = 0;
    CHECK(gordian_client_request(client, 0, 0, 1, &reply, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, "never"), "%s", error.message);
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
    REQUIRE(fake_start(&fake, &(struct fake_options){.seed = 15, .extra_ids = true}));
    client = fake_client(&fake, NULL);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strstr(error.message, "protocol"), "%s", error.message);
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* Somebody who never answers: a call ends all the same. */
static void test_mute(void)
{
    struct fake fake;
    struct fake_options options = {.seed = 4, .mute_after = 4};
    REQUIRE(fake_start(&fake, &options));
    gordian_client_options wanted;
    gordian_client_options_init(&wanted);
    wanted.timeout_ms = 600000;
    gordian_client *client = fake_client(&fake, &wanted);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    client->timeout_ms = 100; /* only for what is not to be answered */
    CHECK(gordian_client_ping(client, &error) == GORDIAN_STATUS_IO);
    gordian_reply reply;
    CHECK(gordian_client_request(client, 0, 0, 1, &reply, &error) == GORDIAN_STATUS_IO);
    CHECK(gordian_client_unanswered(client) == 1);
    /* an answer that comes yet must not be written to where this call was */
    CHECK(((const struct sent_event *)fifo_front(&client->events))->answered == NULL);
    CHECK(gordian_client_drain(client, 20, &error) == GORDIAN_STATUS_END);
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

/* What cannot be sent is refused before anything is; words about processes we know nothing of touch
 * nothing. */
static void test_limits(void)
{
    struct fake fake;
    REQUIRE(fake_start(&fake, &(struct fake_options){.seed = 9}));
    gordian_client *client = fake_client(&fake, NULL);
    uint32_t q, p;
    gordian_reply reply;
    CHECK(gordian_client_add_resource(client, "q", 1, &q, &error) == GORDIAN_OK);
    CHECK(gordian_client_add_process(client, "p", &p, &error) == GORDIAN_OK);
    gordian_want *wants = calloc(UINT16_MAX + 1, sizeof *wants);
    REQUIRE(wants);
    for (size_t i = 0; i <= UINT16_MAX; i++)
        wants[i] = (gordian_want){.resource = q, .units = 1};
    gordian_event event = {.op = GORDIAN_OP_REQUEST,
                           .process = p,
                           .to = GORDIAN_NONE,
                           .wants = wants,
                           .want_count = UINT16_MAX + 1};
    CHECK(gordian_client_event(client, &event, &reply, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, "65535"), "%s", error.message);
    event.want_count = 1;
    CHECK(gordian_client_event(client, &event, &reply, &error) == GORDIAN_OK &&
          reply.outcome == GORDIAN_OUTCOME_GRANTED);
    free(wants);
    for (uint32_t i = 0; i < 64; i++) { /* a sanitizer sees it if they do */
        uint32_t unknown = (uint32_t)client->waiting_room * 64 + i;
        events_set_waiting(client, unknown, true);
        CHECK(!events_is_waiting(client, unknown));
    }
    gordian_client_close(client);
    fake_stop(&fake);
    fake_free(&fake);
}

int main(void)
{
    test_lost_session(true);
    test_lost_session(false);
    test_lost_events();
    test_lease_over();
    test_busy();
    test_refused();
    test_mute();
    test_limits();
    return test_done();
}

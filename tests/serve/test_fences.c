/* The service, driven without sockets: the numbers that come with grants, and a service that only
 * stands by. */
#include "service_world.h"

static uint64_t fence_of(const struct wire_frame *frame)
{
    uint64_t fence = 0;
    CHECK(frame->kind == WIRE_FENCE && wire_get_u64(frame, &fence));
    return fence;
}

/* Says hello, and wants numbers. The number that it was welcomed with. */
static uint64_t hello_fenced(struct talker *talker)
{
    struct wire_frame fence = hello_as(talker, NULL, 60000, WIRE_FENCES, "");
    struct wire_frame welcome = next_frame(talker);
    CHECK(welcome.kind == WIRE_WELCOME);
    return fence_of(&fence);
}

/* The number of the first of these events, whose results come behind it. */
static uint64_t send_fenced(struct talker *talker, uint64_t first, const gordian_event *events,
                            size_t count)
{
    struct wire_frame fence = send_events(talker, first, events, count);
    struct wire_frame results = next_frame(talker);
    CHECK(results.kind == WIRE_RESULTS);
    return fence_of(&fence);
}

static gordian_event event_of(gordian_op op, uint32_t process, uint32_t resource)
{
    return (gordian_event){
        .op = op, .process = process, .resource = resource, .units = 1, .to = GORDIAN_NONE};
}

/* What somebody who waited is told: the number of the event that served it. */
static uint64_t granted_fence(struct talker *talker, uint32_t process)
{
    uint32_t granted = GORDIAN_NONE;
    struct wire_frame fence = next_frame(talker), frame = next_frame(talker);
    CHECK(frame.kind == WIRE_GRANTED && wire_get_u32(&frame, &granted) && granted == process);
    return fence_of(&fence);
}

/* Every holder has a greater number than the one before it, be it in the same message. */
static void numbers_grow(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    hello_fenced(ann);
    hello_fenced(bob);
    uint32_t q = declare(ann, WIRE_RESOURCE, "q", 1), a = declare(ann, WIRE_PROCESS, "a", 0);
    uint32_t c = declare(ann, WIRE_PROCESS, "c", 0), b = declare(bob, WIRE_PROCESS, "b", 0);
    const gordian_event both[] = {event_of(GORDIAN_OP_REQUEST, a, q),
                                  event_of(GORDIAN_OP_RELEASE, a, q),
                                  event_of(GORDIAN_OP_REQUEST, c, q)};
    uint64_t first = send_fenced(ann, 1, both, 3);
    CHECK(first >= world.now << 10 && world.service->fence == first + 2);
    gordian_event wait = event_of(GORDIAN_OP_REQUEST, b, q);
    CHECK(send_fenced(bob, 1, &wait, 1) == first + 3);
    /* released, and asked for again behind bob: each with its own number */
    const gordian_event again[] = {event_of(GORDIAN_OP_RELEASE, c, q),
                                   event_of(GORDIAN_OP_REQUEST, a, q)};
    forget(bob);
    uint64_t second = send_fenced(ann, 4, again, 2);
    CHECK(second == first + 4 && granted_fence(bob, b) == second);
    /* a clock that goes back changes nothing */
    world.now -= 1000000;
    gordian_event release = event_of(GORDIAN_OP_RELEASE, b, q);
    forget(ann);
    CHECK(send_fenced(bob, 2, &release, 1) == second + 2);
    CHECK(granted_fence(ann, a) == second + 2);
    /* what was applied before has no number; who takes its session up again gets a good one */
    struct wire_frame none = send_events(ann, 5, again + 1, 1);
    CHECK(fence_of(&none) == 0);
    CHECK(hello_fenced(ann) == world.service->fence);
    world_close(&world);
}

static gordian_status copy_section(void *context, const char *name, const void *bytes,
                                   size_t length, gordian_error *error)
{
    return service_load_section(context, name, bytes, length, error);
}

/* Not after a restart, nor from a snapshot, does a number come twice. */
static void numbers_are_kept(void)
{
    struct world world, replayed, loaded;
    gordian_error error = {0};
    world_open(&world, NULL);
    world_open(&replayed, NULL);
    world_open(&loaded, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "hello fences=yes lease=60\nresource q 1\nrequest a q\nrelease a q\nrequest b q\n");
    CHECK(heard(ann, "\"result\":\"granted\",\"fence\":"));
    CHECK(!heard(ann, "\"result\":\"released\",\"fence\":"));
    world_replay(&world, replayed.service, 0, world.record_count);
    CHECK(replayed.service->fence == world.service->fence);
    CHECK(service_save(world.service, copy_section, loaded.service, &error) == GORDIAN_OK);
    CHECK(loaded.service->fence == world.service->fence);
    world_close(&world);
    world_close(&replayed);
    world_close(&loaded);
}

/* Who stands by answers what only reads, follows, and says who leads. */
static void stands_by(void)
{
    struct world leader, other;
    world_open(&leader, NULL);
    world_open(&other, NULL);
    service_become_standby(other.service, "b:7420");
    struct talker *ann = world_connect(&leader), *bob = world_connect(&other);
    struct talker *eve = world_connect(&other);
    say(ann, "hello lease=60\nresource q 2\nrequest p q\n");
    world_replay(&leader, other.service, 0, leader.record_count);
    say(bob, "state p\n");
    CHECK(heard(bob, "\"holds\":{\"q\":1}"));
    say(bob, "request p q\n");
    CHECK(heard(bob, "the leader is b:7420\"") && heard(bob, "\"code\":18"));
    struct wire_frame refused = hello_as(eve, NULL, 60000, 0, "");
    CHECK(error_code(&refused) == WIRE_NOT_LEADER);
    /* time passes: leases are the leader's to judge */
    world_pass(&other, 3600000);
    CHECK(other.service->session_count == 1 && other.record_count == 0);
    service_become_standby(other.service, NULL);
    service_resume(other.service);
    say(bob, "request r q\n");
    CHECK(heard(bob, "\"result\":\"granted\"") && other.record_count > 0);
    world_close(&leader);
    world_close(&other);
}

int main(void)
{
    numbers_grow();
    numbers_are_kept();
    stands_by();
    return test_done();
}

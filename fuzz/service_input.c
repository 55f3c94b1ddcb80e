#include "service_input.h"

#include "../tests/serve/service_world.h"

struct fuzz_service {
    struct world world;
    struct talker *first, *second;
    unsigned char *bytes;
    size_t count, piece;
};

static void limit(struct service_options *options)
{
    options->limits.names = 4096; /* an input may ask for a lot; slowness is no finding */
    options->limits.systems = 4;
}

struct fuzz_service *fuzz_service_open(void)
{
    struct fuzz_service *service = calloc(1, sizeof *service);
    DEMAND(service, "memory");
    world_open(&service->world, limit);
    service->first = world_connect(&service->world);
    service->second = world_connect(&service->world);
    /* something to meet: two resources, and somebody who holds one and is told everything */
    say(service->second, "resource q0\nresource q1 3\nrequest p0 q0\nsubscribe all\n");
    service->piece = 1;
    return service;
}

void fuzz_service_give(struct fuzz_service *service, const void *bytes, size_t count)
{
    struct talker *talker = service->first;
    service->bytes = realloc(service->bytes, service->count + count + 1);
    DEMAND(service->bytes, "memory");
    memcpy(service->bytes + service->count, bytes, count);
    size_t there = service->count;
    service->count += count;
    while (there < service->count && !talker->client.closing) {
        size_t wanted;
        there += service->piece;
        service->piece = service->piece % 61 + 7;
        if (there > service->count)
            there = service->count;
        size_t used = service_take(&talker->client, service->bytes, there, SIZE_MAX, &wanted);
        DEMAND(used <= there, "more was used than there is");
        DEMAND(talker->client.closing || wanted == 0 || wanted > there - used,
               "it waits for what is there");
        memmove(service->bytes, service->bytes + used, service->count - used);
        service->count -= used;
        there -= used;
        if (talker->client.out.used > 1 << 20)
            talker->client.out.used = 0;
    }
}

void fuzz_service_close(struct fuzz_service *service)
{
    static struct world other;
    world_open(&other, NULL);
    world_replay(&service->world, other.service, 0, service->world.record_count);
    char *left = world_dump(service->world.service), *right = world_dump(other.service);
    DEMAND(strcmp(left, right) == 0, "the journal says otherwise:\n%s\n%s", left, right);
    free(left);
    free(right);
    world_close(&other);
    hang_up(service->first);
    world_pass(&service->world, 100000000);
    DEMAND(test_failed == 0, "see above");
    world_close(&service->world);
    free(service->bytes);
    free(service);
}

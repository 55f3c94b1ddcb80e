/* Two clients of a running service take two locks in opposite order. One of them is notified of
 * the deadlock and releases its lock, and both finish their work.
 *
 *     gordian serve --socket /tmp/g.sock &
 *     lock_client unix:/tmp/g.sock
 *
 * A real program has one client in each process. Here one process has both clients, so that the
 * order of events is always the same. */
#include <gordian/client.h>

#include <stdio.h>
#include <stdlib.h>

/* Ends the program if a call failed. */
static void must(gordian_status status, const gordian_error *error, const char *what)
{
    if (status == GORDIAN_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, error->message);
    exit(1);
}

struct worker {
    const char *name;
    gordian_client *client;
    uint32_t me;
};

static gordian_outcome acquire(struct worker *worker, uint32_t lock, const char *name)
{
    gordian_error error;
    gordian_reply reply;
    gordian_want want = {.resource = lock, .units = 1};
    must(gordian_client_acquire(worker->client, worker->me, &want, 1, 5000, &reply, &error), &error,
         "acquire");
    printf("%s acquires %s: %s\n", worker->name, name,
           gordian_outcome_text((gordian_outcome)reply.outcome));
    return (gordian_outcome)reply.outcome;
}

static void release(struct worker *worker, uint32_t lock, const char *name)
{
    gordian_error error;
    must(gordian_client_release(worker->client, worker->me, lock, 1, NULL, &error), &error,
         "release");
    printf("%s releases %s\n", worker->name, name);
}

static void begin(struct worker *worker, const char *name, const char *uri)
{
    gordian_error error;
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.name = name;
    worker->name = name;
    must(gordian_client_open(&worker->client, uri, &options, &error), &error, "connect");
    must(gordian_client_add_process(worker->client, name, &worker->me, &error), &error, "declare");
}

int main(int argc, char **argv)
{
    const char *uri = argc > 1 ? argv[1] : NULL; /* NULL: the default address */
    struct worker ann, bob;
    gordian_error error;
    gordian_reply reply;
    uint32_t fork, spoon;
    begin(&ann, "ann", uri);
    begin(&bob, "bob", uri);
    must(gordian_client_add_resource(ann.client, "fork", 1, &fork, &error), &error, "declare");
    must(gordian_client_add_resource(ann.client, "spoon", 1, &spoon, &error), &error, "declare");

    acquire(&ann, fork, "fork");
    acquire(&bob, spoon, "spoon");

    /* Ann requests without waiting. The service notifies her of the grant. */
    must(gordian_client_request(ann.client, ann.me, spoon, 1, &reply, &error), &error, "request");
    printf("ann requests spoon: %s\n", gordian_outcome_text((gordian_outcome)reply.outcome));

    /* Bob's request would close a cycle. The answer reports it, and Bob withdraws. */
    if (acquire(&bob, fork, "fork") == GORDIAN_OUTCOME_DEADLOCK) {
        release(&bob, spoon, "spoon");
        must(gordian_client_wait_granted(ann.client, ann.me, 5000, &error), &error, "wait");
        printf("ann is granted spoon\n");
    }
    release(&ann, spoon, "spoon");
    release(&ann, fork, "fork");
    acquire(&bob, spoon, "spoon");
    acquire(&bob, fork, "fork");

    /* A client that closes releases everything it holds. */
    gordian_client_close(bob.client);
    acquire(&ann, fork, "fork");
    gordian_client_close(ann.client);
    return 0;
}

#define _GNU_SOURCE
#include "relay.h"

#include "foundation/base/random.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection: a thread for each way. */
struct relay_lane {
    struct relay *relay;
    int client, service; /* service -1: none */
    pthread_t up, down;
    size_t left; /* bytes from the service until it is cut */
    pthread_mutex_t lock;
    int busy;          /* threads that use the sockets */
    atomic_bool reset; /* the client gets no end, but a reset, when its socket is closed */
};

/* Whoever waits for either end wakes up; the last one closes them. */
static void end_lane(struct relay_lane *lane, int done)
{
    int *ends[] = {&lane->client, &lane->service};
    pthread_mutex_lock(&lane->lock);
    lane->busy -= done;
    for (int i = 0; i < 2; i++) {
        if (*ends[i] < 0)
            continue;
        shutdown(*ends[i], i == 0 && atomic_load(&lane->reset) ? SHUT_RD : SHUT_RDWR);
        if (lane->busy == 0) {
            close(*ends[i]);
            *ends[i] = -1;
        }
    }
    pthread_mutex_unlock(&lane->lock);
}

static bool push(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t now = send(fd, bytes, count, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return false;
        bytes += now;
        count -= (size_t)now;
    }
    return true;
}

static ssize_t pull(int fd, char *bytes, size_t size, size_t piece)
{
    ssize_t count;
    do
        count = recv(fd, bytes, piece && piece < size ? piece : size, 0);
    while (count < 0 && errno == EINTR);
    return count;
}

static void *pump_up(void *context)
{
    struct relay_lane *lane = context;
    const struct relay_options *options = &lane->relay->options;
    char bytes[16384];
    ssize_t count;
    while ((count = pull(lane->client, bytes, sizeof bytes, options->piece)) > 0)
        if (lane->service >= 0 && !push(lane->service, bytes, (size_t)count))
            break;
    end_lane(lane, 1);
    return NULL;
}

/* Cuts the client off: what was under way to it may be lost with a reset. */
static void cut(struct relay_lane *lane)
{
    atomic_fetch_add(&lane->relay->cuts, 1);
    if (lane->relay->options.reset) {
        struct linger at_once = {.l_onoff = 1};
        setsockopt(lane->client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        atomic_store(&lane->reset, true);
    }
}

static void *pump_down(void *context)
{
    struct relay_lane *lane = context;
    const struct relay_options *options = &lane->relay->options;
    char bytes[16384];
    ssize_t count;
    while ((count = pull(lane->service, bytes, sizeof bytes, options->piece)) > 0) {
        size_t now = (size_t)count < lane->left ? (size_t)count : lane->left;
        lane->left -= now;
        if (!push(lane->client, bytes, now))
            break;
        if (lane->left == 0) {
            cut(lane);
            break;
        }
    }
    end_lane(lane, 1);
    return NULL;
}

/* What there is to say instead of the service. */
static void *answer(void *context)
{
    struct relay_lane *lane = context;
    const char *text = lane->relay->options.answer;
    if (text) {
        push(lane->client, text, strlen(text));
        shutdown(lane->client, SHUT_WR);
    }
    pthread_mutex_lock(&lane->lock);
    lane->busy--;
    pthread_mutex_unlock(&lane->lock);
    return NULL;
}

static int to_service(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

static void open_lane(struct relay *relay, int client, struct random *random)
{
    const struct relay_options *options = &relay->options;
    bool speaks = !options->silent && !options->answer;
    int on = 1, service = speaks ? to_service(options->port) : -1;
    struct relay_lane *lane = calloc(1, sizeof *lane);
    if (!lane || relay->lane_count == RELAY_LANES || (speaks && service < 0)) {
        close(client);
        if (service >= 0)
            close(service);
        free(lane);
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *lane = (struct relay_lane){.relay = relay, .client = client, .service = service, .busy = 2};
    pthread_mutex_init(&lane->lock, NULL);
    lane->left = options->cut_after   ? options->cut_after
                 : options->cut_every ? 1 + (size_t)random_below(random, 2 * options->cut_every)
                                      : SIZE_MAX;
    if (relay->lane_count == 0 && lane->left < SIZE_MAX - options->spared)
        lane->left += options->spared;
    if (pthread_create(&lane->up, NULL, pump_up, lane) != 0 ||
        pthread_create(&lane->down, NULL, speaks ? pump_down : answer, lane) != 0)
        abort();
    relay->lanes[relay->lane_count++] = lane;
    atomic_fetch_add(&relay->connections, 1);
}

static void *serve(void *context)
{
    struct relay *relay = context;
    struct random random;
    random_seed(&random, relay->options.seed);
    while (!atomic_load(&relay->stop)) {
        struct pollfd wanted = {.fd = relay->listener, .events = POLLIN};
        if (poll(&wanted, 1, 1000) <= 0)
            continue;
        int client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0)
            open_lane(relay, client, &random);
    }
    return NULL;
}

bool relay_start(struct relay *relay, const struct relay_options *options)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    *relay = (struct relay){.options = *options};
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (relay->listener < 0 || bind(relay->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(relay->listener, 64) != 0 ||
        getsockname(relay->listener, (struct sockaddr *)&at, &size) != 0)
        return false;
    relay->port = ntohs(at.sin_port);
    return pthread_create(&relay->thread, NULL, serve, relay) == 0;
}

void relay_stop(struct relay *relay)
{
    atomic_store(&relay->stop, true);
    shutdown(relay->listener, SHUT_RDWR); /* wakes it up */
    pthread_join(relay->thread, NULL);
    close(relay->listener);
    for (size_t i = 0; i < relay->lane_count; i++) {
        struct relay_lane *lane = relay->lanes[i];
        end_lane(lane, 0);
        pthread_join(lane->up, NULL);
        pthread_join(lane->down, NULL);
        end_lane(lane, 0);
        pthread_mutex_destroy(&lane->lock);
        free(lane);
    }
}

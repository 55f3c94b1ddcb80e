/*
 * The crash test of several servers on one store: clients in both forms of the protocol stream
 * numbered events to whoever leads, while that one is killed, stopped for longer than its lease, or
 * asked to hand over, and while the database itself goes over to its stand-by. Nothing that was
 * acknowledged is lost, nothing is applied twice, and of two leaders one's writes count.
 *
 *     crash-cluster GORDIAN KILLS PAUSES HAND-OVERS FAIL-OVERS
 *
 * GORDIAN_TEST_POSTGRES says where the database is. For a fail-over it prints "failover" and waits
 * for a line.
 */
#include "../test.h"
#include "crash_lane.h"
#include "foundation/base/clock.h"
#include "foundation/base/io/temporary.h"
#include "scratch.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LANES    8
#define SERVERS  3
#define PATIENCE UINT64_C(120000000000) /* ns */

static struct {
    const char *program, *database;
    char folder[SCRATCH_SIZE], log[256];
    struct {
        char socket[256];
        pid_t pid;
    } servers[SERVERS];
} cluster;

static _Atomic bool finish;
static struct lane lanes[LANES];

static void nap(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* ------------------------------------------------------------------ the database */

/* The answer's first row into `first` and `second`; false: there is none just now. */
static bool ask(const char *sql, char *first, char *second, size_t size)
{
    PGconn *conn = PQconnectdb(cluster.database);
    bool good = PQstatus(conn) == CONNECTION_OK;
    if (good)
        PQclear(PQexec(conn, "SET search_path TO crash"));
    PGresult *found = good ? PQexec(conn, sql) : NULL;
    good = good && PQresultStatus(found) == PGRES_TUPLES_OK && PQntuples(found) > 0;
    if (good)
        snprintf(first, size, "%s", PQgetvalue(found, 0, 0));
    if (good && second)
        snprintf(second, size, "%s", PQgetvalue(found, 0, 1));
    PQclear(found);
    PQfinish(conn);
    return good;
}

static unsigned long long ask_number(const char *sql)
{
    char text[100];
    uint64_t until = clock_ns() + PATIENCE;
    while (clock_ns() < until) {
        if (ask(sql, text, NULL, sizeof text))
            return strtoull(text, NULL, 10);
        nap(20);
    }
    REQUIRE(!"the database answers");
    return 0;
}

/* Which server leads, with a number above this one; *epoch: with which. */
static int wait_for_leader(unsigned long long after, unsigned long long *epoch)
{
    char address[300], number[300];
    uint64_t until = clock_ns() + PATIENCE;
    while (clock_ns() < until) {
        if (ask("SELECT address, epoch FROM leader", address, number, sizeof address) &&
            (*epoch = strtoull(number, NULL, 10)) > after)
            for (int i = 0; i < SERVERS; i++)
                if (strncmp(address, "unix:", 5) == 0 &&
                    strcmp(address + 5, cluster.servers[i].socket) == 0)
                    return i;
        nap(10);
    }
    REQUIRE(!"somebody leads");
    return -1;
}

/* ------------------------------------------------------------------ servers */

static void start_server(int which)
{
    pid_t pid = fork();
    if (pid == 0) {
        int log = open(cluster.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        setenv("GORDIAN_SNAPSHOT_BYTES", "300000", 1);
        execl(cluster.program, cluster.program, "serve", "--socket", cluster.servers[which].socket,
              "--store", cluster.database, "--store-schema", "crash", "--leader-lease", "1s",
              "--http", "none", NULL);
        _exit(127);
    }
    REQUIRE(pid > 0);
    cluster.servers[which].pid = pid;
}

/* Does it handle SIGTERM, or hold it back, by now? One that is just starting would be killed by it.
 * A mask with libc's own signal 32 in it is that of a moment: libc starts a thread. */
static bool hears_its_end(pid_t pid)
{
    static const char *const lines[] = {"\nSigCgt:", "\nSigBlk:"};
    char path[64], text[4096];
    uint64_t heard = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *line = strstr(text, lines[i]);
        uint64_t set = line ? strtoull(line + strlen(lines[i]), NULL, 16) : 0;
        heard |= i == 1 && set >> (32 - 1) & 1 ? 0 : set;
    }
    return heard >> (SIGTERM - 1) & 1;
}

static void end_server(int which, int signal_number)
{
    int status = 0;
    for (unsigned i = 0;
         i < 12000 && signal_number == SIGTERM && !hears_its_end(cluster.servers[which].pid); i++)
        nap(5);
    kill(cluster.servers[which].pid, signal_number);
    waitpid(cluster.servers[which].pid, &status, 0);
    CHECK_MSG(signal_number == SIGKILL ? WIFSIGNALED(status) : status == 0, "status %#x",
              (unsigned)status);
    cluster.servers[which].pid = 0;
}

/* Nobody ends but by our doing. */
static void check_alive(void)
{
    int status = 0;
    for (int i = 0; i < SERVERS; i++)
        CHECK_MSG(waitpid(cluster.servers[i].pid, &status, WNOHANG) == 0,
                  "server %d has ended, status %#x", i, (unsigned)status);
}

/* ------------------------------------------------------------------ clients */

/* Goes from one to the other until everything was acknowledged. */
static void *run_lane(void *context)
{
    struct lane *lane = context;
    for (unsigned which = 0; !lane->wrong[0]; which++) {
        lane->socket = cluster.servers[which % SERVERS].socket;
        if (lane_run(lane))
            return lane;
        nap(2);
    }
    return NULL;
}

static uint64_t total(size_t offset)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < LANES; i++)
        sum += *(_Atomic uint64_t *)((char *)&lanes[i] + offset);
    return sum;
}

/* All go on: what was acknowledged before is not enough. */
static void wait_for_work(void)
{
    uint64_t before[LANES], until = clock_ns() + PATIENCE;
    for (unsigned i = 0; i < LANES; i++)
        before[i] = lanes[i].acknowledged;
    for (unsigned i = 0; i < LANES; i++) {
        while (lanes[i].acknowledged < before[i] + 20 && !lanes[i].wrong[0] && clock_ns() < until)
            nap(2);
        CHECK_MSG(!lanes[i].wrong[0], "%s", lanes[i].wrong);
        CHECK(lanes[i].acknowledged >= before[i] + 20);
    }
    check_alive();
    if (test_failed) {
        fprintf(stderr, "the servers' messages are in %s\n", cluster.log);
        for (int i = 0; i < SERVERS; i++)
            if (cluster.servers[i].pid)
                end_server(i, SIGKILL);
        exit(1);
    }
}

/* ------------------------------------------------------------------ what happens to them */

static void kill_leader(struct random *random)
{
    unsigned long long epoch, later;
    int leader = wait_for_leader(0, &epoch);
    nap((unsigned)random_below(random, 60));
    end_server(leader, SIGKILL);
    if (random_chance(random, 50)) /* it may be back before another has noticed */
        wait_for_leader(epoch, &later);
    start_server(leader);
    wait_for_work();
}

/* Stopped for longer than its lease: another leads. Then it goes on, and must not count. */
static void pause_leader(struct random *random)
{
    unsigned long long epoch, later;
    int leader = wait_for_leader(0, &epoch);
    nap((unsigned)random_below(random, 60));
    kill(cluster.servers[leader].pid, SIGSTOP);
    wait_for_leader(epoch, &later);
    if (random_chance(random, 50))
        wait_for_work();
    kill(cluster.servers[leader].pid, SIGCONT);
    wait_for_work();
}

static bool log_has(const char *text)
{
    char line[1000];
    bool has = false;
    FILE *file = fopen(cluster.log, "r");
    while (file && !has && fgets(line, sizeof line, file))
        has = strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return has;
}

/* One that stands by is stopped until what comes next in the journal has been deleted. It must read
 * everything anew; then it is the only one left. */
static void leave_behind(void)
{
    unsigned long long epoch;
    int leader = wait_for_leader(0, &epoch), away = (leader + 1) % SERVERS;
    int third = (leader + 2) % SERVERS;
    kill(cluster.servers[away].pid, SIGSTOP);
    unsigned long long batch = ask_number("SELECT batch FROM leader");
    uint64_t until = clock_ns() + PATIENCE;
    while (ask_number("SELECT min(batch) FROM journal") <= batch + 1 && clock_ns() < until)
        nap(20);
    CHECK(ask_number("SELECT min(batch) FROM journal") > batch + 1);
    wait_for_work();
    kill(cluster.servers[away].pid, SIGCONT);
    end_server(third, SIGKILL);
    end_server(leader, SIGKILL);
    epoch = 0;
    while (wait_for_leader(epoch, &epoch) != away) /* one of those may have led when it ended */
        continue;
    start_server(leader);
    start_server(third);
    wait_for_work();
}

/* One that is stopped before it knows that it has lost the lead reads everything anew for that. */
static void leave_one_behind(void)
{
    bool missed = false;
    for (unsigned i = 0; i < 10 && !missed; i++) {
        leave_behind();
        missed = log_has("part of the journal is no longer available");
    }
    CHECK(missed);
}

static void hand_over(struct random *random)
{
    unsigned long long epoch, later;
    int leader = wait_for_leader(0, &epoch);
    nap((unsigned)random_below(random, 60));
    kill(cluster.servers[leader].pid, SIGUSR2);
    CHECK(wait_for_leader(epoch, &later) != leader);
    wait_for_work();
}

/* Its new primary is there: ms until something is acknowledged again. */
static uint64_t fail_over(void)
{
    char line[100];
    puts("failover");
    fflush(stdout);
    REQUIRE(fgets(line, sizeof line, stdin) != NULL);
    uint64_t promoted = clock_ns(), before = total(offsetof(struct lane, acknowledged));
    while (total(offsetof(struct lane, acknowledged)) == before && clock_ns() < promoted + PATIENCE)
        nap(1);
    uint64_t gap = (clock_ns() - promoted) / 1000000;
    wait_for_work();
    return gap;
}

/* ------------------------------------------------------------------ the end */

/* Every row follows from the one before it, and no leader has written after a later one. */
static void check_journal(void)
{
    CHECK(ask_number("SELECT count(*) FROM (SELECT batch - lag(batch) OVER w <> 1 OR"
                     " first - lag(last) OVER w <> 1 OR epoch < lag(epoch) OVER w AS bad"
                     " FROM journal WINDOW w AS (ORDER BY batch)) AS rows WHERE bad") == 0);
    CHECK(ask_number("SELECT count(*) FROM incident WHERE ended IS NOT NULL") > 0);
}

static void check_end(pthread_t threads[LANES])
{
    finish = true;
    for (unsigned i = 0; i < LANES; i++) {
        void *result;
        pthread_join(threads[i], &result);
        CHECK_MSG(result != NULL, "%s", lanes[i].wrong);
        CHECK(lanes[i].settled == lanes[i].made);
    }
    /* And all of it is there for whoever starts next. */
    for (int i = 0; i < SERVERS; i++)
        end_server(i, SIGTERM);
    start_server(0);
    for (unsigned i = 0; i < LANES; i++)
        CHECK_MSG(run_lane(&lanes[i]) != NULL, "%s", lanes[i].wrong);
    end_server(0, SIGTERM);
    check_journal();
    printf("%llu events acknowledged, %llu duplicates, %llu processes compared, %llu refusals, "
           "epoch %llu\n",
           (unsigned long long)total(offsetof(struct lane, acknowledged)),
           (unsigned long long)total(offsetof(struct lane, duplicates)),
           (unsigned long long)total(offsetof(struct lane, checked)),
           (unsigned long long)total(offsetof(struct lane, errors)),
           ask_number("SELECT epoch FROM leader"));
}

int main(int argc, char **argv)
{
    pthread_t threads[LANES];
    struct random random;
    unsigned times[4];
    REQUIRE(argc == 6);
    for (int i = 0; i < 4; i++)
        times[i] = (unsigned)strtoul(argv[i + 2], NULL, 10);
    cluster.program = argv[1];
    cluster.database = getenv("GORDIAN_TEST_POSTGRES");
    REQUIRE(cluster.database != NULL);
    signal(SIGPIPE, SIG_IGN);
    REQUIRE(scratch_make(cluster.folder, "cluster"));
    snprintf(cluster.log, sizeof cluster.log, "%s/log", cluster.folder);
    for (int i = 0; i < SERVERS; i++) {
        snprintf(cluster.servers[i].socket, sizeof cluster.servers[i].socket, "%s/%d.sock",
                 cluster.folder, i);
        start_server(i);
    }
    for (unsigned i = 0; i < LANES; i++) {
        lane_open(&lanes[i], i, cluster.servers[0].socket, &finish);
        lanes[i].roams = true;
        REQUIRE(pthread_create(&threads[i], NULL, run_lane, &lanes[i]) == 0);
    }
    random_seed(&random, 4);
    wait_for_work();
    for (unsigned i = 0; i < times[0]; i++)
        kill_leader(&random);
    for (unsigned i = 0; i < times[1]; i++)
        pause_leader(&random);
    for (unsigned i = 0; i < times[1]; i += 10)
        leave_one_behind();
    for (unsigned i = 0; i < times[2]; i++)
        hand_over(&random);
    uint64_t longest = 0;
    for (unsigned i = 0; i < times[3]; i++) {
        uint64_t gap = fail_over();
        longest = gap > longest ? gap : longest;
    }
    if (times[3])
        printf("after a promotion: %llu ms without an answer, at most\n",
               (unsigned long long)longest);
    check_end(threads);
    for (unsigned i = 0; i < LANES; i++)
        lane_close(&lanes[i]);
    if (test_failed == 0)
        temporary_remove(cluster.folder);
    return test_done();
}

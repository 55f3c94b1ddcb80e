/*
 * The crash test: clients stream numbered events in both forms of the protocol, the service is
 * killed with SIGKILL at random moments, started again, and the clients go on in their sessions.
 * Everything that was acknowledged is there, the state is that of a replay, nothing is applied
 * twice. Then the same with a disk that fills up, and starts that must be refused.
 *
 *     crash GORDIAN [ROUNDS]
 */
#define _GNU_SOURCE /* prlimit */
#include "../test.h"
#include "crash_lane.h"
#include "foundation/base/io/temporary.h"
#include "scratch.h"
#include "service/serve/store/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LANES 8

static struct {
    const char *program;
    char folder[SCRATCH_SIZE], data[256], socket[256], log[256];
    pid_t pid;
    rlim_t file_limit; /* of the service's files, bytes; 0: none */
    const char *durability;
} service = {.durability = "batch"};

static _Atomic bool finish;
static struct lane lanes[LANES];

static void nap(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* ------------------------------------------------------------------ the service */

static void run_service(bool repair)
{
    int log = open(service.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (service.file_limit) {
        struct rlimit limit = {service.file_limit, RLIM_INFINITY};
        signal(SIGXFSZ, SIG_IGN); /* an error, not the end */
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    setenv("GORDIAN_SNAPSHOT_BYTES", "300000", 1);
    execl(service.program, service.program, "serve", "--socket", service.socket, "--data",
          service.data, "--http", "none", "--durability", service.durability,
          repair ? "--repair" : NULL, NULL);
    _exit(127);
}

static bool is_listening(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", service.socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool there = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return there;
}

static void start_service(bool repair)
{
    service.pid = fork();
    if (service.pid == 0)
        run_service(repair);
    REQUIRE(service.pid > 0);
    for (unsigned i = 0; i < 6000 && !is_listening(); i++) {
        int status;
        if (waitpid(service.pid, &status, WNOHANG) == service.pid) {
            fprintf(stderr, "the service did not start: see %s\n", service.log);
            REQUIRE(!"the service started");
        }
        nap(5);
    }
    REQUIRE(is_listening());
}

static int end_service(int signal_number)
{
    int status = 0;
    kill(service.pid, signal_number);
    waitpid(service.pid, &status, 0);
    service.pid = 0;
    return status;
}

/* Starts it, which must fail with this exit status and a message about this. */
static void refused(int code, const char *said)
{
    char text[4096] = "";
    int status;
    struct stat info;
    off_t from = stat(service.log, &info) == 0 ? info.st_size : 0;
    pid_t child = fork();
    if (child == 0)
        run_service(false);
    REQUIRE(child > 0);
    waitpid(child, &status, 0);
    int fd = open(service.log, O_RDONLY | O_CLOEXEC);
    ssize_t got = pread(fd, text, sizeof text - 1, from);
    text[got > 0 ? got : 0] = '\0';
    close(fd);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == code, "status %d: %s", status, text);
    CHECK_MSG(strstr(text, said), "%s", text);
}

/* ------------------------------------------------------------------ rounds */

static void *run_lane(void *context)
{
    struct lane *lane = context;
    return lane_run(lane) ? lane : NULL;
}

static void start_lanes(pthread_t threads[LANES])
{
    for (unsigned i = 0; i < LANES; i++) {
        lanes[i].connected = false;
        REQUIRE(pthread_create(&threads[i], NULL, run_lane, &lanes[i]) == 0);
    }
}

/* How many came to an orderly end. */
static unsigned join_lanes(pthread_t threads[LANES])
{
    unsigned done = 0;
    for (unsigned i = 0; i < LANES; i++) {
        void *result;
        pthread_join(threads[i], &result);
        done += result != NULL;
        CHECK_MSG(lanes[i].wrong[0] == '\0', "%s", lanes[i].wrong);
    }
    if (test_failed) {
        fprintf(stderr, "the service's messages are in %s\n", service.log);
        if (service.pid > 0)
            end_service(SIGKILL);
        exit(1);
    }
    return done;
}

static unsigned connected(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < LANES; i++)
        count += lanes[i].connected;
    return count;
}

/* Killed while clients connect, while they catch up, or while they stream. */
static void crash_once(struct random *random, unsigned round)
{
    pthread_t threads[LANES];
    start_service(false);
    start_lanes(threads);
    if (round % 5 != 4) /* let them get to work first */
        for (unsigned i = 0; i < 3000 && connected() < LANES; i++)
            nap(2);
    nap((unsigned)random_below(random, 120));
    CHECK(WIFSIGNALED(end_service(SIGKILL)));
    join_lanes(threads);
}

/* Everything that is under way comes to its end, and stays after an orderly stop. */
static void settle_down(void)
{
    pthread_t threads[LANES];
    for (unsigned again = 0; again < 2; again++) {
        finish = true;
        start_service(false);
        start_lanes(threads);
        CHECK(join_lanes(threads) == LANES);
        int status = end_service(SIGTERM);
        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
        for (unsigned i = 0; i < LANES; i++)
            CHECK(lanes[i].settled == lanes[i].made);
    }
    finish = false;
}

static uint64_t total(size_t offset)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < LANES; i++)
        sum += *(_Atomic uint64_t *)((char *)&lanes[i] + offset);
    return sum;
}

static void report(const char *what)
{
    printf("%s: %llu events acknowledged, %llu duplicates, %llu deadlocks, %llu processes "
           "compared, %llu errors\n",
           what, (unsigned long long)total(offsetof(struct lane, acknowledged)),
           (unsigned long long)total(offsetof(struct lane, duplicates)),
           (unsigned long long)total(offsetof(struct lane, deadlocks)),
           (unsigned long long)total(offsetof(struct lane, checked)),
           (unsigned long long)total(offsetof(struct lane, errors)));
    fflush(stdout);
}

static int64_t ask(const char *sql)
{
    char path[300];
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t number = -1;
    snprintf(path, sizeof path, "%s/gordian.db", service.data);
    REQUIRE(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

/* The last of the files with such a name; NULL: there is none. */
static const char *last_file(const char *prefix)
{
    static char last[256];
    DIR *folder = opendir(service.data);
    last[0] = '\0';
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && !strchr(entry->d_name, '.') &&
            strcmp(entry->d_name, last) > 0)
            snprintf(last, sizeof last, "%s", entry->d_name);
    if (folder)
        closedir(folder);
    return last[0] ? last : NULL;
}

/* Every deadlock is in the history, once. */
static void check_history(void)
{
    int64_t kept = ask("SELECT count(*) FROM incidents");
    int64_t deadlocks = (int64_t)total(offsetof(struct lane, deadlocks));
    /* Who comes to wait behind what is left of one may begin another. */
    CHECK_MSG(kept >= deadlocks, "%lld incidents, %lld deadlocks", (long long)kept,
              (long long)deadlocks);
    CHECK(ask("SELECT max(id) FROM incidents") == kept);
    CHECK(last_file("snapshot-") != NULL);
}

static void test_crashes(unsigned rounds, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    for (unsigned round = 0; round < rounds; round++)
        crash_once(&random, round);
    settle_down();
    report("crashes");
    check_history();
    CHECK(total(offsetof(struct lane, acknowledged)) > 100 * rounds);
    CHECK(total(offsetof(struct lane, deadlocks)) > 0);
}

/* ------------------------------------------------------------------ a full disk */

static off_t largest_file(void)
{
    char path[600];
    off_t largest = 0;
    struct stat info;
    DIR *folder = opendir(service.data);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", service.data, entry->d_name);
        if (stat(path, &info) == 0 && info.st_size > largest)
            largest = info.st_size;
    }
    if (folder)
        closedir(folder);
    return largest;
}

/* Nothing is acknowledged any more: what is under way waits. */
static void wait_for_standstill(void)
{
    uint64_t before;
    unsigned still = 0;
    for (unsigned i = 0; i < 12000 && still < 10; i++) {
        before = total(offsetof(struct lane, acknowledged));
        nap(50);
        still = total(offsetof(struct lane, acknowledged)) == before ? still + 1 : 0;
    }
    CHECK(still == 10);
}

/* Is whoever asks for something to be changed told why it cannot be? There is no answer if it is
 * taken, nor, until there is room, if it was just before the disk got full. */
static bool is_refused(void)
{
    static unsigned number;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[100], answer[2000] = "";
    size_t used = 0, size = (size_t)snprintf(text, sizeof text, "resource r%u\n", ++number);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", service.socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    REQUIRE(send(fd, text, size, MSG_NOSIGNAL) == (ssize_t)size);
    struct pollfd answered = {.fd = fd, .events = POLLIN};
    while (used < sizeof answer - 1 && poll(&answered, 1, 1000) > 0) {
        ssize_t part = recv(fd, answer + used, sizeof answer - 1 - used, 0);
        used += part > 0 ? (size_t)part : 0;
        answer[used] = '\0';
        if (part <= 0 || strstr(answer, "\"error\""))
            break;
    }
    close(fd);
    return strstr(answer, "\"error\":\"reading or writing failed: ") != NULL;
}

/* No file may grow beyond a limit: for the service the disk is full. It acknowledges nothing more
 * and says why, and goes on when there is room again, without a restart; then the disk is full
 * again and the service is killed. */
static void test_full_disk(void)
{
    pthread_t threads[LANES];
    for (unsigned i = 0; i < LANES; i++)
        lanes[i].careful = true;
    for (unsigned round = 0; round < 2; round++) {
        service.file_limit = (rlim_t)largest_file() + 200000;
        start_service(false);
        start_lanes(threads);
        wait_for_standstill();
        for (unsigned i = 0; i < 12000 && !is_refused(); i++)
            nap(50); /* a standstill of this machine: the disk is not full yet */
        CHECK(is_refused());
        if (round == 0) {
            struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
            CHECK(prlimit(service.pid, RLIMIT_FSIZE, &limit, NULL) == 0);
            uint64_t wanted = total(offsetof(struct lane, acknowledged)) + 1000;
            for (unsigned i = 0; i < 120000 && total(offsetof(struct lane, acknowledged)) < wanted;
                 i++)
                nap(5);
            CHECK(total(offsetof(struct lane, acknowledged)) >= wanted);
            finish = true;
            CHECK(join_lanes(threads) == LANES);
            finish = false;
            CHECK(WIFEXITED(end_service(SIGTERM)));
        } else {
            CHECK(WIFSIGNALED(end_service(SIGKILL)));
            join_lanes(threads);
        }
    }
    service.file_limit = 0;
    settle_down();
    for (unsigned i = 0; i < LANES; i++)
        lanes[i].careful = false;
    report("full disk");
    check_history();
}

/* ------------------------------------------------------------------ starts that are refused */

static void flip(const char *name, off_t offset)
{
    char path[600];
    unsigned char byte;
    snprintf(path, sizeof path, "%s/%s", service.data, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
    byte ^= 0x55;
    REQUIRE(pwrite(fd, &byte, 1, offset) == 1);
    close(fd);
}

/* How many frames are in a file of the journal. */
static unsigned frames_of(const char *name)
{
    struct journal_file file;
    struct batch batch;
    gordian_error error = {0};
    gordian_allocator memory = memory_allocator(NULL);
    unsigned count = 0;
    int folder = open(service.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(folder >= 0 && journal_read(&file, folder, name, strtoull(name + 8, NULL, 10), &memory,
                                        &error) == GORDIAN_OK);
    while (journal_next(&file, &batch) == JOURNAL_MORE)
        count++;
    bytes_free(&file.bytes);
    close(folder);
    return count;
}

static void test_refused(void)
{
    struct random random;
    char data[256];
    random_seed(&random, 3);
    start_service(false);
    refused(3, "another gordian serve");
    CHECK(WIFEXITED(end_service(SIGTERM)));
    /* The journal of a service that was killed, with a bad frame in its middle. */
    crash_once(&random, 1);
    for (unsigned i = 0; i < 50 && frames_of(last_file("journal-0")) < 10; i++)
        crash_once(&random, 1);
    flip(last_file("journal-0"), JOURNAL_HEAD + JOURNAL_FRAME + 1);
    refused(2, "--repair");
    refused(2, "damaged"); /* and it was not touched by that */
    start_service(true);
    CHECK(WIFEXITED(end_service(SIGTERM)));
    /* A folder that cannot be made. */
    memcpy(data, service.data, sizeof data);
    snprintf(service.data, sizeof service.data, "/proc/gordian");
    refused(4, "/proc/gordian");
    memcpy(service.data, data, sizeof data);
}

/* ------------------------------------------------------------------ */

static void make_folder(void)
{
    REQUIRE(scratch_make(service.folder, "crash"));
    snprintf(service.data, sizeof service.data, "%s/data", service.folder);
    snprintf(service.socket, sizeof service.socket, "%s/socket", service.folder);
    snprintf(service.log, sizeof service.log, "%s/log", service.folder);
}

static void open_lanes(void)
{
    for (unsigned i = 0; i < LANES; i++)
        lane_open(&lanes[i], i, service.socket, &finish);
}

static void close_lanes(void)
{
    for (unsigned i = 0; i < LANES; i++)
        lane_close(&lanes[i]);
}

int main(int argc, char **argv)
{
    const char *text = getenv("GORDIAN_TEST_SCALE");
    unsigned long percent = text ? strtoul(text, NULL, 10) : 100;
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 50;
    if (argc < 2)
        return 2;
    rounds = (unsigned)(rounds * percent / 100) > 4 ? (unsigned)(rounds * percent / 100) : 4;
    service.program = argv[1];
    signal(SIGPIPE, SIG_IGN);
    make_folder();
    open_lanes();
    test_crashes(rounds, 1);
    test_full_disk();
    test_refused();
    close_lanes();
    /* The same, synced to the disk with every batch. */
    temporary_remove(service.data);
    service.durability = "full";
    open_lanes();
    test_crashes(rounds / 5 + 1, 2);
    close_lanes();
    if (test_failed == 0)
        temporary_remove(service.folder);
    return test_done();
}

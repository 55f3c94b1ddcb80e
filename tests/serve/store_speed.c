/*
 * How fast is the store? What an acknowledgement costs at each level of durability, one record at a
 * time and in batches, on the disk under a folder. The figures of docs/internals/durability.md come
 * from here.
 *
 *     store-speed FOLDER
 */
#include "../test.h"
#include "foundation/base/clock.h"
#include "service/serve/store/store.h"

#include <dirent.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define RECORD 40 /* bytes: an event as the service journals it */

static int by_time(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void wait_for(struct store *store, uint64_t number)
{
    while (store_committed(store) < number) {
        struct pollfd bell = {.fd = store_fd(store), .events = POLLIN};
        poll(&bell, 1, 1000);
        store_poll(store);
    }
}

/* Batches of `size`; each is waited for before the next unless `ahead` batches are under way. */
static void measure(const char *folder, enum store_durability durability, unsigned size,
                    unsigned ahead, double seconds)
{
    static uint64_t times[1 << 20];
    struct store_options options;
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    char bytes[RECORD] = {1, 2, 3};
    size_t count = 0;
    store_options_init(&options);
    options.folder = folder;
    options.durability = durability;
    REQUIRE(store_open(&store, &options, NULL, &error) == GORDIAN_OK);
    uint64_t start = clock_ns(), end = start + (uint64_t)(seconds * 1e9), begin = store_last(store);
    while (clock_ns() < end && count < sizeof times / sizeof *times) {
        uint64_t before = clock_ns();
        for (unsigned i = 0; i < size; i++)
            store_append(store, before / 1000000, bytes, sizeof bytes);
        store_seal(store);
        uint64_t last = store_last(store), back = (uint64_t)ahead * size;
        wait_for(store, last > back ? last - back : 0);
        times[count++] = clock_ns() - before;
        if (store_snapshot_due(store) && !store_snapshot_begin(store, &error) &&
            !store_snapshot_section(store, "nothing", "", 0, &error))
            store_snapshot_end(store);
    }
    wait_for(store, store_last(store));
    double took = (double)(clock_ns() - start) / 1e9;
    store_figures(store, &figures);
    qsort(times, count, sizeof *times, by_time);
    printf(
        "%-5s  batch of %4u, %2u ahead: %9.0f records/s, median %8.1f us, p99 %8.1f us, "
        "%3.0f %% inline\n",
        store_durability_text(durability), size, ahead, (double)(store_last(store) - begin) / took,
        (double)times[count / 2] / 1e3, (double)times[count * 99 / 100] / 1e3,
        100.0 * (double)figures.inline_commits / (double)(figures.batches ? figures.batches : 1));
    fflush(stdout);
    store_close(store);
}

static void remove_folder(const char *folder)
{
    char path[4400];
    DIR *list = opendir(folder);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (list)
        closedir(list);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    static const struct {
        unsigned size, ahead;
    } shapes[] = {{1, 0}, {16, 0}, {100, 0}, {500, 0}, {100, 16}};
    char folder[4096];
    if (argc != 2)
        return 2;
    for (unsigned level = STORE_NONE; level <= STORE_FULL; level++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            snprintf(folder, sizeof folder, "%s/speed-%ld-%u-%zu", argv[1], (long)getpid(), level,
                     i);
            measure(folder, (enum store_durability)level, shapes[i].size, shapes[i].ahead, 2);
            remove_folder(folder);
        }
    return test_failed != 0;
}

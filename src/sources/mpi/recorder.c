/* Writes the record of an MPI rank into a shared file. */
#define _GNU_SOURCE
#include "sources/mpi/recorder.h"

#include "foundation/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct recorder recorder = {.lock = ATOMIC_FLAG_INIT};

_Thread_local struct recorder_thread recorder_own;

/* ------------------------------------------------------------------ file */

bool recorder_open(void)
{
    char path[PATH_MAX];
    const char *folder = getenv("GORDIAN_SESSION"), *wanted = getenv("GORDIAN_MPI");
    if (!folder || !*folder || (wanted && strcmp(wanted, "0") == 0))
        return false;
    if (snprintf(path, sizeof path, "%s/" MPI_RECORD_NAME "%d", folder, (int)getpid()) >= PATH_MAX)
        return false;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    void *memory = MAP_FAILED;
    if (ftruncate(fd, sizeof(struct mpi_record)) == 0)
        memory = mmap(NULL, sizeof(struct mpi_record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return false;
    recorder.record = memory;
    recorder.record->version = MPI_RECORD_VERSION;
    recorder.record->pid = (uint32_t)getpid();
    return true;
}

size_t recorder_threads(uint32_t *tids, size_t capacity)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && count++ < capacity)
            tids[count - 1] = (uint32_t)strtoul(entry->d_name, NULL, 10);
    if (folder)
        closedir(folder);
    return count;
}

/* ------------------------------------------------------------------ lock */

static void recorder_enter(void)
{
    while (recorder.shared &&
           atomic_flag_test_and_set_explicit(&recorder.lock, memory_order_acquire))
        sched_yield();
}

static void recorder_leave(void)
{
    if (recorder.shared)
        atomic_flag_clear_explicit(&recorder.lock, memory_order_release);
}

/* ------------------------------------------------------------------ slots */

static struct mpi_slot *claim_slot(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (size_t i = 0; i < MPI_SLOTS; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_strong(&recorder.record->slots[i].tid, &none, tid))
            return &recorder.record->slots[i];
    }
    recorder_give_up();
    return NULL;
}

struct mpi_slot *recorder_claim_slot(void)
{
    if (!recorder_own.slot)
        recorder_own.slot = claim_slot();
    else
        recorder_give_up(); /* called within another call: by a callback of the program */
    struct mpi_slot *slot = recorder_own.slot;
    bool free = slot && !(atomic_load_explicit(&slot->sequence, memory_order_relaxed) & 1);
    return free ? slot : NULL;
}

static bool has_item(const struct mpi_slot *slot, const struct mpi_item *item)
{
    uint32_t count = atomic_load_explicit(&slot->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < MPI_ITEMS; i++)
        if (slot->items[i].kind == item->kind && slot->items[i].number == item->number &&
            slot->items[i].group == item->group && slot->items[i].peer == item->peer &&
            slot->items[i].tag == item->tag)
            return true;
    return false;
}

void recorder_poll(struct mpi_slot *slot, enum mpi_call call, const struct mpi_item *item)
{
    uint32_t polls = atomic_load_explicit(&slot->polls, memory_order_relaxed);
    if (polls == 0) {
        uint32_t series = atomic_load_explicit(&slot->series, memory_order_relaxed);
        recorder_prepare(slot, call);
        atomic_store_explicit(&slot->any, 1, memory_order_relaxed);
        atomic_store_explicit(&slot->series, series + 1, memory_order_relaxed);
        atomic_store_explicit(&slot->tests, 0, memory_order_relaxed);
    }
    if (!has_item(slot, item))
        recorder_item(slot, item);
    if (polls < UINT32_MAX)
        atomic_store_explicit(&slot->polls, polls + 1, memory_order_relaxed);
}

void recorder_sample_before(struct mpi_slot *slot)
{
    recorder_own.began_ns = work_ns();
    if (recorder_own.tests == MPI_SAMPLE_EVERY) {
        recorder_own.first_ns = recorder_own.began_ns;
        atomic_store_explicit(&slot->test_ns, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&slot->cpu_ns, recorder_own.began_ns - recorder_own.first_ns,
                          memory_order_relaxed);
    atomic_store_explicit(&slot->tests, recorder_own.tests - MPI_SAMPLE_EVERY,
                          memory_order_release);
}

void recorder_sample_after(struct mpi_slot *slot)
{
    uint64_t sum = atomic_load_explicit(&slot->test_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->test_ns, sum + work_ns() - recorder_own.began_ns,
                          memory_order_relaxed);
}

/* ------------------------------------------------------------------ channels */

/* NULL: the table is full, and the record is incomplete from here on. */
static struct mpi_channel *find_channel(uint32_t group, int32_t peer, int32_t tag)
{
    uint64_t communicator = recorder_group_id(group);
    uint64_t key = mpi_channel_key(communicator, peer, tag);
    for (size_t i = 0; i < MPI_CHANNELS / 2; i++) {
        struct mpi_channel *channel = &recorder.record->channels[(key + i) % MPI_CHANNELS];
        uint64_t there = atomic_load_explicit(&channel->key, memory_order_relaxed);
        if (there == key)
            return channel;
        if (there)
            continue;
        channel->communicator = communicator;
        channel->peer = peer;
        channel->tag = tag;
        atomic_store_explicit(&channel->key, key, memory_order_release);
        return channel;
    }
    recorder_give_up();
    return NULL;
}

struct mpi_channel *recorder_channel(uint32_t group, int32_t peer, int32_t tag)
{
    recorder_enter();
    struct mpi_channel *channel = find_channel(group, peer, tag);
    recorder_leave();
    return channel;
}

/* ------------------------------------------------------------------ requests */

static size_t home_of(uint64_t handle)
{
    return mpi_mix(handle) % MPI_REQUESTS;
}

static uint64_t handle_at(size_t at)
{
    return atomic_load_explicit(&recorder.record->requests[at].handle, memory_order_relaxed);
}

/* Returns the index of a request, or the free index where it belongs. MPI_REQUESTS: neither
 * exists. */
static size_t find_request_place(uint64_t handle)
{
    size_t at = home_of(handle);
    for (size_t i = 0; i < MPI_REQUESTS; i++, at = (at + 1) % MPI_REQUESTS) {
        uint64_t there = handle_at(at);
        if (there == handle || there == 0)
            return at;
    }
    return MPI_REQUESTS;
}

static void write_request(struct mpi_request *to, const struct mpi_request *from)
{
    to->number = from->number;
    to->kept = from->kept;
    to->item = from->item;
    uint32_t active = atomic_load_explicit(&from->active, memory_order_relaxed);
    atomic_store_explicit(&to->active, active, memory_order_relaxed);
    uint64_t handle = atomic_load_explicit(&from->handle, memory_order_relaxed);
    atomic_store_explicit(&to->handle, handle, memory_order_relaxed);
}

void recorder_request(uint64_t handle, uint64_t number, const struct mpi_item *item, bool active,
                      bool kept)
{
    const struct mpi_request request = {
        .handle = handle, .number = number, .active = active, .kept = kept, .item = *item};
    recorder_enter();
    size_t at = find_request_place(handle);
    if (at == MPI_REQUESTS)
        recorder_give_up();
    else
        write_request(&recorder.record->requests[at], &request);
    recorder_leave();
}

/* Returns the entry or NULL. The caller holds the lock. */
static struct mpi_request *find_request(uint64_t handle)
{
    size_t at = find_request_place(handle);
    bool there = at < MPI_REQUESTS && handle_at(at) == handle;
    return there ? &recorder.record->requests[at] : NULL;
}

bool recorder_find(uint64_t handle, struct mpi_request *request)
{
    recorder_enter();
    const struct mpi_request *there = find_request(handle);
    if (there)
        write_request(request, there);
    recorder_leave();
    return there;
}

void recorder_activate(uint64_t handle, const struct mpi_item *item)
{
    recorder_enter();
    struct mpi_request *there = find_request(handle);
    if (there) {
        there->item = *item;
        there->number = item->number;
        atomic_store_explicit(&there->active, 1, memory_order_relaxed);
    }
    recorder_leave();
}

/* Closes a gap in the hash table, so that a search may stop at a free entry. */
static void close_gap(size_t gap)
{
    struct mpi_request *requests = recorder.record->requests;
    for (size_t at = (gap + 1) % MPI_REQUESTS; handle_at(at); at = (at + 1) % MPI_REQUESTS) {
        size_t home = home_of(handle_at(at));
        bool may_move = (at - home) % MPI_REQUESTS >= (at - gap) % MPI_REQUESTS;
        if (!may_move)
            continue;
        write_request(&requests[gap], &requests[at]);
        gap = at;
    }
    atomic_store_explicit(&requests[gap].active, 0, memory_order_relaxed);
    atomic_store_explicit(&requests[gap].handle, 0, memory_order_relaxed);
}

void recorder_done(uint64_t handle, uint64_t number, bool free)
{
    recorder_enter();
    struct mpi_request *there = find_request(handle);
    if (there && there->number == number) {
        if (there->kept && !free)
            atomic_store_explicit(&there->active, 0, memory_order_relaxed);
        else
            close_gap((size_t)(there - recorder.record->requests));
    }
    recorder_leave();
}

/* ------------------------------------------------------------------ communicators */

uint32_t recorder_group(uint64_t handle)
{
    const struct mpi_record *record = recorder.record;
    uint32_t count = atomic_load_explicit(&record->group_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        if (record->groups[i].handle == handle)
            return i;
    return MPI_GROUPS;
}

/* Entries are not reused: requests may still refer to them. */
uint32_t recorder_new_group(uint64_t handle, uint64_t seed, const int *members, uint32_t size,
                            int32_t rank, const char *name)
{
    struct mpi_record *record = recorder.record;
    recorder_enter();
    uint32_t index = record->group_count, first = record->member_count;
    bool fits = index < MPI_GROUPS && size <= MPI_MEMBERS - first;
    if (fits) {
        struct mpi_group *group = &record->groups[index];
        uint64_t id = mpi_mix(seed + size);
        for (uint32_t i = 0; i < size; i++) {
            record->members[first + i] = (uint32_t)members[i];
            id = mpi_mix(id ^ (uint32_t)members[i]);
        }
        group->handle = handle;
        group->first = first;
        group->size = size;
        group->rank = rank;
        snprintf(group->name, sizeof group->name, "%s", name);
        atomic_store(&group->id, id | 1);
        atomic_store(&record->member_count, first + size);
        atomic_store(&record->group_count, index + 1);
    }
    recorder.epoch++;
    recorder_leave();
    return fits ? index : MPI_GROUPS;
}

void recorder_forget_group(uint64_t handle)
{
    uint32_t index = recorder_group(handle);
    recorder_enter();
    if (index < MPI_GROUPS)
        recorder.record->groups[index].handle = UINT64_MAX; /* matches no communicator */
    recorder.epoch++;
    recorder_leave();
}

uint64_t recorder_collective(uint32_t index, uint64_t call)
{
    struct mpi_group *group = &recorder.record->groups[index];
    recorder_enter();
    uint64_t number = atomic_load_explicit(&group->count, memory_order_relaxed) + 1;
    group->recent[number % MPI_RECENT] = call;
    atomic_store_explicit(&group->count, number, memory_order_relaxed);
    recorder_leave();
    return number;
}

/* ------------------------------------------------------------------ log */

void recorder_log(enum mpi_event_kind kind, uint32_t call, int32_t peer, int32_t tag, uint64_t what,
                  uint32_t group)
{
    struct mpi_record *record = recorder.record;
    recorder_enter();
    uint64_t at = atomic_load_explicit(&record->event_count, memory_order_relaxed);
    if (at < MPI_EVENTS)
        record->events[at] =
            (struct mpi_event){(uint32_t)kind, peer, tag, call, what, recorder_group_id(group)};
    if (at <= MPI_EVENTS)
        atomic_store_explicit(&record->event_count, at + 1, memory_order_relaxed);
    recorder_leave();
}

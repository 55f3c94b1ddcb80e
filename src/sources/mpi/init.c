/* Wrappers of MPI's initialization and finalization, and of the calls that create and free
 * communicators. */
#define _GNU_SOURCE
#include "sources/mpi/calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ------------------------------------------------------------------ communicators */

/* Lists the members of a communicator as ranks in MPI_COMM_WORLD. Returns NULL for an
 * intercommunicator, for members outside the world, or without memory. */
static int *list_world_ranks(MPI_Comm comm, int *size)
{
    int between = 0;
    MPI_Group group, world;
    PMPI_Comm_test_inter(comm, &between);
    if (between)
        return NULL;
    PMPI_Comm_size(comm, size);
    int *own = malloc(2 * (size_t)*size * sizeof *own), *there = own ? own + *size : NULL;
    if (!own)
        return NULL;
    for (int i = 0; i < *size; i++)
        own[i] = i;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, *size, own, world, there);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    for (int i = 0; i < *size; i++) {
        if (there[i] == MPI_UNDEFINED) {
            free(own);
            return NULL;
        }
        own[i] = there[i];
    }
    return own;
}

/* `seed` is the same in all members. It derives from the parent communicator and the call. */
static void add_communicator(MPI_Comm comm, uint64_t seed, const char *name)
{
    int size = 0, rank = 0;
    int *members = list_world_ranks(comm, &size);
    if (!members)
        return;
    PMPI_Comm_rank(comm, &rank);
    recorder_new_group(HANDLE(comm), seed, members, (uint32_t)size, rank, name);
    free(members);
}

/* Creating a communicator is a collective call on the parent. */
static void begin_create(struct traced_call *traced, enum mpi_call call, MPI_Comm comm)
{
    if (!traced_collective(traced, call, comm, NO_ROOT))
        return;
    traced->item.tag = MPI_NEEDS_ALL;
    traced->item.call = (uint64_t)call << 32;
    traced->item.number = recorder_collective(traced->item.group, traced->item.call);
    recorder_event(MPI_EVENT_COLLECTIVE, call, &traced->item, traced->item.number);
    traced_wait(traced);
}

static void end_create(struct traced_call *traced, MPI_Comm made, const char *name)
{
    if (!traced->slot)
        return;
    uint64_t seed = mpi_mix(recorder_group_id(traced->item.group) + traced->item.number);
    if (made != MPI_COMM_NULL)
        add_communicator(made, seed, name);
    traced_end(traced);
}

#define CREATE(name, parameters, arguments)                                                        \
    int layer_##name parameters                                                                    \
    {                                                                                              \
        struct traced_call traced;                                                                 \
        begin_create(&traced, MPI_CALL_##name, comm);                                              \
        int result = PMPI_##name arguments;                                                        \
        end_create(&traced, *made, "communicator of MPI_" #name);                                  \
        return result;                                                                             \
    }
CREATE(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
CREATE(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
CREATE(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
CREATE(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
       (comm, type, key, info, made))
CREATE(Cart_create,
       (MPI_Comm comm, int dimensions, const int sizes[], const int rings[], int reorder,
        MPI_Comm *made),
       (comm, dimensions, sizes, rings, reorder, made))

int layer_Comm_free(MPI_Comm *comm)
{
    if (recorder.record)
        recorder_forget_group(HANDLE(*comm));
    return PMPI_Comm_free(comm);
}

int layer_Comm_disconnect(MPI_Comm *comm)
{
    if (recorder.record)
        recorder_forget_group(HANDLE(*comm));
    return PMPI_Comm_disconnect(comm);
}

/* ------------------------------------------------------------------ initialization */

enum { THREADS_MOST = 256 };

struct threads {
    uint32_t tids[THREADS_MOST];
    size_t count;
};

/* Notes the threads that were started since `before`: they belong to the MPI and send nothing by
 * themselves. */
static void note_helpers(struct mpi_record *record, const struct threads *before)
{
    struct threads now;
    now.count = recorder_threads(now.tids, THREADS_MOST);
    if (now.count > THREADS_MOST || before->count > THREADS_MOST)
        return;
    for (size_t i = 0; i < now.count && record->helper_count < MPI_HELPERS; i++) {
        bool new = true;
        for (size_t k = 0; k < before->count && new; k++)
            new = before->tids[k] != now.tids[i];
        if (new)
            record->helpers[record->helper_count++] = now.tids[i];
    }
}

/* Returns the process that started the ranks: the nearest ancestor with a known launcher's name,
 * else the parent. */
static pid_t find_launcher(void)
{
    static const char *const names[] = {"hydra_pmi_proxy", "mpiexec", "mpirun",
                                        "orted",           "prted",   "slurmstepd"};
    char path[64], text[512], name[64];
    pid_t pid = getppid(), above;
    while (pid > 1) {
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "re");
        bool known = file && fgets(text, sizeof text, file) &&
                     sscanf(text, "%*d (%63[^)]) %*c %d", name, &above) == 2;
        if (file)
            fclose(file);
        if (!known)
            break;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(name, names[i], strlen(names[i])) == 0)
                return pid;
        pid = above;
    }
    return getppid();
}

/* Returns a number that is the same in all ranks of this program and different in other programs.
 * It needs no messages, because ranks that are not watched would not take part. */
static uint64_t compute_world_id(void)
{
    const char *job = getenv("PMIX_NAMESPACE");
    uint64_t world = job && *job ? 1 : mpi_mix((uint64_t)find_launcher());
    for (; job && *job; job++)
        world = mpi_mix(world * 31 + (unsigned char)*job);
    return world;
}

static void open_record(const struct threads *before)
{
    int rank = 0, size = 0, level = MPI_THREAD_SINGLE;
    if (!recorder_open())
        return;
    struct mpi_record *record = recorder.record;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    uint64_t world = record->world = compute_world_id();
    record->rank = (uint32_t)rank;
    record->size = (uint32_t)size;
    PMPI_Query_thread(&level);
    record->level = level == MPI_THREAD_MULTIPLE     ? MPI_LEVEL_MANY
                    : level == MPI_THREAD_SERIALIZED ? MPI_LEVEL_SERIAL
                                                     : MPI_LEVEL_ONE;
    recorder.shared = level == MPI_THREAD_MULTIPLE;
    record->first_thread = (uint32_t)syscall(SYS_gettid);
    note_helpers(record, before);
    /* Fortran calls bypass this layer */
    if (dlsym(RTLD_DEFAULT, "mpi_send_"))
        recorder_give_up();
    add_communicator(MPI_COMM_WORLD, world, "MPI_COMM_WORLD");
    add_communicator(MPI_COMM_SELF, mpi_mix(world), "MPI_COMM_SELF");
    atomic_store(&record->state, MPI_STATE_RUNS);
    memcpy(record->magic, MPI_RECORD_MAGIC, sizeof record->magic);
}

int layer_Init(int *argc, char ***argv)
{
    struct threads before;
    before.count = recorder_threads(before.tids, THREADS_MOST);
    int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS)
        open_record(&before);
    return result;
}

int layer_Init_thread(int *argc, char ***argv, int wanted, int *given)
{
    struct threads before;
    before.count = recorder_threads(before.tids, THREADS_MOST);
    int result = PMPI_Init_thread(argc, argv, wanted, given);
    if (result == MPI_SUCCESS)
        open_record(&before);
    return result;
}

/* ------------------------------------------------------------------ finalization */

/* A rank in MPI_Finalize never sends again and waits for all other ranks to call it. */
int layer_Finalize(void)
{
    struct traced_call traced;
    if (traced_collective(&traced, MPI_CALL_Finalize, MPI_COMM_WORLD, NO_ROOT)) {
        traced.item.tag = MPI_NEEDS_ALL;
        traced.item.number = UINT64_MAX;
        traced_wait(&traced);
        atomic_store(&recorder.record->state, MPI_STATE_LEAVES);
    }
    int result = PMPI_Finalize();
    traced_end(&traced);
    if (recorder.record)
        atomic_store(&recorder.record->state, MPI_STATE_LEFT);
    recorder.record = NULL;
    return result;
}

/* Small MPI programs, by name: those of hung[] and polling[] stand still for ever, those of sound[]
 * come to their end, although some of them look for a while as if they would not.
 *
 *     programs --list hung|polling|sound    "NAME RANKS", a line each
 *     programs NAME                 under mpirun
 */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORLD MPI_COMM_WORLD
#define LARGE (1 << 20)
#define LATE  3.0 /* seconds: longer than anybody who looks needs to be sure */

static int rank, size;
static char large_out[LARGE], large_in[LARGE];

/* ------------------------------------------------------------------ pieces */

static int left(void)
{
    return (rank + size - 1) % size;
}

static int right(void)
{
    return (rank + 1) % size;
}

static void send_to(int to, int tag)
{
    int value = rank;
    MPI_Send(&value, 1, MPI_INT, to, tag, WORLD);
}

static void ssend_to(int to, int tag)
{
    int value = rank;
    MPI_Ssend(&value, 1, MPI_INT, to, tag, WORLD);
}

static int receive_from(int from, int tag)
{
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, from, tag, WORLD, MPI_STATUS_IGNORE);
    return value;
}

/* Does something else than MPI for a while. */
static void be_late(void)
{
    double until = MPI_Wtime() + LATE;
    while (MPI_Wtime() < until)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static int add_up(MPI_Comm comm)
{
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

/* ------------------------------------------------------------------ hung */

static void recv_recv(void)
{
    receive_from(right(), 1);
    send_to(right(), 1);
}

static void ssend_ssend(void)
{
    ssend_to(right(), 1);
    receive_from(left(), 1);
}

static void send_send_large(void)
{
    MPI_Send(large_out, LARGE, MPI_CHAR, 1 - rank, 1, WORLD);
    MPI_Recv(large_in, LARGE, MPI_CHAR, 1 - rank, 1, WORLD, MPI_STATUS_IGNORE);
}

static void ring_after_work(void)
{
    for (int i = 0; i < 100; i++) {
        send_to(right(), i);
        receive_from(left(), i);
    }
    recv_recv();
}

static void wrong_tag(void)
{
    if (rank == 0)
        send_to(1, 1);
    else
        receive_from(0, 2);
}

static void rank_left(void)
{
    if (rank > 0)
        receive_from(0, 1);
}

static void barrier_missing(void)
{
    if (rank == size - 1)
        receive_from(0, 1);
    MPI_Barrier(WORLD);
    if (rank == 0)
        send_to(size - 1, 1);
}

static void two_communicators(void)
{
    MPI_Comm one, other;
    MPI_Comm_dup(WORLD, &one);
    MPI_Comm_dup(WORLD, &other);
    MPI_Barrier(rank == 0 ? one : other);
    MPI_Barrier(rank == 0 ? other : one);
}

static void split_orders(void)
{
    MPI_Comm row, column;
    MPI_Comm_split(WORLD, rank / 2, rank, &row);
    MPI_Comm_split(WORLD, rank % 2, rank, &column);
    /* A ring: 0 and 3 begin with their rows, 1 and 2 with their columns. */
    bool first = rank == 0 || rank == 3;
    MPI_Barrier(first ? row : column);
    MPI_Barrier(first ? column : row);
}

static void mismatch(void)
{
    int one = 1, sum;
    if (rank == 0)
        MPI_Barrier(WORLD);
    else
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, WORLD);
}

static void bcast_recv(void)
{
    int value = 0;
    if (rank == 0)
        receive_from(1, 1);
    MPI_Bcast(&value, 1, MPI_INT, 0, WORLD);
    if (rank == 1)
        send_to(0, 1);
}

static void all_wildcards(void)
{
    receive_from(MPI_ANY_SOURCE, MPI_ANY_TAG);
    send_to(right(), 1);
}

/* The manager waits for one result too many, the workers for work. */
static void manager_waits(void)
{
    for (int i = 1; rank == 0 && i < size; i++)
        send_to(i, 1);
    if (rank == 0) {
        for (int i = 1; i < size + 1; i++)
            receive_from(MPI_ANY_SOURCE, 2);
    } else {
        receive_from(0, 1);
        send_to(0, 2);
        receive_from(0, 1);
    }
}

static void waitall_receives(void)
{
    int values[2];
    MPI_Request requests[2];
    MPI_Irecv(&values[0], 1, MPI_INT, left(), 1, WORLD, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, right(), 1, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    send_to(left(), 1);
    send_to(right(), 1);
}

static void waitany_receives(void)
{
    int values[2], index;
    MPI_Request requests[2];
    MPI_Irecv(&values[0], 1, MPI_INT, left(), 1, WORLD, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    send_to(right(), 1);
}

static void probe_probe(void)
{
    MPI_Status status;
    MPI_Probe(1 - rank, 5, WORLD, &status);
    send_to(1 - rank, 5);
}

static void sendrecv_wrong(void)
{
    int out = rank, in;
    MPI_Sendrecv(&out, 1, MPI_INT, right(), 1, &in, 1, MPI_INT, right(), 1, WORLD,
                 MPI_STATUS_IGNORE);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *send_under_gate(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&gate);
    send_to(1, 1);
    pthread_mutex_unlock(&gate);
    return NULL;
}

/* Rank 0 receives under a lock that its other thread needs to send what rank 1 waits for. */
static void mutex_and_message(void)
{
    pthread_t thread;
    if (rank == 1) {
        receive_from(0, 1);
        send_to(0, 2);
        return;
    }
    pthread_mutex_lock(&gate);
    pthread_create(&thread, NULL, send_under_gate, NULL);
    receive_from(1, 2);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
}

static void ibarrier_missing(void)
{
    MPI_Request request;
    if (rank == size - 1)
        receive_from(0, 1);
    MPI_Ibarrier(WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        send_to(size - 1, 1);
}

static void issend_wait(void)
{
    int value = rank;
    MPI_Request request;
    MPI_Issend(&value, 1, MPI_INT, 1 - rank, 1, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    receive_from(1 - rank, 1);
}

/* ------------------------------------------------------------------ sound */

static void ping_pong(void)
{
    for (int i = 0; i < 1000; i++)
        if (rank == 0) {
            send_to(1, i % 7);
            receive_from(1, i % 7);
        } else {
            receive_from(0, i % 7);
            send_to(0, i % 7);
        }
}

static void sendrecv_ring(void)
{
    int out = rank, in;
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(&out, 1, MPI_INT, right(), 1, &in, 1, MPI_INT, left(), 1, WORLD,
                     MPI_STATUS_IGNORE);
}

static void isend_large(void)
{
    MPI_Request request;
    MPI_Isend(large_out, LARGE, MPI_CHAR, right(), 1, WORLD, &request);
    MPI_Recv(large_in, LARGE, MPI_CHAR, left(), 1, WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ring_broken(void)
{
    if (rank == 0)
        ssend_to(right(), 1);
    receive_from(left(), 1);
    if (rank != 0)
        ssend_to(right(), 1);
}

/* Only because MPI buffers what is small. */
static void send_send_small(void)
{
    send_to(1 - rank, 1);
    receive_from(1 - rank, 1);
}

static void late_sender(void)
{
    if (rank == 0)
        be_late();
    if (rank == 0)
        send_to(1, 1);
    else if (rank == 1)
        receive_from(0, 1);
    MPI_Barrier(WORLD);
}

static void late_barrier(void)
{
    if (rank == size - 1)
        be_late();
    MPI_Barrier(WORLD);
}

static void late_receiver(void)
{
    if (rank == 0)
        MPI_Send(large_out, LARGE, MPI_CHAR, 1, 1, WORLD);
    else
        be_late(), MPI_Recv(large_in, LARGE, MPI_CHAR, 0, 1, WORLD, MPI_STATUS_IGNORE);
}

static void manager_done(void)
{
    for (int i = 0; rank == 0 && i < 20 * (size - 1); i++)
        send_to(receive_from(MPI_ANY_SOURCE, 2), i < 19 * (size - 1) ? 1 : 3);
    for (int tag = 0; rank > 0 && tag != 3;) {
        MPI_Status status;
        int value;
        send_to(0, 2);
        MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD, &status);
        tag = status.MPI_TAG;
        if (tag == 3)
            break;
    }
}

static void reverse_tags(void)
{
    for (int i = 0; i < 500; i++)
        if (rank == 0)
            send_to(1, i);
    for (int i = 499; rank == 1 && i >= 0; i--)
        receive_from(0, i);
    MPI_Barrier(WORLD);
}

static void split_rounds(void)
{
    MPI_Comm row;
    for (int i = 0; i < 5; i++) {
        MPI_Comm_split(WORLD, rank % 2, rank, &row);
        add_up(row);
        MPI_Comm_free(&row);
    }
}

static void probe_receive(void)
{
    MPI_Status status;
    for (int i = 0; rank == 0 && i < size - 1; i++) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
        receive_from(status.MPI_SOURCE, status.MPI_TAG);
    }
    if (rank > 0)
        send_to(0, rank);
}

static void mprobe_receive(void)
{
    MPI_Message message;
    MPI_Status status;
    int value;
    for (int i = 0; rank == 0 && i < size - 1; i++) {
        MPI_Mprobe(MPI_ANY_SOURCE, 1, WORLD, &message, &status);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    if (rank > 0)
        send_to(0, 1);
    MPI_Barrier(WORLD);
}

static void waitany_rounds(void)
{
    int values[8], index;
    MPI_Request requests[8];
    for (int i = 1; rank == 0 && i < size; i++)
        MPI_Irecv(&values[i - 1], 1, MPI_INT, i, 1, WORLD, &requests[i - 1]);
    if (rank == size - 1)
        be_late();
    if (rank > 0)
        send_to(0, 1);
    for (int i = 1; rank == 0 && i < size; i++)
        MPI_Waitany(size - 1, requests, &index, MPI_STATUS_IGNORE);
}

static void waitsome_rounds(void)
{
    int values[8], indices[8], done = 0, count;
    MPI_Request requests[8];
    for (int i = 1; rank == 0 && i < size; i++)
        MPI_Irecv(&values[i - 1], 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, &requests[i - 1]);
    if (rank > 0)
        send_to(0, 1);
    for (; rank == 0 && done < size - 1; done += count)
        MPI_Waitsome(size - 1, requests, &count, indices, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
    int out = rank, in;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, right(), 1, WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, left(), 1, WORLD, &requests[1]);
    for (int i = 0; i < 50; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void iallreduce_late(void)
{
    int one = 1, sum;
    MPI_Request request;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, WORLD, &request);
    if (rank == 0)
        be_late();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void polled_test(void)
{
    int value, done = 0;
    MPI_Request request;
    if (rank == 0) {
        be_late();
        send_to(1, 1);
        return;
    }
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* Tests now and then while it works, and sends when the work is done. */
static void working_test(void)
{
    int value, done = 0;
    MPI_Request request;
    if (rank == 1) {
        receive_from(0, 1);
        send_to(0, 1);
        return;
    }
    MPI_Irecv(&value, 1, MPI_INT, 1, 1, WORLD, &request);
    for (int i = 0; i < 40000; i++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        for (volatile int work = 0; work < 100000; work++)
            ;
    }
    send_to(1, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void *late_send(void *arg)
{
    (void)arg;
    be_late();
    send_to(1, 1);
    return NULL;
}

/* The one who waits is helped by another thread of the rank he waits for. */
static void thread_helps(void)
{
    pthread_t thread;
    if (rank == 1) {
        receive_from(0, 1);
        send_to(0, 2);
        return;
    }
    pthread_create(&thread, NULL, late_send, NULL);
    receive_from(1, 2);
    pthread_join(thread, NULL);
}

static void rooted_rounds(void)
{
    int value = rank, all[8];
    for (int i = 0; i < 50; i++) {
        MPI_Bcast(&value, 1, MPI_INT, i % size, WORLD);
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, i % size, WORLD);
        MPI_Reduce(&value, all, 1, MPI_INT, MPI_MAX, i % size, WORLD);
    }
}

static void late_finalize(void)
{
    if (rank == 0)
        be_late();
}

/* Each tests for what the other would send once its own test found something. */
static void test_test(void)
{
    int value, flag = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, right(), 1, WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    send_to(left(), 1);
}

static void iprobe_recv(void)
{
    int flag = 0;
    while (rank == 0 && !flag)
        MPI_Iprobe(1, 1, WORLD, &flag, MPI_STATUS_IGNORE);
    receive_from(1 - rank, 1);
    send_to(1 - rank, 1);
}

/* ------------------------------------------------------------------ all of them */

struct program {
    const char *name;
    int ranks;
    void (*body)(void);
};

static const struct program hung[] = {
    {"recv_recv", 2, recv_recv},
    {"mutex_and_message", 2, mutex_and_message},
    {"two_communicators", 2, two_communicators},
    {"manager_waits", 4, manager_waits},
    {"rank_left", 3, rank_left},
    {"send_send_large", 2, send_send_large},
    {"ssend_ssend", 5, ssend_ssend},
    {"ring_after_work", 4, ring_after_work},
    {"wrong_tag", 2, wrong_tag},
    {"barrier_missing", 3, barrier_missing},
    {"split_orders", 4, split_orders},
    {"mismatch", 2, mismatch},
    {"bcast_recv", 2, bcast_recv},
    {"all_wildcards", 8, all_wildcards},
    {"waitall_receives", 3, waitall_receives},
    {"waitany_receives", 3, waitany_receives},
    {"probe_probe", 2, probe_probe},
    {"sendrecv_wrong", 3, sendrecv_wrong},
    {"ibarrier_missing", 3, ibarrier_missing},
    {"issend_wait", 2, issend_wait},
};

/* Hung, too, as far as can be told of those who only test. */
static const struct program polling[] = {
    {"test_test", 3, test_test},
    {"iprobe_recv", 2, iprobe_recv},
};

static const struct program sound[] = {
    {"late_sender", 3, late_sender},         {"thread_helps", 2, thread_helps},
    {"late_receiver", 2, late_receiver},     {"manager_done", 4, manager_done},
    {"waitany_rounds", 4, waitany_rounds},   {"ping_pong", 2, ping_pong},
    {"sendrecv_ring", 4, sendrecv_ring},     {"isend_large", 4, isend_large},
    {"ring_broken", 5, ring_broken},         {"late_barrier", 8, late_barrier},
    {"reverse_tags", 2, reverse_tags},       {"split_rounds", 6, split_rounds},
    {"probe_receive", 4, probe_receive},     {"mprobe_receive", 4, mprobe_receive},
    {"waitsome_rounds", 4, waitsome_rounds}, {"persistent", 3, persistent},
    {"iallreduce_late", 4, iallreduce_late}, {"polled_test", 2, polled_test},
    {"rooted_rounds", 4, rooted_rounds},     {"late_finalize", 3, late_finalize},
    {"send_send_small", 2, send_send_small}, {"working_test", 2, working_test},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const struct program *find(const struct program *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static int list_programs(const struct program *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s %d\n", list[i].name, list[i].ranks);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--list") == 0)
        return strcmp(argv[2], "hung") == 0      ? list_programs(hung, COUNT(hung))
               : strcmp(argv[2], "polling") == 0 ? list_programs(polling, COUNT(polling))
                                                 : list_programs(sound, COUNT(sound));
    const struct program *program = argc == 2 ? find(hung, COUNT(hung), argv[1]) : NULL;
    if (!program && argc == 2)
        program = find(polling, COUNT(polling), argv[1]);
    if (!program && argc == 2)
        program = find(sound, COUNT(sound), argv[1]);
    if (!program)
        return 2;
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (size != program->ranks || given != MPI_THREAD_MULTIPLE)
        MPI_Abort(WORLD, 3);
    program->body();
    MPI_Finalize();
    return 0;
}

/* A program that hangs through a mutex of its own and a row of a server: two threads, a connection
 * each.
 *
 *     pool ADDRESS SQL [fork]
 *
 * `one` takes the mutex and runs the SQL, which waits for the row that `two` has locked by the same
 * in its transaction; `two` waits for the mutex. Neither the server nor the threads' library sees
 * it. With `fork` a child has the connection of `two` as well, and could go on with it. */
#define _GNU_SOURCE
#include <libpq-fe.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static const char *address, *query;
static int forks;

static PGconn *begin_work(const char *sql)
{
    PGconn *conn = PQconnectdb(address);
    PQclear(PQexec(conn, "BEGIN"));
    PGresult *result = sql ? PQexec(conn, sql) : NULL;
    if (PQstatus(conn) != CONNECTION_OK || (sql && PQresultStatus(result) != PGRES_COMMAND_OK)) {
        fprintf(stderr, "pool: %s\n", PQerrorMessage(conn));
        exit(1);
    }
    PQclear(result);
    return conn;
}

static void *run_one(void *unused)
{
    PGconn *conn = begin_work(NULL);
    (void)unused;
    pthread_mutex_lock(&ledger);
    pthread_barrier_wait(&both);
    PQclear(PQexec(conn, query));
    pthread_mutex_unlock(&ledger);
    PQfinish(conn);
    return NULL;
}

static void *run_two(void *unused)
{
    PGconn *conn = begin_work(query);
    (void)unused;
    if (forks && fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&ledger);
    PQfinish(conn);
    pthread_mutex_unlock(&ledger);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t one, two;
    if (argc < 3)
        return 2;
    forks = argc > 3;
    address = argv[1];
    query = argv[2];
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&one, NULL, run_one, NULL);
    pthread_create(&two, NULL, run_two, NULL);
    pthread_setname_np(one, "one");
    pthread_setname_np(two, "two");
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}

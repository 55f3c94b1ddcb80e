/* The driver for MariaDB and MySQL, with the non-blocking calls of MariaDB's connector.
 *
 *    mysql://USER:PASSWORD@HOST:PORT/DATABASE?socket=PATH
 *
 * Everything except mysql:// is optional. Missing values come from the option files, group
 * [client]. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "sources/watch/servers/dialect.h"
#include "sources/watch/servers/driver.h"

#include <ctype.h>
#include <mysql.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the operation in progress */
enum phase {
    PHASE_NONE,
    PHASE_CONNECTING,
    PHASE_ASKING,
    PHASE_STORING,
};

struct maria {
    struct connection base;
    char *text; /* the address, split in place */
    size_t text_size;
    const char *user, *password, *host, *database, *socket;
    unsigned port;
    MYSQL *mysql; /* NULL: not connected */
    MYSQL_RES *result;
    MYSQL_ROW *rows; /* of the result */
    size_t row_capacity;
    enum phase phase;
    int waits; /* MYSQL_WAIT_... */
};

/* ------------------------------------------------------------------ addresses */

/* Decodes percent escapes (%41 is A) in place. */
static void decode_percents(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        const char two[3] = {at[0] == '%' ? at[1] : '\0', at[0] == '%' && at[1] ? at[2] : '\0', 0};
        if (isxdigit((unsigned char)two[0]) && isxdigit((unsigned char)two[1])) {
            *to++ = (char)strtol(two, NULL, 16);
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

/* Ends a text at `at` and returns the rest; NULL if `at` is NULL. */
static char *cut_at(char *at)
{
    if (!at)
        return NULL;
    *at = '\0';
    return at + 1;
}

/* "host", "host:3306", "[::1]:3306", "" */
static bool take_host(struct maria *maria, char *host)
{
    char *port = strrchr(host, ':');
    if (host[0] == '[') {
        char *shut = strchr(host, ']');
        if (!shut)
            return false;
        *shut = '\0';
        maria->host = host + 1;
        port = shut[1] == ':' ? shut + 1 : NULL;
    } else {
        maria->host = host;
    }
    char *digits = cut_at(port), *end;
    if (!*maria->host)
        maria->host = NULL;
    if (!digits)
        return true;
    unsigned long number = strtoul(digits, &end, 10);
    maria->port = (unsigned)number;
    return *digits && !*end && number > 0 && number < 65536;
}

static bool take_address(struct maria *maria)
{
    char *rest = strstr(maria->text, "://") + 3;
    char *options = cut_at(strchr(rest, '?'));
    char *database = cut_at(strchr(rest, '/'));
    char *host = cut_at(strrchr(rest, '@'));
    if (host) {
        char *password = cut_at(strchr(rest, ':'));
        decode_percents(rest);
        maria->user = *rest ? rest : NULL;
        if (password)
            decode_percents(password);
        maria->password = password;
    }
    if (database && *database)
        maria->database = database;
    if (options && strncmp(options, "socket=", 7) == 0) {
        decode_percents(options + 7);
        maria->socket = options + 7;
    } else if (options) {
        return false;
    }
    return take_host(maria, host ? host : rest);
}

static gordian_status open_maria(struct connection **connection, const char *address,
                                 gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct maria *maria = memory_zeroed(&memory, sizeof *maria);
    char *text = memory_copy_text(&memory, address);
    mysql_library_init(0, NULL, NULL); /* once, before threads are started: see dial.h */
    if (!maria || !text) {
        memory_free_all(&memory, maria, text);
        return fail_memory(error);
    }
    *maria = (struct maria){.base = {.driver = &driver_mariadb, .memory = memory},
                            .text = text,
                            .text_size = strlen(text) + 1};
    if (!take_address(maria)) {
        memory_free_all(&memory, maria, text);
        return fail(error, GORDIAN_STATUS_INPUT,
                    "not an address of a server (mysql://USER@HOST:PORT/DATABASE, or "
                    "mysql://USER@/?socket=PATH)");
    }
    *connection = &maria->base;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ connections */

static void drop_result(struct maria *maria)
{
    if (maria->result)
        mysql_free_result(maria->result);
    maria->result = NULL;
    maria->base.rows = 0;
}

static void hang_up_maria(struct connection *connection)
{
    struct maria *maria = (struct maria *)connection;
    drop_result(maria);
    if (maria->mysql)
        mysql_close(maria->mysql);
    maria->mysql = NULL;
    maria->phase = PHASE_NONE;
}

static void close_maria(struct connection *connection)
{
    struct maria *maria = (struct maria *)connection;
    hang_up_maria(connection);
    gordian_allocator memory = maria->base.memory;
    memset(maria->text, 0, maria->text_size);
    memory_free_all(&memory, maria->text, maria->rows, maria);
}

static enum driver_progress fail_maria(struct maria *maria, const char *message)
{
    snprintf(maria->base.why, sizeof maria->base.why, "%s", message);
    for (char *at = maria->base.why; *at; at++)
        if (strchr("\t\r\n", *at))
            *at = ' ';
    maria->phase = PHASE_NONE;
    /* errors from 2000 to 2999 come from the library: the connection is lost */
    unsigned number = maria->mysql ? mysql_errno(maria->mysql) : 0;
    maria->base.survives = number && (number < 2000 || number > 2999);
    return DRIVER_FAILED;
}

/* ------------------------------------------------------------------ phases */
static enum driver_progress after_storing(struct maria *maria)
{
    if (!maria->result && mysql_errno(maria->mysql))
        return fail_maria(maria, mysql_error(maria->mysql));
    /* The rows of a stored result are in memory. Collect them for access by number. */
    size_t count = maria->result ? (size_t)mysql_num_rows(maria->result) : 0;
    maria->phase = PHASE_NONE;
    if (!memory_grow(&maria->base.memory, &maria->rows, &maria->row_capacity, count,
                     sizeof *maria->rows))
        return fail_maria(maria, "out of memory");
    for (size_t i = 0; i < count; i++)
        maria->rows[i] = mysql_fetch_row(maria->result);
    maria->base.rows = count;
    return DRIVER_READY;
}

static enum driver_progress after_asking(struct maria *maria, int failed)
{
    if (failed)
        return fail_maria(maria, mysql_error(maria->mysql));
    maria->phase = PHASE_STORING;
    maria->waits = mysql_store_result_start(&maria->result, maria->mysql);
    return maria->waits ? DRIVER_BUSY : after_storing(maria);
}

static enum driver_progress after_connecting(struct maria *maria, const MYSQL *connected)
{
    if (!connected)
        return fail_maria(maria, mysql_error(maria->mysql));
    maria->phase = PHASE_NONE;
    maria->base.version = (unsigned)mysql_get_server_version(maria->mysql);
    maria->base.pid = (int64_t)mysql_thread_id(maria->mysql);
    /* MySQL 8 has other system tables than MariaDB */
    bool is_maria =
        strstr(mysql_get_server_info(maria->mysql), "MariaDB") || maria->base.version < 80000;
    maria->base.dialect = is_maria ? &dialect_mariadb : &dialect_mysql;
    return DRIVER_READY;
}

static enum driver_progress connect_maria(struct connection *connection)
{
    struct maria *maria = (struct maria *)connection;
    MYSQL *connected = NULL;
    maria->mysql = mysql_init(NULL);
    if (!maria->mysql)
        return fail_maria(maria, "out of memory");
    mysql_options(maria->mysql, MYSQL_OPT_NONBLOCK, NULL);
    mysql_options(maria->mysql, MYSQL_READ_DEFAULT_GROUP, "client");
    mysql_options4(maria->mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "gordian watch");
    maria->phase = PHASE_CONNECTING;
    maria->waits =
        mysql_real_connect_start(&connected, maria->mysql, maria->host, maria->user,
                                 maria->password, maria->database, maria->port, maria->socket, 0);
    return maria->waits ? DRIVER_BUSY : after_connecting(maria, connected);
}

static enum driver_progress ask_maria(struct connection *connection, const char *sql)
{
    struct maria *maria = (struct maria *)connection;
    int failed = 0;
    drop_result(maria);
    maria->phase = PHASE_ASKING;
    maria->waits = mysql_real_query_start(&failed, maria->mysql, sql, (unsigned long)strlen(sql));
    return maria->waits ? DRIVER_BUSY : after_asking(maria, failed);
}

static enum driver_progress go_on_maria(struct connection *connection, short revents)
{
    struct maria *maria = (struct maria *)connection;
    MYSQL *connected = NULL;
    int failed = 0;
    int status = (revents & (POLLIN | POLLERR | POLLHUP) ? MYSQL_WAIT_READ : 0) |
                 (revents & POLLOUT ? MYSQL_WAIT_WRITE : 0) |
                 (revents & POLLPRI ? MYSQL_WAIT_EXCEPT : 0);
    if (!status)
        return DRIVER_BUSY;
    switch (maria->phase) {
    case PHASE_CONNECTING:
        maria->waits = mysql_real_connect_cont(&connected, maria->mysql, status);
        return maria->waits ? DRIVER_BUSY : after_connecting(maria, connected);
    case PHASE_ASKING:
        maria->waits = mysql_real_query_cont(&failed, maria->mysql, status);
        return maria->waits ? DRIVER_BUSY : after_asking(maria, failed);
    case PHASE_STORING:
        maria->waits = mysql_store_result_cont(&maria->result, maria->mysql, status);
        return maria->waits ? DRIVER_BUSY : after_storing(maria);
    case PHASE_NONE:
        break;
    }
    return DRIVER_READY;
}

static void wants_maria(const struct connection *connection, int *fd, short *events)
{
    const struct maria *maria = (const struct maria *)connection;
    *fd = maria->mysql ? (int)mysql_get_socket(maria->mysql) : -1;
    *events = maria->phase == PHASE_NONE
                  ? POLLIN
                  : (short)((maria->waits & MYSQL_WAIT_READ ? POLLIN : 0) |
                            (maria->waits & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
                            (maria->waits & MYSQL_WAIT_EXCEPT ? POLLPRI : 0));
}

/* ------------------------------------------------------------------ answers */

static const char *value_maria(const struct connection *connection, size_t row, unsigned column)
{
    const struct maria *maria = (const struct maria *)connection;
    return column < mysql_num_fields(maria->result) ? maria->rows[row][column] : NULL;
}

static void place_maria(const struct connection *connection, char *text, size_t size)
{
    const struct maria *maria = (const struct maria *)connection;
    if (maria->host && !maria->socket)
        snprintf(text, size, "%s:%u", maria->host, maria->port ? maria->port : 3306);
    else
        snprintf(text, size, "local:%u", maria->port ? maria->port : 3306);
}

const struct driver driver_mariadb = {
    .kind = "MariaDB",
    .open = open_maria,
    .close = close_maria,
    .hang_up = hang_up_maria,
    .connect = connect_maria,
    .ask = ask_maria,
    .go_on = go_on_maria,
    .wants = wants_maria,
    .value = value_maria,
    .place = place_maria,
};

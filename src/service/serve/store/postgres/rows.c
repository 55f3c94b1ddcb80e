/*
 * Batches as rows of the journal, and back; incidents.
 *
 *     bytes of a row    of each batch, as varints (foundation/base/bytes.h): time of the first
 *                       record, number of records, length, bytes; incidents, length, bytes
 */
#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "foundation/base/json/json_write.h"
#include "service/serve/store/postgres/postgres.h"

const char rows_select[] = "SELECT batch, first, last, crc, bytes FROM journal WHERE batch > $1"
                           " ORDER BY batch LIMIT 200";

bool row_put(struct bytes *row, const struct batch *batch, size_t count)
{
    row->used = 0;
    for (size_t i = 0; i < count; i++) {
        batch = i ? batch->next : batch;
        bytes_u64(row, batch->at);
        bytes_u64(row, batch->count);
        bytes_text(row, (const char *)batch->body.data, batch->body.used);
        bytes_u64(row, batch->incident_count);
        bytes_text(row, (const char *)batch->incidents.data, batch->incidents.used);
    }
    bool good = !row->failed;
    row->failed = false;
    return good;
}

/* ---- decoding */

static uint64_t binary_u64(const PGresult *rows, int row, int column)
{
    const unsigned char *at = (const unsigned char *)PQgetvalue(rows, row, column);
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | at[i];
    return number;
}

/* Decodes one batch without copying. */
static struct batch take_row_batch(struct bytes_in *in, uint64_t first)
{
    struct batch batch = {.first = first};
    batch.at = bytes_take_u64(in);
    batch.count = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    batch.body.data = (uint8_t *)bytes_take_text(in, &batch.body.used);
    batch.incident_count = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    batch.incidents.data = (uint8_t *)bytes_take_text(in, &batch.incidents.used);
    return batch;
}

/* Checks a row before its first record is used. */
static gordian_status begin_journal_row(const struct store *store, struct rows_cursor *cursor,
                                        gordian_error *error)
{
    const PGresult *rows = cursor->rows;
    int row = cursor->row;
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(rows, row, 4);
    size_t length = (size_t)PQgetlength(rows, row, 4);
    uint64_t first = binary_u64(rows, row, 1), end = first;
    struct bytes_in in = {.at = bytes, .end = bytes + length};
    bool whole = crc32c(0, bytes, length) == binary_u64(rows, row, 3);
    while (whole && !in.bad && bytes_left(&in) > 0)
        end += take_row_batch(&in, end).count;
    if (!whole || in.bad || end != binary_u64(rows, row, 2) + 1 ||
        (first <= store->last && store->last > cursor->after)) /* only a snapshot may overlap it */
        return fail(error, GORDIAN_STATUS_INPUT, "row %llu of the journal fails its checksum",
                    (unsigned long long)binary_u64(rows, row, 0));
    if (first > store->last + 1)
        return fail(error, GORDIAN_STATUS_INPUT, "records %llu to %llu of the journal are missing",
                    (unsigned long long)store->last + 1, (unsigned long long)first - 1);
    cursor->at = 0;
    cursor->next = first;
    return GORDIAN_OK;
}

/* A batch that was interrupted is decoded again and continues behind its last record. */
static gordian_status take_records_of_row(struct store *store, struct rows_cursor *cursor,
                                          const struct store_loader *loader, void *context,
                                          bool *enough, gordian_error *error)
{
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(cursor->rows, cursor->row, 4);
    struct bytes_in in = {.at = bytes + cursor->at,
                          .end = bytes + PQgetlength(cursor->rows, cursor->row, 4)};
    uint64_t done = store->last > cursor->after ? store->last : cursor->after;
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK && !*enough && bytes_left(&in) > 0) {
        const struct batch batch = take_row_batch(&in, cursor->next);
        status = batch_load_some(&batch, &done, loader, context, enough, error);
        if (status != GORDIAN_OK || done + 1 < batch.first + batch.count)
            break;
        if (batch.incident_count > 0)
            history_write(&store->history, &batch, 1); /* for queries of this server */
        store->journal_bytes += batch.body.used;
        cursor->next += batch.count;
        cursor->at = (size_t)(in.at - bytes);
    }
    store->last = done;
    return status;
}

gordian_status rows_take(struct store *store, struct rows_cursor *cursor, uint64_t *batch,
                         const struct store_loader *loader, void *context, bool *more,
                         gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    bool enough = false;
    while (cursor->row < PQntuples(cursor->rows) && status == GORDIAN_OK && !enough) {
        if (binary_u64(cursor->rows, cursor->row, 0) != *batch + 1)
            return GORDIAN_STATUS_END;
        if (cursor->next == 0)
            status = begin_journal_row(store, cursor, error);
        THEN(status, take_records_of_row(store, cursor, loader, context, &enough, error));
        if (status == GORDIAN_OK &&
            cursor->at == (size_t)PQgetlength(cursor->rows, cursor->row, 4)) {
            ++*batch;
            cursor->row++;
            cursor->next = 0;
        }
    }
    *more = enough;
    return status;
}

/* ---- incidents */

const char incident_put[] =
    "INSERT INTO incident AS i SELECT $3::bigint, $6::text, $4::bigint,"
    " nullif($5::bigint, 0), $7::text, $8::text, $9::text, $10::text, $11::text, $12::text"
    " FROM leader WHERE epoch = $1::bigint AND batch = $2::bigint"
    " ON CONFLICT (id) DO UPDATE SET system = excluded.system, at = excluded.at,"
    " ended = coalesce(excluded.ended, i.ended), how = coalesce(excluded.how, i.how),"
    " requester = coalesce(excluded.requester, i.requester),"
    " victim = coalesce(excluded.victim, i.victim),"
    " processes = coalesce(excluded.processes, i.processes),"
    " witness = coalesce(excluded.witness, i.witness),"
    " replay = coalesce(excluded.replay, i.replay)";

/* Has the same parameters; the last condition gives all of them a type. */
const char action_put[] =
    "INSERT INTO action SELECT $3::bigint, $6::text, $4::bigint, $7::text, $8::text, $9::text,"
    " $10::text FROM leader WHERE epoch = $1::bigint AND batch = $2::bigint"
    " AND coalesce($5::bigint::text, $11::text, $12::text, '') IS NOT NULL"
    " ON CONFLICT (id) DO NOTHING";

const char incident_labels_put[] =
    "INSERT INTO incident_label SELECT $3::bigint, coalesce($10::text, '') FROM leader"
    " WHERE epoch = $1::bigint AND batch = $2::bigint"
    " AND coalesce($4::bigint::text, $5::bigint::text, $6::text, $7::text, $8::text, $9::text,"
    " $11::text, $12::text, '') IS NOT NULL"
    " ON CONFLICT (id) DO NOTHING";

#define NO_TEXTS                                                                                   \
    " AND coalesce($6::text, $7::text, $8::text, $9::text, $10::text, $11::text, $12::text,"       \
    " $4::bigint::text, '') IS NOT NULL"

const char notice_put[] = "INSERT INTO notice(id, ended) SELECT $3::bigint, $5::bigint FROM leader"
                          " WHERE epoch = $1::bigint AND batch = $2::bigint" NO_TEXTS
                          " ON CONFLICT (id, ended) DO NOTHING";

const char notice_sent[] =
    "DELETE FROM notice USING leader WHERE epoch = $1::bigint AND batch = $2::bigint"
    " AND notice.id = $3::bigint AND notice.ended = $5::bigint" NO_TEXTS;

static const char *row_statement(uint64_t id, uint64_t at)
{
    if ((id & INCIDENT_NOTICE) == INCIDENT_NOTICE)
        return at ? "sent" : "notice";
    if (id & INCIDENT_ACTION)
        return "action";
    return id & INCIDENT_LABELS ? "labels" : "incident";
}

/* Copies a text and replaces bytes that are not UTF-8 by '?'. */
static const char *copy_row_text(struct bytes *to, struct bytes_in *in)
{
    uint64_t length = bytes_take_u64(in);
    const uint8_t *text = length ? bytes_take(in, (size_t)length - 1) : NULL;
    if (!text || !bytes_room(to, (size_t)length))
        return NULL;
    uint8_t *copy = to->data + to->used;
    memcpy(copy, text, (size_t)length - 1);
    copy[length - 1] = '\0';
    for (uint8_t *at = copy; *at;) {
        size_t size = utf8_length(at);
        if (!size)
            *at = '?';
        at += size ? size : 1;
    }
    to->used += (size_t)length;
    return (const char *)copy;
}

static bool send_incident_row(struct pg *pg, struct bytes_in *in, struct bytes *texts,
                              uint64_t number)
{
    char numbers[5][PG_NUMBER];
    const char *values[12];
    size_t most = bytes_left(in) + 16;
    values[0] = pg_number(numbers[0], pg->epoch);
    values[1] = pg_number(numbers[1], number);
    uint64_t id = bytes_take_u64(in), at = bytes_take_u64(in);
    values[2] = pg_number(numbers[2], id & ~INCIDENT_NOTICE);
    values[3] = pg_number(numbers[3], at);
    values[4] = pg_number(numbers[4], bytes_take_u64(in));
    texts->used = 0;
    if (!bytes_room(texts, most)) /* it must not be reallocated */
        return pg_failed(pg, "out of memory");
    for (int i = 5; i < 12; i++)
        values[i] = copy_row_text(texts, in);
    return PQsendQueryPrepared(pg->conn, row_statement(id, at), 12, values, NULL, NULL, 0) ||
           pg_failed(pg, PQerrorMessage(pg->conn));
}

bool incidents_send(struct pg *pg, const struct batch *batch, size_t count, uint64_t number)
{
    struct bytes texts;
    bool good = true;
    bytes_init(&texts, &pg->memory);
    for (size_t i = 0; i < count && good; i++) {
        batch = i ? batch->next : batch;
        struct bytes_in in = {.at = batch->incidents.data,
                              .end = batch->incidents.data + batch->incidents.used};
        for (uint32_t j = 0; j < batch->incident_count && good; j++)
            good = send_incident_row(pg, &in, &texts, number);
    }
    bytes_free(&texts);
    return good;
}

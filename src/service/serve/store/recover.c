/* Recovery: reads the snapshot and the journal back, checks them, and loads the state from them. */
#include "foundation/base/error.h"
#include "foundation/base/sort.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"
#include "service/wire/wire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Records damage: the journal is good up to the current position in its last file. */
__attribute__((format(printf, 2, 3))) static void note_damage(struct recovery *recovery,
                                                              const char *format, ...)
{
    va_list arguments;
    recovery->damaged = true;
    va_start(arguments, format);
    vsnprintf(recovery->what, sizeof recovery->what, format, arguments);
    va_end(arguments);
}

/* ---- listing files */

gordian_status numbers_list(struct numbers *numbers, int folder, const char *prefix,
                            const gordian_allocator *memory, gordian_error *error)
{
    uint64_t number;
    DIR *list = files_list(folder);
    gordian_status status = list ? GORDIAN_OK : fail_disk(error, errno);
    for (const struct dirent *entry; list && status == GORDIAN_OK && (entry = readdir(list));) {
        if (!file_number(entry->d_name, prefix, &number))
            continue;
        if (memory_grow(memory, &numbers->items, &numbers->room, numbers->count + 1,
                        sizeof *numbers->items))
            numbers->items[numbers->count++] = number;
        else
            status = fail_memory(error);
    }
    if (list)
        closedir(list);
    if (numbers->count > 0)
        sort_words(numbers->items, numbers->count, 1);
    return status;
}

/* Selects the newest good snapshot and keeps it in memory. */
static gordian_status choose_snapshot(struct recovery *recovery, int folder, gordian_error *error)
{
    const struct numbers *list = &recovery->snapshots;
    gordian_status status = GORDIAN_OK;
    for (size_t i = list->count; i > 0 && status == GORDIAN_OK && !recovery->snapshot; i--) {
        bool good;
        recovery->image.used = 0;
        status = snapshot_read(folder, list->items[i - 1], &recovery->image, &good, error);
        if (good) {
            recovery->snapshot = list->items[i - 1];
            recovery->older = i > 1 ? list->items[i - 2] : 0;
        }
        recovery->bad_snapshot |= !good;
    }
    return status;
}

/* ---- the journal */

/* Can this file contain records behind the snapshot? */
static bool is_needed(const struct recovery *recovery, size_t index)
{
    return index + 1 >= recovery->numbers.count ||
           recovery->numbers.items[index + 1] > recovery->snapshot + 1;
}

/* Does this frame continue the previous one? */
static bool check_frame(struct recovery *recovery, const struct batch *batch)
{
    uint64_t last = batch->first + batch->count - 1;
    if (batch->first > recovery->last + 1)
        note_damage(recovery, "records %llu to %llu are missing",
                    (unsigned long long)recovery->last + 1, (unsigned long long)batch->first - 1);
    else if (batch->frame != recovery->frame + 1)
        note_damage(recovery, "a batch is missing after record %llu",
                    (unsigned long long)recovery->last);
    else if (recovery->bad_record && batch->count > 0 && last >= recovery->bad_record)
        note_damage(recovery, "record %llu is inconsistent with those before it",
                    (unsigned long long)recovery->bad_record);
    if (batch->count > 0 && last > recovery->last && !recovery->damaged) {
        recovery->last = last; /* otherwise it is in the snapshot */
        recovery->bytes += batch->body.used;
    }
    return !recovery->damaged;
}

/* Checks all frames of a file. A file that is read only for its incidents may be damaged. */
static void check_frames(struct recovery *recovery, struct journal_file *file, bool needed)
{
    struct batch batch;
    size_t before = file->at;
    if (needed && recovery->frame && file->frame != recovery->frame)
        note_damage(recovery, "a batch is missing after record %llu",
                    (unsigned long long)recovery->last);
    if (needed)
        recovery->frame = file->frame;
    while (!recovery->damaged && (recovery->end = journal_next(file, &batch)) == JOURNAL_MORE) {
        if (needed && !check_frame(recovery, &batch))
            file->at = before; /* cut here */
        before = file->at;
        if (needed && !recovery->damaged)
            recovery->frame = batch.frame;
        recovery->unapplied |= batch.incident_count && batch.frame > recovery->applied;
    }
}

static gordian_status check_journal_file(struct recovery *recovery, size_t index, int folder,
                                         const gordian_allocator *memory, gordian_error *error)
{
    struct journal_file *file = &recovery->files[index];
    char name[JOURNAL_NAME];
    uint64_t first = recovery->numbers.items[index], before;
    bool needed = is_needed(recovery, index);
    /* A file whose incidents are all in the database is only needed for point-in-time queries. */
    if (!needed && journal_begins(folder, recovery->numbers.items[index + 1], &before, NULL) &&
        before <= recovery->applied)
        return GORDIAN_OK;
    file_name(name, sizeof name, "journal", first);
    gordian_status status = journal_read(file, folder, name, first, memory, error);
    recovery->file = needed ? file : NULL;
    if (status != GORDIAN_OK)
        return status;
    if (needed && first > recovery->last + 1) {
        file->at = 0; /* the whole file is misplaced */
        note_damage(recovery, "records %llu to %llu are missing",
                    (unsigned long long)recovery->last + 1, (unsigned long long)first - 1);
    } else if (needed && file->at == 0) {
        note_damage(recovery, "its beginning fails its checksum");
    } else if (file->at > 0) {
        check_frames(recovery, file, needed);
    }
    if (needed && !recovery->damaged && recovery->end != JOURNAL_ENDS &&
        index + 1 < recovery->numbers.count)
        note_damage(recovery, "the data after record %llu fails its checksum",
                    (unsigned long long)recovery->last);
    return GORDIAN_OK;
}

gordian_status recovery_check(struct recovery *recovery, int folder, uint64_t applied,
                              uint64_t bad_record, const gordian_allocator *memory,
                              gordian_error *error)
{
    *recovery =
        (struct recovery){.applied = applied, .bad_record = bad_record, .end = JOURNAL_ENDS};
    bytes_init(&recovery->image, memory);
    gordian_status status = numbers_list(&recovery->numbers, folder, "journal", memory, error);
    THEN(status, numbers_list(&recovery->snapshots, folder, "snapshot", memory, error));
    THEN(status, choose_snapshot(recovery, folder, error));
    recovery->files =
        memory_zeroed(memory, (recovery->numbers.count + 1) * sizeof *recovery->files);
    if (status == GORDIAN_OK && !recovery->files)
        status = fail_memory(error);
    recovery->last = recovery->snapshot;
    for (size_t i = 0; status == GORDIAN_OK && !recovery->damaged && i < recovery->numbers.count;
         i++)
        status = check_journal_file(recovery, i, folder, memory, error);
    if (status == GORDIAN_OK && !recovery->damaged && recovery->bad_snapshot && recovery->last == 0)
        note_damage(recovery, "no snapshot is intact");
    return status;
}

void recovery_judge_loss(struct recovery *recovery, const struct folder_past *past)
{
    bool ahead = recovery->applied > recovery->frame && !past_has_power_cut(past);
    recovery->lost = ahead ? recovery->applied - recovery->frame : 0;
}

void recovery_format_loss(const struct recovery *recovery, char *text, size_t size)
{
    snprintf(text, size,
             "acknowledged records are lost: the journal ends with record %llu in batch %llu, "
             "but " HISTORY_FILE " has noted batch %llu",
             (unsigned long long)recovery->last, (unsigned long long)recovery->frame,
             (unsigned long long)recovery->applied);
}

void recovery_free(struct recovery *recovery, const gordian_allocator *memory)
{
    for (size_t i = 0; recovery->files && i < recovery->numbers.count; i++)
        if (recovery->files[i].bytes.data)
            bytes_free(&recovery->files[i].bytes);
    if (recovery->image.data)
        bytes_free(&recovery->image);
    memory_free_all(memory, recovery->files, recovery->numbers.items, recovery->snapshots.items);
    *recovery = (struct recovery){0};
}

/* ---- loading */

static struct journal_file rewound_file(const struct journal_file *file)
{
    struct journal_file again = *file;
    again.bytes.used = file->at;
    again.at = file->at ? JOURNAL_HEAD : 0;
    again.frame = file->at ? wire_load64(file->bytes.data + 16) : 0;
    return again;
}

/* Applies incidents that are not in the SQLite database. */
int recovery_apply(const struct recovery *recovery, struct history *history)
{
    struct batch batch;
    int code = SQLITE_OK;
    for (size_t i = 0; recovery->unapplied && i < recovery->numbers.count; i++) {
        struct journal_file file = rewound_file(&recovery->files[i]);
        while (file.at > 0 && !code && journal_next(&file, &batch) == JOURNAL_MORE)
            if (batch.frame > recovery->applied)
                code = history_write(history, &batch, 1);
    }
    return code;
}

gordian_status recovery_load(struct recovery *recovery, const struct store_loader *loader,
                             void *context, gordian_error *error)
{
    struct batch batch;
    gordian_status status = GORDIAN_OK;
    if (recovery->snapshot)
        status = sections_load(&recovery->image, SNAPSHOT_HEAD, loader, context, error);
    if (recovery->image.data)
        bytes_free(&recovery->image);
    for (size_t i = 0; i < recovery->numbers.count; i++) {
        struct journal_file file = rewound_file(&recovery->files[i]);
        while (is_needed(recovery, i) && status == GORDIAN_OK &&
               journal_next(&file, &batch) == JOURNAL_MORE)
            status = batch_load(&batch, recovery->snapshot, loader, context, error);
    }
    return status;
}

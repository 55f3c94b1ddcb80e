#include "sources/run/report/notice.h"

#include "sources/run/state/guard.h"
#include "sources/run/state/system_call.h"

#include <string.h>

#define FOLDS 1024u

static struct guard fold_guard;
static struct incident_fold folds[FOLDS];
static uint32_t fold_count, numbers;

void notice_fork(void)
{
    atomic_store(&fold_guard.word, 0);
}

static struct incident_fold *fold_find(uint64_t signature)
{
    for (uint32_t i = 0; i < fold_count && i < FOLDS; i++)
        if (folds[i].signature == signature)
            return &folds[i];
    return NULL;
}

void fold_add(struct notice *notice, uint32_t kind, uint64_t signature)
{
    *notice = (struct notice){.fd = -1, .kind = kind, .action = INCIDENT_GO_ON};
    notice->signature = signature;
    guard_lock(&fold_guard);
    struct incident_fold *fold = fold_find(signature);
    if (fold) {
        fold->count++;
        notice->again = true;
        notice->ignored = fold->suppressed;
        notice->doubted = fold->doubted;
        notice->likely = fold->likely;
        notice->number = fold->number;
        __atomic_fetch_add(&watch.tally->folded, 1, __ATOMIC_RELAXED);
    } else {
        notice->number = ++numbers;
        struct incident_fold fresh = {
            .signature = signature, .number = numbers, .kind = kind, .count = 1};
        if (fold_count < FOLDS)
            folds[fold_count++] = fresh;
    }
    guard_unlock(&fold_guard);
}

void notice_answered(const struct notice *notice)
{
    guard_lock(&fold_guard);
    struct incident_fold *fold = fold_find(notice->signature);
    if (fold) {
        fold->suppressed = notice->ignored;
        fold->doubted = notice->doubted;
        fold->likely = notice->likely;
    }
    guard_unlock(&fold_guard);
}

size_t fold_list(struct incident_fold *out, size_t room)
{
    guard_lock(&fold_guard);
    size_t count = fold_count < room ? fold_count : room;
    memcpy(out, folds, count * sizeof *out);
    guard_unlock(&fold_guard);
    return count;
}

void notice_forget(struct notice *notice)
{
    guard_lock(&fold_guard);
    struct incident_fold *fold = fold_find(notice->signature);
    if (fold && --fold->count == 0)
        *fold = folds[--fold_count];
    guard_unlock(&fold_guard);
    if (notice->fd >= 0)
        sys_close(notice->fd);
}

bool fold_any(void)
{
    return __atomic_load_n(&fold_count, __ATOMIC_RELAXED) != 0;
}

bool notice_known(uint64_t signature)
{
    guard_lock(&fold_guard);
    bool known = fold_find(signature);
    guard_unlock(&fold_guard);
    return known;
}

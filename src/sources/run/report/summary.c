#include "sources/run/report/summary.h"

#include "sources/run/report/incident_builder.h"
#include "sources/run/report/reporter_launch.h"
#include "sources/run/state/guard.h"

#define MOST_FOLDS 1024u

void summary_report(void)
{
    struct arena arena;
    if (!fold_any() || !arena_open(&arena))
        return;
    struct thread *t = self;
    struct shield shield;
    work_begin(t, &shield);
    struct incident_fold *folds = arena_take(&arena, MOST_FOLDS * sizeof *folds);
    size_t count = folds ? fold_list(folds, MOST_FOLDS) : 0;
    struct incident_builder builder;
    builder_open(&builder, &arena, INCIDENT_SUMMARY);
    for (size_t i = 0; i < count; i++)
        if (folds[i].count > 1 || folds[i].suppressed)
            builder_fold(&builder, &folds[i]);
    if (builder.fold_count) {
        struct notice notice = {.fd = builder_write(&builder), .kind = INCIDENT_SUMMARY};
        launch_report(&notice);
    }
    arena_close(&arena);
    work_end(t, &shield);
}

/* The `sparse` engine: opens the methods and chooses one by the model (sparse.h). */
#include "engines/detect/engine/sparse.h"

#include "foundation/base/error.h"

static gordian_status sparse_open(void **engine, const struct detect_engine *table,
                                  struct rag *graph, gordian_error *error)
{
    (void)table;
    struct sparse *sparse = memory_zeroed(&graph->memory, sizeof *sparse);
    if (!sparse)
        return fail_memory(error);
    sparse->graph = graph;
    sparse->memory = graph->memory;
    sparse->model = graph->model;
    path_init(&sparse->paths, graph);
    *engine = sparse;
    return GORDIAN_OK;
}

static void sparse_close(void *engine)
{
    struct sparse *sparse = engine;
    gordian_allocator memory = sparse->memory;
    path_free(&sparse->paths);
    memory_free_all(&memory, sparse->multi.visits, sparse->general.links, sparse->general.dead,
                    sparse->general.units, sparse);
}

static gordian_status sparse_prepare(void *engine, gordian_model model, uint32_t processes,
                                     uint32_t resources, gordian_error *error)
{
    struct sparse *sparse = engine;
    bool rebuild = model != sparse->model;
    gordian_status status = GORDIAN_OK;
    if (model == GORDIAN_MODEL_MULTI_UNIT)
        status = multi_prepare(sparse, rebuild, resources, error);
    else if (model == GORDIAN_MODEL_GENERAL)
        status = general_prepare(sparse, rebuild, processes, resources, error);
    if (status != GORDIAN_OK)
        return status;
    if (model == GORDIAN_MODEL_GENERAL) { /* the other methods are no longer used */
        memory_free(&sparse->memory, sparse->multi.visits);
        sparse->multi.visits = NULL;
        sparse->multi.visit_room = 0;
    }
    sparse->model = model;
    return GORDIAN_OK;
}

static const struct detect_engine *sparse_refine(gordian_model model)
{
    switch (model) {
    case GORDIAN_MODEL_SINGLE_UNIT:
        return &sparse_single;
    case GORDIAN_MODEL_MULTI_UNIT:
        return &sparse_multi;
    case GORDIAN_MODEL_GENERAL:
        return &sparse_general;
    }
    return &sparse_general;
}

const struct detect_engine detect_sparse = {
    .about =
        {
            .name = "sparse",
            .summary = "keeps a sparse graph and updates it with every event; the default",
        },
    .open = sparse_open,
    .close = sparse_close,
    .prepare = sparse_prepare,
    .refine = sparse_refine,
};

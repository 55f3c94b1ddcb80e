/* A check over MPI: a rank's share of it, and the steps (mpi.h). A step that returns false has
 * failed on all ranks, because one of them is out of memory. */
#pragma once

#include "engines/detect/check/mpi/exchange.h"
#include "engines/detect/check/snapshot.h"
#include "foundation/base/names/interner.h"
#include "foundation/base/packed/packed_file.h"

/* A place in the text: the piece, and the number of the declaration, hold or wait in it. */
#define PLACE_BITS 40
#define NOWHERE    UINT64_MAX

static inline uint64_t text_place(uint64_t piece, uint64_t number)
{
    return piece << PLACE_BITS | number;
}

/* The first error that this rank knows. */
enum trouble_kind {
    TROUBLE_TOLD, /* the error has the message */
    TROUBLE_UNDECLARED,
    TROUBLE_REDECLARED,
    TROUBLE_HOLDS,
    TROUBLE_WAITS,
};

struct trouble {
    uint64_t place; /* NOWHERE: no error */
    uint64_t other; /* redeclared: the first place */
    enum trouble_kind kind;
    gordian_error error;
};

/* A name in this rank's pieces. */
struct local_name {
    uint64_t first; /* of a process: where it comes first; of a resource: where it is declared */
    uint64_t again; /* where it is declared again */
    uint64_t used;  /* where it is used first */
    uint64_t units;
    uint64_t listed; /* of a process: 1 + the place of the last await that names it */
    uint32_t id;     /* the id on all ranks */
};

enum name_kind { NAME_PROCESS, NAME_RESOURCE, NAME_KINDS };

struct local_names {
    struct names names;
    struct local_name *list;
    uint32_t count, room;
    /* Names that come first in a piece of this rank, by place: this rank numbers them. */
    uint32_t *fresh; /* indices in the list */
    uint32_t fresh_count;
    uint64_t *before; /* by piece: how many names come first in earlier pieces; one more */
    uint32_t total;   /* on all ranks */
};

struct edge_record {
    uint64_t place, units;
    uint32_t process, resource;
};

struct edge_list {
    struct edge_record *edges;
    size_t count, room;
};

/* Edges of the processes or resources that a rank owns, sorted by owner. The edges of owner i begin
 * at starts[i] and end at starts[i + 1]. */
struct owned_edges {
    struct edge_record *edges;
    size_t *starts;
    size_t count;
};

struct mpi_job {
    gordian_allocator memory;
    int rank, ranks;
    const char *const *files;
    uint32_t file_count;
    struct packed_file *packed; /* one packed file, of which each rank reads a part */
    struct exchange exchange;
    struct trouble trouble;
    bool no_memory; /* on this rank, since the last time all ranks were asked */

    struct local_names kinds[NAME_KINDS];
    struct edge_list holds,
        waits; /* as read by this rank, with local ids; later with the ids of all ranks */

    /* Blocks of ids: rank r owns r * each up to (r + 1) * each. */
    uint32_t each[NAME_KINDS];
    uint32_t begin[NAME_KINDS], own[NAME_KINDS];
    uint64_t *totals;                /* by own resource */
    uint64_t *available;             /* likewise */
    uint32_t *holder;                /* by own resource: one process that holds it */
    struct owned_edges wishes;       /* by own resource, fewest units first */
    size_t *met;                     /* by own resource: how many wishes are met */
    struct owned_edges held, wanted; /* by own process */
    uint32_t *marks;                 /* by own process: how many wishes are not met */
    uint32_t *ready;
    uint32_t ready_count;
    gordian_model model;
    uint64_t edges; /* of the whole snapshot */
};

static inline uint32_t owning_rank(const struct mpi_job *job, enum name_kind kind, uint32_t id)
{
    return id / job->each[kind];
}

static inline uint32_t piece_rank(const struct mpi_job *job, uint64_t place)
{
    return (uint32_t)((place >> PLACE_BITS) % (uint32_t)job->ranks);
}

/* Notes an error unless an earlier one is known. */
void job_trouble(struct mpi_job *job, uint64_t place, enum trouble_kind kind, uint64_t other);

/* read.c: reads this rank's pieces, or its part of the packed file. */
void job_read(struct mpi_job *job);
/* Writes the message for an error at a place in a piece of this rank. */
void job_explain(struct mpi_job *job);
/* number.c */
bool job_number_names(struct mpi_job *job);
/* spread.c */
bool job_spread(struct mpi_job *job);
/* For qsort: compares records by place, their first member. */
int compare_places(const void *left, const void *right);
/* reduce.c */
bool job_reduce(struct mpi_job *job);
/* gather.c: fills the judged on rank 0; the other ranks help. */
bool job_gather_dead(struct mpi_job *job, gordian_judged *judged);

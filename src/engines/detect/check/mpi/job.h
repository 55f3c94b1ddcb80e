/* A judgement over MPI: what a rank has of it, and the steps (mpi.h). A step that returns false has
 * failed on all ranks, for want of memory on one of them. */
#pragma once

#include "engines/detect/check/mpi/exchange.h"
#include "engines/detect/check/snapshot.h"
#include "foundation/base/names/interner.h"
#include "foundation/base/packed/packed_file.h"

/* Where something stands: the piece, and in it the how manieth declaration, hold or wait. */
#define PLACE_BITS 40
#define NOWHERE    UINT64_MAX

static inline uint64_t text_place(uint64_t piece, uint64_t number)
{
    return piece << PLACE_BITS | number;
}

/* What is wrong first, as far as this rank knows. */
enum trouble_kind {
    TROUBLE_TOLD, /* the error has it */
    TROUBLE_UNDECLARED,
    TROUBLE_REDECLARED,
    TROUBLE_HOLDS,
    TROUBLE_WAITS,
};

struct trouble {
    uint64_t place; /* NOWHERE: nothing is wrong */
    uint64_t other; /* redeclared: where it was first */
    enum trouble_kind kind;
    gordian_error error;
};

/* A name as this rank's pieces have it. */
struct local_name {
    uint64_t first; /* of a process: where it comes first; of a resource: where it is declared */
    uint64_t again; /* where it is declared again */
    uint64_t used;  /* where it is used first */
    uint64_t units;
    uint64_t listed; /* of a process: the last await that names it, its place and one */
    uint32_t id;     /* of all ranks' */
};

enum name_kind { NAME_PROCESS, NAME_RESOURCE, NAME_KINDS };

struct local_names {
    struct names names;
    struct local_name *list;
    uint32_t count, room;
    /* Those that come first in a piece of this rank, by place: they are numbered here. */
    uint32_t *fresh; /* of the list */
    uint32_t fresh_count;
    uint64_t *before; /* by piece: how many come first in the pieces before it; one more */
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

/* Edges of the processes or resources a rank owns, by owner: starts[i] is where those of number
 * i begin, one more at the end. */
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
    struct packed_file *packed; /* one packed file, of which each reads a part */
    struct exchange exchange;
    struct trouble trouble;
    bool no_memory; /* here, at some time since all were asked */

    struct local_names kinds[NAME_KINDS];
    struct edge_list holds, waits; /* that were read here: local ids, then those of all */

    /* Blocks of ids: rank r owns r * each up to (r + 1) * each. */
    uint32_t each[NAME_KINDS];
    uint32_t begin[NAME_KINDS], own[NAME_KINDS];
    uint64_t *totals;                /* by own resource */
    uint64_t *available;             /* likewise */
    uint32_t *holder;                /* likewise: one that holds it */
    struct owned_edges wishes;       /* by own resource, those for the fewest units first */
    size_t *met;                     /* by own resource: wishes that are */
    struct owned_edges held, wanted; /* by own process */
    uint32_t *marks;                 /* by own process: wishes that are not met */
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

/* Notes what is wrong, if nothing before it is. */
void job_trouble(struct mpi_job *job, uint64_t place, enum trouble_kind kind, uint64_t other);

/* read.c: this rank's pieces, or its part of the packed file. */
void job_read(struct mpi_job *job);
/* Puts into words what is wrong at a place of a piece of this rank. */
void job_explain(struct mpi_job *job);
/* number.c */
bool job_number_names(struct mpi_job *job);
/* spread.c */
bool job_spread(struct mpi_job *job);
/* For qsort: records whose first member is their place in the text, by it. */
int compare_places(const void *left, const void *right);
/* reduce.c */
bool job_reduce(struct mpi_job *job);
/* gather.c: on rank 0 fills the judged, on others helps. */
bool job_gather_dead(struct mpi_job *job, gordian_judged *judged);

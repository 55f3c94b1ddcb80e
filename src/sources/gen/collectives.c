/* The kind `collectives`: writes the dumps of a training job and the expected result into a
 * folder. */
#include "sources/gen/job.h"

#include "foundation/base/error.h"
#include "sources/gen/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes the dump of a rank, or the expected result if `rank` is the number of ranks. A silent rank
 * has no file. */
static gordian_status write_dump_file(const struct gen_job *job, const char *path, uint32_t rank,
                                      bool json, gordian_error *error)
{
    struct output out;
    bool made = true;
    if (!output_open(&out, OUTPUT_MEMORY))
        return fail_memory(error);
    if (rank == job->ranks)
        gen_job_truth(job, &out);
    else
        made = gen_job_dump(job, rank, json, &out);
    gordian_status status = out.failure ? fail_memory(error) : GORDIAN_OK;
    if (status == GORDIAN_OK && made) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0 || !write_whole(fd, out.buffer, out.used))
            status =
                fail(error, GORDIAN_STATUS_IO, "cannot write '%.150s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    output_close(&out);
    return status;
}

static gordian_status write_dumps(const struct gen_job *job, const struct gen_options *options,
                                  gordian_error *error)
{
    char path[PATH_MAX];
    if (strlen(options->folder) + 32 > sizeof path)
        return fail(error, GORDIAN_STATUS_INPUT, "folder: the name is too long");
    if (mkdir(options->folder, 0777) != 0 && errno != EEXIST)
        return fail(error, GORDIAN_STATUS_IO, "cannot create '%.150s': %s", options->folder,
                    strerror(errno));
    for (uint32_t r = 0; r < job->ranks; r++) {
        snprintf(path, sizeof path, "%s/dump_%u%s", options->folder, r,
                 options->json ? ".json" : "");
        TRY(write_dump_file(job, path, r, options->json, error));
    }
    snprintf(path, sizeof path, "%s/truth", options->folder);
    return write_dump_file(job, path, job->ranks, options->json, error);
}

gordian_status job_collectives(const struct gen_options *options, struct output *out,
                               gordian_error *error)
{
    struct gen_job *job = NULL;
    gordian_status status = gen_job_open(&job, options, error);
    if (options->folder)
        THEN(status, write_dumps(job, options, error));
    if (status == GORDIAN_OK)
        gen_job_truth(job, out);
    gen_job_close(job);
    return status;
}

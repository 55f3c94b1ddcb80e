/* Damaged incidents: whatever the bytes, the reporter says no or writes something, and touches
 * nothing it does not own (run this under the sanitizers).
 *
 *     hostile WRITER
 */
#define _GNU_SOURCE
#include "foundation/base/random.h"
#include "output/report/report.h"
#include "output/report/session.h"
#include "test.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char *incident;
static size_t incident_size;

/* What the writer writes for a kind. */
static void make_incident(const char *writer, unsigned kind)
{
    char command[5000];
    FILE *out = tmpfile();
    REQUIRE(out != NULL);
    snprintf(command, sizeof command, "'%s' %u >&%d", writer, kind, fileno(out));
    REQUIRE(system(command) == 0); /* NOLINT: the path is the build's */
    REQUIRE(fseek(out, 0, SEEK_END) == 0);
    incident_size = (size_t)ftell(out);
    free(incident);
    incident = malloc(incident_size);
    REQUIRE(incident != NULL);
    rewind(out);
    REQUIRE(fread(incident, 1, incident_size, out) == incident_size);
    fclose(out);
}

/* Everything the reporter can make of it. True if it took it for an incident. */
static bool report_bytes(const char *bytes, size_t size)
{
    struct report report;
    gordian_error error = {0};
    int fd = memfd_create("incident", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    lseek(fd, 0, SEEK_SET);
    gordian_status status = report_open(&report, fd, &error);
    close(fd);
    if (status != GORDIAN_OK) {
        CHECK(error.message[0] != '\0');
        return false;
    }
    struct output out;
    struct finding_look look = {.style = {.color = true, .utf8 = true}, .verbose = true};
    struct session session;
    session_open(&session, NULL);
    REQUIRE(output_open(&out, -1));
    report_text(&report, &look, 1, &out);
    struct finding finding;
    report_finding(&finding, &report, 1);
    finding_json(&finding, &out);
    finding_dot(&finding, &out);
    finding_svg(&finding, &out);
    finding_close(&finding);
    report_trace(&report, &out);
    CHECK(!session_number_report(&session, &report).again);
    output_close(&out);
    report_close(&report);
    return true;
}

static void damage(struct random *random, char *bytes, size_t size)
{
    /* Mostly where the structure is: the header and the small sections. */
    size_t most = random_chance(random, 80) && size > 4096 ? 4096 : size;
    for (uint64_t left = 1 + random_below(random, 6); left > 0; left--) {
        size_t at = random_below(random, most);
        switch (random_below(random, 4)) {
        case 0:
            bytes[at] = (char)random_next(random);
            break;
        case 1:
            bytes[at] = (char)0xff;
            break;
        case 2:
            memset(bytes + at, random_chance(random, 50) ? 0 : 0xff, at + 8 < size ? 8 : size - at);
            break;
        default:
            bytes[at] = (char)(bytes[at] + 1);
        }
    }
}

int main(int argc, char **argv)
{
    REQUIRE(argc > 1);
    struct random random;
    random_seed(&random, 1);
    int rounds = (int)test_scale();
    unsigned long taken = 0;
    for (unsigned kind = INCIDENT_DEADLOCK; kind <= INCIDENT_SUMMARY; kind++) {
        make_incident(argv[1], kind);
        CHECK(report_bytes(incident, incident_size));
        char *copy = malloc(incident_size);
        REQUIRE(copy != NULL);
        for (int i = 0; i < rounds; i++) {
            size_t size =
                random_chance(&random, 5) ? random_below(&random, incident_size) : incident_size;
            memcpy(copy, incident, incident_size);
            damage(&random, copy, incident_size);
            taken += report_bytes(copy, size);
        }
        free(copy);
    }
    CHECK_MSG(taken > (unsigned long)rounds, "only %lu were read at all", taken);
    free(incident);
    return test_done();
}

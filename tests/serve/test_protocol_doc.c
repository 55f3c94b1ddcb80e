/* The examples of docs/reference/protocol.md, held against the service. */
#include "service_world.h"

#include <ctype.h>

static char line[4096];

/* Moves to the first line of the example marked `<!-- tested: NAME -->`. */
static bool find_example(FILE *file, const char *name)
{
    char mark[64];
    snprintf(mark, sizeof mark, "<!-- tested: %s -->\n", name);
    rewind(file);
    while (fgets(line, sizeof line, file))
        if (strcmp(line, mark) == 0)
            return fgets(line, sizeof line, file) != NULL;
    return false;
}

static bool next_line(FILE *file)
{
    return fgets(line, sizeof line, file) && strncmp(line, "```", 3) != 0;
}

/* ------------------------------------------------------------------ bytes */

/* The bytes of a line behind its first letter, up to a '#'; -1 for `ss`: any. */
static size_t bytes_of(const char *text, int *bytes)
{
    size_t count = 0;
    for (const char *at = text; *at && *at != '#';) {
        if (isspace((unsigned char)*at)) {
            at++;
            continue;
        }
        bytes[count++] = at[0] == 's' ? -1 : (int)strtol(at, NULL, 16);
        at += 2;
    }
    return count;
}

static void check_bytes(FILE *file)
{
    struct world world;
    int bytes[64];
    size_t answers = 0;
    world_open(&world, NULL);
    struct talker *talker = world_connect(&world);
    unsigned char pending[1024];
    size_t there = 0;
    while (next_line(file)) {
        size_t count = bytes_of(line + 1, bytes);
        if (line[0] == 'C') {
            for (size_t i = 0; i < count; i++)
                pending[there++] = (unsigned char)bytes[i];
            size_t used = give(talker, pending, there);
            memmove(pending, pending + used, there - used);
            there -= used;
            continue;
        }
        for (size_t i = 0; i < count; i++, talker->read++, answers++) {
            REQUIRE(talker->read < talker->client.out.used);
            int byte = (unsigned char)talker->client.out.buffer[talker->read];
            CHECK_MSG(bytes[i] < 0 || bytes[i] == byte, "%02x instead of %s", byte, line);
        }
    }
    CHECK(talker->read == talker->client.out.used && there == 0 && answers > 100);
    CHECK(talker->client.closing);
    world_close(&world);
}

/* ------------------------------------------------------------------ lines */

static void check_lines(FILE *file)
{
    struct world world;
    size_t answers = 0;
    world_open(&world, NULL);
    struct talker *talker = world_connect(&world);
    while (next_line(file)) {
        if (line[0] == '>') {
            CHECK_MSG(hears(talker)[0] == '\0', "not in the document: %s", hears(talker));
            say(talker, "%s", line + 2);
        } else {
            CHECK_MSG(strcmp(hears(talker), line + 2) == 0, "%s instead of %s", hears(talker),
                      line + 2);
            forget(talker);
            answers++;
        }
    }
    CHECK(answers > 5 && talker->client.closing);
    world_close(&world);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    REQUIRE(file);
    CHECK(find_example(file, "hex"));
    check_bytes(file);
    CHECK(find_example(file, "lines"));
    check_lines(file);
    fclose(file);
    return test_done();
}

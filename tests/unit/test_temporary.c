/* Temporary files and folders, wherever TMPDIR points. */
#include "foundation/base/io/temporary.h"
#include "scratch.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* A file, a folder and a stream can be made there, and are gone afterwards. */
static void works_in(const char *place)
{
    char path[PATH_MAX], inside[PATH_MAX + 16];
    gordian_error error = {0};
    int fd = -1;
    setenv("TMPDIR", place, 1);
    CHECK_MSG(temporary_file("a file", ".treo", path, sizeof path, &fd, &error) == GORDIAN_OK, "%s",
              error.message);
    CHECK_MSG(strncmp(path, place, strlen(place)) == 0 && strstr(path, "/a file-"), "%s", path);
    CHECK(strcmp(path + strlen(path) - 5, ".treo") == 0);
    CHECK(write(fd, "x", 1) == 1 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    close(fd);
    CHECK(unlink(path) == 0);

    CHECK_MSG(temporary_folder("folder", path, sizeof path, &error) == GORDIAN_OK, "%s",
              error.message);
    struct stat about;
    CHECK(stat(path, &about) == 0 && S_ISDIR(about.st_mode) && (about.st_mode & 0777) == 0700);
    snprintf(inside, sizeof inside, "%s/below", path);
    CHECK(mkdir(inside, 0700) == 0);
    snprintf(inside, sizeof inside, "%s/below/it", path);
    CHECK(symlink("/nowhere", inside) == 0);
    temporary_remove(path);
    CHECK(!is_there(path));

    FILE *stream = temporary_stream(&error);
    CHECK_MSG(stream != NULL, "%s", error.message);
    if (stream) {
        char text[8] = "";
        CHECK(fputs("here", stream) >= 0 && fseek(stream, 0, SEEK_SET) == 0);
        CHECK(fgets(text, sizeof text, stream) && strcmp(text, "here") == 0);
        fclose(stream);
    }
    CHECK(rmdir(place) == 0); /* nothing is left in it */
}

static void says_why(const char *place, size_t size, int why)
{
    char path[PATH_MAX];
    gordian_error error = {0};
    int fd = 0;
    setenv("TMPDIR", place, 1);
    CHECK(temporary_file("file", "", path, size, &fd, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(errno == why && fd < 0 && path[0] == '\0', "%s", strerror(errno));
    CHECK_MSG(strstr(error.message, "TMPDIR") && strstr(error.message, strerror(why)), "%s",
              error.message);
    CHECK(strncmp(error.message, "cannot make a temporary file in '/", 34) == 0);
    CHECK(temporary_folder("folder", path, size, &error) == GORDIAN_STATUS_IO);
    CHECK(errno == why && path[0] == '\0' && strstr(error.message, strerror(why)));
    CHECK(temporary_folder("folder", path, size, NULL) == GORDIAN_STATUS_IO && errno == why);
    temporary_remove(path); /* which is none */
    if (size == sizeof path)
        CHECK(!temporary_stream(&error) && strstr(error.message, strerror(why)));
}

int main(void)
{
    char folder[SCRATCH_SIZE], place[PATH_MAX];
    REQUIRE(scratch_make(folder, "temporary"));

    snprintf(place, sizeof place, "%s/with two  blanks", folder);
    REQUIRE(mkdir(place, 0700) == 0);
    works_in(place);

    /* Long: one that fits, and one that does not fit where it is wanted. */
    snprintf(place, sizeof place, "%s/%0240d", folder, 0);
    REQUIRE(mkdir(place, 0700) == 0);
    says_why(place, 250, ENAMETOOLONG);
    works_in(place);

    snprintf(place, sizeof place, "%s/missing", folder);
    says_why(place, sizeof place, ENOENT);

    snprintf(place, sizeof place, "%s/file", folder);
    int fd = open(place, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    close(fd);
    says_why(place, sizeof place, ENOTDIR);
    unlink(place);

    /* What root may not write to, either, is no folder of ours. */
    snprintf(place, sizeof place, "%s/locked", folder);
    REQUIRE(mkdir(place, 0500) == 0);
    if (geteuid() != 0)
        says_why(place, sizeof place, EACCES);
    rmdir(place);

    /* A relative path is nobody's: /tmp instead. */
    setenv("TMPDIR", "here", 1);
    REQUIRE(temporary_folder("gordian-test", place, sizeof place, NULL) == GORDIAN_OK);
    CHECK(strncmp(place, "/tmp/gordian-test-", 18) == 0);
    temporary_remove(place);
    CHECK(!is_there(place));
    CHECK(rmdir(folder) == 0);
    return test_done();
}

/* Runs a fuzzer over files and folders, without libFuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static unsigned long files_run;

static void give_up(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(2);
}

static void run_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size + 1);
    if (!file || !data)
        give_up(path);
    if (fread(data, 1, size, file) != size)
        give_up(path);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout); /* before a finding stops us */
    LLVMFuzzerTestOneInput(data, size);
    files_run++;
    free(data);
}

static void run_path(const char *path);

static void run_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        give_up(path);
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        run_path(name);
    }
    closedir(folder);
}

static void run_path(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        give_up(path);
    if (S_ISDIR(status.st_mode))
        run_folder(path);
    else
        run_file(path, (size_t)status.st_size);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run_path(argv[i]);
    printf("%lu files, nothing found\n", files_run);
    return files_run == 0; /* an empty corpus tests nothing */
}

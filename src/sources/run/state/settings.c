#include "sources/run/state/settings.h"

#include "sources/run/state/arena.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"

#include <errno.h>
#include <string.h>

static char *none[] = {NULL};

static bool is_setting_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* Copies the environment, since the program may overwrite its own (to change its title in ps). */
static void copy_environment(void)
{
    watch.environment = none;
    if (!environ)
        return;
    size_t count = 0, bytes = 0;
    for (; environ[count]; count++)
        bytes += strlen(environ[count]) + 1;
    char **entries = pages_map((count + 1) * sizeof *entries + bytes);
    if (!entries)
        return;
    char *text = (char *)(entries + count + 1);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_setting_of(environ[i], "LD_PRELOAD"))
            continue;
        size_t length = strlen(environ[i]) + 1;
        memcpy(text, environ[i], length);
        entries[kept++] = text;
        text += length;
    }
    watch.environment = entries;
}

const char *setting_text(const char *name)
{
    if (!watch.environment)
        return NULL;
    for (char **entry = watch.environment; *entry; entry++)
        if (is_setting_of(*entry, name))
            return *entry + strlen(name) + 1;
    return NULL;
}

bool setting_is(const char *name, const char *value)
{
    const char *text = setting_text(name);
    return text && strcmp(text, value) == 0;
}

static uint64_t parse_setting(const char *text, uint64_t otherwise)
{
    if (!text || *text < '0' || *text > '9')
        return otherwise;
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9' && value < 1u << 30; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

uint64_t setting_number(const char *name, uint64_t otherwise)
{
    return parse_setting(setting_text(name), otherwise);
}

/* Parses seconds with decimals. */
static uint64_t read_nanoseconds(const char *text)
{
    if (!text)
        return 0;
    uint64_t value = parse_setting(text, 0) * 1000000000u, unit = 100000000u;
    const char *point = strchr(text, '.');
    for (point = point ? point + 1 : ""; *point >= '0' && *point <= '9' && unit; point++) {
        value += (uint64_t)(*point - '0') * unit;
        unit /= 10;
    }
    return value;
}

/* Returns the length of the next name in a value of LD_PRELOAD; *step includes the separator. */
static size_t next_preloaded(const char *from, size_t *step)
{
    size_t length = strcspn(from, ": ");
    *step = length + (from[length] != '\0');
    return length;
}

static bool is_library(const char *name, size_t length, const char *library)
{
    const char *base = strrchr(library, '/');
    base = base ? base + 1 : library;
    for (size_t i = length; i > 0; i--)
        if (name[i - 1] == '/') {
            name += i;
            length -= i;
            break;
        }
    return length > 0 && length == strlen(base) && strncmp(name, base, length) == 0;
}

bool settings_preloads(const char *value, const char *library)
{
    for (size_t step; *value; value += step)
        if (is_library(value, next_preloaded(value, &step), library))
            return true;
    return false;
}

void settings_without_us(char *to, const char *value)
{
    for (size_t step; *value; value += step) {
        size_t length = next_preloaded(value, &step);
        if (!is_library(value, length, watch.library) &&
            !is_library(value, length, watch.mpi_library)) {
            memmove(to, value, step);
            to += step;
        }
    }
    *to = '\0';
}

/* Takes the path of this library from LD_PRELOAD, or from the mappings. */
static void find_own_library(void)
{
    static char path[600];
    struct region here;
    const char *value = NULL;
    for (char **entry = environ; entry && *entry; entry++)
        if (is_setting_of(*entry, "LD_PRELOAD"))
            value = *entry + strlen("LD_PRELOAD=");
    watch.library = path;
    if (maps_find((uintptr_t)&settings_read, &here) && strlen(here.path) < sizeof path)
        strcpy(path, here.path);
    for (size_t step, length; value && *value; value += step) {
        length = next_preloaded(value, &step);
        if (!is_library(value, length, watch.library) || length >= sizeof path)
            continue;
        memcpy(path, value, length);
        path[length] = '\0';
        return;
    }
}

/* Returns the first of these places, relative to the folder of the library, that is a file with
 * this access; "": none. Folders are skipped. */
static const char *find_near(char *path, const char *library, const char *const *places, int use)
{
    const char *slash = strrchr(library, '/');
    char head[4];
    for (; slash && *places; places++) {
        size_t folder = (size_t)(slash + 1 - library);
        memcpy(path, library, folder);
        strcpy(path + folder, *places);
        if (sys_call(SYS_faccessat, AT_FDCWD, path, use) == 0 &&
            read_small(path, head, sizeof head) > 0)
            return path;
    }
    return "";
}

/* Searched for when needed: next to this library, in a build tree, or installed. */
const char *settings_tool(void)
{
    static const char *const places[] = {
        "gordian",           "../gordian",           "../../gordian",
        "../../bin/gordian", "../../../bin/gordian", NULL};
    static char path[600];
    struct region here;
    const char *tool = setting_text("GORDIAN_TOOL");
    if (tool)
        return tool;
    return maps_find((uintptr_t)&settings_read, &here) ? find_near(path, here.path, places, X_OK)
                                                       : "";
}

/* Finds the program's name, even if a loader runs the program. */
static void find_program_name(char *program, size_t room)
{
    long length = sys_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, room - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    if (strncmp(name, "ld-", 3) != 0 && strncmp(name, "ld.so", 5) != 0)
        return;
    size_t size = strlen(program_invocation_name);
    if (size == 0 || size >= room)
        return;
    memcpy(program, program_invocation_name, size + 1);
}

void settings_read(void)
{
    static char program[512], mpi_path[640];
    /* The interposers of MPI: next to this library if both are installed, otherwise in the build
     * tree. */
    static const char *const mpi_places[] = {"libgordian-mpi.so", "../mpi/libgordian-mpi.so", NULL};
    copy_environment();
    watch.on_deadlock = setting_is("GORDIAN_ON_DEADLOCK", "report")  ? INCIDENT_GO_ON
                        : setting_is("GORDIAN_ON_DEADLOCK", "break") ? INCIDENT_BREAK
                                                                     : INCIDENT_ABORT;
    watch.abort_likely =
        watch.on_deadlock == INCIDENT_ABORT && setting_is("GORDIAN_ON_LIKELY", "abort");
    watch.potential = !setting_is("GORDIAN_POTENTIAL", "0");
    uint64_t sites = parse_setting(setting_text("GORDIAN_SITES"), 1);
    watch.sites = sites == 1 || sites > INCIDENT_FRAMES ? INCIDENT_FRAMES : (uint32_t)sites;
    watch.thread_room = (uint32_t)parse_setting(setting_text("GORDIAN_MAX_THREADS"), 1u << 16);
    watch.stall_ns = read_nanoseconds(setting_text("GORDIAN_STALL"));
    watch.status_signal = (int)parse_setting(setting_text("GORDIAN_STATUS_SIGNAL"), 0);
    watch.quiet = setting_is("GORDIAN_QUIET", "1");

    find_own_library();
    watch.mpi_library = find_near(mpi_path, watch.library, mpi_places, R_OK);
    watch.follow = !setting_is("GORDIAN_FOLLOW", "0") && *watch.library;
    if (!watch.follow) {
        /* Remove this library from LD_PRELOAD, so that child programs run without it. The variable
         * is shortened in place. */
        for (char **entry = environ; entry && *entry; entry++)
            if (is_setting_of(*entry, "LD_PRELOAD")) {
                char *value = *entry + strlen("LD_PRELOAD=");
                settings_without_us(value, value);
            }
    }
    find_program_name(program, sizeof program);
    watch.program = program;
}

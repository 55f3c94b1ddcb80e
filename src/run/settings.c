#include "run/settings.h"

#include "run/arena.h"
#include "run/maps.h"
#include "run/start.h"
#include "run/sys.h"

#include <string.h>

static char *none[] = {NULL};

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* The program may scribble over its environment (to change its title in ps): keep a copy. */
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
        if (is_variable(environ[i], "LD_PRELOAD"))
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
        if (is_variable(*entry, name))
            return *entry + strlen(name) + 1;
    return NULL;
}

bool setting_is(const char *name, const char *value)
{
    const char *text = setting_text(name);
    return text && strcmp(text, value) == 0;
}

static uint64_t read_number(const char *text, uint64_t otherwise)
{
    if (!text || *text < '0' || *text > '9')
        return otherwise;
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9' && value < 1u << 30; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

/* Seconds with decimals. */
static uint64_t read_nanoseconds(const char *text)
{
    if (!text)
        return 0;
    uint64_t value = read_number(text, 0) * 1000000000u, unit = 100000000u;
    const char *point = strchr(text, '.');
    for (point = point ? point + 1 : ""; *point >= '0' && *point <= '9' && unit; point++) {
        value += (uint64_t)(*point - '0') * unit;
        unit /= 10;
    }
    return value;
}

/* Takes this library out of LD_PRELOAD, so that programs started from here run without it. The
 * variable is made shorter in place. */
static void stop_following(const char *library)
{
    const char *base = strrchr(library, '/');
    base = base ? base + 1 : library;
    for (char **entry = environ; entry && *entry; entry++) {
        if (!is_variable(*entry, "LD_PRELOAD"))
            continue;
        char *to = *entry + strlen("LD_PRELOAD=");
        for (const char *from = to; *from;) {
            size_t length = strcspn(from, ": ");
            const char *name = from;
            for (const char *c = from; c < from + length; c++)
                if (*c == '/')
                    name = c + 1;
            bool ours = (size_t)(from + length - name) == strlen(base) &&
                        strncmp(name, base, strlen(base)) == 0;
            size_t step = length + (from[length] != '\0');
            if (!ours) {
                memmove(to, from, step);
                to += step;
            }
            from += step;
        }
        *to = '\0';
    }
}

/* The command beside this library: in a build tree, or installed. */
static const char *find_tool(const char *library)
{
    static const char *const places[] = {"gordian", "../gordian", "../../gordian",
                                         "../../bin/gordian", "../../../bin/gordian"};
    static char path[600];
    const char *slash = strrchr(library, '/');
    if (!slash)
        return "";
    size_t folder = (size_t)(slash + 1 - library);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memcpy(path, library, folder);
        strcpy(path + folder, places[i]);
        char head[4];
        /* A folder of that name does not do. */
        if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0 &&
            read_small(path, head, sizeof head) > 0)
            return path;
    }
    return "";
}

/* Looked for when it is needed. */
const char *settings_tool(void)
{
    struct region here;
    const char *tool = setting_text("GORDIAN_TOOL");
    if (tool)
        return tool;
    return maps_find((uintptr_t)&settings_read, &here) ? find_tool(here.path) : "";
}

void settings_read(void)
{
    static char program[512];
    copy_environment();
    const char *action = setting_text("GORDIAN_ON_DEADLOCK");
    watch.on_deadlock = INCIDENT_ABORT;
    if (action && strcmp(action, "report") == 0)
        watch.on_deadlock = INCIDENT_GO_ON;
    else if (action && strcmp(action, "break") == 0)
        watch.on_deadlock = INCIDENT_BREAK;
    watch.potential = !setting_is("GORDIAN_POTENTIAL", "0");
    uint64_t sites = read_number(setting_text("GORDIAN_SITES"), 1);
    watch.sites = sites == 1 || sites > INCIDENT_FRAMES ? INCIDENT_FRAMES : (uint32_t)sites;
    watch.thread_room = (uint32_t)read_number(setting_text("GORDIAN_MAX_THREADS"), 1u << 16);
    watch.stall_ns = read_nanoseconds(setting_text("GORDIAN_STALL"));
    watch.status_signal = (int)read_number(setting_text("GORDIAN_STATUS_SIGNAL"), 0);
    watch.quiet = setting_is("GORDIAN_QUIET", "1");

    if (setting_is("GORDIAN_FOLLOW", "0")) {
        struct region here;
        stop_following(maps_find((uintptr_t)&settings_read, &here) ? here.path : "");
    }
    long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    watch.program = program;
}

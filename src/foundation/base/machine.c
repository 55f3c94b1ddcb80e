#define _GNU_SOURCE /* sched_getaffinity */
#include "foundation/base/machine.h"

#include <ctype.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Reads what follows the colon in the first line of /proc/cpuinfo that starts with `key`. */
static bool read_cpuinfo(const char *key, char *text, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value || strncmp(line, key, strlen(key)) != 0)
            continue;
        do
            value++;
        while (isspace((unsigned char)*value));
        value[strcspn(value, "\n")] = '\0';
        snprintf(text, size, "%s", value);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* Arm processors report numbers instead of a name. */
static const char *arm_core(unsigned long implementer, unsigned long part)
{
    static const struct {
        unsigned long part;
        const char *name;
    } known[] = {
        {0xd03, "Cortex-A53"},  {0xd07, "Cortex-A57"},  {0xd08, "Cortex-A72"},
        {0xd0b, "Cortex-A76"},  {0xd0c, "Neoverse-N1"}, {0xd40, "Neoverse-V1"},
        {0xd49, "Neoverse-N2"}, {0xd4f, "Neoverse-V2"}, {0xd84, "Neoverse-V3"},
        {0xd8e, "Neoverse-N3"},
    };
    for (size_t i = 0; implementer == 0x41 && i < sizeof known / sizeof *known; i++)
        if (known[i].part == part)
            return known[i].name;
    return NULL;
}

static void describe_cpu(char *text, size_t size)
{
    char implementer[32], part[32];
    if (read_cpuinfo("model name", text, size))
        return;
    snprintf(text, size, "unknown");
    if (!read_cpuinfo("CPU implementer", implementer, sizeof implementer) ||
        !read_cpuinfo("CPU part", part, sizeof part))
        return;
    const char *core = arm_core(strtoul(implementer, NULL, 0), strtoul(part, NULL, 0));
    if (core)
        snprintf(text, size, "Arm %s", core);
    else
        snprintf(text, size, "Arm, implementer %s part %s", implementer, part);
}

static unsigned count_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

void machine_describe(struct machine *machine)
{
    struct utsname system;
    *machine = (struct machine){.system = "unknown", .cores = count_cores()};
    if (uname(&system) == 0)
        snprintf(machine->system, sizeof machine->system, "%s %s", system.sysname, system.machine);
    describe_cpu(machine->cpu, sizeof machine->cpu);
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0)
        machine->memory = (uint64_t)pages * (uint64_t)size;
}

const char *machine_temporary(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] == '/' ? folder : "/tmp";
}

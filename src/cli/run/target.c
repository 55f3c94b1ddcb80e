#include "cli/run/target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

#define LINE_MOST        256 /* what the kernel looks at of a script's first line */
#define INTERPRETER_MOST 5   /* interpreters of interpreters */

/* ------------------------------------------------------------------ finding it */

static int why_not_executable(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return errno;
    if (S_ISDIR(about.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* The first executable of that name in PATH; as execvp, one that may not be executed is only told
 * if no other is found. */
static int search_path(char *path, size_t size, const char *name)
{
    const char *folders = getenv("PATH");
    int failure = ENOENT;
    for (folders = folders ? folders : "/bin:/usr/bin";;) {
        size_t length = strcspn(folders, ":");
        int used = snprintf(path, size, "%.*s%s%s", (int)length, folders, length ? "/" : "", name);
        if (used > 0 && (size_t)used < size) {
            int why = why_not_executable(path);
            if (why == 0)
                return 0;
            if (why == EACCES)
                failure = EACCES;
        }
        if (!folders[length])
            break;
        folders += length + 1;
    }
    return failure;
}

static int find_target(char *path, size_t size, const char *name)
{
    if (!*name)
        return ENOENT;
    if (!strchr(name, '/'))
        return search_path(path, size, name);
    int used = snprintf(path, size, "%s", name);
    return used < 0 || (size_t)used >= size ? ENAMETOOLONG : why_not_executable(path);
}

/* ------------------------------------------------------------------ looking into it */

__attribute__((format(printf, 2, 3))) static void unwatchable(struct run_target *target,
                                                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(target->reason, sizeof target->reason, format, arguments);
    va_end(arguments);
    target->watchable = false;
}

/* Would the kernel raise its privileges, so that the loader ignores LD_PRELOAD? */
static bool raises_privileges(int fd, const struct stat *about)
{
    struct statvfs where;
    if (fstatvfs(fd, &where) == 0 && (where.f_flag & ST_NOSUID))
        return false;
    bool user = (about->st_mode & S_ISUID) && about->st_uid != getuid();
    bool group =
        (about->st_mode & S_ISGID) && (about->st_mode & S_IXGRP) && about->st_gid != getgid();
    bool capabilities = geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
    return user || group || capabilities;
}

static const char *machine_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "32-bit x86";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "32-bit Arm";
    case EM_AARCH64:
        return "aarch64";
    case EM_RISCV:
        return "RISC-V";
    case EM_PPC64:
        return "POWER";
    case EM_S390:
        return "s390";
    default:
        return "another processor";
    }
}

/* The sanitizer whose run-time library or entry point this name is, or NULL. */
static const char *sanitizer_named(const char *name)
{
    static const char *const marks[][2] = {
        {"libasan.so", "AddressSanitizer"},       {"__asan_init", "AddressSanitizer"},
        {"libtsan.so", "ThreadSanitizer"},        {"__tsan_init", "ThreadSanitizer"},
        {"libmsan.so", "MemorySanitizer"},        {"__msan_init", "MemorySanitizer"},
        {"liblsan.so", "LeakSanitizer"},          {"__lsan_init", "LeakSanitizer"},
        {"libhwasan.so", "HWAddressSanitizer"},   {"__hwasan_init", "HWAddressSanitizer"},
        {"libclang_rt.asan", "AddressSanitizer"}, {"libclang_rt.tsan", "ThreadSanitizer"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(name, marks[i][0], strlen(marks[i][0])) == 0)
            return marks[i][1];
    return NULL;
}

static const char *sanitizer_needed(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Dyn entry;
        if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag != DT_NEEDED)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
        const char *found = name ? sanitizer_named(name) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static const char *sanitizer_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            continue;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        const char *found = name && name[0] == '_' ? sanitizer_named(name) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

/* A sanitizer linked in, dynamically (its library is needed) or statically (it exports its entry
 * points so that libraries find them). */
static const char *sanitizer_in(Elf *elf)
{
    const char *found = NULL;
    Elf_Scn *section = NULL;
    while (!found && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        if (header.sh_type == SHT_DYNAMIC)
            found = sanitizer_needed(elf, section, &header);
        else if (header.sh_type == SHT_DYNSYM)
            found = sanitizer_symbol(elf, section, &header);
    }
    return found;
}

/* The dynamic loader it names, "" if none. */
static void loader_of(Elf *elf, char *loader, size_t size)
{
    size_t count = 0, length = 0;
    const char *image = elf_rawfile(elf, &length);
    loader[0] = '\0';
    if (!image || elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP)
            continue;
        if (header.p_offset < length && header.p_filesz <= length - header.p_offset)
            snprintf(loader, size, "%.*s", (int)(header.p_filesz < size ? header.p_filesz : size),
                     image + header.p_offset);
    }
}

static void judge_elf(struct run_target *target, Elf *elf)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return;
    if (header.e_machine != OUR_MACHINE || header.e_ident[EI_CLASS] != ELFCLASS64) {
        unwatchable(target, "is for %s, and this gordian for %s", machine_name(header.e_machine),
                    machine_name(OUR_MACHINE));
        return;
    }
    char loader[256];
    loader_of(elf, loader, sizeof loader);
    const char *name = strrchr(target->judged, '/');
    bool is_loader = strncmp(name ? name + 1 : target->judged, "ld", 2) == 0 &&
                     header.e_type == ET_DYN; /* run as a command: ld.so PROGRAM */
    const char *sanitizer = sanitizer_in(elf);
    if (!loader[0] && !is_loader)
        unwatchable(target, "is statically linked");
    else if (strstr(loader, "ld-musl"))
        unwatchable(target, "uses the C library musl; only glibc is watched");
    else if (sanitizer)
        unwatchable(target, "has %s inside, which takes the same place", sanitizer);
}

static void judge_target(struct run_target *target, const char *path, unsigned depth);

/* "#!/usr/bin/env -S NAME ...": the program that env runs. */
static void judge_through_env(struct run_target *target, char *words, unsigned depth)
{
    for (char *left = NULL, *word = strtok_r(words, " \t", &left); word;
         word = strtok_r(NULL, " \t", &left)) {
        char path[sizeof target->path];
        if (word[0] == '-' || strchr(word, '='))
            continue;
        if (find_target(path, sizeof path, word) == 0)
            judge_target(target, path, depth + 1);
        return;
    }
}

/* A script: its first line names the interpreter. `line` is NUL-terminated. */
static void judge_script(struct run_target *target, char *line, unsigned depth)
{
    line[strcspn(line, "\n\r")] = '\0';
    char *path = line + 2 + strspn(line + 2, " \t");
    char *rest = path + strcspn(path, " \t");
    if (*rest)
        *rest++ = '\0';
    if (!*path)
        return;
    const char *name = strrchr(path, '/');
    judge_target(target, path, depth + 1);
    if (target->watchable && strcmp(name ? name + 1 : path, "env") == 0)
        judge_through_env(target, rest, depth + 1);
}

static void judge_content(struct run_target *target, int fd, unsigned depth)
{
    char line[LINE_MOST + 1] = "";
    ssize_t count = pread(fd, line, LINE_MOST, 0);
    if (count >= 2 && line[0] == '#' && line[1] == '!') {
        judge_script(target, line, depth);
    } else if (count >= SELFMAG && memcmp(line, ELFMAG, SELFMAG) == 0) {
        elf_version(EV_CURRENT);
        Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        if (elf && elf_kind(elf) == ELF_K_ELF)
            judge_elf(target, elf);
        elf_end(elf);
    } else if (depth == 0) {
        judge_target(target, "/bin/sh",
                     depth + 1); /* as execvp does with what the kernel does not know */
    }
}

/* One that cannot be read, only executed, gets the benefit of the doubt. */
static void judge_target(struct run_target *target, const char *path, unsigned depth)
{
    struct stat about;
    int fd = depth < INTERPRETER_MOST ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    snprintf(target->judged, sizeof target->judged, "%s", path);
    if (fstat(fd, &about) == 0 && raises_privileges(fd, &about))
        unwatchable(target, "runs with raised privileges (setuid, setgid or capabilities)");
    else
        judge_content(target, fd, depth);
    close(fd);
}

void run_target_find(struct run_target *target, const char *name)
{
    *target = (struct run_target){.watchable = true};
    target->failure = find_target(target->path, sizeof target->path, name);
    if (target->failure == 0)
        judge_target(target, target->path, 0);
    else if (target->failure == ENOENT)
        target->path[0] = '\0';
}

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sources/run/start/watchable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

#define LINE_MOST        256 /* bytes of a script's first line that the kernel reads */
#define INTERPRETER_MOST 5   /* depth of nested interpreters */
#define NOSUID_FLAG      2   /* ST_NOSUID */

/* ------------------------------------------------------------------ text */

static void append(char *to, size_t size, const char *more)
{
    size_t used = strlen(to), length = strlen(more);
    if (length > size - 1 - used)
        length = size - 1 - used;
    memcpy(to + used, more, length);
    to[used + length] = '\0';
}

static void unwatchable(struct watchability *target, const char *first, const char *second,
                        const char *third, const char *fourth)
{
    target->reason[0] = '\0';
    append(target->reason, sizeof target->reason, first);
    append(target->reason, sizeof target->reason, second);
    append(target->reason, sizeof target->reason, third);
    append(target->reason, sizeof target->reason, fourth);
    target->watchable = false;
}

/* ------------------------------------------------------------------ finding it */

static int why_not_executable(const char *path)
{
    struct stat about;
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &about, 0) != 0)
        return errno;
    if (S_ISDIR(about.st_mode))
        return EISDIR;
    return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0 ? 0 : errno;
}

/* Like execvp, reports a file that is not executable only if there is no other. */
static int search_path(char *path, size_t size, const char *name, const char *folders)
{
    int failure = ENOENT;
    for (;;) {
        size_t length = strcspn(folders, ":");
        if (length + 1 + strlen(name) < size) {
            memcpy(path, folders, length);
            path[length] = '\0';
            append(path, size, length ? "/" : "");
            append(path, size, name);
            int why = why_not_executable(path);
            if (why == 0)
                return 0;
            if (why == EACCES)
                failure = EACCES;
        }
        if (!folders[length])
            return failure;
        folders += length + 1;
    }
}

int find_executable(char *path, size_t size, const char *name, const char *search)
{
    path[0] = '\0';
    if (!*name)
        return ENOENT;
    if (!strchr(name, '/'))
        return search_path(path, size, name, search ? search : "/bin:/usr/bin");
    append(path, size, name);
    return strlen(name) >= size ? ENAMETOOLONG : why_not_executable(path);
}

/* ------------------------------------------------------------------ inspecting the file */

/* A file being inspected. */
struct looking {
    struct watchability *target;
    int fd;
    unsigned depth;
    const char *search;
};

static bool read_program_at(const struct looking *looking, void *buffer, size_t size,
                            uint64_t offset)
{
    return syscall(SYS_pread64, looking->fd, buffer, size, offset) == (long)size;
}

/* Returns whether the kernel would raise its privileges, in which case the loader ignores
 * LD_PRELOAD. */
static bool raises_privileges(int fd, const struct stat *about)
{
    struct statfs where;
    if (fstatfs(fd, &where) == 0 && (where.f_flags & NOSUID_FLAG))
        return false;
    bool user = (about->st_mode & S_ISUID) && about->st_uid != (uid_t)syscall(SYS_getuid);
    bool group = (about->st_mode & S_ISGID) && (about->st_mode & S_IXGRP) &&
                 about->st_gid != (gid_t)syscall(SYS_getgid);
    bool capabilities =
        syscall(SYS_geteuid) != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
    return user || group || capabilities;
}

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } known[] = {
        {EM_386, "32-bit x86"},  {EM_X86_64, "x86-64"}, {EM_ARM, "32-bit Arm"},
        {EM_AARCH64, "aarch64"}, {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"},
        {EM_S390, "s390"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].machine == machine)
            return known[i].name;
    return "another processor";
}

/* Returns the sanitizer with this runtime library or entry point, or NULL. */
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
    if (name[0] != 'l' && name[0] != '_')
        return NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(name, marks[i][0], strlen(marks[i][0])) == 0)
            return marks[i][1];
    return NULL;
}

/* A sanitizer is linked dynamically (its library is needed) or statically (it exports its entry
 * points for libraries). Both names are among the strings of the dynamic section. */
static const char *sanitizer_in_strings(const struct looking *looking, uint64_t offset,
                                        uint64_t size)
{
    enum { BLOCK = 1024, LONGEST = 32 };
    char block[BLOCK + 1];
    const char *found = NULL;
    for (uint64_t at = 0; at < size && !found; at += BLOCK - LONGEST) {
        size_t length = size - at < BLOCK ? (size_t)(size - at) : (size_t)BLOCK;
        if (!read_program_at(looking, block, length, offset + at))
            return NULL;
        block[length] = '\0';
        for (size_t i = 0; i + 1 < length && !found; i++)
            if (block[i] == '\0')
                found = sanitizer_named(block + i + 1);
    }
    return found;
}

static const char *sanitizer_in(const struct looking *looking, const Elf64_Ehdr *header)
{
    const char *found = NULL;
    for (unsigned i = 0; i < header->e_shnum && !found; i++) {
        Elf64_Shdr section, strings;
        if (!read_program_at(looking, &section, sizeof section,
                             header->e_shoff + (uint64_t)i * header->e_shentsize))
            return NULL;
        if (section.sh_type == SHT_DYNSYM && section.sh_link < header->e_shnum &&
            read_program_at(looking, &strings, sizeof strings,
                            header->e_shoff + (uint64_t)section.sh_link * header->e_shentsize))
            found = sanitizer_in_strings(looking, strings.sh_offset, strings.sh_size);
    }
    return found;
}

/* Finds the dynamic loader, "" if there is none. */
static void loader_of(const struct looking *looking, const Elf64_Ehdr *header, char *loader,
                      size_t size)
{
    loader[0] = '\0';
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        if (!read_program_at(looking, &segment, sizeof segment,
                             header->e_phoff + (uint64_t)i * header->e_phentsize))
            return;
        if (segment.p_type != PT_INTERP)
            continue;
        size_t length = segment.p_filesz < size - 1 ? segment.p_filesz : size - 1;
        loader[read_program_at(looking, loader, length, segment.p_offset) ? length : 0] = '\0';
        return;
    }
}

static void judge_elf(const struct looking *looking, const Elf64_Ehdr *header)
{
    struct watchability *target = looking->target;
    if (header->e_machine != OUR_MACHINE || header->e_ident[EI_CLASS] != ELFCLASS64) {
        unwatchable(target, "is for ", machine_name(header->e_machine), ", and this gordian for ",
                    machine_name(OUR_MACHINE));
        return;
    }
    char loader[256];
    loader_of(looking, header, loader, sizeof loader);
    const char *slash = strrchr(target->judged, '/');
    bool is_loader = strncmp(slash ? slash + 1 : target->judged, "ld", 2) == 0 &&
                     header->e_type == ET_DYN; /* run as a command: ld.so PROGRAM */
    const char *sanitizer = NULL;
    if (!loader[0] && !is_loader)
        unwatchable(target, "is statically linked", "", "", "");
    else if (strstr(loader, "ld-musl"))
        unwatchable(target, "uses the C library musl; only glibc is supported", "", "", "");
    else if ((sanitizer = sanitizer_in(looking, header)))
        unwatchable(target, "has ", sanitizer, " inside, which takes the same place", "");
}

static void judge_file(const struct looking *from, int folder, const char *path);

/* Judges the program that env runs: "#!/usr/bin/env -S NAME ...". */
static void judge_through_env(const struct looking *looking, char *words)
{
    for (char *left = NULL, *word = strtok_r(words, " \t", &left); word;
         word = strtok_r(NULL, " \t", &left)) {
        char path[512];
        if (word[0] == '-' || strchr(word, '='))
            continue;
        if (find_executable(path, sizeof path, word, looking->search) == 0)
            judge_file(looking, AT_FDCWD, path);
        return;
    }
}

/* Judges a script by the interpreter in its first line. `line` ends with NUL. */
static void judge_script(const struct looking *looking, char *line)
{
    line[strcspn(line, "\n\r")] = '\0';
    char *path = line + 2 + strspn(line + 2, " \t");
    char *rest = path + strcspn(path, " \t");
    if (*rest)
        *rest++ = '\0';
    if (!*path)
        return;
    const char *slash = strrchr(path, '/');
    judge_file(looking, AT_FDCWD, path);
    if (looking->target->watchable && strcmp(slash ? slash + 1 : path, "env") == 0)
        judge_through_env(looking, rest);
}

static void judge_content(const struct looking *looking)
{
    union {
        char line[LINE_MOST + 1];
        Elf64_Ehdr header;
    } start = {.line = ""};
    long count = syscall(SYS_pread64, looking->fd, start.line, LINE_MOST, 0);
    if (count >= 2 && start.line[0] == '#' && start.line[1] == '!')
        judge_script(looking, start.line);
    else if (count >= (long)sizeof start.header && memcmp(start.line, ELFMAG, SELFMAG) == 0)
        judge_elf(looking, &start.header);
    else if (looking->depth == 1) /* like execvp with files of unknown format */
        judge_file(looking, AT_FDCWD, "/bin/sh");
}

static void judge_file(const struct looking *from, int folder, const char *path)
{
    struct looking looking = *from;
    struct stat about;
    bool itself = !*path && folder >= 0;
    if (looking.depth++ >= INTERPRETER_MOST)
        return;
    looking.fd =
        itself ? folder : (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (looking.fd < 0)
        return;
    looking.target->judged[0] = '\0';
    append(looking.target->judged, sizeof looking.target->judged, path);
    if (syscall(SYS_newfstatat, looking.fd, "", &about, AT_EMPTY_PATH) == 0 &&
        S_ISREG(about.st_mode)) {
        if (raises_privileges(looking.fd, &about))
            unwatchable(looking.target,
                        "runs with raised privileges (setuid, setgid or capabilities)", "", "", "");
        else
            judge_content(&looking);
    }
    if (!itself)
        syscall(SYS_close, looking.fd);
}

void judge_watchability(struct watchability *target, int folder, const char *path,
                        const char *search)
{
    struct looking looking = {.target = target, .fd = -1, .search = search};
    int saved = errno;
    target->watchable = true;
    target->judged[0] = target->reason[0] = '\0';
    judge_file(&looking, folder, path);
    errno = saved;
}

/* Prints call stacks: one frame per line, with the source line of the most relevant frame. */
#include "output/finding/finding_stack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUNCTION_WIDE 40  /* longer names shift the rest of the line */
#define FUNCTION_MOST 100 /* longer names are cut */
#define SOURCE_MOST   110
#define INDENT        "      "

/* ------------------------------------------------------------------ frames */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool starts_with_any(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (starts_with(name, *list))
            return true;
    return false;
}

bool frame_is_noise(const struct frame *frame)
{
    static const char *const starters[] = {
        "start_thread",
        "thread_start",
        "clone",
        "__clone",
        "__GI___clone",
        "__libc_start",
        "_start",
        "__thread_start",
        "execute_native_thread_routine",
        "std::thread::_Invoker",
        "std::__invoke",
        "std::thread::_State_impl",
        "void std::__invoke",
        "std::invoke_result",
        "std::error_code::default_error_condition",
        NULL,
    };
    static const char *const system[] = {"libc.so",    "ld-linux", "libpthread",
                                         "libstdc++.", "libc++.",  NULL};
    static const char *const interpreters[] = {"python3", "libpython3", NULL};
    if (frame->module && starts_with_any(path_tail(frame->module), interpreters))
        return true; /* the frames of the script are listed instead */
    if (frame->module && starts_with(path_tail(frame->module), "libgordian-run.so"))
        return true; /* every watched thread starts in it */
    if (!frame->function)
        return frame->module && starts_with_any(path_tail(frame->module), system);
    static const char *const threading[] = {"Thread.run", "Thread._bootstrap", "run", "_bootstrap",
                                            NULL};
    if (frame->file && !frame->module && strcmp(path_tail(frame->file), "threading.py") == 0)
        return starts_with_any(frame->function, threading);
    /* "std::__invoke_result<...>::type std::__invoke<...>" */
    return starts_with_any(frame->function, starters) ||
           strstr(frame->function, " std::__invoke<") ||
           strstr(frame->function, "std::thread::_Invoker<") ||
           strstr(frame->function, "std::thread::_State_impl<");
}

bool frame_is_wrapper(const struct frame *frame)
{
    static const char *const wrappers[] = {
        "std::",     "__gthread",  "mtx_",      "cnd_",    "thrd_",  "pthread_", "sem_",
        "__pthread", "___pthread", "__new_sem", "__futex", "futex_", "__lll_",   "lll_",
        "__GI_",     "__cxa_",     "syscall",   "__sem_",  NULL};
    static const char *const libc[] = {"libc.so", "libc-", "libpthread", "ld-linux", NULL};
    return !frame->function || starts_with_any(frame->function, wrappers) ||
           (frame->module && starts_with_any(path_tail(frame->module), libc)) ||
           (frame->file && starts_with(frame->file, "/usr/include/"));
}

const struct frame *frame_of_interest(const struct stack *stack)
{
    const struct frame *second = NULL, *third = NULL;
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        if (frame->file && frame->line && !frame_is_wrapper(frame) && !frame_is_noise(frame))
            return frame;
        if (!second && frame->function && !frame_is_wrapper(frame) && !frame_is_noise(frame))
            second = frame;
        if (!third && !frame_is_noise(frame))
            third = frame;
    }
    return second ? second : third;
}

/* ------------------------------------------------------------------ places */

static void write_plain(const struct page *page, const char *text)
{
    style_name(&page->look->style, page->out, COLOR_PLAIN, text);
}

/* Prints "bank.c:31", or "libfoo.so+0x1234". */
static void page_location(const struct page *page, const struct frame *frame)
{
    if (frame->file && frame->line) {
        /* Paths below the current directory are printed relative to it. */
        const char *folder = page->look->folder;
        size_t length = folder ? strlen(folder) : 0;
        bool below =
            length > 1 && strncmp(frame->file, folder, length) == 0 && frame->file[length] == '/';
        write_plain(page, frame->file + (below ? length + 1 : 0));
        output_format(page->out, ":%u", frame->line);
    } else if (frame->module) {
        write_plain(page, path_tail(frame->module));
        output_format(page->out, "+0x%llx", (unsigned long long)frame->offset);
    } else {
        output_format(page->out, "0x%llx", (unsigned long long)frame->address);
    }
}

static void function_name(const struct frame *frame, char *text, size_t size)
{
    const char *name = frame->function ? frame->function : "??";
    size_t length = strlen(name);
    if (length > FUNCTION_MOST)
        snprintf(text, size, "%.*s...", FUNCTION_MOST - 3, name);
    else
        snprintf(text, size, "%s", name);
}

void page_place(const struct page *page, const struct stack *stack)
{
    const struct frame *frame = frame_of_interest(stack);
    char name[FUNCTION_MOST + 1];
    if (!frame) {
        output_text(page->out, "an unknown location");
        return;
    }
    function_name(frame, name, sizeof name);
    write_plain(page, name);
    output_text(page->out, " (");
    page_location(page, frame);
    output_text(page->out, ")");
}

/* ------------------------------------------------------------------ source */

static FILE *open_source(const struct frame *frame)
{
    char path[4096];
    bool relative = frame->file[0] != '/' && frame->folder;
    snprintf(path, sizeof path, "%s%s%s", relative ? frame->folder : "", relative ? "/" : "",
             frame->file);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (fd >= 0 && (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))) {
        close(fd);
        fd = -1;
    }
    FILE *source = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!source && fd >= 0)
        close(fd);
    return source;
}

static void source_line(const struct page *page, const struct frame *frame)
{
    FILE *source = frame->file && frame->line ? open_source(frame) : NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length = -1;
    if (!source)
        return;
    for (unsigned i = 0; i < frame->line; i++)
        if ((length = getline(&line, &room, source)) < 0)
            break;
    if (length > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        char *text = line + strspn(line, " \t");
        for (char *tab = text; *tab; tab++)
            *tab = *tab == '\t' ? ' ' : *tab;
        if (strlen(text) > SOURCE_MOST)
            text[SOURCE_MOST] = '\0';
        output_format(page->out, INDENT "    %5u | ", frame->line);
        style_name(&page->look->style, page->out, COLOR_STRONG, text);
        /* If the source is newer than the program, its lines may have moved. */
        struct stat written, built;
        if (fstat(fileno(source), &written) == 0 && frame->module &&
            stat(frame->module, &built) == 0 && written.st_mtime > built.st_mtime)
            style_text(&page->look->style, page->out, COLOR_FAINT,
                       "   (the file has changed since)");
        output_char(page->out, '\n');
    }
    free(line);
    fclose(source);
}

/* ------------------------------------------------------------------ stacks */

/* Hides frames of the system, and frames between the program's code and the lock. */
static bool shows_frame(const struct page *page, const struct stack *stack, size_t i)
{
    const struct frame *frame = &stack->frames[i], *interesting = frame_of_interest(stack);
    if (page->look->verbose)
        return true;
    return !frame_is_noise(frame) &&
           !(interesting && frame < interesting && frame_is_wrapper(frame));
}

static size_t name_column(const struct page *page, const struct stack *stack)
{
    size_t widest = 0;
    char name[FUNCTION_MOST + 1];
    for (size_t i = 0; i < stack->count; i++) {
        if (!shows_frame(page, stack, i))
            continue;
        function_name(&stack->frames[i], name, sizeof name);
        size_t width = style_width(&page->look->style, name);
        if (width > widest && width <= FUNCTION_WIDE)
            widest = width;
    }
    return widest;
}

static void stack_line(const struct page *page, const struct frame *frame, size_t column)
{
    char name[FUNCTION_MOST + 1];
    function_name(frame, name, sizeof name);
    size_t width = style_width(&page->look->style, name);
    output_text(page->out, INDENT);
    write_plain(page, name);
    output_format(page->out, "%*s  ", (int)(width < column ? column - width : 0), "");
    style_color(&page->look->style, page->out, COLOR_FAINT);
    page_location(page, frame);
    if (frame->inlined)
        output_text(page->out, " (inlined)");
    style_color(&page->look->style, page->out, COLOR_PLAIN);
    output_char(page->out, '\n');
}

void page_stack(const struct page *page, const struct stack *stack)
{
    const struct frame *interesting = frame_of_interest(stack);
    size_t column = name_column(page, stack), shown = 0;
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        if (!shows_frame(page, stack, i))
            continue;
        stack_line(page, frame, column);
        if (frame == interesting)
            source_line(page, frame);
        shown++;
    }
    if (shown == 0)
        output_text(page->out, INDENT "(not recorded)\n");
}

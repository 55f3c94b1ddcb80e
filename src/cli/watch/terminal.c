/* The alternate screen, single keys, and restoring the terminal. */
#define _GNU_SOURCE
#include "cli/watch/terminal.h"

#include "foundation/base/io/output.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define ENTER_SCREEN "\033[?1049h\033[?25l\033[H\033[2J"
#define LEAVE_SCREEN "\033[?25h\033[?1049l"

static struct termios before, during;
static volatile sig_atomic_t is_open;
static int guard_pipe = -1;
static pid_t guard = -1;

/* calls only async-signal-safe functions */
static void restore_screen(void)
{
    ssize_t ignored = write(STDOUT_FILENO, LEAVE_SCREEN, sizeof LEAVE_SCREEN - 1);
    (void)ignored;
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void take_screen(void)
{
    ssize_t ignored = write(STDOUT_FILENO, ENTER_SCREEN, sizeof ENTER_SCREEN - 1);
    (void)ignored;
    tcsetattr(STDIN_FILENO, TCSANOW, &during);
}

/* After a crash, restores the terminal and repeats the signal. */
static void on_end(int number)
{
    if (is_open)
        restore_screen();
    signal(number, SIG_DFL);
    raise(number);
}

/* Ctrl-Z. The kernel does not stop a process that no shell could continue, so the terminal is taken
 * over again here; poll(2) returns and the screen is redrawn. */
static void on_stop(int number)
{
    sigset_t stop;
    if (is_open)
        restore_screen();
    signal(number, SIG_DFL);
    sigemptyset(&stop);
    sigaddset(&stop, number);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    raise(number);
    signal(number, on_stop);
    if (is_open)
        take_screen();
}

/* After SIGCONT or a new size, poll(2) returns and the screen is redrawn. */
static void on_continue(int number)
{
    if (is_open && number == SIGCONT)
        take_screen();
}

static void catch_signals(void)
{
    static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};
    struct sigaction resize = {.sa_handler = on_continue};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        signal(ends[i], on_end);
    signal(SIGTSTP, on_stop);
    signal(SIGCONT, on_continue);
    sigaction(SIGWINCH, &resize, NULL);
}

/* Waits for a byte: the parent ended normally. End of file without a byte: the parent was
 * killed. In its own process group, it would be stopped by writing to the terminal, so it
 * ignores SIGTTOU. */
static _Noreturn void guard_terminal(int fd)
{
    char byte;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    if (read(fd, &byte, 1) == 0)
        restore_screen();
    _exit(0);
}

static void start_guard(void)
{
    int ends[2];
    if (pipe(ends) < 0)
        return;
    guard = fork();
    if (guard == 0) {
        close(ends[1]);
        guard_terminal(ends[0]);
    }
    close(ends[0]);
    guard_pipe = ends[1];
}

bool terminal_open(void)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    during = before;
    during.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    during.c_cc[VMIN] = 0;
    during.c_cc[VTIME] = 0;
    start_guard();
    catch_signals();
    is_open = 1;
    take_screen();
    return true;
}

void terminal_close(void)
{
    if (!is_open)
        return;
    is_open = 0;
    restore_screen();
    if (guard > 0) {
        ssize_t ignored = write(guard_pipe, "q", 1);
        (void)ignored;
        close(guard_pipe);
        waitpid(guard, NULL, 0);
    }
}

void terminal_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;
    *columns = 80;
    *rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        *columns = size.ws_col;
        *rows = size.ws_row;
    }
}

/* Arrow keys arrive as three bytes at once. */
int terminal_read(void)
{
    char bytes[3];
    if (read(STDIN_FILENO, bytes, 1) != 1)
        return KEY_NONE;
    if (bytes[0] == '\n' || bytes[0] == '\r')
        return KEY_ENTER;
    if (bytes[0] != '\033')
        return (unsigned char)bytes[0];
    if (read(STDIN_FILENO, bytes + 1, 2) != 2 || (bytes[1] != '[' && bytes[1] != 'O'))
        return KEY_ESCAPE;
    return bytes[2] == 'A' ? KEY_UP : bytes[2] == 'B' ? KEY_DOWN : KEY_ESCAPE;
}

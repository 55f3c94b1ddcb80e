/* A library with a word of its own, far behind its data, on which a thread sleeps for ever. */
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

void sleep_on_word(void);

static struct {
    char room[1 << 17];
    uint32_t word;
} own;

void sleep_on_word(void)
{
    for (;;)
        syscall(SYS_futex, &own.word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* Who has which pipe, socket or file open, on the whole machine, as /proc tells it; and who waits
 * for whose lock on a file, as /proc/locks does. Read once a look, when first asked for;
 * the locks again for somebody who waits and is not there. */
#pragma once

#include "foundation/base/memory.h"

enum open_file_kind {
    OPEN_FILE_PIPE,
    OPEN_FILE_SOCKET,
};

struct open_file {
    uint64_t inode;
    uint32_t pid; /* as seen here */
    uint32_t fd;
    enum open_file_kind kind;
};

/* Somebody waits for a lock on a file. */
struct file_wait {
    uint64_t inode;
    int64_t waiter, holder; /* processes; -1: of no process, but of an open file */
    bool posix;             /* belongs to a process */
};

struct open_files {
    struct open_file *list; /* by inode */
    size_t count, room;
    struct file_wait *waits;
    size_t wait_count, wait_room;
    bool failed;     /* open_files_wait was out of memory */
    bool unreadable; /* somebody's descriptors may not be looked at */
};

/* NULL: out of memory. */
struct open_files *open_files_read(const gordian_allocator *memory);
void open_files_close(struct open_files *open_files, const gordian_allocator *memory);

/* The first one of an inode in the list; `count`: how many there are. */
const struct open_file *open_files_of(const struct open_files *open_files, enum open_file_kind kind,
                                      uint64_t inode, size_t *count);

/* The lock on this file that the process waits for, as /proc/locks tells; NULL: it does not, or it
 * has failed. The kernel gives that in pieces, and what slips from one to the next between two of
 * them is told by neither: it is read again, then. */
const struct file_wait *open_files_wait(struct open_files *open_files,
                                        const gordian_allocator *memory, uint32_t pid,
                                        uint64_t inode, bool posix);

/* What a descriptor is: "pipe:[123]" gives the kind and 123. False: something else. */
bool open_file_at(uint32_t pid, uint32_t fd, enum open_file_kind *kind, uint64_t *inode);
/* The inode of a file that is open; 0: unknown. */
uint64_t open_file_inode(uint32_t pid, uint32_t fd);
/* May it be read from, written to? By its flags. */
bool open_file_mode(uint32_t pid, uint32_t fd, bool *reads, bool *writes);
enum open_file_use { OPEN_FILE_READS, OPEN_FILE_WRITES, OPEN_FILE_LOCKS /* has a lock on it */ };
/* Has the process a descriptor of this file that is used like that? */
bool open_file_has(uint32_t pid, uint64_t inode, enum open_file_use use);
/* The other end of a Unix socket; 0: it has none, or that cannot be known. */
uint64_t open_file_peer(uint64_t inode);

/* Lists the open file descriptors (pipes, sockets) of all processes of the machine, as shown in
 * /proc, and the waits for file locks, as shown in /proc/locks. Read once per snapshot, when first
 * needed; the locks are read again if a waiter is not listed. */
#pragma once

#include "foundation/base/memory.h"

enum open_file_kind {
    OPEN_FILE_PIPE,
    OPEN_FILE_SOCKET,
};

struct open_file {
    uint64_t inode;
    uint32_t pid; /* in the pid namespace of this process */
    uint32_t fd;
    enum open_file_kind kind;
};

/* A process waits for a file lock. */
struct file_wait {
    uint64_t inode;
    int64_t waiter, holder; /* process IDs; -1: owned by an open file, not by a process */
    bool posix;             /* owned by a process */
};

struct open_files {
    struct open_file *list; /* by inode */
    size_t count, room;
    struct file_wait *waits;
    size_t wait_count, wait_room;
    bool failed;     /* open_files_wait() ran out of memory */
    bool unreadable; /* the descriptors of some process are not readable */
};

/* NULL: out of memory. */
struct open_files *open_files_read(const gordian_allocator *memory);
void open_files_close(struct open_files *open_files, const gordian_allocator *memory);

/* Returns the first entry of an inode in the list; `count`: how many there are. */
const struct open_file *open_files_of(const struct open_files *open_files, enum open_file_kind kind,
                                      uint64_t inode, size_t *count);

/* Returns the file lock that the process waits for; NULL: none, or `failed` is set. The kernel
 * returns /proc/locks in pieces, and a lock that moves between two reads may be missing from both.
 * In that case the file is read again. */
const struct file_wait *open_files_wait(struct open_files *open_files,
                                        const gordian_allocator *memory, uint32_t pid,
                                        uint64_t inode, bool posix);

/* Parses the link of a descriptor: "pipe:[123]" gives the kind and 123. False: another kind. */
bool open_file_at(uint32_t pid, uint32_t fd, enum open_file_kind *kind, uint64_t *inode);
/* Returns the inode of an open file; 0: unknown. */
uint64_t open_file_inode(uint32_t pid, uint32_t fd);
/* Reads from its flags whether a descriptor is open for reading and for writing. */
bool open_file_mode(uint32_t pid, uint32_t fd, bool *reads, bool *writes);
enum open_file_use { OPEN_FILE_READS, OPEN_FILE_WRITES, OPEN_FILE_LOCKS /* holds a lock on it */ };
/* Returns whether the process has a descriptor of this file that it uses in this way. */
bool open_file_has(uint32_t pid, uint64_t inode, enum open_file_use use);
/* Returns the inode of the peer of a Unix socket; 0: no peer, or unknown. */
uint64_t open_file_peer(uint64_t inode);

/* Confirms findings of reporters that may not inspect the program. */
#define _GNU_SOURCE
#include "cli/run/remote_confirm.h"

#include "cli/run/process_tree.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_PATIENCE_MS 6000 /* the command may be in the middle of a scan */

struct answer {
    uint32_t verdict; /* enum confirm */
    char why[300];
};

/* Uses an abstract socket, so that permissions of the directory do not matter. Its name contains
 * the random letters of the directory. */
static socklen_t name_socket(const char *folder, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "gordian/%s",
                          path_tail(folder));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* ------------------------------------------------------------------ the command */

int remote_confirm_listen(const char *folder)
{
    struct sockaddr_un address;
    socklen_t size = name_socket(folder, &address);
    int fd = *folder ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 8) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Receives the descriptor that comes with a request. -1: there is none. */
static int receive_incident(int connection)
{
    char byte;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec vector = {&byte, 1};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int fd = -1;
    if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

/* The command only confirms findings in processes that it started. */
static bool is_in_tree(uint32_t pid, pid_t root)
{
    struct tree tree;
    bool found = false;
    if (tree_list(&tree, root))
        for (size_t i = 0; i < tree.count && !found; i++)
            found = tree.pids[i] == pid;
    tree_free(&tree);
    return found;
}

static void judge_incident(int incident, pid_t root, struct answer *answer)
{
    struct report report = {0};
    gordian_error error = {0};
    lseek(incident, 0, SEEK_SET);
    if (report_read(&report, incident, &error) == GORDIAN_OK && is_in_tree(report.head.pid, root))
        answer->verdict =
            inspect_confirm(&report, CONFIRM_PATIENCE_NS, answer->why, sizeof answer->why);
    report_close(&report);
}

void remote_confirm_answer(int listening, pid_t root)
{
    struct answer answer = {.verdict = CONFIRM_BLIND};
    struct timeval patience = {.tv_sec = 1};
    int connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0)
        return;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int incident = receive_incident(connection);
    if (incident >= 0) {
        judge_incident(incident, root, &answer);
        close(incident);
    }
    (void)!send(connection, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(connection);
}

/* ------------------------------------------------------------------ the reporter */

static bool pass_incident(int connection, int incident)
{
    char byte = 'J';
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof incident),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct iovec vector = {&byte, 1};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &incident, sizeof incident);
    return sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
}

enum confirm remote_confirm_request(const char *folder, int incident, char *why, size_t size)
{
    struct sockaddr_un address;
    struct answer answer = {.verdict = CONFIRM_BLIND};
    socklen_t length = name_socket(folder, &address);
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct pollfd ready = {.fd = connection, .events = POLLIN};
    bool answered =
        connection >= 0 && connect(connection, (struct sockaddr *)&address, length) == 0 &&
        pass_incident(connection, incident) && poll(&ready, 1, ANSWER_PATIENCE_MS) == 1 &&
        recv(connection, &answer, sizeof answer, 0) == (ssize_t)sizeof answer;
    if (connection >= 0)
        close(connection);
    if (!answered || answer.verdict >= CONFIRM_BLIND)
        return CONFIRM_BLIND;
    answer.why[sizeof answer.why - 1] = '\0';
    snprintf(why, size, "%s", answer.why);
    return (enum confirm)answer.verdict;
}

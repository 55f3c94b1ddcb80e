/* The second judge across processes. A reporter is not a parent of the program, so it may not
 * inspect it with Yama's ptrace_scope 1, or after the program dropped its privileges. The command
 * then inspects on its behalf. */
#pragma once

#include "sources/inspect/judge/confirm.h"

#include <sys/types.h>

/* Command side: opens a socket for requests. -1: not possible. `folder`: directory of the
 * session. */
int remote_confirm_listen(const char *folder);
/* Answers one request about a process of the tree. */
void remote_confirm_answer(int listening, pid_t root);

/* Reporter side: sends the incident. CONFIRM_BLIND: there was no answer, or the command may not
 * inspect either; `why` is then unchanged. */
enum confirm remote_confirm_request(const char *folder, int incident, char *why, size_t size);

/* The second judge, asked across processes. A reporter is nobody's child, and may not look at the
 * program where the kernel lets only parents do that (Yama's ptrace_scope 1), or where the program
 * has dropped its privileges and the command has not. So the command looks for it. */
#pragma once

#include "sources/inspect/judge/confirm.h"

#include <sys/types.h>

/* The command's side: a socket that wants to be answered when it is readable; -1: there is none.
 * `folder`: of the session. */
int remote_confirm_listen(const char *folder);
/* Answers one question, about a process of the tree. */
void remote_confirm_answer(int listening, pid_t root);

/* The reporter's side: the incident is open as `incident`. CONFIRM_BLIND: nobody answers, or the
 * command may not look either; `why` is left as it is then. */
enum confirm remote_confirm_ask(const char *folder, int incident, char *why, size_t size);

/* The two (or more) processes of a peer: starting, pinning and ending them, and the memory they share.
 *
 * No side outlives the program: the kernel kills a side when its parent dies, and the parent ends at once with an
 * error when a side fails, since it may be polling for an answer that will never come. */
#ifndef PEER_SIDES_H
#define PEER_SIDES_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"

__attribute__((noreturn)) static inline void fail_system(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(EXIT_BROKEN);
}

static inline void pin_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        fprintf(stderr, "cannot run on processor %d: %s\n", cpu, strerror(errno));
        exit(EXIT_USAGE);
    }
}

/* Tells the processor that this is a polling loop. */
static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Zeroed memory that the sides forked later share with this process. Pages are made now, not while measuring. */
static inline void *map_shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        fail_system("mmap");
    return memory;
}

/* Only calls that are safe in a signal handler. */
static inline void end_when_a_side_fails(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    if (info->si_code == CLD_EXITED && info->si_status == 0)
        return;
    static const char message[] = "a side of the measurement ended early\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    _exit(EXIT_BROKEN);
}

/* Forks; returns 0 in the new side and its process id in the parent. */
static inline pid_t fork_side(void)
{
    struct sigaction action = {.sa_sigaction = end_when_a_side_fails, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP};
    if (sigaction(SIGCHLD, &action, NULL) != 0)
        fail_system("sigaction");
    pid_t parent = getpid();
    fflush(NULL);
    pid_t side = fork();
    if (side < 0)
        fail_system("fork");
    if (side != 0)
        return side;
    signal(SIGCHLD, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        fail_system("prctl");
    if (getppid() != parent)
        _exit(EXIT_BROKEN);
    return 0;
}

/* Waits until `side` has ended by itself. */
static inline void join_side(pid_t side)
{
    int status = 0;
    if (waitpid(side, &status, 0) != side)
        fail_system("waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "a side of the measurement failed\n");
        exit(EXIT_BROKEN);
    }
}

#endif

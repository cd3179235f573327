/* A space in a process of its own. */

#ifndef SERVE_H
#define SERVE_H

#include "check.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Serves at this address in a child, and returns when it listens there. To be called before this process has threads. */
static inline pid_t serve(const char *address, uint64_t max_bytes) {
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        quintet_server *server;
        OK(quintet_server_start(address, max_bytes, 0, &server));
        CHECK(write(ready[1], "x", 1) == 1);
        /* It ends with its parent, however that ends. */
        close(ready[1]);
        for (pid_t parent = getppid(); getppid() == parent;) usleep(10000);
        _exit(0);
    }
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return child;
}

static inline void kill_server(pid_t child) {
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

#endif

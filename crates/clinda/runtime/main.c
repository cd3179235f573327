/* What part this process has: it runs real_main, or carries out evals.
 *
 *     quintet run -n 5 ./jmatrix 30 5     one process runs real_main, five others have evals carried out
 *     ./jmatrix 30 5                      alone: this process serves a space to its own evals, if the program has any */

#define _DEFAULT_SOURCE

#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where this process serves a space, if it does; its folder. */
static char folder[] = "/tmp/clinda-XXXXXX";
static quintet_server *server;
/* Who has its evals carried out, and what keeps him alive. */
static pid_t evals;
static int life;

/* When this process exits: ends what it has begun, before the space goes. */
static void end_evals(void)
{
    close(life);
    waitpid(evals, NULL, 0);
}

/* In the process of its own that serves evals of a program that was started alone: until that ends, however it does. */
static void serve_alone(int own_life)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    char started, path[sizeof folder + sizeof "/space"];

    if (read(own_life, &started, 1) == 1)
        clinda_serve_evals(processors < 1 ? 1 : (int)processors, own_life);
    snprintf(path, sizeof path, "%s/space", folder);
    unlink(path);
    rmdir(folder);
    _exit(0);
}

/* Serves a space, unless the environment names one, and has another process carry out evals. That is begun first: a process with threads is not copied. */
static void begin_alone(void)
{
    int both[2];
    char address[sizeof "shm:" + sizeof folder + sizeof "/space"];
    int serves = getenv("QUINTET_SPACE") == NULL;

    if (mkdtemp(folder) == NULL || pipe(both) != 0)
        clinda_fail("clinda", "a space for evals cannot be begun: %s", strerror(errno));
    snprintf(address, sizeof address, "shm:%s/space", folder);
    if (setenv("QUINTET_SPACE", address, 0) != 0 || (evals = fork()) < 0)
        clinda_fail("clinda", "a process for evals cannot be begun: %s", strerror(errno));
    if (evals == 0) {
        close(both[1]);
        serve_alone(both[0]);
    }
    close(both[0]);
    life = both[1];
    atexit(end_evals);
    if (serves)
        clinda_must(quintet_server_start(address, 0, 0, &server), "clinda");
    if (write(life, "", 1) != 1)
        clinda_fail("clinda", "the process for evals has ended");
}

void lexit(int status)
{
    if (clinda_is_eval) {
        clinda_leave();
        exit(status);
    }
    clinda_wait_for_evals();
    exit(status);
}

void lhalt(int status)
{
    if (clinda_is_eval) {
        fflush(NULL);
        clinda_ask_to_halt(status, "");
        for (;;)
            pause();
    }
    exit(status);
}

int main(int argc, char **argv)
{
    int64_t rank;
    uint32_t workers;

    clinda_must(quintet_job_rank(&rank), "clinda");
    clinda_must(quintet_job_workers(&workers), "clinda");
    if (rank >= 0) {
        clinda_serve_evals(1, -1);
        return 0;
    }
    if (clinda_sites != NULL) {
        if (workers == 0)
            begin_alone();
        clinda_watch_for_halts();
    }
    lexit(clinda_real_main(argc, argv));
}

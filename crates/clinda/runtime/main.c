/* What part this process has: it runs real_main, or carries out evals.
 *
 *     quintet run -n 5 ./jmatrix 30 5     one process runs real_main, five others have evals carried out
 *     ./jmatrix 30 5                      alone: this process serves a space to its own evals, if the program has any */

#define _DEFAULT_SOURCE

#include "runtime.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where this process serves a space, if it does; the folder of that. */
static char folder[PATH_MAX];
static char address[sizeof "shm:/space" + PATH_MAX];
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

/* What ends a process that was not asked: most often all processes of the program, as they are one group. */
static const int ENDS[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { END_COUNT = sizeof ENDS / sizeof ENDS[0] };

static void remove_folder(void)
{
    unlink(address + sizeof "shm:" - 1);
    rmdir(folder);
}

/* Ends the process that serves evals by the signal, and leaves nothing behind. */
static void on_end(int number)
{
    remove_folder();
    signal(number, SIG_DFL);
    raise(number);
}

/* Has the folder removed if this process is ended; who is to ignore that goes on ignoring it. */
static void catch_ends(void)
{
    struct sigaction action = {.sa_handler = on_end}, before;

    for (int i = 0; i < END_COUNT; i++) {
        if (sigaction(ENDS[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ENDS[i], &action, NULL);
    }
}

void clinda_release_ends(void)
{
    struct sigaction before;

    for (int i = 0; i < END_COUNT; i++) {
        if (sigaction(ENDS[i], NULL, &before) == 0 && before.sa_handler == on_end)
            signal(ENDS[i], SIG_DFL);
    }
}

/* In the process of its own that serves evals of a program that was started alone: until that ends, however it does. */
static void serve_alone(int own_life)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    char started;
    int status = 0;

    if (read(own_life, &started, 1) == 1)
        status = clinda_serve_evals(processors < 1 ? 1 : (int)processors, own_life);
    remove_folder();
    _exit(status);
}

/* Makes the folder, where the environment wants what is temporary. */
static void make_folder(void)
{
    const char *parent = getenv("TMPDIR");

    if (parent == NULL || parent[0] == '\0')
        parent = "/tmp";
    if ((size_t)snprintf(folder, sizeof folder, "%s/clinda-XXXXXX", parent) >= sizeof folder)
        clinda_fail("clinda", "TMPDIR is too long: name a shorter folder");
    if (mkdtemp(folder) == NULL)
        clinda_fail("clinda", "a folder for a space cannot be made in %s: %s; TMPDIR names another", parent, strerror(errno));
    snprintf(address, sizeof address, "shm:%s/space", folder);
}

/* Makes the folder, and the process that serves evals and removes it: an end comes before both or after. */
static void begin_evals(int both[2])
{
    sigset_t ends, before;

    sigemptyset(&ends);
    for (int i = 0; i < END_COUNT; i++)
        sigaddset(&ends, ENDS[i]);
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &ends, &before);
    make_folder();
    evals = setenv("QUINTET_SPACE", address, 0) == 0 ? fork() : -1;
    if (evals == 0) {
        close(both[1]);
        catch_ends();
        sigprocmask(SIG_SETMASK, &before, NULL);
        serve_alone(both[0]);
    }
    if (evals < 0) {
        rmdir(folder);
        clinda_fail("clinda", "a process for evals cannot be begun: %s", strerror(errno));
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Serves a space, unless the environment names one, and has another process carry out evals. That is begun first: a process with threads is not copied. */
static void begin_alone(void)
{
    int both[2];
    int serves = getenv("QUINTET_SPACE") == NULL;

    if (pipe(both) != 0)
        clinda_fail("clinda", "a space for evals cannot be begun: %s", strerror(errno));
    begin_evals(both);
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
    if (rank >= 0)
        return clinda_serve_evals(1, -1);
    if (clinda_sites != NULL) {
        if (workers == 0)
            begin_alone();
        clinda_watch_for_halts();
    }
    lexit(clinda_real_main(argc, argv));
}

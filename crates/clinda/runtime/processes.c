/* Processes that carry out evals: each eval has one of its own, in the state in which the program was before real_main.
 *
 * This process makes them and never connects itself. There is always one that waits for an eval, unless as many run as may. One that waits for a tuple does
 * not count as running: another eval may have to put that tuple, so the next one is begun. Thus evals never wait for each other's processes. */

#define _GNU_SOURCE

#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Processes at once, with those that wait for tuples; and how often an eval is begun whose process dies. */
enum { MOST_PROCESSES = 512, ATTEMPTS = 3 };

/* What a process does: connects, waits for an eval, carries it out, waits for a tuple meanwhile, says that it is done and sweeps up behind it, has carried
 * it out. NONE is no process. */
typedef enum { NONE, CONNECTING, IDLE, RUNNING, WAITING, ENDING, DONE } state;

/* A process, as it tells of itself and as it is known here. It is told at once, as it is shorter than a pipe's block. */
typedef struct {
    pid_t process;
    state state;
    /* The eval that it carries out, and how often that was begun: 0 where a process tells of something else. */
    uint32_t attempt;
    char site[256];
} child;

static child children[MOST_PROCESSES];
/* Whether the program is to end. */
static int has_given_up;
/* What to exit with once a process cannot even wait for an eval: 0 while all can. */
static int failure;
/* How news come. */
static int channel[2] = {-1, -1};
/* The signals that were blocked before; all but SIGCHLD may come at any time, that only while this process waits. */
static sigset_t signals;

/* ---- In a process that carries out an eval ---- */

static void tell(state state, const char *site, uint32_t attempt)
{
    child told = {.process = getpid(), .state = state, .attempt = attempt};

    if (!clinda_is_eval)
        return;
    snprintf(told.site, sizeof told.site, "%s", site);
    /* Who cannot be told has ended, and this process ends with it. */
    if (write(channel[1], &told, sizeof told) != sizeof told)
        _exit(1);
}

void clinda_tell_connected(void) { tell(IDLE, "", 0); }

void clinda_tell_taken(const char *site, uint32_t attempt) { tell(RUNNING, site, attempt); }

void clinda_tell_waiting(int is_waiting) { tell(is_waiting ? WAITING : RUNNING, "", 0); }

void clinda_tell_ending(void) { tell(ENDING, "", 0); }

void clinda_tell_done(void) { tell(DONE, "", 0); }

/* ---- In the process that makes them ---- */

static size_t count(state state)
{
    size_t sum = 0;

    for (size_t i = 0; i < MOST_PROCESSES; i++)
        sum += children[i].state == state;
    return sum;
}

/* Those that have an eval or wait for one, but who waits for a tuple. */
static size_t busy(void) { return count(CONNECTING) + count(IDLE) + count(RUNNING) + count(ENDING); }

static child *find(pid_t process)
{
    for (size_t i = 0; i < MOST_PROCESSES; i++) {
        if (children[i].state != NONE && children[i].process == process)
            return &children[i];
    }
    return NULL;
}

/* Begins a process that ends with this one; in it, 1. */
static int begin_process(pid_t *process)
{
    pid_t parent = getpid();

    fflush(NULL);
    *process = fork();
    if (*process != 0)
        return 0;
    signal(SIGCHLD, SIG_DFL);
    clinda_release_ends();
    sigprocmask(SIG_SETMASK, &signals, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    return 1;
}

/* Makes a process that connects and waits for an eval. False if there can be no further one. */
static int add_idle(void)
{
    static int was_told;
    child *place = NULL;
    pid_t process = -1;

    for (size_t i = 0; i < MOST_PROCESSES && place == NULL; i++) {
        if (children[i].state == NONE)
            place = &children[i];
    }
    if (place != NULL && begin_process(&process)) {
        clinda_is_eval = 1;
        clinda_serve_one();
        exit(0);
    }
    if (process == -1) {
        if (!was_told)
            fprintf(stderr, "clinda: %zu evals wait here for tuples, and no further process can be begun: other evals may have to wait\n", count(WAITING));
        was_told = 1;
        return 0;
    }
    *place = (child){.process = process, .state = CONNECTING};
    return 1;
}

/* Has the program end: an eval kills each process that begins it. From now on none is begun here. */
static void give_up(const child *dead, const char *how)
{
    pid_t process;
    char text[512];

    has_given_up = 1;
    if (begin_process(&process)) {
        snprintf(text, sizeof text, "%s: eval: each process that began it has ended, at last by %s; the program ends", dead->site, how);
        clinda_ask_to_halt(1, text);
        _exit(0);
    }
}

/* Looks at how a process has ended. One that cannot even connect, or wait for an eval, has said why; the next one could not either, so that this
 * one ends too. */
static void bury(const child *dead, int status)
{
    char how[64];

    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "exit status %d", WEXITSTATUS(status));
    int had_none = dead->state == CONNECTING || dead->state == IDLE;

    if (had_none && WIFEXITED(status))
        failure = WEXITSTATUS(status) == 0 ? 1 : WEXITSTATUS(status);
    if (had_none || dead->state == DONE)
        return;
    if (dead->attempt >= ATTEMPTS)
        give_up(dead, how);
    else
        fprintf(stderr, "clinda: %s: eval: its process ended by %s; the eval is begun again\n", dead->site, how);
}

static void take_in(const child *told)
{
    child *teller = find(told->process);

    /* What it told before it died may come after its death. */
    if (teller == NULL)
        return;
    teller->state = told->state;
    if (told->attempt > 0) {
        teller->attempt = told->attempt;
        memcpy(teller->site, told->site, sizeof teller->site);
    }
}

/* Takes in all that was told. */
static void take_in_all(void)
{
    child told;

    while (read(channel[0], &told, sizeof told) == sizeof told)
        take_in(&told);
}

static void bury_all(void)
{
    int status;
    pid_t process;

    while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
        child *dead = find(process);

        if (dead == NULL)
            continue;
        /* It told what it did before it ended. */
        take_in_all();
        bury(dead, status);
        dead->state = NONE;
    }
}

/* Interrupts a wait. */
static void on_child(int signal) { (void)signal; }

/* Waits for news, for the end of a process, or for the end of `life`: then false. */
static int wait_for_news(int life)
{
    struct pollfd watched[2] = {{.fd = channel[0], .events = POLLIN}, {.fd = life, .events = POLLIN}};

    if (ppoll(watched, 2, NULL, &signals) < 0)
        return errno == EINTR;
    if (watched[1].revents != 0)
        return 0;
    take_in_all();
    return 1;
}

int clinda_serve_evals(int limit, int life)
{
    struct sigaction action = {.sa_handler = on_child};
    sigset_t child_signal;

    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    if (pipe(channel) != 0 || fcntl(channel[0], F_SETFL, O_NONBLOCK) != 0 || sigaction(SIGCHLD, &action, NULL) != 0
        || sigprocmask(SIG_BLOCK, &child_signal, &signals) != 0)
        clinda_fail("clinda", "evals cannot be served: %s", strerror(errno));
    do {
        bury_all();
        while (!has_given_up && failure == 0 && busy() < (size_t)limit && add_idle())
            continue;
    } while (failure == 0 && wait_for_news(life));
    /* Who is killed while it connects is something that the space complains of. Who sweeps up said so before anybody could know that its eval is done. */
    take_in_all();
    for (bury_all(); count(CONNECTING) + count(ENDING) > 0; bury_all())
        wait_for_news(-1);
    for (size_t i = 0; i < MOST_PROCESSES; i++) {
        if (children[i].state != NONE)
            kill(children[i].process, SIGKILL);
    }
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    return failure;
}

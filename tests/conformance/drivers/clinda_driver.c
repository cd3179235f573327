/* The driver of the C-Linda front end. What it is told and says is in docs/conformance.md; its operations are written from the text.
 *
 * A program in C-Linda has one space, which its environment names. So each client is a process of its own, made when it is opened: it does one line after the
 * other, as it is told over a pipe. One that waits for a tuple stands still, as such programs do. */

#define _GNU_SOURCE

#include "clinda_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS = 26, STEPS = 256 };

/* A client's process: where it is told what to do, where it answers. */
static struct {
    pid_t process;
    FILE *told, *said;
} clients[CLIENTS];
/* The client of each step that was begun. */
static int begun[STEPS];

static void fail(const char *text) {
    fprintf(stderr, "the driver: %s\n", text);
    exit(1);
}

/* ---- In a client's process ---- */

void say(const char *text) { fputs(text, stdout); }

static void say_bytes(const void *data, size_t count) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < count; i++) printf("%02x", bytes[i]);
}

void say_scalar(const char *type, const void *value, size_t bytes) {
    printf("%s:", type);
    say_bytes(value, bytes);
}

void say_array(const char *type, long length, const char *rest, const void *data, size_t bytes) {
    printf("array:%s:%ld%s:", type, length, rest);
    say_bytes(data, (size_t)length * bytes);
}

static void perform(const operation *operations, size_t count, const char *line) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(operations[i].line, line) == 0) {
            operations[i].perform();
            return;
        }
    }
    say("cannot say it: the program was written from another text");
}

/* Does what it is told, until nobody tells it anything any more. */
static void serve(const operation *operations, size_t count) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        perform(operations, count, line);
        putchar('\n');
        fflush(stdout);
    }
    free(line);
}

/* ---- In the driver's ---- */

/* Makes a client's process, which ends with this one. In that it gives 1. */
static int open_client(int client, const char *address) {
    int told[2], said[2];
    if (pipe2(told, O_CLOEXEC) != 0 || pipe2(said, O_CLOEXEC) != 0) fail("no pipe");
    pid_t driver = getpid(), process = fork();
    if (process < 0) fail("no process");
    if (process > 0) {
        close(told[0]), close(said[1]);
        clients[client].process = process;
        clients[client].told = fdopen(told[1], "w"), clients[client].said = fdopen(said[0], "r");
        if (clients[client].told == NULL || clients[client].said == NULL) fail("no memory");
        return 0;
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != driver) _exit(1);
    /* The ends of others: they have to see that the driver closes them. */
    for (int other = 0; other < CLIENTS; other++) {
        if (clients[other].process != 0) close(fileno(clients[other].told)), close(fileno(clients[other].said));
    }
    close(told[1]), close(said[0]);
    if (dup2(told[0], STDIN_FILENO) < 0 || dup2(said[1], STDOUT_FILENO) < 0 || setenv("QUINTET_SPACE", address, 1) != 0) _exit(1);
    clearerr(stdin);
    return 1;
}

static void forget(int client) {
    waitpid(clients[client].process, NULL, 0);
    fclose(clients[client].said);
    clients[client].process = 0;
}

/* Its program ends, as programs do. */
static void close_client(int client) {
    fclose(clients[client].told);
    forget(client);
}

static void reset(void) {
    for (int client = 0; client < CLIENTS; client++) {
        if (clients[client].process == 0) continue;
        kill(clients[client].process, SIGKILL);
        fclose(clients[client].told);
        forget(client);
    }
}

static void tell(int client, const char *verb, const char *fields) {
    fprintf(clients[client].told, "%s %s\n", verb, fields);
    fflush(clients[client].told);
}

/* What a client has to say, when it does. */
static void pass_on(unsigned long step, int client) {
    char *line = NULL;
    size_t room = 0;
    if (getline(&line, &room, clients[client].said) > 0) printf("%lu %s", step, line);
    else printf("%lu ended: the client's program said nothing\n", step);
    free(line);
}

static unsigned long of_step(const char *word) {
    unsigned long step = word == NULL ? STEPS : strtoul(word, NULL, 10);
    if (step >= STEPS) fail("too many steps");
    return step;
}

/* Whether a client has said what its operation came to. */
static int has_said(int client) {
    struct pollfd said = {.fd = fileno(clients[client].said), .events = POLLIN};
    return poll(&said, 1, 0) > 0;
}

/* Does a line. In the process of a client that it opens it gives 1. */
static int does(char *line) {
    char *rest = line, *words[6] = {NULL};
    for (int i = 0; i < 6; i++) words[i] = strsep(&rest, " ");
    unsigned long step = of_step(words[0]);
    int client = words[1] == NULL || *words[1] == '-' ? 0 : *words[1] - 'a';
    const char *verb = words[2] == NULL ? "" : words[2];
    if (strcmp(verb, "open") == 0) {
        if (open_client(client, words[3]) == 1) return 1;
        printf("%lu done\n", step);
    } else if (strcmp(verb, "close") == 0) {
        close_client(client);
        printf("%lu done\n", step);
    } else if (strcmp(verb, "reset") == 0) {
        reset();
        printf("%lu done\n", step);
    } else if (strcmp(verb, "peek") == 0) {
        printf("%lu %s\n", step, has_said(begun[of_step(words[3])]) ? "done" : "waits");
    } else if (strcmp(verb, "collect") == 0) {
        pass_on(step, begun[of_step(words[3])]);
    } else if (strcmp(verb, "begin") == 0) {
        begun[step] = client;
        tell(client, words[3], words[5]);
        printf("%lu waits\n", step);
    } else {
        tell(client, verb, words[4]);
        pass_on(step, client);
    }
    return 0;
}

int drive(const operation *operations, size_t count) {
    char *line = NULL;
    size_t room = 0;
    puts("ready");
    fflush(stdout);
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (does(line) == 1) {
            serve(operations, count);
            return 0;
        }
        fflush(stdout);
    }
    free(line);
    reset();
    return 0;
}

/* How long a message takes there and back while others send to the same node: node 0 polls and answers, node 1 measures, and all others send until node 1 is done.
 *
 *   cc iso_contention.c $(pkg-config --cflags --libs quintet-isotach) && quintet run -n 4 ./a.out
 */
#include <iiso.h>
#include <iso.h>
#include <prof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER 0
#define MEASURER 1
#define BYTES 1004
/* So many messages of another sender go their way before it waits for an answer. */
#define WINDOW 32
#define MESSAGE 24
#define LAST 25
#define ANSWER 26
#define STOP 27

static char data[BYTES];
/* At node 0, of each node: how many of its messages have come, and how many of those are answered. */
static long *received, *answered;
static int senders_done;
/* At a sender. */
static int is_answered, is_stopped;

static void fail(const char *what) {
    fprintf(stderr, "iso_contention: node %d: %s\n", NODEID, what);
    exit(EXIT_FAILURE);
}

static void message(int node, void *sent, int length) {
    (void)sent;
    if (length != BYTES) fail("a message has another length");
    received[node]++;
}

/* It says how many came before: messages of one node come in their order. */
static void last(int node, void *sent, int length) {
    long count;
    if (length != sizeof count) fail("a last message has another length");
    memcpy(&count, sent, sizeof count);
    if (received[node] != count) fail("not all that was sent has come");
    senders_done++;
}

static void answer(int node, void *sent, int length) {
    (void)node, (void)sent, (void)length;
    is_answered = 1;
}

static void stop(int node, void *sent, int length) {
    (void)node, (void)sent, (void)length;
    is_stopped = 1;
}

static int is_due(int node) {
    return received[node] - answered[node] >= (node == MEASURER ? 1 : WINDOW);
}

/* One isochron answers all who wait. Not in the handler, where further handlers would run while iso_end waits for room. */
static void answer_all(void) {
    int due = 0;
    for (int node = 1; node < NODES; node++) due += is_due(node);
    if (due == 0) return;
    iso_start();
    for (int node = 1; node < NODES; node++) {
        if (!is_due(node)) continue;
        iso_send_msg(node, ANSWER, data, BYTES);
        answered[node] += node == MEASURER ? 1 : WINDOW;
    }
    iso_end();
}

static void serve(void) {
    while (senders_done < NODES - 1) {
        iso_poll();
        answer_all();
    }
    for (int node = 1; node < NODES; node++) printf("node 0: %ld messages of node %d\n", received[node], node);
}

static void send_messages(int count) {
    for (int x = 0; x < count; x++) {
        iso_start();
        iso_send_msg(SERVER, MESSAGE, data, BYTES);
        iso_end();
    }
}

static void wait_for_answer(void) {
    while (!is_answered) iso_poll();
    is_answered = 0;
}

static void measure(void) {
    const long sent = REPS;
    long long begun, done;
    fast_timer(&begun);
    for (int x = 0; x < REPS; x++) {
        send_messages(1);
        wait_for_answer();
    }
    fast_timer(&done);
    iso_start();
    iso_send_msg(SERVER, LAST, &sent, sizeof sent);
    for (int node = MEASURER + 1; node < NODES; node++) iso_send_msg(node, STOP, NULL, 0);
    iso_end();
    printf("%d round trips of %d bytes beside %d other senders: %.1f us each\n", REPS, BYTES, NODES - 2, (done - begun) / 1e3 / REPS);
}

static void send_until_stopped(void) {
    long sent = 0;
    while (!is_stopped) {
        send_messages(WINDOW);
        wait_for_answer();
        sent += WINDOW;
    }
    iso_start();
    iso_send_msg(SERVER, LAST, &sent, sizeof sent);
    iso_end();
}

int main(void) {
    iso_init();
    iso_set_handler(MESSAGE, message);
    iso_set_handler(LAST, last);
    iso_set_handler(ANSWER, answer);
    iso_set_handler(STOP, stop);
    if (NODES < 2) fail("it needs another node: quintet run -n 2");
    received = calloc((size_t)NODES, sizeof *received);
    answered = calloc((size_t)NODES, sizeof *answered);
    if (received == NULL || answered == NULL) fail("no memory");
    if (NODEID == SERVER) serve();
    else if (NODEID == MEASURER) measure();
    else send_until_stopped();
    free(received);
    free(answered);
    return 0;
}

/* How long a message takes there and back: node 1 sends, node 0 answers.
 *
 *   cc iso_lat.c $(pkg-config --cflags --libs quintet-isotach) && quintet run -n 2 ./a.out
 */
#include <iso.h>
#include <prof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TESTS 5
#define BYTES 44
#define PING 22

static char data[BYTES];
static int arrived;

static void handler(int node, void *sent, int length) {
    if (length != BYTES || node != 1 - NODEID) printf("%d bytes of node %d\n", length, node);
    memcpy(data, sent, (size_t)length);
    arrived = 1;
}

static void send_to(int node) {
    iso_start();
    iso_send_msg(node, PING, data, BYTES);
    iso_end();
}

static void wait_for_message(void) {
    while (!arrived) iso_poll();
    arrived = 0;
}

static void there_and_back(void) {
    for (int x = 0; x < REPS; x++) {
        send_to(0);
        wait_for_message();
    }
}

int main(void) {
    iso_init();
    iso_set_handler(PING, handler);
    if (NODES != 2) {
        fprintf(stderr, "iso_lat is for two nodes: quintet run -n 2\n");
        return EXIT_FAILURE;
    }
    printf("node %d of %d\n", NODEID, NODES);
    if (NODEID == 0) {
        for (int x = 0; x < TESTS * REPS; x++) {
            wait_for_message();
            send_to(1);
        }
        return 0;
    }
    double sum = 0;
    for (int test = 0; test < TESTS; test++) {
        struct timeval start, stop;
        gettimeofday(&start, NULL);
        there_and_back();
        gettimeofday(&stop, NULL);
        subtracttime(&stop, &start);
        sum += stop.tv_sec * 1e6 + stop.tv_usec;
    }
    printf("%d round trips of %d bytes: %.1f us each\n", TESTS * REPS, BYTES, sum / (TESTS * REPS));
    return 0;
}

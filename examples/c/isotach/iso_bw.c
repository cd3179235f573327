/* How many bytes a second go to all other nodes: node 0 sends isochrons with a message to each.
 *
 *   cc iso_bw.c $(pkg-config --cflags --libs quintet-isotach) && quintet run -n 3 ./a.out
 */
#include <iso.h>
#include <prof.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES 1004
#define FIRST 24
#define NEXT 25

static char data[BYTES];
static struct timeval start, stop;
static long received;

static void first(int node, void *sent, int length) {
    (void)node, (void)sent;
    gettimeofday(&start, NULL);
    received += length;
}

static void next(int node, void *sent, int length) {
    (void)node, (void)sent;
    received += length;
}

static void send_messages(void) {
    for (int x = 0; x < REPS; x++) {
        iso_start();
        for (int node = 1; node < NODES; node++) iso_send_msg(node, x == 0 ? FIRST : NEXT, data, BYTES);
        iso_end();
    }
    iso_flush();
}

int main(void) {
    long long begun, done;
    iso_init();
    iso_set_handler(FIRST, first);
    iso_set_handler(NEXT, next);
    if (NODES < 2) {
        fprintf(stderr, "iso_bw needs another node: quintet run -n 2\n");
        return EXIT_FAILURE;
    }
    if (NODEID == 0) {
        fast_timer(&begun);
        send_messages();
        fast_timer(&done);
        printf("%d isochrons sent in %.1f ms\n", REPS, (done - begun) / 1e6);
        return 0;
    }
    while (received < (long)REPS * BYTES) iso_poll();
    gettimeofday(&stop, NULL);
    subtracttime(&stop, &start);
    printf("node %d: %ld bytes, %.1f Mbit/s\n", NODEID, received, received * 8 / (stop.tv_sec * 1e6 + stop.tv_usec));
    return 0;
}

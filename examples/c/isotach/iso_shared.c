/* Shared variables: two accounts whose sum never changes for whoever reads both at one instant, and a counter that all nodes count up without a lock.
 *
 *   cc iso_shared.c $(pkg-config --cflags --libs quintet-isotach) && quintet run -n 3 ./a.out
 */
#include <iso.h>
#include <prof.h>
#include <stdio.h>
#include <stdlib.h>

#define ONE 1
#define OTHER 2
#define COUNTER 3
#define DONE 7
#define SUM 1000

static int nodes_done;

static void done(int node, void *data, int length) {
    (void)node, (void)data, (void)length;
    nodes_done++;
}

static void fail(const char *what) {
    fprintf(stderr, "iso_shared: node %d: %s\n", NODEID, what);
    exit(EXIT_FAILURE);
}

static void move(long amount) {
    const long one = SUM / 2 - amount, other = SUM - one;
    iso_start();
    WRITE(ONE, &one);
    WRITE(OTHER, &other);
    iso_end();
}

static void look(void) {
    long one, other;
    iso_start();
    READ(ONE, &one);
    READ(OTHER, &other);
    iso_end();
    if (one + other != SUM) fail("the accounts were seen at two instants");
}

/* Reserves the next place of the counter as it reads it: who comes next waits for the value. */
static void count(void) {
    long counter;
    iso_start();
    READ(COUNTER, &counter);
    SCHED(COUNTER);
    iso_end();
    counter++;
    iso_start();
    ASSIGN(COUNTER, &counter);
    iso_end();
}

int main(void) {
    iso_share(ONE, sizeof(long));
    iso_share(OTHER, sizeof(long));
    iso_share(COUNTER, sizeof(long));
    iso_init();
    iso_set_handler(DONE, done);
    move(0);
    for (int x = 0; x < REPS; x++) {
        move(x);
        look();
        count();
    }
    iso_start();
    for (int node = 0; node < NODES; node++) iso_send_msg(node, DONE, NULL, 0);
    iso_end();
    while (nodes_done < NODES) iso_poll();
    long counter;
    iso_start();
    READ(COUNTER, &counter);
    iso_end();
    if (counter != (long)NODES * REPS) fail("some were not counted");
    printf("node %d: %ld counted, and the sum was always %d\n", NODEID, counter, SUM);
    return 0;
}

/* A program in the shape of its time: main is void, and its status what printf has left. With an argument, node 1 does something wrong, or is slow. */
#include <iso.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int heard = 0;

void handler(int id, void *data, int len) {
    printf("node %d says %.*s\n", id, len, (char *)data);
    heard += 1;
}

/* Takes nothing for longer than the second in which others are lost, while more comes than there is room for. */
void be_slow(void) {
    if (NODEID == 0) {
        for (int round = 0; round < 3; round++) {
            iso_start();
            for (int message = 0; message < 100; message++) iso_send_msg(1, 22, "hello", 5);
            iso_end();
        }
        return;
    }
    usleep(1500 * 1000);
    while (heard < 301) iso_poll();
    printf("%d messages\n", heard);
}

void main(int argc, char **argv) {
    iso_init();
    iso_set_handler(22, handler);
    iso_start();
    iso_send_msg(1 - NODEID, argc > 1 && strcmp(argv[1], "unset") == 0 ? 23 : 22, "hello", 5);
    iso_end();
    if (argc > 1 && strcmp(argv[1], "fail") == 0 && NODEID == 1) exit(EXIT_FAILURE);
    if (argc > 1 && strcmp(argv[1], "end") == 0) iso_end();
    if (argc > 1 && strcmp(argv[1], "nested") == 0 && NODEID == 1) iso_start(), iso_start();
    if (argc > 1 && strcmp(argv[1], "slow") == 0) be_slow();
    while (!heard) iso_poll();
    if (argc > 1 && strcmp(argv[1], "unended") == 0 && NODEID == 1) iso_start(), iso_send_msg(0, 22, "late", 4);
    if (argc > 1 && strcmp(argv[1], "killed") == 0 && NODEID == 0) iso_flush(), raise(SIGKILL);
    printf("done\n");
}

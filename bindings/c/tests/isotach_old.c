/* A program in the shape of its time: main is void, and its status what printf has left. With an argument, node 1 does something wrong. */
#include <iso.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int heard = 0;

void handler(int id, void *data, int len) {
    printf("node %d says %.*s\n", id, len, (char *)data);
    heard = 1;
}

void main(int argc, char **argv) {
    iso_init();
    iso_set_handler(22, handler);
    iso_start();
    iso_send_msg(1 - NODEID, argc > 1 && strcmp(argv[1], "unset") == 0 ? 23 : 22, "hello", 5);
    iso_end();
    if (argc > 1 && strcmp(argv[1], "fail") == 0 && NODEID == 1) exit(EXIT_FAILURE);
    if (argc > 1 && strcmp(argv[1], "end") == 0) iso_end();
    while (!heard) iso_poll();
    printf("done\n");
}

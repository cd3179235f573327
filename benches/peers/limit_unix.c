/* Limit: messages over a Unix stream socket between two processes. */
#define _GNU_SOURCE
#include "stream.h"

int main(int count, char **arguments)
{
    long bytes = 0; /* the standard sizes */
    const struct extra_option extra[] = {
        {.name = "--bytes", .number = &bytes, .least = 1, .most = MOST_STREAM_BYTES},
        {.name = NULL},
    };
    struct peer_options options = parse_options(count, arguments, extra);
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        fail_system("socketpair");
    measure_stream("limit-unix", &options, sockets, bytes);
    return 0;
}

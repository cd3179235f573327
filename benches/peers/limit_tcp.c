/* Limit: messages over TCP on the loopback interface, without Nagle's delay. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "stream.h"

static void send_at_once(int socket)
{
    int on = 1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        fail_system("TCP_NODELAY");
}

/* Connects two sockets over a listener that exists only while this function runs. */
static void connect_pair(int sockets[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        fail_system("listening on the loopback interface");
    sockets[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (sockets[0] < 0 || connect(sockets[0], (struct sockaddr *)&address, length) != 0)
        fail_system("connecting over the loopback interface");
    sockets[1] = accept(listener, NULL, NULL);
    if (sockets[1] < 0)
        fail_system("accept");
    close(listener);
    send_at_once(sockets[0]);
    send_at_once(sockets[1]);
}

int main(int count, char **arguments)
{
    long bytes = 0; /* the standard sizes */
    const struct extra_option extra[] = {
        {.name = "--bytes", .number = &bytes, .least = 1, .most = MOST_STREAM_BYTES},
        {.name = NULL},
    };
    struct peer_options options = parse_options(count, arguments, extra);
    int sockets[2];
    connect_pair(sockets);
    measure_stream("limit-tcp", &options, sockets, bytes);
    return 0;
}

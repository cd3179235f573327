/* Ports of the loopback interface. */
#ifndef PEER_PORTS_H
#define PEER_PORTS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "options.h"
#include "sides.h"

#define LOOPBACK "127.0.0.1"

enum { FIRST_PORT = 20000, PORTS = 10000 };

static inline bool is_free(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        fail_system("socket");
    bool bound = bind(probe, (struct sockaddr *)&address, sizeof address) == 0;
    close(probe);
    return bound;
}

/* A port that nobody has, and that the system gives to nobody by itself before the server has it. */
static inline int find_port_from(int first)
{
    for (int tried = 0; tried < PORTS; tried++) {
        int port = FIRST_PORT + (first - FIRST_PORT + tried) % PORTS;
        if (is_free(port))
            return port;
    }
    fprintf(stderr, "no port of the loopback interface is free\n");
    exit(EXIT_BROKEN);
}

static inline int find_free_port(void)
{
    return find_port_from(FIRST_PORT + getpid() % PORTS);
}

/* A connection, or -1 with errno. */
static inline int connect_to_port(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int at_once = 1;
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client < 0)
        fail_system("socket");
    if (connect(client, (struct sockaddr *)&address, sizeof address) == 0 &&
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once) == 0)
        return client;
    int why = errno;
    close(client);
    errno = why;
    return -1;
}

#endif

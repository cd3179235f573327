/* Blocking round trips of one message over a connected stream socket, for the Unix and the TCP limit alike. */
#ifndef PEER_STREAM_H
#define PEER_STREAM_H

#include <sys/socket.h>

#include "options.h"
#include "report.h"
#include "sides.h"

enum { MOST_STREAM_BYTES = 16 * 1024 * 1024 };

static inline void send_whole(int socket, const char *message, size_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(socket, message, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            fail_system("send");
        message += sent;
        bytes -= (size_t)sent;
    }
}

static inline void receive_whole(int socket, char *message, size_t bytes)
{
    while (bytes > 0) {
        ssize_t received = recv(socket, message, bytes, MSG_WAITALL);
        if (received < 0 && errno == EINTR)
            continue;
        if (received < 0)
            fail_system("recv");
        if (received == 0) {
            fprintf(stderr, "the other side hung up\n");
            exit(EXIT_BROKEN);
        }
        message += received;
        bytes -= (size_t)received;
    }
}

static inline void answer_stream(int socket, char *message, size_t bytes, long round_trips)
{
    for (; round_trips > 0; round_trips--) {
        receive_whole(socket, message, bytes);
        send_whole(socket, message, bytes);
    }
}

static inline void ask_stream(int socket, char *message, size_t bytes)
{
    send_whole(socket, message, bytes);
    receive_whole(socket, message, bytes);
}

/* The message each side keeps; zeroed, so that its pages exist before the first round. */
static inline char *new_message(size_t bytes)
{
    char *message = malloc(bytes);
    if (message == NULL)
        fail_system("malloc");
    memset(message, 0, bytes);
    return message;
}

/* Measures and reports all rounds between `sockets[0]`, asking, and `sockets[1]`, answering. */
static inline void measure_stream(const char *peer, const struct peer_options *options, const int sockets[2], long bytes)
{
    char name[64];
    name_case(name, sizeof name, "rtt", bytes);
    if (!case_selected(options, name))
        return;
    long warmup = iterations_for(options->warmup, bytes);
    long iterations = iterations_for(options->iterations, bytes);
    pid_t side = fork_side();
    char *message = new_message((size_t)bytes);
    if (side == 0) {
        close(sockets[0]);
        pin_to(options->cpus[1]);
        answer_stream(sockets[1], message, (size_t)bytes, options->rounds * (warmup + iterations));
        _exit(0);
    }
    close(sockets[1]);
    pin_to(options->cpus[0]);
    for (long round = 0; round < options->rounds; round++) {
        struct samples samples = new_samples(iterations, 1);
        for (long index = 0; index < warmup; index++)
            ask_stream(sockets[0], message, (size_t)bytes);
        uint64_t start = now_ns();
        while (samples.count < samples.capacity) {
            ask_stream(sockets[0], message, (size_t)bytes);
            start = add_sample(&samples, start);
        }
        report_times(peer, name, &samples);
        free_samples(&samples);
    }
    join_side(side);
    free(message);
}

#endif

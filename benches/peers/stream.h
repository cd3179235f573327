/* One message over a connected stream socket, for the Unix and the TCP limit alike: round trips that wait in the kernel or by
 * reading over and over (cases ending in -spin), and messages one way, written in blocks of 64 KiB. */
#ifndef PEER_STREAM_H
#define PEER_STREAM_H

#include <sys/socket.h>

#include "options.h"
#include "report.h"
#include "sides.h"

enum { MOST_STREAM_BYTES = 16 * 1024 * 1024, BLOCK_BYTES = 64 * 1024, BULK_BYTES = 1 << 20, BULK_WINDOW = 16 };

/* How a side waits for bytes. */
enum waiting { BLOCKING, SPINNING };

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

/* Reads at most `bytes`, and at least one. */
static inline size_t receive_some(int socket, char *message, size_t bytes, enum waiting waiting)
{
    for (;;) {
        ssize_t received = recv(socket, message, bytes, waiting == SPINNING ? MSG_DONTWAIT : 0);
        if (received > 0)
            return (size_t)received;
        if (received == 0) {
            fprintf(stderr, "the other side hung up\n");
            exit(EXIT_BROKEN);
        }
        if (errno != EINTR && errno != EAGAIN)
            fail_system("recv");
    }
}

static inline void receive_whole(int socket, char *message, size_t bytes, enum waiting waiting)
{
    while (bytes > 0) {
        size_t received = receive_some(socket, message, bytes, waiting);
        message += received;
        bytes -= received;
    }
}

static inline void answer_stream(int socket, char *message, size_t bytes, long round_trips, enum waiting waiting)
{
    for (; round_trips > 0; round_trips--) {
        receive_whole(socket, message, bytes, waiting);
        send_whole(socket, message, bytes);
    }
}

static inline void ask_stream(int socket, char *message, size_t bytes, enum waiting waiting)
{
    send_whole(socket, message, bytes);
    receive_whole(socket, message, bytes, waiting);
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

/* The two sides of one case, and its name. */
struct stream_case {
    const char *peer;
    const struct peer_options *options;
    const int *sockets; /* the first asks or receives, the second answers or sends */
    char name[64];
    size_t bytes;
    long warmup;
    long iterations;
    enum waiting waiting;
};

static inline struct stream_case plan_stream(const char *peer, const struct peer_options *options, const int sockets[2],
                                             const char *kind, long bytes)
{
    struct stream_case planned = {.peer = peer, .options = options, .sockets = sockets, .bytes = (size_t)bytes};
    name_case(planned.name, sizeof planned.name, kind, bytes);
    planned.warmup = iterations_for(options->warmup, bytes);
    planned.iterations = iterations_for(options->iterations, bytes);
    return planned;
}

static inline void measure_round_trips(const struct stream_case *planned)
{
    const struct peer_options *options = planned->options;
    if (!case_selected(options, planned->name))
        return;
    pid_t side = fork_side();
    char *message = new_message(planned->bytes);
    if (side == 0) {
        pin_to(options->cpus[1]);
        long trips = options->rounds * (planned->warmup + planned->iterations);
        answer_stream(planned->sockets[1], message, planned->bytes, trips, planned->waiting);
        _exit(0);
    }
    pin_to(options->cpus[0]);
    for (long round = 0; round < options->rounds; round++) {
        struct samples samples = new_samples(planned->iterations, 1);
        for (long index = 0; index < planned->warmup; index++)
            ask_stream(planned->sockets[0], message, planned->bytes, planned->waiting);
        uint64_t start = now_ns();
        while (samples.count < samples.capacity) {
            ask_stream(planned->sockets[0], message, planned->bytes, planned->waiting);
            start = add_sample(&samples, start);
        }
        report_times(planned->peer, planned->name, &samples);
        free_samples(&samples);
    }
    join_side(side);
    free(message);
}

/* Sends whole messages in blocks, as long as the other side asks for a round of them. */
static inline void send_rounds(const struct stream_case *planned, char *message, long messages)
{
    for (long round = 0; round < planned->options->rounds; round++) {
        char go;
        receive_whole(planned->sockets[1], &go, 1, BLOCKING);
        for (long index = 0; index < messages; index++)
            for (size_t sent = 0; sent < planned->bytes; sent += BLOCK_BYTES)
                send_whole(planned->sockets[1], message + sent, BLOCK_BYTES);
    }
}

/* Reads blocks as they come into the same buffer. */
static inline void receive_messages(const struct stream_case *planned, char *message, long messages)
{
    for (long index = 0; index < messages; index++)
        for (size_t received = 0; received < planned->bytes;)
            received += receive_some(planned->sockets[0], message + received, planned->bytes - received, BLOCKING);
}

static inline void measure_bulk(const struct stream_case *planned)
{
    const struct peer_options *options = planned->options;
    if (!case_selected(options, planned->name))
        return;
    long window = planned->iterations < BULK_WINDOW ? planned->iterations : BULK_WINDOW;
    long iterations = whole_samples(planned->iterations, window);
    pid_t side = fork_side();
    char *message = new_message(planned->bytes);
    if (side == 0) {
        pin_to(options->cpus[1]);
        send_rounds(planned, message, planned->warmup + iterations);
        _exit(0);
    }
    pin_to(options->cpus[0]);
    for (long round = 0; round < options->rounds; round++) {
        struct samples samples = new_samples(iterations, window);
        char go = 1;
        send_whole(planned->sockets[0], &go, 1);
        receive_messages(planned, message, planned->warmup);
        uint64_t start = now_ns();
        while (samples.count < samples.capacity) {
            receive_messages(planned, message, window);
            start = add_sample(&samples, start);
        }
        report_rates(planned->peer, planned->name, "bytes/s", (double)planned->bytes, &samples);
        free_samples(&samples);
    }
    join_side(side);
    free(message);
}

/* Measures and reports all rounds of all cases; with `bytes`, the round trips of that size only. */
static inline void measure_stream(const char *peer, const struct peer_options *options, const int sockets[2], long bytes)
{
    struct stream_case trips = plan_stream(peer, options, sockets, "rtt", bytes > 0 ? bytes : 64);
    measure_round_trips(&trips);
    if (bytes > 0)
        return;
    struct stream_case spinning = trips;
    spinning.waiting = SPINNING;
    strcat(spinning.name, "-spin");
    if (options->cpus[0] != options->cpus[1])
        measure_round_trips(&spinning);
    struct stream_case bulk = plan_stream(peer, options, sockets, "bulk", BULK_BYTES);
    measure_bulk(&bulk);
}

#endif

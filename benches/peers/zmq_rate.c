/* Peer: ZeroMQ, small messages one way between two processes, over a Unix socket (ipc) and TCP on the loopback interface. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <zmq.h>

#include "message_cases.h"
#include "sides.h"

#define PEER "zeromq"

enum { ENDPOINT_BYTES = 256 };

/* What both processes share: where to connect, and how many rounds were asked for. */
struct board {
    char endpoint[ENDPOINT_BYTES];
    _Atomic long bound;
};

static void check(int result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(EXIT_BROKEN);
}

static void *new_socket(void *context, int kind)
{
    void *socket = zmq_socket(context, kind);
    if (socket == NULL)
        check(-1, "zmq_socket");
    return socket;
}

/* The sending side: a round whenever the other side asks for one. */
static void send_rounds(struct board *board, const struct measurement *planned, long rounds)
{
    void *context = zmq_ctx_new();
    while (atomic_load(&board->bound) == 0)
        usleep(100);
    void *socket = new_socket(context, ZMQ_PAIR);
    check(zmq_connect(socket, board->endpoint), "zmq_connect");
    char *message = calloc(1, (size_t)planned->bytes);
    for (long round = 0; round < rounds; round++) {
        char go;
        check(zmq_recv(socket, &go, 1, 0), "zmq_recv");
        for (long index = 0; index < planned->warmup + planned->iterations; index++)
            check(zmq_send(socket, message, (size_t)planned->bytes, 0), "zmq_send");
    }
    /* Until everything was received. */
    char done;
    check(zmq_recv(socket, &done, 1, 0), "zmq_recv");
    free(message);
    zmq_close(socket);
    zmq_ctx_term(context);
}

static void receive(void *socket, char *message, const struct measurement *planned, long count)
{
    for (; count > 0; count--)
        check(zmq_recv(socket, message, (size_t)planned->bytes, 0), "zmq_recv");
}

static void receive_rounds(void *socket, const struct measurement *planned, long rounds)
{
    char *message = calloc(1, (size_t)planned->bytes);
    for (long round = 0; round < rounds; round++) {
        struct samples samples = new_samples(planned->iterations, planned->window);
        check(zmq_send(socket, "g", 1, 0), "zmq_send");
        receive(socket, message, planned, planned->warmup);
        uint64_t start = now_ns();
        while (samples.count < samples.capacity) {
            receive(socket, message, planned, planned->window);
            start = add_sample(&samples, start);
        }
        report_rates(PEER, planned->name, "msg/s", 1.0, &samples);
        free_samples(&samples);
    }
    check(zmq_send(socket, "d", 1, 0), "zmq_send");
    free(message);
}

static void measure(const struct peer_options *options, const char *transport, const char *wildcard)
{
    char suffix[16];
    snprintf(suffix, sizeof suffix, "-%s", transport);
    struct measurement planned = plan_measurement(options, MESSAGE_RATE, 64, 1, suffix);
    if (!case_selected(options, planned.name))
        return;
    struct board *board = map_shared(sizeof *board);
    pid_t side = fork_side();
    if (side == 0) {
        pin_to(options->cpus[1]);
        send_rounds(board, &planned, options->rounds);
        _exit(0);
    }
    pin_to(options->cpus[0]);
    void *context = zmq_ctx_new();
    void *socket = new_socket(context, ZMQ_PAIR);
    check(zmq_bind(socket, wildcard), "zmq_bind");
    size_t length = sizeof board->endpoint;
    check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, board->endpoint, &length), "ZMQ_LAST_ENDPOINT");
    atomic_store(&board->bound, 1);
    receive_rounds(socket, &planned, options->rounds);
    join_side(side);
    zmq_close(socket);
    zmq_ctx_term(context);
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    measure(&options, "ipc", "ipc://*");
    measure(&options, "tcp", "tcp://127.0.0.1:*");
    return 0;
}

/* Peer: Redis lists used as a tuple space: RPUSH puts a value, BLPOP takes it.
 *
 * The server has the second processor and the clients the first, or, where a third processor is given, the process that takes
 * in the hand-off has that one. Clients go over the server's Unix socket, or with --transport tcp over TCP on the loopback
 * interface, where the cases' names end in -tcp. */
#define _GNU_SOURCE
#include "crowd.h"
#include "redis_list.h"
#include "redis_server.h"

#define PEER "redis-c"

enum { SMALL_BYTES = 64, MOST_BYTES = 16 * 1024 * 1024 };

/* How many clients go about their pairs at the same time; the last number is the largest. */
static const long crowds[] = {1, 4, 16, MOST_CLIENTS};

/* What one run of this program does, and what it works with. */
struct run {
    struct peer_options options;
    long bytes;         /* 0: the standard sizes */
    const char *suffix; /* of the cases' names: over what they are measured */
    redisContext *client;
    char *value;
    struct redis_client crowd[MOST_CLIENTS]; /* as many as the largest of the selected cases has */
};

/* `depth` pairs in one write, then all their answers; a depth of 1 waits for each command's answer instead. */
static void exchange(const struct run *run, long bytes, long depth)
{
    if (depth == 1) {
        push(run->client, "pair", run->value, bytes);
        pop(run->client, "pair", bytes);
        return;
    }
    for (long index = 0; index < depth; index++) {
        queue_push(run->client, "pair", run->value, bytes);
        queue_pop(run->client, "pair");
    }
    for (long index = 0; index < depth; index++) {
        expect_pushed(run->client);
        expect_popped(run->client, bytes);
    }
}

static void measure_pairs(const struct run *run, long bytes, long depth)
{
    char base[48];
    char name[64];
    name_case(base, sizeof base, depth == 1 ? "pair" : "pipelined", bytes);
    if (depth == 1)
        snprintf(name, sizeof name, "%s%s", base, run->suffix);
    else
        snprintf(name, sizeof name, "%s-depth-%ld%s", base, depth, run->suffix);
    if (!case_selected(&run->options, name))
        return;
    long warmup = iterations_for(run->options.warmup, bytes);
    long iterations = iterations_for(run->options.iterations, bytes);
    struct samples samples = new_samples(iterations < depth ? depth : iterations, depth);
    for (long done = 0; done < warmup; done += depth)
        exchange(run, bytes, depth);
    uint64_t start = now_ns();
    while (samples.count < samples.capacity) {
        exchange(run, bytes, depth);
        start = add_sample(&samples, start);
    }
    if (depth == 1)
        report_times(PEER, name, &samples);
    else
        report_rates(PEER, name, "msg/s", 1.0, &samples);
    free_samples(&samples);
}

/* A sample is a value's way to the other process and another's way back: two hand-offs. */
static void measure_hand_off(const struct run *run, const char *name, long bytes)
{
    long warmup = iterations_for(run->options.warmup, bytes);
    long iterations = iterations_for(run->options.iterations, bytes);
    struct samples samples = new_samples(iterations, 1);
    samples.operations = 2;
    for (long index = -warmup; index < iterations; index++) {
        uint64_t start = now_ns();
        push(run->client, "there", run->value, bytes);
        pop(run->client, "back", bytes);
        if (index >= 0)
            add_sample(&samples, start);
    }
    report_times(PEER, name, &samples);
    free_samples(&samples);
}

/* The other process of the hand-off. */
static void take_and_return(const struct run *run, redisContext *client, long bytes)
{
    long a_round = iterations_for(run->options.warmup, bytes) + iterations_for(run->options.iterations, bytes);
    for (long count = run->options.rounds * a_round; count > 0; count--) {
        pop(client, "there", bytes);
        push(client, "back", run->value, bytes);
    }
}

/* Whether so many clients are measured; `name` becomes what that is called. */
static bool crowd_selected(const struct run *run, long clients, char *name, size_t capacity)
{
    snprintf(name, capacity, "clients-%ld%s", clients, run->suffix);
    return run->bytes == 0 && case_selected(&run->options, name);
}

/* The pairs of a round are shared out among the clients. */
static void measure_crowd(struct run *run, long clients)
{
    char name[64];
    if (crowd_selected(run, clients, name, sizeof name))
        report_crowd(PEER, name, "msg/s", exchange_pair, run->crowd, sizeof *run->crowd, clients, &run->options);
}

/* Connects as many clients as the largest case has that is selected. */
static void connect_crowd(struct run *run, const struct server *server)
{
    char name[64];
    long needed = 0, connected = 0;
    for (size_t index = 0; index < sizeof crowds / sizeof *crowds; index++)
        if (crowd_selected(run, crowds[index], name, sizeof name))
            needed = crowds[index];
    for (; connected < needed; connected++)
        run->crowd[connected] = (struct redis_client){connect_client(server), run->value, SMALL_BYTES};
}

/* `hand_off` names that case, or is NULL where it is not selected. */
static void run_rounds(struct run *run, const char *hand_off, long small)
{
    for (long round = 0; round < run->options.rounds; round++) {
        measure_pairs(run, small, 1);
        measure_pairs(run, small, 16);
        measure_pairs(run, small, 64);
        if (hand_off != NULL)
            measure_hand_off(run, hand_off, small);
        for (size_t index = 0; index < sizeof crowds / sizeof *crowds; index++)
            measure_crowd(run, crowds[index]);
        if (run->bytes == 0)
            measure_pairs(run, 1024 * 1024, 1);
    }
}

/* Starts the process that takes in the hand-off; its client was connected before. */
static pid_t start_taker(const struct run *run, redisContext *client, long bytes)
{
    pid_t taker = fork_side();
    if (taker != 0)
        return taker;
    pin_to(run->options.cpus[run->options.cpu_count == 3 ? 2 : 0]);
    take_and_return(run, client, bytes);
    _exit(0);
}

/* Whether it is TCP; ends the program where it is nothing that is known. */
static bool is_tcp(const char *transport)
{
    if (strcmp(transport, "tcp") != 0 && strcmp(transport, "unix") != 0)
        fail_usage("--transport: expected unix or tcp, got '%s'", transport);
    return strcmp(transport, "tcp") == 0;
}

int main(int count, char **arguments)
{
    struct run run = {0};
    const char *transport = "unix";
    const struct extra_option extra[] = {
        {.name = "--bytes", .number = &run.bytes, .least = 1, .most = MOST_BYTES},
        {.name = "--transport", .text = &transport},
        {.name = NULL},
    };
    run.options = parse_options(count, arguments, extra);
    run.suffix = is_tcp(transport) ? "-tcp" : "";
    run.value = calloc(1, MOST_BYTES);
    if (run.value == NULL)
        fail_system("calloc");
    long small = run.bytes > 0 ? run.bytes : SMALL_BYTES;
    char base[48];
    char hand_off[64];
    name_case(base, sizeof base, "handoff", small);
    snprintf(hand_off, sizeof hand_off, "%s%s", base, run.suffix);
    bool hands_off = case_selected(&run.options, hand_off);

    struct server server = start_server(run.options.cpus[1], is_tcp(transport));
    run.client = connect_client(&server);
    redisContext *taking_client = connect_client(&server);
    connect_crowd(&run, &server);
    remove_directory(&server);
    pid_t taker = hands_off ? start_taker(&run, taking_client, small) : 0;
    pin_to(run.options.cpus[0]);
    run_rounds(&run, hands_off ? hand_off : NULL, small);
    if (hands_off)
        join_side(taker);
    stop_server(&server);
    redisFree(run.client);
    redisFree(taking_client);
    for (long index = 0; index < MOST_CLIENTS && run.crowd[index].connection != NULL; index++)
        redisFree(run.crowd[index].connection);
    free(run.value);
    return 0;
}

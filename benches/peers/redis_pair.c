/* Peer: Redis lists used as a tuple space: RPUSH puts a value, BLPOP takes it.
 *
 * The program starts a private redis-server that listens on a Unix socket alone and keeps nothing. Once every client is
 * connected the socket's file and directory are removed, and the kernel ends the server when this process dies, so that
 * nothing stays behind however the run ends. The server has the second processor and the clients the first, or, where a
 * third processor is given, the process that takes in the hand-off has that one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <time.h>

#include "options.h"
#include "report.h"
#include "sides.h"

#define PEER "redis-c"

enum { MOST_BYTES = 16 * 1024 * 1024, START_TRIES = 5000 };

struct server {
    pid_t process;
    char directory[64];
    char socket[80];
};

/* What one run of this program does, and what it works with. */
struct run {
    struct peer_options options;
    long bytes; /* 0: the standard sizes */
    redisContext *client;
    char *value;
};

__attribute__((noreturn)) static void fail_redis(const redisContext *client, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, client != NULL && client->err != 0 ? client->errstr : "unexpected answer");
    exit(EXIT_BROKEN);
}

/* Replaces the forked child by the server. */
__attribute__((noreturn)) static void become_server(const struct server *server, int cpu, pid_t parent)
{
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        _exit(EXIT_BROKEN);
    pin_to(cpu);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_BROKEN);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", server->socket, "--unixsocketperm", "700", "--save", "",
           "--appendonly", "no", "--daemonize", "no", "--dir", server->directory, "--logfile", "", (char *)NULL);
    _exit(errno == ENOENT ? EXIT_PEER_MISSING : EXIT_BROKEN);
}

static void remove_directory(const struct server *server)
{
    unlink(server->socket);
    rmdir(server->directory);
}

/* Ends the program if the server has ended before it accepted a client. */
static void require_running(const struct server *server)
{
    int status = 0;
    if (waitpid(server->process, &status, WNOHANG) == 0)
        return;
    remove_directory(server);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PEER_MISSING) {
        fprintf(stderr, "peer missing: install with: apt-get install redis-server libhiredis-dev\n");
        exit(EXIT_PEER_MISSING);
    }
    fprintf(stderr, "redis-server ended while it started\n");
    exit(EXIT_BROKEN);
}

static struct server start_server(int cpu)
{
    struct server server = {.directory = "/tmp/quintet-peer-XXXXXX"};
    if (mkdtemp(server.directory) == NULL)
        fail_system("mkdtemp");
    snprintf(server.socket, sizeof server.socket, "%s/redis.sock", server.directory);
    pid_t parent = getpid();
    server.process = fork();
    if (server.process < 0)
        fail_system("fork");
    if (server.process == 0)
        become_server(&server, cpu, parent);
    return server;
}

/* Tries until the server listens, for about five seconds. */
static redisContext *connect_client(const struct server *server)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (int attempt = 0; attempt < START_TRIES; attempt++) {
        require_running(server);
        redisContext *client = redisConnectUnix(server->socket);
        if (client != NULL && client->err == 0)
            return client;
        redisFree(client);
        nanosleep(&millisecond, NULL);
    }
    kill(server->process, SIGKILL);
    waitpid(server->process, NULL, 0);
    remove_directory(server);
    fprintf(stderr, "redis-server did not answer on its socket\n");
    exit(EXIT_BROKEN);
}

static void stop_server(const struct server *server)
{
    signal(SIGCHLD, SIG_DFL);
    if (kill(server->process, SIGTERM) != 0 || waitpid(server->process, NULL, 0) != server->process)
        fail_system("stopping redis-server");
}

static void queue_push(redisContext *client, const char *key, const char *value, long bytes)
{
    if (redisAppendCommand(client, "RPUSH %s %b", key, value, (size_t)bytes) != REDIS_OK)
        fail_redis(client, "RPUSH");
}

static void queue_pop(redisContext *client, const char *key)
{
    if (redisAppendCommand(client, "BLPOP %s 0", key) != REDIS_OK)
        fail_redis(client, "BLPOP");
}

static void expect_pushed(redisContext *client)
{
    redisReply *reply = NULL;
    if (redisGetReply(client, (void **)&reply) != REDIS_OK || reply->type != REDIS_REPLY_INTEGER)
        fail_redis(client, "RPUSH");
    freeReplyObject(reply);
}

/* The answer is the list's name and the value taken. */
static void expect_popped(redisContext *client, long bytes)
{
    redisReply *reply = NULL;
    if (redisGetReply(client, (void **)&reply) != REDIS_OK || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[1]->type != REDIS_REPLY_STRING || (long)reply->element[1]->len != bytes)
        fail_redis(client, "BLPOP");
    freeReplyObject(reply);
}

static void push(redisContext *client, const char *key, const char *value, long bytes)
{
    queue_push(client, key, value, bytes);
    expect_pushed(client);
}

static void pop(redisContext *client, const char *key, long bytes)
{
    queue_pop(client, key);
    expect_popped(client, bytes);
}

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
    snprintf(name, sizeof name, depth == 1 ? "%s" : "%s-depth-%ld", base, depth);
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

/* `hand_off` names that case, or is NULL where it is not selected. */
static void run_rounds(const struct run *run, const char *hand_off, long small)
{
    for (long round = 0; round < run->options.rounds; round++) {
        measure_pairs(run, small, 1);
        measure_pairs(run, small, 16);
        measure_pairs(run, small, 64);
        if (hand_off != NULL)
            measure_hand_off(run, hand_off, small);
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

int main(int count, char **arguments)
{
    struct run run = {0};
    const struct extra_option extra[] = {
        {.name = "--bytes", .number = &run.bytes, .least = 1, .most = MOST_BYTES},
        {.name = NULL},
    };
    run.options = parse_options(count, arguments, extra);
    run.value = calloc(1, MOST_BYTES);
    if (run.value == NULL)
        fail_system("calloc");
    long small = run.bytes > 0 ? run.bytes : 64;
    char hand_off[64];
    name_case(hand_off, sizeof hand_off, "handoff", small);
    bool hands_off = case_selected(&run.options, hand_off);

    struct server server = start_server(run.options.cpus[1]);
    run.client = connect_client(&server);
    redisContext *taking_client = connect_client(&server);
    remove_directory(&server);
    pid_t taker = hands_off ? start_taker(&run, taking_client, small) : 0;
    pin_to(run.options.cpus[0]);
    run_rounds(&run, hands_off ? hand_off : NULL, small);
    if (hands_off)
        join_side(taker);
    stop_server(&server);
    redisFree(run.client);
    redisFree(taking_client);
    free(run.value);
    return 0;
}

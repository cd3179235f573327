/* Peer: the memory of a Redis server while the values that it stores change and are never more.
 *
 * A step takes the value of one of ten thousand keys, chosen by chance (LPOP), and puts one under a key that no other had (RPUSH), of another
 * length. The figure is the resident memory of the server after all steps, as a part of what it was after those of the warm-up. The server has the
 * second processor and the client the first, over the Unix socket. */
#define _GNU_SOURCE
#include "redis_list.h"
#include "redis_server.h"
#include "report.h"

#define PEER "redis-c"

enum { STORED = 10000, DEPTH = 64, LEAST_BYTES = 16, DOUBLINGS = 9, MOST_BYTES = LEAST_BYTES << DOUBLINGS };

struct churn {
    redisContext *client;
    char value[MOST_BYTES];
    long stored[STORED + DEPTH]; /* the numbers of the keys that are there */
    long count;
    long next;
    uint64_t random;
};

/* Knuth's linear congruential generator, of which the upper bits count. */
static long draw(struct churn *churn, long below)
{
    churn->random = churn->random * 6364136223846793005u + 1442695040888963407u;
    return (long)((churn->random >> 32) % (uint64_t)below);
}

static void append_put(struct churn *churn)
{
    long least = (long)LEAST_BYTES << draw(churn, DOUBLINGS);
    long bytes = least + draw(churn, least);
    if (redisAppendCommand(churn->client, "RPUSH name-%ld %b", churn->next, churn->value, (size_t)bytes) != REDIS_OK)
        fail_redis(churn->client, "RPUSH");
    churn->stored[churn->count++] = churn->next++;
}

static void append_take(struct churn *churn)
{
    long chosen = draw(churn, churn->count);
    if (redisAppendCommand(churn->client, "LPOP name-%ld", churn->stored[chosen]) != REDIS_OK)
        fail_redis(churn->client, "LPOP");
    churn->stored[chosen] = churn->stored[--churn->count];
}

static void fill(struct churn *churn)
{
    while (churn->count < STORED) {
        append_put(churn);
        expect(churn->client, REDIS_REPLY_INTEGER, "RPUSH");
    }
}

static void do_steps(struct churn *churn, long steps)
{
    for (long done = 0; done < steps; done += DEPTH) {
        for (long step = 0; step < DEPTH; step++) {
            append_take(churn);
            append_put(churn);
        }
        for (long step = 0; step < DEPTH; step++) {
            expect(churn->client, REDIS_REPLY_STRING, "LPOP");
            expect(churn->client, REDIS_REPLY_INTEGER, "RPUSH");
        }
    }
}

/* Pages of a process that are in memory. */
static double resident_pages(pid_t process)
{
    char path[64];
    long all = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    FILE *counts = fopen(path, "r");
    if (counts == NULL || fscanf(counts, "%ld %ld", &all, &resident) != 2)
        fail_system(path);
    fclose(counts);
    return (double)resident;
}

/* Begins with a server that nothing was stored in. */
static void measure(const struct peer_options *options, const char *name)
{
    static struct churn churn;
    struct server server = start_server(options->cpus[1], false);
    churn = (struct churn){.client = connect_client(&server)};
    remove_directory(&server);
    fill(&churn);
    do_steps(&churn, options->warmup);
    double before = resident_pages(server.process);
    do_steps(&churn, options->iterations);
    double part = resident_pages(server.process) / before;
    print_line(PEER, name, "1", "mean", part);
    print_line(PEER, name, "1", "p50", part);
    stop_server(&server);
    redisFree(churn.client);
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    static const char name[] = "churn";
    if (!case_selected(&options, name))
        return 0;
    pin_to(options.cpus[0]);
    for (long round = 0; round < options.rounds; round++)
        measure(&options, name);
    return 0;
}

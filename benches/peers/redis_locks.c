/* Peer: a lock server on Redis, as its documentation has it (SET with NX and PX, and a script that releases): philosophers who dine, and transfers
 * between accounts.
 *
 * Each client locks two things, the one with the lower number first, so that nobody waits in a circle; who is refused asks again at once. The
 * server has the second processor and the clients the first, each with a thread and a connection of its own over the Unix socket. Nothing is
 * kept on a disk. https://redis.io/docs/latest/develop/use/patterns/distributed-locks/ */
#define _GNU_SOURCE
#include "crowd.h"
#include "redis_list.h"
#include "redis_server.h"

#define PEER "redis-locks"
#define RELEASE "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"

enum { PHILOSOPHERS = 5, BRANCHES = 4, ACCOUNTS = 64, BALANCE = 1000, MOST_AMOUNT = 50, LOCK_MS = 30000, SCRIPT_BYTES = 64 };

/* The release, as the server knows it by its hash. */
static char script[SCRIPT_BYTES];

struct locker {
    redisContext *connection;
    long index;
    unsigned long turn; /* of its locks: each has a value that no other had */
    uint64_t random;
};

/* Waits until nobody else has it. */
static void lock(const struct locker *locker, const char *what, long number)
{
    redisContext *connection = locker->connection;
    for (bool is_mine = false; !is_mine;) {
        redisReply *reply = NULL;
        if (redisAppendCommand(connection, "SET lock:%s:%ld %ld-%lu NX PX %d", what, number, locker->index, locker->turn, LOCK_MS) !=
                REDIS_OK ||
            redisGetReply(connection, (void **)&reply) != REDIS_OK || (reply->type != REDIS_REPLY_STATUS && reply->type != REDIS_REPLY_NIL))
            fail_redis(connection, "SET");
        is_mine = reply->type == REDIS_REPLY_STATUS;
        freeReplyObject(reply);
    }
}

static void lock_both(struct locker *locker, const char *what, long one, long other)
{
    locker->turn++;
    lock(locker, what, one < other ? one : other);
    lock(locker, what, one < other ? other : one);
}

static void append_release(const struct locker *locker, const char *what, long number)
{
    if (redisAppendCommand(locker->connection, "EVALSHA %s 1 lock:%s:%ld %ld-%lu", script, what, number, locker->index, locker->turn) !=
        REDIS_OK)
        fail_redis(locker->connection, "EVALSHA");
}

/* The answers to two releases; a lock that had run out would make what is measured wrong. */
static void expect_releases(const struct locker *locker)
{
    for (int released = 0; released < 2; released++) {
        redisReply *reply = answer(locker->connection, REDIS_REPLY_INTEGER, "EVALSHA");
        if (reply->integer != 1)
            fail_redis(locker->connection, "a lock ran out");
        freeReplyObject(reply);
    }
}

/* Three round trips where nobody else has a fork: one for each, and one that puts both down. */
static void dine(void *argument)
{
    struct locker *philosopher = argument;
    long left = philosopher->index, right = (philosopher->index + 1) % PHILOSOPHERS;
    lock_both(philosopher, "fork", left, right);
    append_release(philosopher, "fork", left);
    append_release(philosopher, "fork", right);
    expect_releases(philosopher);
}

/* xorshift64 (Marsaglia 2003). */
static long draw(struct locker *locker, long below)
{
    locker->random ^= locker->random << 13;
    locker->random ^= locker->random >> 7;
    locker->random ^= locker->random << 17;
    return (long)(locker->random % (uint64_t)below);
}

static void append_balance(const struct locker *locker, long account)
{
    if (redisAppendCommand(locker->connection, "GET account:%ld", account) != REDIS_OK)
        fail_redis(locker->connection, "GET");
}

static long read_balance(const struct locker *locker)
{
    redisReply *reply = answer(locker->connection, REDIS_REPLY_STRING, "GET");
    long balance = atol(reply->str);
    freeReplyObject(reply);
    return balance;
}

static void append_deposit(const struct locker *locker, long account, long balance)
{
    if (redisAppendCommand(locker->connection, "SET account:%ld %ld", account, balance) != REDIS_OK)
        fail_redis(locker->connection, "SET");
}

/* Four round trips where nobody else has an account: one for each lock, one for both balances, one that writes and releases. */
static void transfer(void *argument)
{
    struct locker *branch = argument;
    long source = draw(branch, ACCOUNTS), target = (source + 1 + draw(branch, ACCOUNTS - 1)) % ACCOUNTS;
    long amount = 1 + draw(branch, MOST_AMOUNT);
    lock_both(branch, "account", source, target);
    append_balance(branch, source);
    append_balance(branch, target);
    long of_source = read_balance(branch), of_target = read_balance(branch);
    bool is_covered = of_source >= amount;
    if (is_covered) {
        append_deposit(branch, source, of_source - amount);
        append_deposit(branch, target, of_target + amount);
    }
    append_release(branch, "account", source);
    append_release(branch, "account", target);
    for (int written = 0; is_covered && written < 2; written++)
        freeReplyObject(answer(branch->connection, REDIS_REPLY_STATUS, "SET"));
    expect_releases(branch);
}

static void open_accounts(const struct locker *locker)
{
    for (long account = 0; account < ACCOUNTS; account++) {
        append_deposit(locker, account, BALANCE);
        freeReplyObject(answer(locker->connection, REDIS_REPLY_STATUS, "SET"));
    }
}

/* No transfer may have made money or lost any. */
static void check_accounts(const struct locker *locker)
{
    long total = 0;
    for (long account = 0; account < ACCOUNTS; account++) {
        append_balance(locker, account);
        total += read_balance(locker);
    }
    if (total == (long)ACCOUNTS * BALANCE)
        return;
    fprintf(stderr, "all accounts together have %ld\n", total);
    exit(EXIT_BROKEN);
}

static void load_script(redisContext *connection)
{
    if (redisAppendCommand(connection, "SCRIPT LOAD %s", RELEASE) != REDIS_OK)
        fail_redis(connection, "SCRIPT LOAD");
    redisReply *reply = answer(connection, REDIS_REPLY_STRING, "SCRIPT LOAD");
    snprintf(script, sizeof script, "%s", reply->str);
    freeReplyObject(reply);
}

static void measure(const struct server *server, const struct peer_options *options, const char *name, const char *unit, long count,
                    void (*operate)(void *))
{
    struct locker lockers[PHILOSOPHERS];
    if (!case_selected(options, name))
        return;
    for (long index = 0; index < count; index++)
        lockers[index] = (struct locker){.connection = connect_client(server), .index = index, .random = (uint64_t)index + 1};
    open_accounts(&lockers[0]);
    report_crowd(PEER, name, unit, operate, lockers, sizeof *lockers, count, options);
    check_accounts(&lockers[0]);
    for (long index = 0; index < count; index++)
        redisFree(lockers[index].connection);
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    struct server server = start_server(options.cpus[1], false);
    redisContext *first = connect_client(&server);
    load_script(first);
    redisFree(first);
    pin_to(options.cpus[0]);
    for (long round = 0; round < options.rounds; round++) {
        measure(&server, &options, "philosophers-5", "meals/s", PHILOSOPHERS, dine);
        measure(&server, &options, "transfers-4", "transfers/s", BRANCHES, transfer);
    }
    stop_server(&server);
    remove_directory(&server);
    return 0;
}

/* Peer: values of Redis that are read and changed at one instant, by optimistic transactions or by one command; and a stream with many readers.
 *
 * The server has the second processor and the clients the first, each with a thread and a connection of its own over the Unix socket. Nothing is
 * kept on a disk. An update that others were quicker with is done again. */
#define _GNU_SOURCE
#include <semaphore.h>

#include "crowd.h"
#include "redis_list.h"
#include "redis_server.h"

#define PEER "redis-c"

enum { CLIENTS = 16, KEY_BYTES = 24 };

/* A client, and what it changes. */
struct updater {
    redisContext *connection;
    char key[KEY_BYTES];
};

/* A client that reads a stream, and what it has read. The writer, who reads as well, puts an entry when all others have the one before. */
struct reader {
    redisContext *connection;
    sem_t *others_have_it;
    bool writes;
    char last[32];
};

static void append(redisContext *connection, const char *command, const char *key)
{
    if (redisAppendCommand(connection, command, key) != REDIS_OK)
        fail_redis(connection, command);
}

/* Two round trips: the value with a watch on it, and the transaction. Whether nobody was quicker. */
static bool try_update(const struct updater *client)
{
    redisContext *connection = client->connection;
    append(connection, "WATCH %s", client->key);
    append(connection, "GET %s", client->key);
    expect(connection, REDIS_REPLY_STATUS, "WATCH");
    redisReply *value = answer(connection, REDIS_REPLY_STRING, "GET");
    long next = atol(value->str) + 1;
    freeReplyObject(value);
    append(connection, "MULTI%s", "");
    if (redisAppendCommand(connection, "SET %s %ld", client->key, next) != REDIS_OK)
        fail_redis(connection, "SET");
    append(connection, "EXEC%s", "");
    expect(connection, REDIS_REPLY_STATUS, "MULTI");
    expect(connection, REDIS_REPLY_STATUS, "SET");
    redisReply *done = NULL;
    if (redisGetReply(connection, (void **)&done) != REDIS_OK || (done->type != REDIS_REPLY_ARRAY && done->type != REDIS_REPLY_NIL))
        fail_redis(connection, "EXEC");
    bool is_done = done->type == REDIS_REPLY_ARRAY;
    freeReplyObject(done);
    return is_done;
}

static void update(void *argument)
{
    while (!try_update(argument)) {
    }
}

static void increment(void *argument)
{
    const struct updater *client = argument;
    append(client->connection, "INCR %s", client->key);
    expect(client->connection, REDIS_REPLY_INTEGER, "INCR");
}

static void set_to_zero(const struct updater *client)
{
    append(client->connection, "SET %s 0", client->key);
    expect(client->connection, REDIS_REPLY_STATUS, "SET");
}

/* One entry, which each reader waits for. The writer is a reader that has put it before. */
static void read_next(void *argument)
{
    struct reader *reader = argument;
    if (reader->writes) {
        append(reader->connection, "XADD %s MAXLEN 16 * value 1", "news");
        expect(reader->connection, REDIS_REPLY_STRING, "XADD");
    }
    if (redisAppendCommand(reader->connection, "XREAD COUNT 1 BLOCK 0 STREAMS news %s", reader->last) != REDIS_OK)
        fail_redis(reader->connection, "XREAD");
    redisReply *reply = answer(reader->connection, REDIS_REPLY_ARRAY, "XREAD");
    const redisReply *entry = reply->element[0]->element[1]->element[0];
    snprintf(reader->last, sizeof reader->last, "%s", entry->element[0]->str);
    freeReplyObject(reply);
    if (!reader->writes)
        sem_post(reader->others_have_it);
    for (long others = CLIENTS - 1; reader->writes && others > 0;)
        others -= sem_wait(reader->others_have_it) == 0;
}

static void measure(const struct server *server, const struct peer_options *options, const char *name, long count, bool has_one_key,
                    void (*operate)(void *))
{
    if (!case_selected(options, name))
        return;
    struct updater clients[CLIENTS];
    for (long index = 0; index < count; index++) {
        clients[index].connection = connect_client(server);
        snprintf(clients[index].key, KEY_BYTES, "counter:%ld", has_one_key ? 0 : index);
        set_to_zero(&clients[index]);
    }
    report_crowd(PEER, name, "updates/s", operate, clients, sizeof *clients, count, options);
    for (long index = 0; index < count; index++)
        redisFree(clients[index].connection);
}

static void measure_readers(const struct server *server, const struct peer_options *options)
{
    static const char name[] = "readers-16";
    if (!case_selected(options, name))
        return;
    sem_t others_have_it;
    sem_init(&others_have_it, 0, 0);
    struct reader readers[CLIENTS];
    for (long index = 0; index < CLIENTS; index++)
        readers[index] = (struct reader){connect_client(server), &others_have_it, index == 0, "0"};
    report_crowd(PEER, name, "reads/s", read_next, readers, sizeof *readers, CLIENTS, options);
    for (long index = 0; index < CLIENTS; index++)
        redisFree(readers[index].connection);
    sem_destroy(&others_have_it);
    redisContext *connection = connect_client(server);
    append(connection, "DEL %s", "news");
    expect(connection, REDIS_REPLY_INTEGER, "DEL");
    redisFree(connection);
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    struct server server = start_server(options.cpus[1], false);
    redisFree(connect_client(&server));
    pin_to(options.cpus[0]);
    for (long round = 0; round < options.rounds; round++) {
        measure(&server, &options, "group-1", 1, false, update);
        measure(&server, &options, "group-16", CLIENTS, false, update);
        measure(&server, &options, "counter-16", CLIENTS, true, update);
        measure(&server, &options, "counter-16-incr", CLIENTS, true, increment);
        measure_readers(&server, &options);
    }
    stop_server(&server);
    remove_directory(&server);
    return 0;
}

/* Values put into a list of Redis, and taken out. */
#ifndef PEER_REDIS_LIST_H
#define PEER_REDIS_LIST_H

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"

/* A client that puts a value and takes one, again and again. */
struct redis_client {
    redisContext *connection;
    const char *value;
    long bytes;
};

__attribute__((noreturn)) static inline void fail_redis(const redisContext *client, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, client != NULL && client->err != 0 ? client->errstr : "unexpected answer");
    exit(EXIT_BROKEN);
}

/* The next answer, which is of this type. It is to be freed. */
static inline redisReply *answer(redisContext *connection, int type, const char *what)
{
    redisReply *reply = NULL;
    if (redisGetReply(connection, (void **)&reply) != REDIS_OK || reply->type != type)
        fail_redis(connection, what);
    return reply;
}

static inline void expect(redisContext *connection, int type, const char *what)
{
    freeReplyObject(answer(connection, type, what));
}

static inline void queue_push(redisContext *client, const char *key, const char *value, long bytes)
{
    if (redisAppendCommand(client, "RPUSH %s %b", key, value, (size_t)bytes) != REDIS_OK)
        fail_redis(client, "RPUSH");
}

static inline void queue_pop(redisContext *client, const char *key)
{
    if (redisAppendCommand(client, "BLPOP %s 0", key) != REDIS_OK)
        fail_redis(client, "BLPOP");
}

static inline void expect_pushed(redisContext *client)
{
    redisReply *reply = NULL;
    if (redisGetReply(client, (void **)&reply) != REDIS_OK || reply->type != REDIS_REPLY_INTEGER)
        fail_redis(client, "RPUSH");
    freeReplyObject(reply);
}

/* The answer is the list's name and the value taken. */
static inline void expect_popped(redisContext *client, long bytes)
{
    redisReply *reply = NULL;
    if (redisGetReply(client, (void **)&reply) != REDIS_OK || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[1]->type != REDIS_REPLY_STRING || (long)reply->element[1]->len != bytes)
        fail_redis(client, "BLPOP");
    freeReplyObject(reply);
}

static inline void push(redisContext *client, const char *key, const char *value, long bytes)
{
    queue_push(client, key, value, bytes);
    expect_pushed(client);
}

static inline void pop(redisContext *client, const char *key, long bytes)
{
    queue_pop(client, key);
    expect_popped(client, bytes);
}

/* One pair, each command awaited. */
static inline void exchange_pair(void *argument)
{
    const struct redis_client *client = argument;
    push(client->connection, "pair", client->value, client->bytes);
    pop(client->connection, "pair", client->bytes);
}

#endif

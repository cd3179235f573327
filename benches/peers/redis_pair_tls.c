/* Peer: Redis lists used as a tuple space over TLS 1.3: RPUSH puts a value, BLPOP takes it.
 *
 * The server has the second processor and the client the first. Both prove who they are by one certificate that is made for the run, as both sides of a
 * link of ours do. The client is hiredis's own formatting and parsing over OpenSSL, which is what hiredis does from version 1.0 on. */
#define _GNU_SOURCE
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "redis_server.h"
#include "report.h"

#define PEER "redis-c-tls"

enum { SMALL_BYTES = 64, READ_BYTES = 16 * 1024 };

struct connection {
    SSL_CTX *context;
    SSL *tls;
    redisReader *reader;
};

__attribute__((noreturn)) static void fail_tls(const char *what)
{
    fprintf(stderr, "%s: ", what);
    ERR_print_errors_fp(stderr);
    exit(EXIT_BROKEN);
}

static SSL_CTX *context_of(const struct server *server)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_use_certificate_file(context, server->certificate, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, server->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_load_verify_locations(context, server->certificate, NULL) != 1)
        fail_tls("the certificate cannot be used");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return context;
}

static struct connection connect_tls(const struct server *server)
{
    /* The socket is the last that the server opens: once it answers there, it listens on its port. */
    redisFree(connect_socket(server));
    struct connection connection = {.context = context_of(server), .reader = redisReaderCreate()};
    connection.tls = SSL_new(connection.context);
    if (connection.tls == NULL || connection.reader == NULL || SSL_set_fd(connection.tls, connect_to_port(server->port)) != 1 ||
        SSL_connect(connection.tls) != 1)
        fail_tls("handshake with redis-server");
    return connection;
}

static void disconnect(struct connection *connection)
{
    int client = SSL_get_fd(connection->tls);
    SSL_free(connection->tls);
    SSL_CTX_free(connection->context);
    redisReaderFree(connection->reader);
    close(client);
}

static redisReply *ask(struct connection *connection, char *command, int bytes)
{
    if (bytes < 0 || SSL_write(connection->tls, command, bytes) != bytes)
        fail_tls("write a command");
    redisFreeCommand(command);
    void *reply = NULL;
    while (redisReaderGetReply(connection->reader, &reply) == REDIS_OK && reply == NULL) {
        char answer[READ_BYTES];
        int count = SSL_read(connection->tls, answer, sizeof answer);
        if (count <= 0 || redisReaderFeed(connection->reader, answer, (size_t)count) != REDIS_OK)
            fail_tls("read an answer");
    }
    if (reply == NULL)
        fail_tls("an answer that cannot be read");
    return reply;
}

static void exchange(struct connection *connection, const char *value)
{
    char *command = NULL;
    int bytes = redisFormatCommand(&command, "RPUSH %s %b", "pair", value, (size_t)SMALL_BYTES);
    redisReply *pushed = ask(connection, command, bytes);
    bytes = redisFormatCommand(&command, "BLPOP %s 0", "pair");
    redisReply *popped = ask(connection, command, bytes);
    if (pushed->type != REDIS_REPLY_INTEGER || popped->type != REDIS_REPLY_ARRAY || popped->elements != 2 ||
        popped->element[1]->len != SMALL_BYTES) {
        fprintf(stderr, "redis-server answers something else\n");
        exit(EXIT_BROKEN);
    }
    freeReplyObject(pushed);
    freeReplyObject(popped);
}

int main(int count, char **arguments)
{
    static const char name[] = "pair-64-tls", value[SMALL_BYTES];
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    if (!case_selected(&options, name))
        return 0;
    signal(SIGPIPE, SIG_IGN);
    struct server server = start_tls_server(options.cpus[1]);
    struct connection connection = connect_tls(&server);
    remove_directory(&server);
    pin_to(options.cpus[0]);
    for (long round = 0; round < options.rounds; round++) {
        struct samples samples = new_samples(options.iterations, 1);
        for (long done = 0; done < options.warmup; done++)
            exchange(&connection, value);
        uint64_t start = now_ns();
        while (samples.count < samples.capacity) {
            exchange(&connection, value);
            start = add_sample(&samples, start);
        }
        report_times(PEER, name, &samples);
        free_samples(&samples);
    }
    disconnect(&connection);
    stop_server(&server);
    return 0;
}

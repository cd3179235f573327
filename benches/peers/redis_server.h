/* A private redis-server, which keeps nothing unless it is told to sync every command, and connections to it over a Unix socket or TCP on the loopback interface. Its port may ask for TLS.
 *
 * It ends when this process dies. The socket's file and directory are removed once every client is connected, so that nothing
 * stays behind however the run ends; one that keeps its commands has a directory on the disk until it is stopped. It has a TCP port only where that is measured, until the run ends. */
#ifndef PEER_REDIS_SERVER_H
#define PEER_REDIS_SERVER_H

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <time.h>

#include "folder.h"
#include "options.h"
#include "ports.h"
#include "sides.h"

enum { START_TRIES = 5000, PORT_DIGITS = 8, MOST_ARGUMENTS = 48, ANY_CPU = -1 };

struct server {
    pid_t process;
    int port; /* 0: it listens on its Unix socket alone */
    bool keeps;   /* every command is synced before it is answered */
    bool has_tls; /* at its port, with this certificate: the server's, the clients' and the authority's in one */
    char directory[PATH_BYTES];
    char socket[PATH_BYTES + 16];
    char certificate[PATH_BYTES + 16];
    char key[PATH_BYTES + 16];
};

/* Behind those that are there. */
static inline void add_arguments(const char *arguments[MOST_ARGUMENTS], const char *const more[])
{
    int count = 0;
    while (arguments[count] != NULL)
        count++;
    while (*more != NULL && count < MOST_ARGUMENTS - 1)
        arguments[count++] = *more++;
}

/* Replaces the forked child by the server. */
__attribute__((noreturn)) static inline void become_server(const struct server *server, int cpu, pid_t parent)
{
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        _exit(EXIT_BROKEN);
    if (cpu != ANY_CPU)
        pin_to(cpu);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_BROKEN);
    char port[PORT_DIGITS];
    snprintf(port, sizeof port, "%d", server->port);
    const char *arguments[MOST_ARGUMENTS] = {
        "redis-server", "--bind", LOOPBACK, "--unixsocket", server->socket, "--unixsocketperm", "700", "--save", "", "--daemonize",
        "no", "--dir", server->directory, "--logfile", ""};
    const char *in_the_clear[] = {"--port", port, NULL};
    const char *with_tls[] = {"--port", "0", "--tls-port", port, "--tls-cert-file", server->certificate, "--tls-key-file",
                              server->key, "--tls-ca-cert-file", server->certificate, "--tls-auth-clients", "yes",
                              "--tls-protocols", "TLSv1.3", NULL};
    const char *volatile_only[] = {"--appendonly", "no", NULL};
    /* Nothing rewrites the file meanwhile. */
    const char *kept[] = {"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", NULL};
    add_arguments(arguments, server->has_tls ? with_tls : in_the_clear);
    add_arguments(arguments, server->keeps ? kept : volatile_only);
    execvp("redis-server", (char **)arguments);
    _exit(errno == ENOENT ? EXIT_PEER_MISSING : EXIT_BROKEN);
}

static inline void remove_directory(const struct server *server)
{
    remove_folder(server->directory);
}

/* Ends the program if the server has ended before it accepted a client. */
static inline void require_running(const struct server *server)
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

/* Makes a certificate that signs itself, in the server's directory. */
static inline void make_certificate(const struct server *server)
{
    pid_t maker = fork();
    if (maker < 0)
        fail_system("fork");
    if (maker == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
            _exit(EXIT_BROKEN);
        execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
               "2", "-subj", "/CN=localhost", "-keyout", server->key, "-out", server->certificate, (char *)NULL);
        _exit(errno == ENOENT ? EXIT_PEER_MISSING : EXIT_BROKEN);
    }
    int status = 0;
    if (waitpid(maker, &status, 0) == maker && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    remove_directory(server);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PEER_MISSING) {
        fprintf(stderr, "peer missing: install with: apt-get install openssl\n");
        exit(EXIT_PEER_MISSING);
    }
    fprintf(stderr, "openssl made no certificate\n");
    exit(EXIT_BROKEN);
}

static inline struct server new_server(int port)
{
    struct server server = {.port = port};
    make_folder(server.directory, "/tmp");
    snprintf(server.socket, sizeof server.socket, "%s/redis.sock", server.directory);
    snprintf(server.certificate, sizeof server.certificate, "%s/cert.pem", server.directory);
    snprintf(server.key, sizeof server.key, "%s/key.pem", server.directory);
    return server;
}

static inline void run_server(struct server *server, int cpu)
{
    pid_t parent = getpid();
    server->process = fork();
    if (server->process < 0)
        fail_system("fork");
    if (server->process == 0)
        become_server(server, cpu, parent);
}

static inline struct server start_server(int cpu, bool over_tcp)
{
    struct server server = new_server(over_tcp ? find_free_port() : 0);
    run_server(&server, cpu);
    return server;
}

/* Every command is in a file on the disk before it is answered. */
static inline struct server start_keeping_server(int cpu)
{
    struct server server = {.keeps = true};
    make_folder_on_disk(server.directory);
    snprintf(server.socket, sizeof server.socket, "%s/redis.sock", server.directory);
    run_server(&server, cpu);
    return server;
}

static inline struct server start_tls_server(int cpu)
{
    struct server server = new_server(find_free_port());
    server.has_tls = true;
    make_certificate(&server);
    run_server(&server, cpu);
    return server;
}

/* Tries until the server listens, for about five seconds; its socket is the last that it opens. */
static inline redisContext *connect_socket(const struct server *server)
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

/* A connection over what is measured. */
static inline redisContext *connect_client(const struct server *server)
{
    redisContext *client = connect_socket(server);
    if (server->port == 0)
        return client;
    redisFree(client);
    client = redisConnect(LOOPBACK, server->port);
    if (client != NULL && client->err == 0)
        return client;
    remove_directory(server);
    fprintf(stderr, "redis-server did not answer on its port\n");
    exit(EXIT_BROKEN);
}

static inline void stop_server(const struct server *server)
{
    signal(SIGCHLD, SIG_DFL);
    if (kill(server->process, SIGTERM) != 0 || waitpid(server->process, NULL, 0) != server->process)
        fail_system("stopping redis-server");
}

#endif

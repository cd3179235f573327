/* Peer: Redis lists used as a tuple space whose every command is on the disk before it is answered (appendfsync always).
 *
 * The server has the second processor and the clients the first. It syncs once for all commands that it finds at its clients'
 * sockets together, and answers them then. The file lies below TMPDIR, or /tmp. */
#define _GNU_SOURCE
#include "crowd.h"
#include "redis_list.h"
#include "redis_server.h"

#define PEER "redis-c-always"

enum { SMALL_BYTES = 64 };

static const char value[SMALL_BYTES];

static void measure(struct redis_client *clients, long count, const struct peer_options *options)
{
    char name[64];
    snprintf(name, sizeof name, "logged-%ld", count);
    if (case_selected(options, name))
        report_crowd(PEER, name, "pairs/s", exchange_pair, clients, sizeof *clients, count, options);
}

int main(int count, char **arguments)
{
    static const long crowds[] = {1, 16};
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    struct server server = start_keeping_server(options.cpus[1]);
    struct redis_client clients[16];
    for (size_t index = 0; index < sizeof clients / sizeof *clients; index++)
        clients[index] = (struct redis_client){connect_client(&server), value, SMALL_BYTES};
    pin_to(options.cpus[0]);
    for (long round = 0; round < options.rounds; round++)
        for (size_t index = 0; index < sizeof crowds / sizeof *crowds; index++)
            measure(clients, crowds[index], &options);
    stop_server(&server);
    remove_directory(&server);
    for (size_t index = 0; index < sizeof clients / sizeof *clients; index++)
        redisFree(clients[index].connection);
    return 0;
}

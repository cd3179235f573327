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

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    struct server server = start_keeping_server(options.cpus[1]);
    struct redis_client clients[CROWD];
    for (size_t index = 0; index < CROWD; index++)
        clients[index] = (struct redis_client){connect_client(&server), value, SMALL_BYTES};
    pin_to(options.cpus[0]);
    report_one_and_crowd(PEER, "logged", "pairs/s", exchange_pair, clients, sizeof *clients, &options);
    stop_server(&server);
    remove_directory(&server);
    for (size_t index = 0; index < CROWD; index++)
        redisFree(clients[index].connection);
    return 0;
}

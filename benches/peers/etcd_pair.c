/* Peer: keys of an etcd cluster used as a tuple space: a put writes a key, a delete takes it and returns what was there.
 *
 * Three members on this machine, which sync their logs as they do by default, below TMPDIR, or /tmp. Each client has a thread, a connection to the
 * leader and a key of its own: nobody meets anybody. No processor is chosen for anybody. */
#define _GNU_SOURCE
#include "crowd.h"
#include "etcd_cluster.h"

#define PEER "etcd-3"

enum { MEMBERS = 3, SMALL_BYTES = 64 };

static const char value[SMALL_BYTES] = "0123456789012345678901234567890123456789012345678901234567890";

/* A client, and the messages of its key (etcdserverpb.PutRequest, DeleteRangeRequest). */
struct client {
    struct grpc call;
    unsigned char put[128], take[64];
    size_t put_bytes, take_bytes;
};

static void prepare_client(struct client *client, int port, long index)
{
    char key[32];
    int length = snprintf(key, sizeof key, "pair/%ld", index);
    if (!begin_grpc(&client->call, port))
        fail_system("connect to etcd");
    client->put_bytes = (size_t)snprintf((char *)client->put, sizeof client->put, "\x0a%c%s\x12%c", length, key, SMALL_BYTES);
    memcpy(client->put + client->put_bytes, value, SMALL_BYTES);
    client->put_bytes += SMALL_BYTES;
    /* prev_kv: what was there is returned. */
    client->take_bytes = (size_t)snprintf((char *)client->take, sizeof client->take, "\x0a%c%s\x18\x01", length, key);
}

static void exchange(void *argument)
{
    struct client *client = argument;
    ask_grpc(&client->call, "/etcdserverpb.KV/Put", client->put, client->put_bytes);
    ask_grpc(&client->call, "/etcdserverpb.KV/DeleteRange", client->take, client->take_bytes);
    if (memmem(client->call.answer, client->call.answer_bytes, value, SMALL_BYTES) == NULL)
        fail_grpc("DeleteRange");
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    struct etcd_cluster cluster = {.count = MEMBERS};
    static struct client clients[CROWD];
    make_folder_on_disk(cluster.folder);
    start_cluster(&cluster);
    int leader = find_leader(&cluster);
    for (long index = 0; index < CROWD; index++)
        prepare_client(&clients[index], leader, index);
    report_one_and_crowd(PEER, "replicated", "pairs/s", exchange, clients, sizeof *clients, &options);
    stop_cluster(&cluster);
    return 0;
}

/* Peer: keys of an etcd cluster used as a tuple space: a put writes a key, a delete takes it and returns what was there.
 *
 * Three members on this machine, which sync their logs as they do by default, below TMPDIR, or /tmp. Each client has a thread, a connection to the
 * leader and a key of its own: nobody meets anybody. No processor is chosen for anybody. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "crowd.h"
#include "folder.h"
#include "grpc.h"

#define PEER "etcd-3"

enum { MEMBERS = 3, CLIENTS = 16, SMALL_BYTES = 64, START_TRIES = 3000, TEXT_BYTES = 512 };

static const char value[SMALL_BYTES] = "0123456789012345678901234567890123456789012345678901234567890";

struct cluster {
    char folder[PATH_BYTES];
    int ports[2 * MEMBERS]; /* of each for clients, and for the others */
    pid_t members[MEMBERS];
};

/* A client, and the messages of its key (etcdserverpb.PutRequest, DeleteRangeRequest). */
struct client {
    struct grpc call;
    unsigned char put[128], take[64];
    size_t put_bytes, take_bytes;
};

/* Replaces the forked child by a member. */
__attribute__((noreturn)) static void become_member(const struct cluster *cluster, int index, pid_t parent)
{
    char name[8], data[TEXT_BYTES], client[64], peer[64], all[TEXT_BYTES];
    const int *ports = cluster->ports;
    snprintf(name, sizeof name, "m%d", index);
    snprintf(data, sizeof data, "%s/%d", cluster->folder, index);
    snprintf(client, sizeof client, "http://" LOOPBACK ":%d", ports[2 * index]);
    snprintf(peer, sizeof peer, "http://" LOOPBACK ":%d", ports[2 * index + 1]);
    snprintf(all, sizeof all, "m0=http://" LOOPBACK ":%d,m1=http://" LOOPBACK ":%d,m2=http://" LOOPBACK ":%d", ports[1], ports[3],
             ports[5]);
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
        _exit(EXIT_BROKEN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_BROKEN);
    execlp("etcd", "etcd", "--name", name, "--data-dir", data, "--listen-client-urls", client, "--advertise-client-urls", client,
           "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", all, "--initial-cluster-state",
           "new", "--logger", "zap", "--log-level", "error", (char *)NULL);
    _exit(errno == ENOENT ? EXIT_PEER_MISSING : EXIT_BROKEN);
}

static void start_cluster(struct cluster *cluster)
{
    make_folder_on_disk(cluster->folder);
    for (int index = 0, port = FIRST_PORT + getpid() % PORTS; index < 2 * MEMBERS; index++, port++)
        port = cluster->ports[index] = find_port_from(port);
    pid_t parent = getpid();
    for (int index = 0; index < MEMBERS; index++) {
        cluster->members[index] = fork();
        if (cluster->members[index] < 0)
            fail_system("fork");
        if (cluster->members[index] == 0)
            become_member(cluster, index, parent);
    }
}

static void stop_cluster(const struct cluster *cluster)
{
    for (int index = 0; index < MEMBERS; index++)
        kill(cluster->members[index], SIGKILL);
    for (int index = 0; index < MEMBERS; index++)
        waitpid(cluster->members[index], NULL, 0);
    remove_folder(cluster->folder);
}

/* Ends the program if a member has ended. */
static void require_running(struct cluster *cluster)
{
    for (int index = 0; index < MEMBERS; index++) {
        int status = 0;
        if (waitpid(cluster->members[index], &status, WNOHANG) == 0)
            continue;
        bool is_missing = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PEER_MISSING;
        stop_cluster(cluster);
        fputs(is_missing ? "peer missing: install with: apt-get install etcd-server\n" : "a member of etcd ended while it started\n",
              stderr);
        exit(is_missing ? EXIT_PEER_MISSING : EXIT_BROKEN);
    }
}

static uint64_t read_varint(const unsigned char **at, const unsigned char *end)
{
    uint64_t number = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    return number;
}

/* A number of a message (fields of type varint and length-delimited), or 0; where the field has bytes, they are found there. */
static uint64_t find_field(const unsigned char *at, const unsigned char *end, uint64_t field, const unsigned char **bytes)
{
    while (at < end) {
        uint64_t key = read_varint(&at, end), number = read_varint(&at, end);
        bool has_bytes = (key & 7) == 2;
        if (key >> 3 == field) {
            if (has_bytes && bytes != NULL)
                *bytes = at;
            return number;
        }
        if (has_bytes)
            at += number < (uint64_t)(end - at) ? number : (uint64_t)(end - at);
    }
    return 0;
}

/* Whether the member leads: by etcdserverpb.StatusResponse, the header's member_id and the leader. */
static bool leads(struct grpc *call)
{
    ask_grpc(call, "/etcdserverpb.Maintenance/Status", "", 0);
    const unsigned char *message = call->answer + GRPC_PREFIX_BYTES, *end = call->answer + call->answer_bytes, *header = message;
    uint64_t header_bytes = find_field(message, end, 1, &header);
    uint64_t leader = find_field(message, end, 4, NULL);
    return leader != 0 && header_bytes <= (uint64_t)(end - header) && find_field(header, header + header_bytes, 2, NULL) == leader;
}

/* The port of the member that leads, once one does. */
static int find_leader(struct cluster *cluster)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    static struct grpc call;
    for (int attempt = 0; attempt < START_TRIES; attempt++) {
        require_running(cluster);
        int port = cluster->ports[2 * (attempt % MEMBERS)];
        if (begin_grpc(&call, port)) {
            bool is_leader = leads(&call);
            close(call.socket);
            if (is_leader)
                return port;
        }
        nanosleep(&pause, NULL);
    }
    stop_cluster(cluster);
    fprintf(stderr, "no member of etcd leads\n");
    exit(EXIT_BROKEN);
}

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
    static const long crowds[] = {1, CLIENTS};
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    struct cluster cluster;
    static struct client clients[CLIENTS];
    start_cluster(&cluster);
    int leader = find_leader(&cluster);
    for (long index = 0; index < CLIENTS; index++)
        prepare_client(&clients[index], leader, index);
    for (long round = 0; round < options.rounds; round++)
        for (size_t index = 0; index < sizeof crowds / sizeof *crowds; index++) {
            char name[64];
            snprintf(name, sizeof name, "replicated-%ld", crowds[index]);
            if (case_selected(&options, name))
                report_crowd(PEER, name, "pairs/s", exchange, clients, sizeof *clients, crowds[index], &options);
        }
    stop_cluster(&cluster);
    return 0;
}

/* Members of etcd on this machine, which end with the program, and the messages of its interface as far as they are read.
 *
 * Their files are in the folder that the cluster is given, which is removed when they are stopped. */
#ifndef PEER_ETCD_CLUSTER_H
#define PEER_ETCD_CLUSTER_H

#include <fcntl.h>
#include <time.h>

#include "folder.h"
#include "grpc.h"

enum { MOST_ETCD_MEMBERS = 3, START_TRIES = 3000, TEXT_BYTES = 512 };

struct etcd_cluster {
    int count;
    char folder[PATH_BYTES];
    int ports[2 * MOST_ETCD_MEMBERS]; /* of each for clients, and for the others */
    pid_t members[MOST_ETCD_MEMBERS];
};

/* Replaces the forked child by a member. */
__attribute__((noreturn)) static inline void become_etcd(const struct etcd_cluster *cluster, int index, pid_t parent)
{
    char name[16], data[TEXT_BYTES], client[64], peer[64], all[TEXT_BYTES];
    const int *ports = cluster->ports;
    snprintf(name, sizeof name, "m%d", index);
    snprintf(data, sizeof data, "%s/%d", cluster->folder, index);
    snprintf(client, sizeof client, "http://" LOOPBACK ":%d", ports[2 * index]);
    snprintf(peer, sizeof peer, "http://" LOOPBACK ":%d", ports[2 * index + 1]);
    for (int other = 0, length = 0; other < cluster->count; other++)
        length += snprintf(all + length, sizeof all - (size_t)length, "%sm%d=http://" LOOPBACK ":%d", other > 0 ? "," : "", other,
                           ports[2 * other + 1]);
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

/* In the folder that it has. */
static inline void start_cluster(struct etcd_cluster *cluster)
{
    for (int index = 0, port = FIRST_PORT + getpid() % PORTS; index < 2 * cluster->count; index++, port++)
        port = cluster->ports[index] = find_port_from(port);
    pid_t parent = getpid();
    for (int index = 0; index < cluster->count; index++) {
        cluster->members[index] = fork();
        if (cluster->members[index] < 0)
            fail_system("fork");
        if (cluster->members[index] == 0)
            become_etcd(cluster, index, parent);
    }
}

static inline void stop_cluster(const struct etcd_cluster *cluster)
{
    for (int index = 0; index < cluster->count; index++)
        kill(cluster->members[index], SIGKILL);
    for (int index = 0; index < cluster->count; index++)
        waitpid(cluster->members[index], NULL, 0);
    remove_folder(cluster->folder);
}

/* Ends the program if a member has ended. */
static inline void require_running(struct etcd_cluster *cluster)
{
    for (int index = 0; index < cluster->count; index++) {
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

static inline uint64_t read_varint(const unsigned char **at, const unsigned char *end)
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
static inline uint64_t find_field(const unsigned char *at, const unsigned char *end, uint64_t field, const unsigned char **bytes)
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
static inline bool leads(struct grpc *call)
{
    ask_grpc(call, "/etcdserverpb.Maintenance/Status", "", 0);
    const unsigned char *message = call->answer + GRPC_PREFIX_BYTES, *end = call->answer + call->answer_bytes, *header = message;
    uint64_t header_bytes = find_field(message, end, 1, &header);
    uint64_t leader = find_field(message, end, 4, NULL);
    return leader != 0 && header_bytes <= (uint64_t)(end - header) && find_field(header, header + header_bytes, 2, NULL) == leader;
}

/* The port of the member that leads, once one does. */
static inline int find_leader(struct etcd_cluster *cluster)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    static struct grpc call;
    for (int attempt = 0; attempt < START_TRIES; attempt++) {
        require_running(cluster);
        int port = cluster->ports[2 * (attempt % cluster->count)];
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

#endif

/* Servers of NATS on this machine in one cluster, which end with the program, and a stream that all of them keep.
 *
 * They sync all that JetStream writes before they go on, which those up to 2.9 cannot; the Makefile has put a newer one beside the program. Their
 * settings, logs and files are in the folder that the cluster is given, which is removed when they are stopped. */
#ifndef PEER_NATS_CLUSTER_H
#define PEER_NATS_CLUSTER_H

#include <fcntl.h>
#include <limits.h>
#include <time.h>

#include "folder.h"
#include "nats.h"
#include "report.h"

#define SYNC_SETTING "sync_interval"

/* What names the leader in an answer; the names of servers have one letter before their number. */
#define LEADER "\"leader\":\"m"

#define CURRENT "\"current\":true"

enum { MOST_NATS_SERVERS = 3, START_S = 20, ATTEMPT_S = 1, FILE_BYTES = PATH_BYTES + 16 };

struct nats_cluster {
    int count;
    char folder[PATH_BYTES];
    int ports[2 * MOST_NATS_SERVERS]; /* of each for clients, and for the others */
    pid_t servers[MOST_NATS_SERVERS];
};

/* What the Makefile has put beside this program. */
static inline void find_program(char path[PATH_MAX])
{
    char program[PATH_MAX - sizeof "/go/nats-server"];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        fail_system("/proc/self/exe");
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    snprintf(path, PATH_MAX, "%s/go/nats-server", program);
}

static inline void name_file(char path[FILE_BYTES], const struct nats_cluster *cluster, int index, const char *ending)
{
    snprintf(path, FILE_BYTES, "%s/%d%s", cluster->folder, index, ending);
}

/* Each server names all of them, itself too: that is how many JetStream waits for. */
static inline void write_settings(const struct nats_cluster *cluster, int index)
{
    char path[FILE_BYTES], data[FILE_BYTES];
    const int *ports = cluster->ports;
    name_file(path, cluster, index, ".conf");
    name_file(data, cluster, index, "");
    FILE *file = fopen(path, "we");
    if (file == NULL)
        fail_system(path);
    fprintf(file, "server_name: m%d\nlisten: \"" LOOPBACK ":%d\"\n", index, ports[2 * index]);
    fprintf(file, "jetstream { store_dir: \"%s\", " SYNC_SETTING ": always }\n", data);
    fprintf(file, "cluster {\n  name: pair\n  listen: \"" LOOPBACK ":%d\"\n  routes: [\n", ports[2 * index + 1]);
    for (int other = 0; other < cluster->count; other++)
        fprintf(file, "    \"nats://" LOOPBACK ":%d\"\n", ports[2 * other + 1]);
    fputs("  ]\n}\n", file);
    if (fclose(file) != 0)
        fail_system(path);
}

/* Replaces the forked child by a server. */
__attribute__((noreturn)) static inline void become_nats_server(const struct nats_cluster *cluster, int index, const char *program,
                                                                    pid_t parent)
{
    char settings[FILE_BYTES], log[FILE_BYTES];
    name_file(settings, cluster, index, ".conf");
    name_file(log, cluster, index, ".log");
    int nowhere = open("/dev/null", O_RDWR), said = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (nowhere < 0 || said < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(said, STDOUT_FILENO) < 0 || dup2(said, STDERR_FILENO) < 0)
        _exit(EXIT_BROKEN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_BROKEN);
    execl(program, "nats-server", "-c", settings, (char *)NULL);
    _exit(errno == ENOENT ? EXIT_PEER_MISSING : EXIT_BROKEN);
}

/* In the folder that it has. */
static inline void start_cluster(struct nats_cluster *cluster)
{
    char program[PATH_MAX];
    find_program(program);
    for (int index = 0, port = FIRST_PORT + getpid() % PORTS; index < 2 * cluster->count; index++, port++)
        port = cluster->ports[index] = find_port_from(port);
    pid_t parent = getpid();
    for (int index = 0; index < cluster->count; index++) {
        write_settings(cluster, index);
        cluster->servers[index] = fork();
        if (cluster->servers[index] < 0)
            fail_system("fork");
        if (cluster->servers[index] == 0)
            become_nats_server(cluster, index, program, parent);
    }
}

static inline void stop_cluster(const struct nats_cluster *cluster)
{
    for (int index = 0; index < cluster->count; index++)
        kill(cluster->servers[index], SIGKILL);
    for (int index = 0; index < cluster->count; index++)
        waitpid(cluster->servers[index], NULL, 0);
    remove_folder(cluster->folder);
}

/* The last line that a server has said, but for empty ones: an error if that has ended it. */
static inline void read_last_line(const struct nats_cluster *cluster, int index, char line[LINE_BYTES])
{
    char path[FILE_BYTES], next[LINE_BYTES];
    name_file(path, cluster, index, ".log");
    *line = '\0';
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(next, sizeof next, file) != NULL)
        if (*next != '\n')
            snprintf(line, LINE_BYTES, "%.*s", (int)strcspn(next, "\n"), next);
    if (file != NULL)
        fclose(file);
}

/* Ends the program if a server has ended. */
static inline void require_running(const struct nats_cluster *cluster)
{
    for (int index = 0; index < cluster->count; index++) {
        char line[LINE_BYTES];
        siginfo_t ended = {0};
        /* It is left to be waited for, so that its number is nobody else's when all are stopped. */
        if (waitid(P_PID, (id_t)cluster->servers[index], &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
            continue;
        read_last_line(cluster, index, line);
        stop_cluster(cluster);
        if (ended.si_code == CLD_EXITED && ended.si_status == EXIT_PEER_MISSING) {
            fputs("peer missing: install with: make -C benches/peers\n", stderr);
            exit(EXIT_PEER_MISSING);
        }
        if (strstr(line, SYNC_SETTING) != NULL)
            fputs("nats-server is too old: it knows no " SYNC_SETTING ", which 2.15 has\n", stderr);
        fprintf(stderr, "a nats-server ended while it started: %s\n", line);
        exit(EXIT_BROKEN);
    }
}

/* How long a connection waits for what comes next. */
static inline void limit_waiting(const struct nats *nats, long seconds)
{
    const struct timeval limit = {.tv_sec = seconds};
    if (setsockopt(nats->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
        fail_system("SO_RCVTIMEO");
}

/* Whether a server has the request answered, by a connection of its own: nobody answers one that came before there was a leader. */
static inline bool has_answer(struct nats *nats, int port, const char *subject, const char *request)
{
    struct nats_message message;
    if (!begin_nats(nats, port, "answers", false))
        return false;
    limit_waiting(nats, ATTEMPT_S);
    publish(nats, subject, request, strlen(request));
    bool is_answered = find_message(nats, &message);
    if (is_answered)
        keep_answer(nats, &message);
    close(nats->socket);
    return is_answered;
}

/* Asks one server after another until an answer will do, which is in `answer` then. */
static inline void ask_cluster(const struct nats_cluster *cluster, struct nats *nats, const char *subject, const char *request,
                               bool (*will_do)(const char *answer))
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    uint64_t end_ns = now_ns() + (uint64_t)START_S * 1000000000u;
    for (int attempt = 0; now_ns() < end_ns; attempt++) {
        require_running(cluster);
        if (has_answer(nats, cluster->ports[2 * (attempt % cluster->count)], subject, request) && will_do(nats->answer))
            return;
        nanosleep(&pause, NULL);
    }
    stop_cluster(cluster);
    fail_nats(*nats->answer != '\0' ? nats->answer : "no server of the cluster answers");
}

static inline bool is_success(const char *answer)
{
    return strstr(answer, "\"error\"") == NULL;
}

/* Whether the stream has a leader and two others that have what it has. */
static inline bool is_led(const char *answer)
{
    const char *first = strstr(answer, CURRENT);
    return is_success(answer) && strstr(answer, LEADER) != NULL && first != NULL && strstr(first + 1, CURRENT) != NULL;
}

/* Makes a stream, once the cluster has a leader; returns the port of the server that leads the stream, once one does. */
static inline int make_stream(const struct nats_cluster *cluster, const char *name, const char *request)
{
    static struct nats nats;
    char subject[LINE_BYTES];
    snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", name);
    ask_cluster(cluster, &nats, subject, request, is_success);
    snprintf(subject, sizeof subject, "$JS.API.STREAM.INFO.%s", name);
    ask_cluster(cluster, &nats, subject, "", is_led);
    int leader = atoi(strstr(nats.answer, LEADER) + sizeof LEADER - 1);
    if (leader < 0 || leader >= cluster->count)
        fail_nats(nats.answer);
    return cluster->ports[2 * leader];
}

#endif

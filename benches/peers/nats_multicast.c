/* Peer: a stream of NATS JetStream that each member publishes to and consumes, in the order of the stream.
 *
 * One server, which keeps the stream in memory, without replicas. Each member has one connection to it, over which it speaks the NATS client
 * protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol. A publication is acknowledged by the stream; the consumer of a
 * member acknowledges nothing and pushes all that is new. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "folder.h"
#include "multicast.h"
#include "nats.h"
#include "ports.h"

#define PEER "nats-jetstream"

/* The code of the server that another stream has the subject. */
#define OVERLAPS "\"err_code\":10065"

enum { START_TRIES = 1000, MAKE_TRIES = 1000 };

/* What a member has subscribed to beside the answers. */
enum { DELIVERIES = 2 };

static struct {
    pid_t process;
    int port;
    char folder[PATH_BYTES];
} server;

struct nats_member {
    struct nats nats;
    char subject[64]; /* of the group */
};

__attribute__((noreturn)) static void become_nats(pid_t parent)
{
    char port[16];
    snprintf(port, sizeof port, "%d", server.port);
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
        _exit(EXIT_BROKEN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_BROKEN);
    execlp("nats-server", "nats-server", "-js", "-sd", server.folder, "-a", LOOPBACK, "-p", port, (char *)NULL);
    _exit(errno == ENOENT ? EXIT_PEER_MISSING : EXIT_BROKEN);
}

static void start_nats(void)
{
    make_folder(server.folder, "/tmp");
    server.port = find_free_port();
    pid_t parent = getpid();
    server.process = fork();
    if (server.process < 0)
        fail_system("fork");
    if (server.process == 0)
        become_nats(parent);
}

/* Waits until the server listens, for about ten seconds. */
static void await_nats(void)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int attempt = 0; attempt < START_TRIES; attempt++) {
        int status = 0, client = connect_to_port(server.port);
        if (client >= 0) {
            close(client);
            return;
        }
        if (waitpid(server.process, &status, WNOHANG) != 0) {
            bool is_missing = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PEER_MISSING;
            remove_folder(server.folder);
            fputs(is_missing ? "peer missing: install with: apt-get install nats-server\n" : "nats-server ended while it started\n",
                  stderr);
            exit(is_missing ? EXIT_PEER_MISSING : EXIT_BROKEN);
        }
        nanosleep(&pause, NULL);
    }
    kill(server.process, SIGKILL);
    remove_folder(server.folder);
    fputs("nats-server does not listen\n", stderr);
    exit(EXIT_BROKEN);
}

static void stop_nats(void)
{
    signal(SIGCHLD, SIG_DFL);
    kill(server.process, SIGKILL);
    waitpid(server.process, NULL, 0);
    remove_folder(server.folder);
}

/* Asks for the group's stream. While another member has the same one made it is told that the two overlap; when that is made, that it is there. */
static void make_stream(struct nats *nats, const char *subject, const char *request)
{
    struct nats_message message = answer_to(nats, subject, request);
    for (int tries = 0; tries < MAKE_TRIES && answers(nats, &message, OVERLAPS); tries++) {
        usleep(1000);
        message = answer_to(nats, subject, request);
    }
    require_success(nats, &message);
}

/* Makes the group's stream and a consumer of it. It is no error that another member has made the same stream. */
static void *join(const struct part *part)
{
    static struct nats_member member;
    char inbox[32], line[LINE_BYTES], subject[LINE_BYTES];
    snprintf(inbox, sizeof inbox, "answers.%d", getpid());
    if (!begin_nats(&member.nats, server.port, inbox, false))
        fail_system("connect to nats-server");
    int length = snprintf(line, sizeof line, "SUB deliveries.%d %d\r\n", getpid(), DELIVERIES);
    send_all(&member.nats, line, (size_t)length);
    snprintf(member.subject, sizeof member.subject, "bench-%u", part->group);
    snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", member.subject);
    snprintf(line, sizeof line, "{\"name\":\"%s\",\"subjects\":[\"%s\"],\"storage\":\"memory\",\"num_replicas\":1}", member.subject,
             member.subject);
    make_stream(&member.nats, subject, line);
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.CREATE.%s", member.subject);
    snprintf(line, sizeof line,
             "{\"stream_name\":\"%s\",\"config\":{\"deliver_policy\":\"new\",\"ack_policy\":\"none\",\"replay_policy\":\"instant\","
             "\"deliver_subject\":\"deliveries.%d\"}}",
             member.subject, getpid());
    ask(&member.nats, subject, line);
    return &member;
}

static bool send_multicast(void *joined, const struct multicast *message)
{
    const struct nats_member *member = joined;
    publish(&member->nats, member->subject, message, sizeof *message);
    return true;
}

/* Acknowledgements come between deliveries. */
static struct multicast receive_multicast(void *joined)
{
    struct nats_member *member = joined;
    struct multicast delivered;
    for (;;) {
        struct nats_message message = next_message(&member->nats);
        if (message.subscription == ANSWERS) {
            require_success(&member->nats, &message);
            continue;
        }
        if (message.bytes != sizeof delivered)
            fail_nats("a delivery of another size");
        memcpy(&delivered, message.payload, sizeof delivered);
        return delivered;
    }
}

static void take_part(void *joined, struct part *part)
{
    static const struct multicast_calls calls = {send_multicast, receive_multicast, .keeps_own_order = true};
    flow(joined, part, &calls);
}

static void leave(void *joined)
{
    const struct nats_member *member = joined;
    close(member->nats.socket);
}

int main(int count, char **arguments)
{
    static const struct multicast_peer peer = {PEER, join, take_part, leave};
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    start_nats();
    await_nats();
    report_multicasts(&peer, &options);
    stop_nats();
    return 0;
}

/* Peer: a stream of NATS JetStream that each member publishes to and consumes, in the order of the stream.
 *
 * One server, which keeps the stream in memory, without replicas. Each member has one connection to it, over which it speaks the NATS client
 * protocol: https://docs.nats.io/reference/reference-protocols/nats-protocol. A publication is acknowledged by the stream; the consumer of a
 * member acknowledges nothing and pushes all that is new. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "folder.h"
#include "multicast.h"
#include "ports.h"

#define PEER "nats-jetstream"

/* The code of the server that another stream has the subject. */
#define OVERLAPS "\"err_code\":10065"

enum { START_TRIES = 1000, MAKE_TRIES = 1000, LINE_BYTES = 512, RECEIVED_BYTES = 1 << 16, ANSWER_BYTES = 4096 };

/* What a member has subscribed to. */
enum { ANSWERS = 1, DELIVERIES = 2 };

static struct {
    pid_t process;
    int port;
    char folder[PATH_BYTES];
} server;

struct nats_member {
    int socket;
    char subject[64]; /* of the group */
    size_t from, to;  /* what of `received` is not read yet */
    char received[RECEIVED_BYTES];
    char answer[ANSWER_BYTES + 1]; /* the last one */
};

/* A message of the server. */
struct nats_message {
    int subscription;
    size_t bytes;
    const char *payload; /* until the next one is read */
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

__attribute__((noreturn)) static void fail_nats(const char *what)
{
    fprintf(stderr, "nats-server: %s\n", what);
    exit(EXIT_BROKEN);
}

static void send_all(const struct nats_member *member, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(member->socket, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0)
            fail_system("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

static void receive_more(struct nats_member *member)
{
    memmove(member->received, member->received + member->from, member->to - member->from);
    member->to -= member->from;
    member->from = 0;
    if (member->to == sizeof member->received)
        fail_nats("a message is too long");
    ssize_t count = recv(member->socket, member->received + member->to, sizeof member->received - member->to, 0);
    if (count <= 0)
        fail_nats("the connection has ended");
    member->to += (size_t)count;
}

/* The next line, which it ends with a zero in place of the line's end. */
static char *next_line(struct nats_member *member)
{
    for (;;) {
        char *line = member->received + member->from;
        char *end = memmem(line, member->to - member->from, "\r\n", 2);
        if (end != NULL) {
            *end = '\0';
            member->from += (size_t)(end - line) + 2;
            return line;
        }
        receive_more(member);
    }
}

/* Of a line `MSG subject subscription [reply] bytes`. */
static struct nats_message read_message(struct nats_member *member, const char *line)
{
    struct nats_message message = {0};
    const char *last = strrchr(line, ' ');
    if (sscanf(line, "MSG %*s %d", &message.subscription) != 1 || sscanf(last, "%zu", &message.bytes) != 1 ||
        message.bytes > RECEIVED_BYTES / 2)
        fail_nats(line);
    while (member->to - member->from < message.bytes + 2)
        receive_more(member);
    message.payload = member->received + member->from;
    member->from += message.bytes + 2;
    return message;
}

static struct nats_message next_message(struct nats_member *member)
{
    static const char pong[] = "PONG\r\n";
    for (;;) {
        const char *line = next_line(member);
        if (strncmp(line, "MSG ", 4) == 0)
            return read_message(member, line);
        if (strcmp(line, "PING") == 0)
            send_all(member, pong, sizeof pong - 1);
        else if (strncmp(line, "INFO ", 5) != 0)
            fail_nats(line);
    }
}

/* Whether an answer of JetStream's interface has this text. */
static bool answers(struct nats_member *member, const struct nats_message *message, const char *text)
{
    size_t bytes = message->bytes < ANSWER_BYTES ? message->bytes : ANSWER_BYTES;
    memcpy(member->answer, message->payload, bytes);
    member->answer[bytes] = '\0';
    return strstr(member->answer, text) != NULL;
}

static void require_success(struct nats_member *member, const struct nats_message *message)
{
    if (answers(member, message, "\"error\""))
        fail_nats(member->answer);
}

static void publish(const struct nats_member *member, const char *subject, const void *payload, size_t bytes)
{
    char line[LINE_BYTES + ANSWER_BYTES];
    int length = snprintf(line, LINE_BYTES, "PUB %s answers.%d %zu\r\n", subject, getpid(), bytes);
    memcpy(line + length, payload, bytes);
    memcpy(line + length + bytes, "\r\n", 2);
    send_all(member, line, (size_t)length + bytes + 2);
}

static struct nats_message answer_to(struct nats_member *member, const char *subject, const char *request)
{
    publish(member, subject, request, strlen(request));
    struct nats_message message = next_message(member);
    if (message.subscription != ANSWERS)
        fail_nats("a delivery before the first multicast");
    return message;
}

/* A request of JetStream's interface. */
static void ask(struct nats_member *member, const char *subject, const char *request)
{
    struct nats_message message = answer_to(member, subject, request);
    require_success(member, &message);
}

/* Asks for the group's stream. While another member has the same one made it is told that the two overlap; when that is made, that it is there. */
static void make_stream(struct nats_member *member, const char *subject, const char *request)
{
    struct nats_message message = answer_to(member, subject, request);
    for (int tries = 0; tries < MAKE_TRIES && answers(member, &message, OVERLAPS); tries++) {
        usleep(1000);
        message = answer_to(member, subject, request);
    }
    require_success(member, &message);
}

/* Makes the group's stream and a consumer of it. It is no error that another member has made the same stream. */
static void *join(const struct part *part)
{
    static struct nats_member member;
    char line[LINE_BYTES], subject[LINE_BYTES];
    member.socket = connect_to_port(server.port);
    if (member.socket < 0)
        fail_system("connect to nats-server");
    snprintf(member.subject, sizeof member.subject, "bench-%u", part->group);
    int length = snprintf(line, sizeof line,
                          "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\",\"protocol\":1}\r\n"
                          "SUB answers.%d %d\r\nSUB deliveries.%d %d\r\n",
                          getpid(), ANSWERS, getpid(), DELIVERIES);
    send_all(&member, line, (size_t)length);
    snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", member.subject);
    snprintf(line, sizeof line, "{\"name\":\"%s\",\"subjects\":[\"%s\"],\"storage\":\"memory\",\"num_replicas\":1}", member.subject,
             member.subject);
    make_stream(&member, subject, line);
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.CREATE.%s", member.subject);
    snprintf(line, sizeof line,
             "{\"stream_name\":\"%s\",\"config\":{\"deliver_policy\":\"new\",\"ack_policy\":\"none\",\"replay_policy\":\"instant\","
             "\"deliver_subject\":\"deliveries.%d\"}}",
             member.subject, getpid());
    ask(&member, subject, line);
    return &member;
}

static bool send_multicast(void *joined, const struct multicast *message)
{
    const struct nats_member *member = joined;
    publish(member, member->subject, message, sizeof *message);
    return true;
}

/* Acknowledgements come between deliveries. */
static struct multicast receive_multicast(void *joined)
{
    struct nats_member *member = joined;
    struct multicast delivered;
    for (;;) {
        struct nats_message message = next_message(member);
        if (message.subscription == ANSWERS) {
            require_success(member, &message);
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
    close(member->socket);
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

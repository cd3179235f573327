/* Peer: a JGroups cluster whose members multicast through its fixed sequencer (the protocol SEQUENCER), or agree on the order of each message
 * by Skeen's algorithm (TOA, which versions up to 4 have).
 *
 * Each member is a Java process (jgroups/Member.java), started and asked by a process of this program over pipes; it takes the times itself, by
 * the same clock. JGroups's own stack with SEQUENCER is used as it is, and one like it with TOA, over IP multicast, or with the transport of its
 * TCP stack. All are in a network of the program's own, with a loopback interface alone. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <limits.h>
#include <poll.h>

#include "multicast.h"
#include "own_network.h"
#include "ports.h"

/* The Java process of a member. */
struct java_member {
    pid_t process;
    int ask;
    int answer;
};

static char class_path[3 * PATH_MAX];
static const char *order = "sequencer";
static const char *transport = "udp";
static long join_s = 120;

/* What the Makefile has put beside this program, for each order: what was compiled with JGroups, whose stacks are used rather than its own of the
 * same name, and JGroups. */
static void find_classes(void)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        fail_system("/proc/self/exe");
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    snprintf(class_path, sizeof class_path, "%s/jgroups/%s:%s/jgroups/%s/jgroups.jar", program, order, program, order);
}

/* Ends the program if there is no Java, before any process is started. */
static void require_java(void)
{
    char path[PATH_MAX];
    const char *all = getenv("PATH"), *rest = all != NULL ? all : "";
    while (*rest != '\0') {
        size_t length = strcspn(rest, ":");
        snprintf(path, sizeof path, "%.*s/java", (int)length, rest);
        if (access(path, X_OK) == 0)
            return;
        rest += length + (rest[length] == ':');
    }
    fputs("peer missing: install with: apt-get install openjdk-17-jdk-headless\n", stderr);
    exit(EXIT_PEER_MISSING);
}

/* Replaces the forked child by the Java process. */
__attribute__((noreturn)) static void become_java(const struct part *part, int asked, int answers, pid_t parent)
{
    char name[32], member[16], members[16], stack[32];
    if (dup2(asked, STDIN_FILENO) < 0 || dup2(answers, STDOUT_FILENO) < 0)
        _exit(EXIT_BROKEN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_BROKEN);
    snprintf(name, sizeof name, "bench-%u", part->group);
    snprintf(member, sizeof member, "%u", part->member);
    snprintf(members, sizeof members, "%u", part->members);
    snprintf(stack, sizeof stack, strcmp(transport, "udp") == 0 ? "%s.xml" : "%s-tcp.xml", order);
    execlp("java", "java", "-cp", class_path, "-Djava.net.preferIPv4Stack=true", "-Djgroups.bind_addr=" LOOPBACK,
           "-Djgroups.udp.ip_ttl=0", "Member", stack, name, member, members, (char *)NULL);
    _exit(EXIT_BROKEN);
}

static void read_all(int from, void *to, size_t bytes)
{
    for (char *next = to; bytes > 0;) {
        ssize_t count = read(from, next, bytes);
        if (count <= 0) {
            fprintf(stderr, "a member of JGroups ended early\n");
            exit(EXIT_BROKEN);
        }
        next += count;
        bytes -= (size_t)count;
    }
}

static uint64_t read_number(int from)
{
    uint64_t number;
    read_all(from, &number, sizeof number);
    return be64toh(number);
}

/* Waits until all have joined: the Java process says how many it sees, whenever that changes. */
static void await_members(int answer, uint32_t members)
{
    unsigned char seen = 0;
    uint64_t end_ns = now_ns() + (uint64_t)join_s * 1000000000u;
    while (seen < members) {
        struct pollfd next = {.fd = answer, .events = POLLIN};
        uint64_t now = now_ns();
        if (now >= end_ns) {
            fprintf(stderr, "the group has not formed: a member of JGroups saw %u of %u members after %ld s\n", seen, members, join_s);
            exit(EXIT_BROKEN);
        }
        if (poll(&next, 1, (int)((end_ns - now) / 1000000) + 1) > 0)
            read_all(answer, &seen, sizeof seen);
    }
}

/* Starts it, and waits until all have joined. */
static void *join(const struct part *part)
{
    static struct java_member java;
    int ask[2], answer[2];
    pid_t parent = getpid();
    if (pipe2(ask, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0)
        fail_system("pipe");
    java = (struct java_member){.process = fork(), .ask = ask[1], .answer = answer[0]};
    if (java.process < 0)
        fail_system("fork");
    if (java.process == 0)
        become_java(part, ask[0], answer[1], parent);
    close(ask[0]);
    close(answer[1]);
    await_members(java.answer, part->members);
    return &java;
}

static void take_part(void *joined, struct part *part)
{
    const struct java_member *java = joined;
    uint32_t count = htonl(part->count);
    if (write(java->ask, &count, sizeof count) != sizeof count)
        fail_system("write");
    part->started_ns = read_number(java->answer);
    part->ended_ns = read_number(java->answer);
    part->order = read_number(java->answer);
    for (uint32_t number = 0; number < part->count; number++)
        part->latencies_ns[number] = read_number(java->answer);
}

static void leave(void *joined)
{
    const struct java_member *java = joined;
    close(java->ask);
    waitpid(java->process, NULL, 0);
}

static void require_one_of(const char *option, const char *value, const char *one, const char *other)
{
    if (strcmp(value, one) != 0 && strcmp(value, other) != 0)
        fail_usage("%s: expected %s or %s, got '%s'", option, one, other, value);
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = "--order", .text = &order},
                                         {.name = "--transport", .text = &transport},
                                         {.name = "--join-s", .number = &join_s, .least = 1, .most = 3600},
                                         {.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    require_one_of("--order", order, "sequencer", "toa");
    require_one_of("--transport", transport, "udp", "tcp");
    const struct multicast_peer peer = {strcmp(order, "toa") == 0 ? "jgroups-toa" : "jgroups-sequencer", join, take_part, leave};
    find_classes();
    require_java();
    if (!enter_own_network())
        fail_system("a network of the program's own");
    report_multicasts(&peer, &options);
    return 0;
}

/* Peer: a closed process group of corosync (CPG), to which each member multicasts, in agreed order.
 *
 * One corosync, as a machine has it, serves all members of this machine; the ring has no other node. It lies in namespaces of the program's
 * own, with a loopback interface alone and with a /run and a /dev/shm that go with the program: its lock file and the names of its sockets are
 * the same for every corosync, so that one of the machine is not disturbed. It is scheduled as any process, not in real time as it does by default. */
#define _GNU_SOURCE
#include <corosync/cpg.h>
#include <sys/stat.h>

#include "multicast.h"
#include "own_mounts.h"
#include "ports.h"

#define PEER "corosync-cpg"
#define FOLDER "/run/quintet-peer"
#define CONFIGURATION FOLDER "/corosync.conf"

enum { START_TRIES = 3000 };

static const char configuration[] = "totem {\n"
                                    "  version: 2\n"
                                    "  cluster_name: bench\n"
                                    "  transport: udpu\n"
                                    "  crypto_cipher: none\n"
                                    "  crypto_hash: none\n"
                                    "}\n"
                                    "nodelist {\n"
                                    "  node {\n"
                                    "    ring0_addr: " LOOPBACK "\n"
                                    "    nodeid: 1\n"
                                    "  }\n"
                                    "}\n"
                                    "system {\n"
                                    "  sched_rr: no\n"
                                    "  move_to_root_cgroup: no\n"
                                    "  state_dir: " FOLDER "\n"
                                    "}\n"
                                    "logging {\n"
                                    "  to_stderr: no\n"
                                    "  to_syslog: no\n"
                                    "}\n"
                                    "uidgid {\n" /* who may use it beside the superuser */
                                    "  uid: %u\n"
                                    "  gid: %u\n"
                                    "}\n";

/* A member, and what it delivers next. */
struct cpg_member {
    cpg_handle_t handle;
    uint32_t present; /* members of the group, as it knows them */
    bool has_delivered;
    struct multicast delivered;
};

__attribute__((noreturn)) static void fail_cpg(const char *what, cs_error_t error)
{
    fprintf(stderr, "%s: %s\n", what, cs_strerror(error));
    exit(EXIT_BROKEN);
}

/* What corosync writes, and where it listens, is its own from here on, as seen by this process and its children. */
static void isolate(void)
{
    /* Their numbers are the same inside. */
    const unsigned user = geteuid(), group = getegid();
    enter_own_mounts();
    mount_own("/run");
    mount_own("/dev/shm");
    if (mkdir(FOLDER, 0700) != 0)
        fail_system(FOLDER);
    FILE *file = fopen(CONFIGURATION, "w");
    if (file == NULL || fprintf(file, configuration, user, group) < 0 || fclose(file) != 0)
        fail_system(CONFIGURATION);
}

/* Replaces the forked child by the daemon. */
__attribute__((noreturn)) static void become_corosync(pid_t parent)
{
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
        _exit(EXIT_BROKEN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_BROKEN);
    execlp("corosync", "corosync", "-f", "-c", CONFIGURATION, (char *)NULL);
    _exit(errno == ENOENT ? EXIT_PEER_MISSING : EXIT_BROKEN);
}

static pid_t start_corosync(void)
{
    pid_t parent = getpid(), process = fork();
    if (process < 0)
        fail_system("fork");
    if (process == 0)
        become_corosync(parent);
    return process;
}

/* Ends the program if the daemon has ended. */
static void require_running(pid_t process)
{
    int status = 0;
    if (waitpid(process, &status, WNOHANG) == 0)
        return;
    bool is_missing = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PEER_MISSING;
    fputs(is_missing ? "peer missing: install with: apt-get install libcpg-dev corosync\n" : "corosync ended while it started\n", stderr);
    exit(is_missing ? EXIT_PEER_MISSING : EXIT_BROKEN);
}

static void keep(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t process, void *message, size_t bytes)
{
    struct cpg_member *member = NULL;
    (void)group, (void)node, (void)process;
    cs_error_t error = cpg_context_get(handle, (void **)&member);
    if (error != CS_OK || bytes != sizeof member->delivered)
        fail_cpg("a delivery", error);
    memcpy(&member->delivered, message, bytes);
    member->has_delivered = true;
}

static void count_members(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members, size_t count,
                          const struct cpg_address *left, size_t left_count, const struct cpg_address *joined, size_t joined_count)
{
    struct cpg_member *member = NULL;
    (void)group, (void)members, (void)left, (void)left_count, (void)joined, (void)joined_count;
    cs_error_t error = cpg_context_get(handle, (void **)&member);
    if (error != CS_OK)
        fail_cpg("a change of the group", error);
    member->present = (uint32_t)count;
}

/* Tries until corosync is there, for about half a minute. */
static cpg_handle_t connect_cpg(pid_t process)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    cpg_model_v1_data_t model = {.model = CPG_MODEL_V1, .cpg_deliver_fn = keep, .cpg_confchg_fn = count_members};
    cs_error_t error = CS_OK;
    for (int attempt = 0; attempt < START_TRIES; attempt++) {
        cpg_handle_t handle;
        error = cpg_model_initialize(&handle, CPG_MODEL_V1, (cpg_model_data_t *)&model, NULL);
        if (error == CS_OK)
            return handle;
        if (process != 0)
            require_running(process);
        nanosleep(&pause, NULL);
    }
    fail_cpg("cpg_model_initialize", error);
}

static void dispatch_one(struct cpg_member *member)
{
    cs_error_t error = cpg_dispatch(member->handle, CS_DISPATCH_ONE);
    if (error != CS_OK)
        fail_cpg("cpg_dispatch", error);
}

/* Joins, and waits until all have. Each group has a name of its own, as members of the one before may not have left yet. */
static void *join(const struct part *part)
{
    static struct cpg_member member;
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    struct cpg_name group;
    cs_error_t error;
    group.length = (size_t)snprintf(group.value, sizeof group.value, "bench-%u", part->group);
    member.handle = connect_cpg(0);
    cpg_context_set(member.handle, &member);
    while ((error = cpg_join(member.handle, &group)) == CS_ERR_TRY_AGAIN)
        nanosleep(&pause, NULL);
    if (error != CS_OK)
        fail_cpg("cpg_join", error);
    while (member.present < part->members)
        dispatch_one(&member);
    return &member;
}

static bool send_multicast(void *joined, const struct multicast *message)
{
    const struct cpg_member *member = joined;
    struct iovec bytes = {(void *)message, sizeof *message};
    cs_error_t error = cpg_mcast_joined(member->handle, CPG_TYPE_AGREED, &bytes, 1);
    if (error != CS_OK && error != CS_ERR_TRY_AGAIN)
        fail_cpg("cpg_mcast_joined", error);
    return error == CS_OK;
}

static struct multicast receive_multicast(void *joined)
{
    struct cpg_member *member = joined;
    member->has_delivered = false;
    while (!member->has_delivered)
        dispatch_one(member);
    return member->delivered;
}

static void take_part(void *joined, struct part *part)
{
    static const struct multicast_calls calls = {send_multicast, receive_multicast, .keeps_own_order = true};
    flow(joined, part, &calls);
}

static void leave(void *joined)
{
    const struct cpg_member *member = joined;
    cpg_finalize(member->handle);
}

int main(int count, char **arguments)
{
    static const struct multicast_peer peer = {PEER, join, take_part, leave};
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    isolate();
    pid_t process = start_corosync();
    cpg_finalize(connect_cpg(process));
    report_multicasts(&peer, &options);
    signal(SIGCHLD, SIG_DFL);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    return 0;
}

/* A network namespace of the program's own, for launchers that insist on listening on every interface.
 *
 * Inside it there is only a loopback interface, so whatever a program started here listens on cannot be reached from
 * outside. Shared memory, files and processes are not affected. */
#ifndef PEER_OWN_NETWORK_H
#define PEER_OWN_NETWORK_H

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline bool write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = (ssize_t)strlen(text);
    bool written = write(file, text, (size_t)length) == length;
    return close(file) == 0 && written;
}

/* Without privilege a user namespace is needed as well; user and group keep their numbers in it. */
static inline bool leave_network_unprivileged(void)
{
    char user_map[64];
    char group_map[64];
    snprintf(user_map, sizeof user_map, "%u %u 1", geteuid(), geteuid());
    snprintf(group_map, sizeof group_map, "%u %u 1", getegid(), getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/uid_map", user_map) && write_file("/proc/self/gid_map", group_map);
}

static inline bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return false;
    bool raised = ioctl(probe, SIOCSIFFLAGS, &request) == 0;
    close(probe);
    return raised;
}

/* Moves this process into a network of its own; false, with errno, where the system does not allow it. */
static inline bool enter_own_network(void)
{
    return (unshare(CLONE_NEWNET) == 0 || leave_network_unprivileged()) && raise_loopback();
}

#endif

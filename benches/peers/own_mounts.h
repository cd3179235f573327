/* Mounts of the program's own: memory in place of folders that others share, which is gone with the program. */
#ifndef PEER_OWN_MOUNTS_H
#define PEER_OWN_MOUNTS_H

#include <sys/mount.h>

#include "own_network.h"
#include "sides.h"

/* Moves this process into a network of its own as well, by which it may mount without privilege. */
static inline void enter_own_mounts(void)
{
    if (!enter_own_network())
        fail_system("a network of the program's own");
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        fail_system("mounts of the program's own");
}

/* An empty folder in memory there, as seen by this process and its children. */
static inline void mount_own(const char *path)
{
    if (mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV, NULL) != 0)
        fail_system(path);
}

#endif

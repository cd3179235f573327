/* A folder of a run's own, in memory or on a disk, and its end. */
#ifndef PEER_FOLDER_H
#define PEER_FOLDER_H

#include <ftw.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "options.h"
#include "sides.h"

enum { PATH_BYTES = 96 };

static inline void make_folder(char path[PATH_BYTES], const char *in)
{
    if (snprintf(path, PATH_BYTES, "%s/quintet-peer-XXXXXX", in) >= PATH_BYTES)
        fail_usage("the folder %s has too long a name; set TMPDIR to one with a shorter name", in);
    if (mkdtemp(path) == NULL)
        fail_system(in);
}

/* One where syncing means something: below TMPDIR, or /tmp. */
static inline void make_folder_on_disk(char path[PATH_BYTES])
{
    const char *chosen = getenv("TMPDIR");
    const char *in = chosen != NULL && *chosen != '\0' ? chosen : "/tmp";
    struct statfs system;
    if (statfs(in, &system) != 0)
        fail_system(in);
    if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)
        fail_usage("%s lies in memory, where a sync costs nothing: set TMPDIR to a folder on a disk", in);
    make_folder(path, in);
}

static inline int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    remove(path);
    return 0;
}

/* With all that is in it; what cannot be removed stays. */
static inline void remove_folder(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#endif

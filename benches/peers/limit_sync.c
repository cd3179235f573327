/* Limit: how often a second a pair can be on the disk twice, once for what is put and once for what is taken, where each waits for the other.
 *
 * Blocks of a file that are there already are written one after another, and each is synced (fdatasync): the file system has nothing to note
 * beside them. The file lies below TMPDIR, or /tmp. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "crowd.h"
#include "folder.h"

#define PEER "limit-sync"

enum { BLOCK_BYTES = 4096, BLOCKS = 1024, SYNCS_OF_A_PAIR = 2 };

/* A file, and where it is written next. */
struct place {
    int file;
    long block;
    char bytes[BLOCK_BYTES];
};

static void write_block(struct place *place)
{
    if (pwrite(place->file, place->bytes, BLOCK_BYTES, (place->block++ % BLOCKS) * BLOCK_BYTES) != BLOCK_BYTES)
        fail_system("write");
}

static void write_and_sync(void *argument)
{
    struct place *place = argument;
    for (int sync = 0; sync < SYNCS_OF_A_PAIR; sync++) {
        write_block(place);
        if (fdatasync(place->file) != 0)
            fail_system("fdatasync");
    }
}

int main(int count, char **arguments)
{
    static const char name[] = "pair-sync";
    static struct place place;
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    char folder[PATH_BYTES], path[PATH_BYTES + 16];
    make_folder_on_disk(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    if ((place.file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)) < 0)
        fail_system(path);
    for (long block = 0; block < BLOCKS; block++)
        write_block(&place);
    if (fsync(place.file) != 0)
        fail_system("fsync");
    pin_to(options.cpus[1]);
    for (long round = 0; round < options.rounds && case_selected(&options, name); round++)
        report_crowd(PEER, name, "pairs/s", write_and_sync, &place, sizeof place, 1, &options);
    close(place.file);
    remove_folder(folder);
    return 0;
}

/* Puts ever larger blocks into the space and takes them out again: the benchmark of input and output of J. L. Christian, "From Two Packets
 * to One: Increasing the Performance of Linda-LAN" (M.S. report, Virginia Tech, 1997), appendix A.
 *
 *     quintet clc jblock.cl -o jblock
 *     ./jblock 10000 32                    # blocks; bytes of the first, and by which each is larger */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCK (32 * 10000)

static char iblock[MAX_BLOCK];
static char oblock[MAX_BLOCK];

void real_main(int argc, char *argv[])
{
    char buff[80];
    int size;
    int step;
    int total_blocks;

    if (argc != 3 || atoi(argv[1]) < 1 || atoi(argv[2]) < 1 || atoi(argv[1]) > MAX_BLOCK / atoi(argv[2])) {
        fprintf(stderr, "usage: jblock BLOCKS STEP, whose product is %d at most\n", MAX_BLOCK);
        exit(64);
    }
    total_blocks = atoi(argv[1]);
    step = atoi(argv[2]);
    memset(oblock, 'x', sizeof oblock);
    size = step;

    start_timer();

    while( size <= (total_blocks*step) )
    {
        sprintf(buff,"size - %d",size);
        timer_split(buff);

        out("block",oblock:size);
        in("block",?iblock:size);

        size += step;
    }

    timer_split("done.");

    print_times();
}

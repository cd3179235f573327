/* Measures pairs of out and in of C-Linda, for `quintet bench space`.
 *
 *     pair-clinda
 *
 * The space is where QUINTET_SPACE says, else in this process, which stays on the processors of whoever starts it. It counts and times as
 * crates/quintet-cli/src/bench/space/pair.rs does. */

#include "groups.h"

enum { BYTES = 64 };

static void exchange(void)
{
    static unsigned char sent[BYTES] = {7};
    unsigned char received[BYTES];
    int length;

    out("pair", sent:BYTES);
    in("pair", ?received:length);
    if (length != BYTES || received[0] != 7) {
        fprintf(stderr, "a value came back as another\n");
        exit(1);
    }
}

void real_main(void)
{
    static double groups[GROUPS];

    for (int i = 0; i < STEPS / 10; i++)
        exchange();
    for (int group = 0; group < GROUPS; group++) {
        double started = now_ns();

        for (int i = 0; i < GROUP; i++)
            exchange();
        groups[group] = (now_ns() - started) / GROUP;
    }
    print_groups(groups, "pair-64");
}

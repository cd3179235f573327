/* Measures pairs of out and in of C-Linda, for `quintet bench space`.
 *
 *     pair-clinda
 *
 * The space is where QUINTET_SPACE says, else in this process, which stays on the processors of whoever starts it. It counts and times as
 * crates/quintet-cli/src/bench/space/pair.rs does, and prints as the programs of benches/peers do. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 20000, GROUP = 16, GROUPS = PAIRS / GROUP, BYTES = 64 };

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

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

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return (first > second) - (first < second);
}

void real_main(void)
{
    static double groups[GROUPS];
    double sum = 0;

    for (int i = 0; i < PAIRS / 10; i++)
        exchange();
    for (int group = 0; group < GROUPS; group++) {
        double started = now_ns();

        for (int i = 0; i < GROUP; i++)
            exchange();
        groups[group] = (now_ns() - started) / GROUP;
        sum += groups[group];
    }
    qsort(groups, GROUPS, sizeof *groups, by_value);
    const char *row = "{\"peer\": \"quintet-clinda\", \"case\": \"pair-64\", \"unit\": \"ns\", \"statistic\": \"%s\", \"value\": %.3f}\n";
    printf(row, "mean", sum / GROUPS);
    printf(row, "p50", groups[GROUPS / 2]);
}

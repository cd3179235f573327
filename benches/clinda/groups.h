/* What the programs here share: groups of steps that are timed together, where reading the clock would weigh, and what they print, as the programs of
 * benches/peers do. */

#ifndef GROUPS_H
#define GROUPS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 20000, GROUP = 16, GROUPS = STEPS / GROUP };

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return (first > second) - (first < second);
}

/* Prints the mean and the median of all groups, in nanoseconds a step. */
static void print_groups(double *groups, const char *name)
{
    const char *row = "{\"peer\": \"quintet-clinda\", \"case\": \"%s\", \"unit\": \"ns\", \"statistic\": \"%s\", \"value\": %.3f}\n";
    double sum = 0;

    for (int group = 0; group < GROUPS; group++)
        sum += groups[group];
    qsort(groups, GROUPS, sizeof *groups, by_value);
    printf(row, name, "mean", sum / GROUPS);
    printf(row, name, "p50", groups[GROUPS / 2]);
}

#endif

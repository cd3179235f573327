/* The stop-watch of C-Linda. */

#define _POSIX_C_SOURCE 200809L

#include "clinda.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NAME_BYTES = 64, FIRST_ROOM = 64 };

typedef struct {
    double seconds;
    char name[NAME_BYTES];
} split;

static split *splits;
static size_t taken, room;
static double start;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void start_timer(void)
{
    taken = 0;
    start = now();
}

/* Makes room for a further time. */
static void grow(void)
{
    room = room == 0 ? FIRST_ROOM : 2 * room;
    splits = realloc(splits, room * sizeof *splits);
    if (splits == NULL) {
        fprintf(stderr, "timer_split: there is no memory for %zu times\n", room);
        exit(1);
    }
}

void timer_split(const char *name)
{
    double seconds = now() - start;

    if (taken == room)
        grow();
    splits[taken].seconds = seconds;
    snprintf(splits[taken].name, NAME_BYTES, "%s", name);
    taken++;
}

void print_times(void)
{
    double before = 0;

    for (size_t i = 0; i < taken; i++) {
        fprintf(stderr, "%12.6f s  %12.6f s  %s\n", splits[i].seconds, splits[i].seconds - before, splits[i].name);
        before = splits[i].seconds;
    }
}

/* Durations of one round, and the JSON lines made of them.
 *
 * A sample is the time of `operations` operations in a row. Peers faster than a microsecond time several operations a
 * sample, because reading the clock costs tens of nanoseconds. */
#ifndef PEER_REPORT_H
#define PEER_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "options.h"

struct samples {
    uint64_t *durations_ns;
    size_t count;
    size_t capacity;
    long operations; /* in each sample */
};

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How many of `iterations` operations fill whole samples; all that a round measures. */
static inline long whole_samples(long iterations, long group)
{
    long operations = group < iterations ? group : iterations;
    return iterations / operations * operations;
}

/* Room for `iterations` operations, `group` a sample. Every page is touched here, not while measuring. */
static inline struct samples new_samples(long iterations, long group)
{
    struct samples samples = {.operations = group < iterations ? group : iterations};
    samples.capacity = (size_t)(iterations / samples.operations);
    /* The cast is for C++. */
    samples.durations_ns = (uint64_t *)malloc(samples.capacity * sizeof *samples.durations_ns);
    if (samples.durations_ns == NULL) {
        fprintf(stderr, "no memory for %zu samples\n", samples.capacity);
        exit(EXIT_BROKEN);
    }
    for (size_t index = 0; index < samples.capacity; index++)
        samples.durations_ns[index] = 1;
    return samples;
}

static inline void free_samples(struct samples *samples)
{
    free(samples->durations_ns);
    samples->durations_ns = NULL;
}

/* Appends the time since `start_ns` and returns the present time, the start of the next sample. */
static inline uint64_t add_sample(struct samples *samples, uint64_t start_ns)
{
    uint64_t now = now_ns();
    if (samples->count < samples->capacity)
        samples->durations_ns[samples->count++] = now - start_ns;
    return now;
}

static inline int compare_durations(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static inline double median_ns(struct samples *samples)
{
    size_t middle = samples->count / 2;
    qsort(samples->durations_ns, samples->count, sizeof *samples->durations_ns, compare_durations);
    if (samples->count % 2 == 1)
        return (double)samples->durations_ns[middle];
    return ((double)samples->durations_ns[middle - 1] + (double)samples->durations_ns[middle]) / 2.0;
}

static inline double mean_ns(const struct samples *samples)
{
    double total = 0.0;
    for (size_t index = 0; index < samples->count; index++)
        total += (double)samples->durations_ns[index];
    return total / (double)samples->count;
}

static inline void print_line(const char *peer, const char *name, const char *unit, const char *statistic, double value)
{
    printf("{\"peer\": \"%s\", \"case\": \"%s\", \"unit\": \"%s\", \"statistic\": \"%s\", \"value\": %.3f}\n", peer, name, unit,
           statistic, value);
    fflush(stdout);
}

/* One round of a case whose result is the time of one operation. */
static inline void report_times(const char *peer, const char *name, struct samples *samples)
{
    double operations = (double)samples->operations;
    print_line(peer, name, "ns", "mean", mean_ns(samples) / operations);
    print_line(peer, name, "ns", "p50", median_ns(samples) / operations);
}

/* One round of a case whose result is how long one operation takes, of which the slowest matter too: a sample each. */
static inline void report_latencies(const char *peer, const char *name, struct samples *samples)
{
    report_times(peer, name, samples);
    /* The median has sorted them. Of few it is the longest. */
    size_t at = samples->count - 1 - samples->count / 100;
    print_line(peer, name, "ns", "p99", (double)samples->durations_ns[at] / (double)samples->operations);
}

/* One round of a case whose result is a rate; each operation counts `amount` units. */
static inline void report_rates(const char *peer, const char *name, const char *unit, double amount, struct samples *samples)
{
    double amount_per_sample = amount * (double)samples->operations;
    print_line(peer, name, unit, "mean", amount_per_sample * 1e9 / mean_ns(samples));
    print_line(peer, name, unit, "p50", amount_per_sample * 1e9 / median_ns(samples));
}

/* Writes "rtt-64", "bulk-64k" or "pair-1m" into `name`. */
static inline void name_case(char *name, size_t capacity, const char *kind, long bytes)
{
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
        snprintf(name, capacity, "%s-%ldm", kind, bytes >> 20);
    else if (bytes >= 1 << 10 && bytes % (1 << 10) == 0)
        snprintf(name, capacity, "%s-%ldk", kind, bytes >> 10);
    else
        snprintf(name, capacity, "%s-%ld", kind, bytes);
}

#endif

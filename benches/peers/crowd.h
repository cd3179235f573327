/* Several clients that do the same at the same time, each on a thread of its own, and how long they take together. */
#ifndef PEER_CROWD_H
#define PEER_CROWD_H

#include <pthread.h>

#include "report.h"
#include "sides.h"

enum { MOST_CLIENTS = 64, CROWD = 16 };

/* One of them, what it does so many times, and when it did. */
struct member {
    void (*operate)(void *client);
    void *client;
    long times;
    pthread_barrier_t *start;
    uint64_t started_ns;
    uint64_t ended_ns;
    pthread_t thread;
};

static inline void *operate_as_member(void *argument)
{
    struct member *member = argument;
    pthread_barrier_wait(member->start);
    member->started_ns = now_ns();
    for (long done = 0; done < member->times; done++)
        member->operate(member->client);
    member->ended_ns = now_ns();
    return NULL;
}

/* From the first client's start to the last one's end, each doing `operate` so many times; `clients` lie one after another, `size` bytes
 * each. */
static inline uint64_t time_crowd(void (*operate)(void *client), void *clients, size_t size, long count, long times_each)
{
    struct member members[MOST_CLIENTS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (long index = 0; index < count; index++) {
        void *client = (char *)clients + (size_t)index * size;
        members[index] = (struct member){.operate = operate, .client = client, .times = times_each, .start = &start};
        if ((errno = pthread_create(&members[index].thread, NULL, operate_as_member, &members[index])) != 0)
            fail_system("pthread_create");
    }
    uint64_t first = UINT64_MAX, last = 0;
    for (long index = 0; index < count; index++) {
        pthread_join(members[index].thread, NULL);
        first = members[index].started_ns < first ? members[index].started_ns : first;
        last = members[index].ended_ns > last ? members[index].ended_ns : last;
    }
    pthread_barrier_destroy(&start);
    return last - first;
}

/* One round, after a tenth of it untimed: all that the clients do over the time that they take together. Mean and median are the same. */
static inline void report_crowd(const char *peer, const char *name, const char *unit, void (*operate)(void *client), void *clients,
                                size_t size, long count, const struct peer_options *options)
{
    long times_each = options->iterations > count ? options->iterations / count : 1;
    time_crowd(operate, clients, size, count, options->warmup / count);
    struct samples samples = new_samples(count * times_each, count * times_each);
    samples.durations_ns[samples.count++] = time_crowd(operate, clients, size, count, times_each);
    report_rates(peer, name, unit, 1.0, &samples);
    free_samples(&samples);
}

/* The rounds of the selected ones of two cases, named by `prefix` and how many clients there are: one, and all of a crowd. */
static inline void report_one_and_crowd(const char *peer, const char *prefix, const char *unit, void (*operate)(void *client),
                                        void *clients, size_t size, const struct peer_options *options)
{
    static const long counts[] = {1, CROWD};
    char name[64];
    for (long round = 0; round < options->rounds; round++)
        for (size_t index = 0; index < sizeof counts / sizeof *counts; index++) {
            snprintf(name, sizeof name, "%s-%ld", prefix, counts[index]);
            if (case_selected(options, name))
                report_crowd(peer, name, unit, operate, clients, size, counts[index], options);
        }
}

#endif

/* Members of a group, each a process, that multicast to the whole group and deliver everything in one order.
 *
 * A peer says how a member joins and takes part in a round; `report_multicasts` is what its `main` calls. A round is over for a member
 * when it has delivered all multicasts of all members, and for the group when it is over for the last one. */
#ifndef PEER_MULTICAST_H
#define PEER_MULTICAST_H

#include <pthread.h>
#include <stdint.h>

#include "report.h"
#include "sides.h"

enum { MESSAGE_BYTES = 64, WINDOW = 16, MOST_MEMBERS = 8 };

/* What is multicast. */
struct multicast {
    uint32_t sender;
    uint32_t number; /* from 0 in each round */
    unsigned char rest[MESSAGE_BYTES - 2 * sizeof(uint32_t)];
};

/* A member's part in a round. */
struct part {
    uint32_t member;
    uint32_t members;
    uint32_t group; /* which of the program's groups, one after another */
    uint32_t count; /* multicasts of each member */
    uint64_t started_ns;
    uint64_t ended_ns;
    uint64_t order;         /* a hash of what was delivered, in the order in which it was */
    uint64_t *latencies_ns; /* from a multicast of this member to its delivery here; `count` of them */
};

/* What a peer does as a member, in a process of its own. */
struct multicast_peer {
    const char *name;
    void *(*join)(const struct part *part);
    void (*take_part)(void *joined, struct part *part); /* fills in the rest of it */
    void (*leave)(void *joined);
};

/* Shared by the program and the members. */
struct multicast_group {
    pthread_barrier_t turn;
    struct part parts[MOST_MEMBERS];
};

/* Of members that take part by `flow`: a multicast, unless there is no room for it, and the next one that is delivered. */
struct multicast_calls {
    bool (*send)(void *joined, const struct multicast *message);
    struct multicast (*receive)(void *joined);
    bool keeps_own_order; /* those of one member are delivered as they were multicast */
};

/* FNV-1a, by words. */
static inline uint64_t add_to_order(uint64_t order, const struct multicast *message)
{
    return ((order ^ message->sender) * 0x100000001b3u ^ message->number) * 0x100000001b3u;
}

static inline void deliver(struct part *part, const struct multicast *message, const struct multicast_calls *calls, uint32_t *own)
{
    part->order = add_to_order(part->order, message);
    if (message->sender != part->member)
        return;
    if (message->number >= part->count || (calls->keeps_own_order && message->number != *own)) {
        fprintf(stderr, "a member's multicast %u was delivered as its %uth\n", message->number, *own);
        exit(EXIT_BROKEN);
    }
    part->latencies_ns[message->number] = now_ns() - part->latencies_ns[message->number];
    ++*own;
}

/* Multicasts all of a member, WINDOW of them under way, and delivers those of all members. */
static inline void flow(void *joined, struct part *part, const struct multicast_calls *calls)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000};
    struct multicast mine = {.sender = part->member};
    uint32_t own = 0;
    part->order = 0xcbf29ce484222325u;
    part->started_ns = now_ns();
    for (uint32_t delivered = 0; delivered < part->count * part->members;) {
        bool is_refused = false;
        while (mine.number < part->count && mine.number - own < WINDOW && !is_refused) {
            /* When it began, until it has come back. */
            part->latencies_ns[mine.number] = now_ns();
            is_refused = !calls->send(joined, &mine);
            mine.number += !is_refused;
        }
        if (is_refused && mine.number == own) {
            nanosleep(&moment, NULL);
            continue;
        }
        struct multicast message = calls->receive(joined);
        deliver(part, &message, calls, &own);
        delivered++;
    }
    part->ended_ns = now_ns();
}

/* Once before, untimed, and once that counts. */
__attribute__((noreturn)) static inline void become_member_of(const struct multicast_peer *peer, struct multicast_group *group,
                                                              struct part *part, uint32_t warmup)
{
    const uint32_t counts[] = {warmup, part->count};
    void *joined = peer->join(part);
    for (size_t turn = 0; turn < sizeof counts / sizeof *counts; turn++) {
        part->count = counts[turn];
        pthread_barrier_wait(&group->turn);
        peer->take_part(joined, part);
    }
    /* Nobody leaves while another one still delivers. */
    pthread_barrier_wait(&group->turn);
    peer->leave(joined);
    exit(0);
}

/* What is not counted has latencies too. */
static inline size_t latency_bytes(uint32_t count, uint32_t warmup)
{
    return (count > warmup ? count : warmup) * sizeof(uint64_t);
}

/* The members of one size of a group, from their joining to their end. */
static inline void run_group(const struct multicast_peer *peer, struct multicast_group *group, uint32_t members, uint32_t count,
                             uint32_t warmup)
{
    static uint32_t groups = 0;
    pid_t sides[MOST_MEMBERS];
    pthread_barrierattr_t between_processes;
    pthread_barrierattr_init(&between_processes);
    pthread_barrierattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&group->turn, &between_processes, members);
    groups++;
    for (uint32_t member = 0; member < members; member++) {
        struct part *part = &group->parts[member];
        *part = (struct part){.member = member, .members = members, .group = groups, .count = count};
        part->latencies_ns = map_shared(latency_bytes(count, warmup));
        sides[member] = fork_side();
        if (sides[member] == 0)
            become_member_of(peer, group, part, warmup);
    }
    for (uint32_t member = 0; member < members; member++)
        join_side(sides[member]);
    pthread_barrier_destroy(&group->turn);
}

/* From the first member's start to the last one's end; all must have delivered the same in the same order. */
static inline uint64_t time_group(const struct multicast_group *group, uint32_t members)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t member = 0; member < members; member++) {
        const struct part *part = &group->parts[member];
        first = part->started_ns < first ? part->started_ns : first;
        last = part->ended_ns > last ? part->ended_ns : last;
        if (part->order == group->parts[0].order)
            continue;
        fprintf(stderr, "members %u and 0 delivered in different orders\n", member);
        exit(EXIT_BROKEN);
    }
    return last - first;
}

static inline void report_group(const struct multicast_peer *peer, const char *name, const char *latency_name, uint32_t members,
                                const struct peer_options *options)
{
    uint32_t count = (uint32_t)options->iterations / members > 0 ? (uint32_t)options->iterations / members : 1;
    uint32_t warmup = (uint32_t)options->warmup / members;
    struct multicast_group *group = map_shared(sizeof *group);
    run_group(peer, group, members, count, warmup);
    struct samples total = new_samples(count * members, count * members);
    struct samples latencies = new_samples(count * members, 1);
    total.durations_ns[total.count++] = time_group(group, members);
    for (uint32_t member = 0; member < members; member++) {
        for (uint32_t number = 0; number < count; number++)
            latencies.durations_ns[latencies.count++] = group->parts[member].latencies_ns[number];
        munmap(group->parts[member].latencies_ns, latency_bytes(count, warmup));
    }
    if (case_selected(options, name))
        report_rates(peer->name, name, "msg/s", 1.0, &total);
    if (case_selected(options, latency_name))
        report_latencies(peer->name, latency_name, &latencies);
    free_samples(&total);
    free_samples(&latencies);
    munmap(group, sizeof *group);
}

/* Of groups of 3, 4 and 8 in turn: multicasts a second of all members together, and how long one takes to come back to its sender. */
static inline void report_multicasts(const struct multicast_peer *peer, const struct peer_options *options)
{
    static const uint32_t sizes[] = {3, 4, MOST_MEMBERS};
    for (long round = 0; round < options->rounds; round++)
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
            char name[64], latency_name[64];
            snprintf(name, sizeof name, "multicast-%u", sizes[size]);
            snprintf(latency_name, sizeof latency_name, "multicast-%u-latency", sizes[size]);
            if (case_selected(options, name) || case_selected(options, latency_name))
                report_group(peer, name, latency_name, sizes[size], options);
        }
}

#endif

/* Limit: the round trip of a bare cache line between two processes on two processors.
 *
 * Nothing that carries a message through shared memory can be faster. With two lines each direction has its own, as a
 * pair of rings has; with one line both sides write the same word, which moves one line instead of two. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "options.h"
#include "report.h"
#include "sides.h"

#define PEER "limit-ping-pong"

/* Two lines apart, so that the adjacent-line prefetcher does not couple the two words. */
struct words {
    _Alignas(128) _Atomic uint64_t ping;
    _Alignas(128) _Atomic uint64_t pong;
};

static void wait_for(_Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        pause_briefly();
}

static void answer(_Atomic uint64_t *ping, _Atomic uint64_t *pong, uint64_t round_trips)
{
    for (uint64_t turn = 1; turn <= round_trips; turn++) {
        wait_for(ping, 2 * turn - 1);
        atomic_store_explicit(pong, 2 * turn, memory_order_release);
    }
}

/* Makes `count` round trips after the `done` ones before, and returns how many are done now. */
static uint64_t ask(_Atomic uint64_t *ping, _Atomic uint64_t *pong, uint64_t done, long count)
{
    for (uint64_t turn = done + 1; turn <= done + (uint64_t)count; turn++) {
        atomic_store_explicit(ping, 2 * turn - 1, memory_order_release);
        wait_for(pong, 2 * turn);
    }
    return done + (uint64_t)count;
}

static const char *case_name(long lines)
{
    return lines == 2 ? "rtt-two-lines" : "rtt-one-line";
}

static uint64_t measure_round(const struct peer_options *options, struct words *words, long lines, long group, uint64_t done)
{
    _Atomic uint64_t *pong = lines == 2 ? &words->pong : &words->ping;
    struct samples samples = new_samples(options->iterations, group);
    done = ask(&words->ping, pong, done, options->warmup);
    uint64_t start = now_ns();
    while (samples.count < samples.capacity) {
        done = ask(&words->ping, pong, done, samples.operations);
        start = add_sample(&samples, start);
    }
    report_times(PEER, case_name(lines), &samples);
    free_samples(&samples);
    return done;
}

int main(int count, char **arguments)
{
    long lines = 2;
    long group = 16;
    const struct extra_option extra[] = {
        {.name = "--lines", .number = &lines, .least = 1, .most = 2},
        {.name = "--group", .number = &group, .least = 1, .most = 1000000},
        {.name = NULL},
    };
    struct peer_options options = parse_options(count, arguments, extra);
    require_two_cpus(&options);
    if (!case_selected(&options, case_name(lines)))
        return 0;

    struct words *words = map_shared(sizeof *words);
    long per_round = options.warmup + whole_samples(options.iterations, group);
    pid_t side = fork_side();
    if (side == 0) {
        pin_to(options.cpus[1]);
        answer(&words->ping, lines == 2 ? &words->pong : &words->ping, (uint64_t)(options.rounds * per_round));
        _exit(0);
    }
    pin_to(options.cpus[0]);
    uint64_t done = 0;
    for (long round = 0; round < options.rounds; round++)
        done = measure_round(&options, words, lines, group, done);
    join_side(side);
    return 0;
}

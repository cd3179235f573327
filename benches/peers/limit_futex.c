/* Limit: the round trip of two processes that sleep on a futex, for one or more pairs at the same time.
 *
 * The baseline for waiting without polling. It depends on placement more than on anything else, so every side is pinned:
 * `across` puts the two sides of each pair on different processors, `within` puts both on one and deals the pairs out
 * over the processors. All pairs start a round together; a round's figures are over all round trips of all pairs. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "options.h"
#include "report.h"
#include "sides.h"

#define PEER "limit-futex"

enum { MOST_PAIRS = 64 };

/* One pair's turn: odd after the asking side moved, even after the answering side did. */
struct pair {
    _Alignas(128) _Atomic uint32_t turn;
};

struct board {
    pthread_barrier_t round_starts;
    pthread_barrier_t round_ends;
    struct pair pairs[MOST_PAIRS];
};

struct run {
    struct peer_options options;
    struct board *board;
    uint64_t *durations_ns; /* shared; `options.iterations` for each pair */
    long pairs;
    bool across;
};

static void sleep_while(_Atomic uint32_t *turn, uint32_t value)
{
    while (atomic_load_explicit(turn, memory_order_acquire) == value)
        if (syscall(SYS_futex, turn, FUTEX_WAIT, value, NULL, NULL, 0) != 0 && errno != EAGAIN && errno != EINTR)
            fail_system("futex wait");
}

static void move(_Atomic uint32_t *turn, uint32_t value)
{
    atomic_store_explicit(turn, value, memory_order_release);
    if (syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
        fail_system("futex wake");
}

static void answer(_Atomic uint32_t *turn, long round_trips)
{
    for (uint32_t value = 0; round_trips > 0; round_trips--, value += 2) {
        sleep_while(turn, value);
        move(turn, value + 2);
    }
}

static void ask(_Atomic uint32_t *turn)
{
    uint32_t value = atomic_load_explicit(turn, memory_order_relaxed);
    move(turn, value + 1);
    sleep_while(turn, value + 1);
}

static void ask_all_rounds(const struct run *run, long pair)
{
    _Atomic uint32_t *turn = &run->board->pairs[pair].turn;
    struct samples samples = {
        .durations_ns = run->durations_ns + pair * run->options.iterations,
        .capacity = (size_t)run->options.iterations,
        .operations = 1,
    };
    for (long round = 0; round < run->options.rounds; round++) {
        pthread_barrier_wait(&run->board->round_starts);
        for (long index = 0; index < run->options.warmup; index++)
            ask(turn);
        samples.count = 0;
        uint64_t start = now_ns();
        while (samples.count < samples.capacity) {
            ask(turn);
            start = add_sample(&samples, start);
        }
        pthread_barrier_wait(&run->board->round_ends);
    }
}

static void report_all_rounds(const struct run *run, const char *name)
{
    size_t count = (size_t)(run->pairs * run->options.iterations);
    struct samples samples = {.durations_ns = run->durations_ns, .count = count, .capacity = count, .operations = 1};
    for (long round = 0; round < run->options.rounds; round++) {
        pthread_barrier_wait(&run->board->round_starts);
        pthread_barrier_wait(&run->board->round_ends);
        report_times(PEER, name, &samples);
    }
}

static void prepare_barriers(struct board *board, long pairs)
{
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    /* The reporting parent takes part beside the asking sides. */
    if (pthread_barrier_init(&board->round_starts, &shared, (unsigned)pairs + 1) != 0 ||
        pthread_barrier_init(&board->round_ends, &shared, (unsigned)pairs + 1) != 0)
        fail_system("pthread_barrier_init");
}

/* Starts both sides of every pair; `sides` gets their two process ids for each pair. */
static void start_pairs(const struct run *run, pid_t *sides)
{
    const int *cpus = run->options.cpus;
    for (long pair = 0; pair < run->pairs; pair++) {
        int asking_cpu = cpus[pair % 2];
        int answering_cpu = run->across ? cpus[(pair + 1) % 2] : asking_cpu;
        if ((sides[2 * pair] = fork_side()) == 0) {
            pin_to(answering_cpu);
            answer(&run->board->pairs[pair].turn, run->options.rounds * (run->options.warmup + run->options.iterations));
            _exit(0);
        }
        if ((sides[2 * pair + 1] = fork_side()) == 0) {
            pin_to(asking_cpu);
            ask_all_rounds(run, pair);
            _exit(0);
        }
    }
}

int main(int count, char **arguments)
{
    long pairs = 1;
    const char *placement = "across";
    const struct extra_option extra[] = {
        {.name = "--pairs", .number = &pairs, .least = 1, .most = MOST_PAIRS},
        {.name = "--placement", .text = &placement},
        {.name = NULL},
    };
    struct run run = {.options = parse_options(count, arguments, extra), .pairs = pairs};
    run.across = strcmp(placement, "across") == 0;
    if (!run.across && strcmp(placement, "within") != 0)
        fail_usage("--placement: expected across or within, got '%s'", placement);

    char name[64];
    snprintf(name, sizeof name, "rtt-%s-%ld", placement, pairs);
    if (!case_selected(&run.options, name))
        return 0;

    run.board = map_shared(sizeof *run.board);
    run.durations_ns = map_shared((size_t)(pairs * run.options.iterations) * sizeof *run.durations_ns);
    prepare_barriers(run.board, pairs);
    pid_t sides[2 * MOST_PAIRS];
    start_pairs(&run, sides);
    report_all_rounds(&run, name);
    for (long side = 0; side < 2 * pairs; side++)
        join_side(sides[side]);
    return 0;
}

/* Limit: a word that goes round processes in a ring, each of which sleeps on a futex until it comes.
 *
 * The baseline for several processes on few processors, of which one at a time has something to do. They are pinned, and dealt out over
 * the processors in the order of the ring: so that each step is from one processor to another, if there are two. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "options.h"
#include "report.h"
#include "sides.h"

#define PEER "limit-futex-ring"

enum { FEWEST_MEMBERS = 2, MOST_MEMBERS = 64 };

/* How often the word has come to a member. */
struct place {
    _Alignas(128) _Atomic uint32_t came;
};

struct board {
    pthread_barrier_t round_starts;
    pthread_barrier_t round_ends;
    struct place places[MOST_MEMBERS];
};

struct run {
    struct peer_options options;
    struct board *board;
    uint64_t *durations_ns; /* shared; of `options.iterations` times round */
    long members;
};

static void wait_for(struct place *place, uint32_t lap)
{
    uint32_t came;
    while ((came = atomic_load_explicit(&place->came, memory_order_acquire)) != lap)
        if (syscall(SYS_futex, &place->came, FUTEX_WAIT, came, NULL, NULL, 0) != 0 && errno != EAGAIN && errno != EINTR)
            fail_system("futex wait");
}

static void pass_to(struct place *place, uint32_t lap)
{
    atomic_store_explicit(&place->came, lap, memory_order_release);
    if (syscall(SYS_futex, &place->came, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
        fail_system("futex wake");
}

/* What every member but the first does. */
static void pass_on(const struct run *run, long member)
{
    struct place *own = &run->board->places[member];
    struct place *next = &run->board->places[(member + 1) % run->members];
    long laps = run->options.rounds * (run->options.warmup + run->options.iterations);
    for (uint32_t lap = 1; lap <= (uint32_t)laps; lap++) {
        wait_for(own, lap);
        pass_to(next, lap);
    }
}

static void begin_all_rounds(const struct run *run)
{
    struct place *own = &run->board->places[0], *next = &run->board->places[1];
    struct samples samples = {.durations_ns = run->durations_ns, .capacity = (size_t)run->options.iterations, .operations = 1};
    uint32_t lap = 0;
    for (long round = 0; round < run->options.rounds; round++) {
        pthread_barrier_wait(&run->board->round_starts);
        for (long index = 0; index < run->options.warmup; index++) {
            pass_to(next, ++lap);
            wait_for(own, lap);
        }
        samples.count = 0;
        uint64_t start = now_ns();
        while (samples.count < samples.capacity) {
            pass_to(next, ++lap);
            wait_for(own, lap);
            start = add_sample(&samples, start);
        }
        pthread_barrier_wait(&run->board->round_ends);
    }
}

static void report_all_rounds(const struct run *run, const char *name)
{
    size_t count = (size_t)run->options.iterations;
    struct samples samples = {.durations_ns = run->durations_ns, .count = count, .capacity = count, .operations = 1};
    for (long round = 0; round < run->options.rounds; round++) {
        pthread_barrier_wait(&run->board->round_starts);
        pthread_barrier_wait(&run->board->round_ends);
        report_times(PEER, name, &samples);
    }
}

static void prepare_barriers(struct board *board)
{
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    /* The first member and the reporting parent. */
    if (pthread_barrier_init(&board->round_starts, &shared, 2) != 0 || pthread_barrier_init(&board->round_ends, &shared, 2) != 0)
        fail_system("pthread_barrier_init");
}

static void start_members(const struct run *run, pid_t *sides)
{
    for (long member = 0; member < run->members; member++) {
        if ((sides[member] = fork_side()) != 0)
            continue;
        pin_to(run->options.cpus[member % 2]);
        if (member == 0)
            begin_all_rounds(run);
        else
            pass_on(run, member);
        _exit(0);
    }
}

int main(int count, char **arguments)
{
    long members = 4;
    const struct extra_option extra[] = {
        {.name = "--members", .number = &members, .least = FEWEST_MEMBERS, .most = MOST_MEMBERS},
        {.name = NULL},
    };
    struct run run = {.options = parse_options(count, arguments, extra), .members = members};
    char name[64];
    snprintf(name, sizeof name, "ring-%ld", members);
    if (!case_selected(&run.options, name))
        return 0;

    run.board = map_shared(sizeof *run.board);
    run.durations_ns = map_shared((size_t)run.options.iterations * sizeof *run.durations_ns);
    prepare_barriers(run.board);
    pid_t sides[MOST_MEMBERS];
    start_members(&run, sides);
    report_all_rounds(&run, name);
    for (long side = 0; side < members; side++)
        join_side(sides[side]);
    return 0;
}

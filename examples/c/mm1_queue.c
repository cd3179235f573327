/* A queue M/M/1, simulated beside the formula: how long customers wait as its server gets busier. A run of one load and one seed is a
 * task. All tasks and all takes are begun before the first is waited for.
 *
 *     cc mm1_queue.c $(pkg-config --cflags --libs quintet) -lm -o mm1_queue
 *     quintet run -n 4 ./mm1_queue     # workers are processes
 *     ./mm1_queue                      # workers are threads of this process */

#include <math.h>
#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, SEEDS = 10, CUSTOMERS = 20000, WARM_UP = 2000, LOADS = 4 };

static const double SERVICE_S = 0.010;
static const double LOAD[LOADS] = {0.3, 0.5, 0.7, 0.8};
/* Of Student's distribution with 9 degrees of freedom, at 99.9%: such an interval misses once in a thousand loads. */
static const double QUANTILE = 4.781;

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

/* An exponential random number of this mean: xorshift* below, so that every machine draws the same. */
static double exponential(uint64_t *state, double mean) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    double uniform = (double)(*state * UINT64_C(2685821657736338717) >> 11) / (double)(UINT64_C(1) << 53);
    return -mean * log1p(-uniform);
}

/* The mean time for which customers wait before they are served, by Lindley's recursion. */
static double simulate(double load, int64_t seed) {
    uint64_t state = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
    double waiting = 0, sum = 0;
    for (int i = 0; i < WARM_UP + CUSTOMERS; i++) {
        if (i >= WARM_UP) sum += waiting;
        waiting += exponential(&state, SERVICE_S) - exponential(&state, SERVICE_S / load);
        if (waiting < 0) waiting = 0;
    }
    return sum / CUSTOMERS;
}

/* A tuple that begins with a name and the number of a load. */
static quintet_tuple *of_load(const char *name, int32_t load) {
    quintet_tuple *tuple;
    must(quintet_tuple_new(&tuple), "make a tuple");
    quintet_tuple_add_string(tuple, name, QUINTET_NUL_TERMINATED);
    quintet_tuple_add_int32(tuple, load);
    return tuple;
}

/* A worker: simulates a run at a time. A load of -1 says that there are no more. */
static void *work(void *argument) {
    quintet_space *space = argument;
    quintet_tuple *any_run;
    must(quintet_tuple_new(&any_run), "make a template");
    quintet_tuple_add_string(any_run, "run", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(any_run, QUINTET_TYPE_INT32);
    quintet_tuple_add_formal(any_run, QUINTET_TYPE_INT64);
    for (bool is_last = false; !is_last;) {
        quintet_lease *lease;
        const quintet_tuple *run;
        int32_t load;
        int64_t seed;
        must(quintet_space_lease(space, any_run, QUINTET_FOREVER, &lease), "lease a run");
        must(quintet_lease_tuple(lease, &run), "read a run");
        must(quintet_tuple_get_int32(run, 1, &load), "read a load");
        must(quintet_tuple_get_int64(run, 2, &seed), "read a seed");
        is_last = load < 0;
        quintet_tuple *result = of_load("waited", load);
        quintet_tuple_add_double(result, is_last ? 0 : simulate(LOAD[load], seed));
        must(quintet_lease_acknowledge(lease, (const quintet_tuple *[]){result}, is_last ? 0 : 1), "put a result");
        quintet_tuple_free(result);
        quintet_lease_free(lease);
    }
    quintet_tuple_free(any_run);
    return NULL;
}

static quintet_pending *begin_put(quintet_space *space, int32_t load, int64_t seed) {
    quintet_pending *pending;
    quintet_tuple *run = of_load("run", load);
    quintet_tuple_add_int64(run, seed);
    must(quintet_space_begin_out(space, (const quintet_tuple *[]){run}, 1, QUINTET_FOREVER, &pending), "begin a put");
    quintet_tuple_free(run);
    return pending;
}

static quintet_pending *begin_take(quintet_space *space, int32_t load) {
    quintet_pending *pending;
    quintet_tuple *any = of_load("waited", load);
    quintet_tuple_add_formal(any, QUINTET_TYPE_DOUBLE);
    must(quintet_space_begin_take(space, any, QUINTET_FOREVER, &pending), "begin a take");
    quintet_tuple_free(any);
    return pending;
}

static void finish_put(quintet_pending *pending) {
    must(quintet_pending_result(pending), "put a run");
    quintet_pending_free(pending);
}

static double finish_take(quintet_pending *pending) {
    double waited;
    quintet_tuple *result;
    must(quintet_pending_tuple(pending, &result), "take a result");
    must(quintet_tuple_get_double(result, 2, &waited), "read a result");
    quintet_tuple_free(result);
    quintet_pending_free(pending);
    return waited;
}

/* Prints the line of a load. Whether the formula is inside the interval of the runs. */
static bool report(double load, const double *waited) {
    double mean = 0, variance = 0, exact = load / (1 - load) * SERVICE_S;
    for (int i = 0; i < SEEDS; i++) mean += waited[i] / SEEDS;
    for (int i = 0; i < SEEDS; i++) variance += (waited[i] - mean) * (waited[i] - mean) / (SEEDS - 1);
    double half_width = QUANTILE * sqrt(variance / SEEDS);
    bool inside = fabs(mean - exact) <= half_width;
    printf("%4.1f  %6.2f +- %5.2f ms  %6.2f ms%s\n", load, mean * 1e3, half_width * 1e3, exact * 1e3, inside ? "" : "  outside");
    return inside;
}

/* The master. Whether every load's interval holds what the formula says. */
static bool sweep(quintet_space *space, uint32_t workers) {
    quintet_pending *puts[LOADS][SEEDS], *takes[LOADS][SEEDS];
    for (int load = 0; load < LOADS; load++) {
        for (int seed = 0; seed < SEEDS; seed++) {
            puts[load][seed] = begin_put(space, load, load * SEEDS + seed + 1);
            takes[load][seed] = begin_take(space, load);
        }
    }
    bool inside = true;
    printf("load  waiting, %d runs     formula\n", SEEDS);
    for (int load = 0; load < LOADS; load++) {
        double waited[SEEDS];
        for (int seed = 0; seed < SEEDS; seed++) {
            finish_put(puts[load][seed]);
            waited[seed] = finish_take(takes[load][seed]);
        }
        inside &= report(LOAD[load], waited);
    }
    for (uint32_t i = 0; i < workers; i++) finish_put(begin_put(space, -1, 0));
    return inside;
}

int main(void) {
    int64_t rank;
    uint32_t workers;
    quintet_lab *lab;
    quintet_space *space;
    must(quintet_job_rank(&rank), "learn the rank");
    must(quintet_job_workers(&workers), "learn the number of workers");
    must(quintet_lab_connect(NULL, &lab), "connect");
    must(quintet_lab_space(lab, &space), "find the space");
    if (rank >= 0) {
        work(space);
        quintet_lab_free(lab);
        return 0;
    }
    pthread_t threads[THREADS];
    uint32_t started = workers > 0 ? 0 : THREADS;
    for (uint32_t i = 0; i < started; i++) pthread_create(&threads[i], NULL, work, space);
    bool inside = sweep(space, workers + started);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    quintet_lab_free(lab);
    printf("main job: %s\n", inside ? "ok, the formula is inside every interval" : "FAILED, the formula is outside an interval");
    return inside ? 0 : 1;
}

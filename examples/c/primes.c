/* Counts primes by live tuples: the master asks workers for one a range, and takes them as they come.
 *
 *     cc primes.c $(pkg-config --cflags --libs quintet) -o primes
 *     quintet run -n 4 ./primes     # workers are processes
 *     ./primes                      # workers are threads of this process
 *
 * Whichever of the workers is killed, each tuple comes once. */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, RANGES = 50, LENGTH = 2000, PRIMES = 9592 /* below 100,000 */ };

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

static int64_t primes(int64_t from, int64_t to) {
    int64_t found = 0;
    for (int64_t n = from; n < to; n++) {
        int64_t divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0) divisor++;
        found += n >= 2 && divisor * divisor > n;
    }
    return found;
}

/* The live tuple of a range: ("primes", from, to, how many). */
static void make_primes(quintet_eval *eval, void *unused) {
    const quintet_tuple *range;
    quintet_tuple *made;
    int64_t from, to;
    (void)unused;
    must(quintet_eval_arguments(eval, &range), "read a range");
    must(quintet_tuple_get_int64(range, 0, &from), "read where it begins");
    must(quintet_tuple_get_int64(range, 1, &to), "read where it ends");
    must(quintet_tuple_new(&made), "make a tuple");
    quintet_tuple_add_string(made, "primes", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_int64(made, from);
    quintet_tuple_add_int64(made, to);
    quintet_tuple_add_int64(made, primes(from, to));
    must(quintet_eval_give(eval, made), "give a tuple");
    quintet_tuple_free(made);
}

/* A worker: has one function, of two numbers, until its space is gone. */
static void *work(void *space) {
    quintet_evals *evals;
    quintet_tuple *range;
    must(quintet_tuple_new(&range), "make a template");
    quintet_tuple_add_formal(range, QUINTET_TYPE_INT64);
    quintet_tuple_add_formal(range, QUINTET_TYPE_INT64);
    must(quintet_evals_new(&evals), "make functions");
    must(quintet_evals_add(evals, "primes", range, make_primes, NULL), "add a function");
    quintet_tuple_free(range);
    must(quintet_evals_serve(evals, space), "make live tuples");
    quintet_evals_free(evals);
    return NULL;
}

static void ask_for(quintet_space *space, int64_t from, int64_t to) {
    quintet_tuple *range;
    must(quintet_tuple_new(&range), "make arguments");
    quintet_tuple_add_int64(range, from);
    quintet_tuple_add_int64(range, to);
    must(quintet_space_eval_on_workers(space, "primes", range, QUINTET_FOREVER), "ask for a tuple");
    quintet_tuple_free(range);
}

/* The master. */
static int64_t count(quintet_space *space) {
    quintet_tuple *any;
    int64_t found = 0;
    for (int64_t range = 0; range < RANGES; range++) ask_for(space, range * LENGTH, (range + 1) * LENGTH);
    must(quintet_tuple_new(&any), "make a template");
    quintet_tuple_add_string(any, "primes", QUINTET_NUL_TERMINATED);
    for (int field = 0; field < 3; field++) quintet_tuple_add_formal(any, QUINTET_TYPE_INT64);
    for (int64_t range = 0; range < RANGES; range++) {
        quintet_tuple *made;
        int64_t number;
        must(quintet_space_take(space, any, QUINTET_FOREVER, &made), "take a tuple");
        must(quintet_tuple_get_int64(made, 3, &number), "read a number");
        found += number;
        quintet_tuple_free(made);
    }
    quintet_tuple_free(any);
    return found;
}

int main(void) {
    int64_t rank;
    uint32_t workers;
    quintet_lab *lab;
    quintet_space *space;
    pthread_t threads[THREADS];
    must(quintet_job_rank(&rank), "learn the rank");
    must(quintet_job_workers(&workers), "learn the number of workers");
    must(quintet_lab_connect(NULL, &lab), "connect");
    must(quintet_lab_space(lab, &space), "find the space");
    if (rank >= 0) {
        work(space);
        quintet_lab_free(lab);
        return 0;
    }
    const int started = workers > 0 ? 0 : THREADS;
    for (int i = 0; i < started; i++) pthread_create(&threads[i], NULL, work, space);
    const int64_t found = count(space);
    must(quintet_lab_close(lab), "close"); /* the threads end with it */
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    quintet_lab_free(lab);
    const int is_right = found == PRIMES;
    printf("main job: %s, %lld primes below %d\n", is_right ? "ok" : "FAILED", (long long)found, RANGES * LENGTH);
    return is_right ? 0 : 1;
}

/* Tunes a classifier, k nearest neighbours, by cross-validation: a fit of one k on one fold is a task. Done once serially and once by
 * the workers of a space; both tables of scores must be equal.
 *
 *     cc tune_neighbours.c $(pkg-config --cflags --libs quintet) -o tune_neighbours
 *     quintet run -n 4 ./tune_neighbours     # workers are processes; one that dies has its task done again by another
 *     ./tune_neighbours                      # workers are threads of this process */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, POINTS = 600, FEATURES = 8, CLASSES = 4, FOLDS = 5, CANDIDATES = 6, MOST = 31 };

static const int32_t K[CANDIDATES] = {1, 3, 5, 9, 15, MOST};

/* Points with classes, the same in every process. */
static double features[POINTS][FEATURES];
static int classes[POINTS];

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

/* Classes overlap: each has its centre, and its points lie around it. */
static void make_up_points(void) {
    uint64_t seed = 7;
    for (int i = 0; i < POINTS; i++) {
        classes[i] = i % CLASSES;
        for (int j = 0; j < FEATURES; j++) {
            double noise = 0;
            for (int k = 0; k < 4; k++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                noise += (double)(seed >> 11) / (double)(UINT64_C(1) << 53) - 0.5;
            }
            features[i][j] = (j % CLASSES == classes[i] ? 0.6 : 0.0) + noise;
        }
    }
}

static double distance(const double *a, const double *b) {
    double sum = 0;
    for (int j = 0; j < FEATURES; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* The class of most of the k nearest points of the other folds; of two that are as many, the lower. */
static int classify(int point, int32_t k) {
    double nearest[MOST];
    int of[MOST], found = 0, votes[CLASSES] = {0}, best = 0;
    for (int other = 0; other < POINTS; other++) {
        if (other % FOLDS == point % FOLDS) continue;
        double far = distance(features[point], features[other]);
        if (found == k && far >= nearest[k - 1]) continue;
        int place = found < k ? found++ : k - 1;
        for (; place > 0 && nearest[place - 1] > far; place--) {
            nearest[place] = nearest[place - 1];
            of[place] = of[place - 1];
        }
        nearest[place] = far;
        of[place] = classes[other];
    }
    for (int i = 0; i < found; i++) votes[of[i]]++;
    for (int class = 1; class < CLASSES; class++) {
        if (votes[class] > votes[best]) best = class;
    }
    return best;
}

/* The share of a fold's points that are classified rightly from the others. */
static double score(int32_t k, int32_t fold) {
    int right = 0, count = 0;
    for (int point = fold; point < POINTS; point += FOLDS, count++) right += classify(point, k) == classes[point];
    return (double)right / count;
}

/* ("fit", candidate, fold), or what stands for any; and more, as the name says. */
static quintet_tuple *fit(const char *name, int32_t candidate, int32_t fold) {
    quintet_tuple *tuple;
    must(quintet_tuple_new(&tuple), "make a tuple");
    quintet_tuple_add_string(tuple, name, QUINTET_NUL_TERMINATED);
    quintet_tuple_add_int32(tuple, candidate);
    quintet_tuple_add_int32(tuple, fold);
    return tuple;
}

static quintet_tuple *any_fit(const char *name) {
    quintet_tuple *tuple;
    must(quintet_tuple_new(&tuple), "make a template");
    quintet_tuple_add_string(tuple, name, QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(tuple, QUINTET_TYPE_INT32);
    quintet_tuple_add_formal(tuple, QUINTET_TYPE_INT32);
    return tuple;
}

static void read_fit(const quintet_tuple *tuple, int32_t *candidate, int32_t *fold) {
    must(quintet_tuple_get_int32(tuple, 1, candidate), "read a candidate");
    must(quintet_tuple_get_int32(tuple, 2, fold), "read a fold");
}

/* A worker: does a fit at a time. A candidate of -1 says that there are no more. */
static void *work(void *argument) {
    quintet_space *space = argument;
    quintet_tuple *any = any_fit("fit");
    for (bool is_last = false; !is_last;) {
        quintet_lease *lease;
        const quintet_tuple *task;
        int32_t candidate, fold;
        must(quintet_space_lease(space, any, QUINTET_FOREVER, &lease), "lease a fit");
        must(quintet_lease_tuple(lease, &task), "read a fit");
        read_fit(task, &candidate, &fold);
        is_last = candidate < 0;
        quintet_tuple *result = fit("score", candidate, fold);
        quintet_tuple_add_double(result, is_last ? 0 : score(K[candidate], fold));
        must(quintet_lease_acknowledge(lease, (const quintet_tuple *[]){result}, is_last ? 0 : 1), "put a score");
        quintet_tuple_free(result);
        quintet_lease_free(lease);
    }
    quintet_tuple_free(any);
    return NULL;
}

static void put(quintet_space *space, int32_t candidate, int32_t fold) {
    quintet_tuple *task = fit("fit", candidate, fold);
    must(quintet_space_out(space, task, QUINTET_FOREVER), "put a fit");
    quintet_tuple_free(task);
}

/* The master: fits go out, scores come back. */
static void search(quintet_space *space, double scores[CANDIDATES][FOLDS], uint32_t workers) {
    for (int32_t candidate = 0; candidate < CANDIDATES; candidate++) {
        for (int32_t fold = 0; fold < FOLDS; fold++) put(space, candidate, fold);
    }
    quintet_tuple *any = any_fit("score");
    quintet_tuple_add_formal(any, QUINTET_TYPE_DOUBLE);
    for (int i = 0; i < CANDIDATES * FOLDS; i++) {
        quintet_tuple *result;
        int32_t candidate, fold;
        must(quintet_space_take(space, any, QUINTET_FOREVER, &result), "take a score");
        read_fit(result, &candidate, &fold);
        must(quintet_tuple_get_double(result, 3, &scores[candidate][fold]), "read a score");
        quintet_tuple_free(result);
    }
    quintet_tuple_free(any);
    for (uint32_t i = 0; i < workers; i++) put(space, -1, 0);
}

/* Prints the scores. Whether they are those of a serial run. */
static bool report(double scores[CANDIDATES][FOLDS]) {
    double serial[CANDIDATES][FOLDS];
    for (int candidate = 0; candidate < CANDIDATES; candidate++) {
        double mean = 0;
        for (int fold = 0; fold < FOLDS; fold++) {
            serial[candidate][fold] = score(K[candidate], fold);
            mean += scores[candidate][fold] / FOLDS;
        }
        printf("k = %2d: %.4f\n", K[candidate], mean);
    }
    return memcmp(serial, scores, sizeof serial) == 0;
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
    make_up_points();
    if (rank >= 0) {
        work(space);
        quintet_lab_free(lab);
        return 0;
    }
    double scores[CANDIDATES][FOLDS];
    pthread_t threads[THREADS];
    uint32_t started = workers > 0 ? 0 : THREADS;
    for (uint32_t i = 0; i < started; i++) pthread_create(&threads[i], NULL, work, space);
    search(space, scores, workers + started);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    quintet_lab_free(lab);
    bool equal = report(scores);
    printf("main job: %s\n", equal ? "ok, the scores equal those of a serial run" : "FAILED, the scores differ from those of a serial run");
    return equal ? 0 : 1;
}

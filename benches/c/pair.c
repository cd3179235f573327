/* Measures pairs of out and take through the C library, for `quintet bench space`.
 *
 *     pair [--address ADDRESS] [--rounds N] [--case pair-64|pair-64-built]
 *
 * The space is served at ADDRESS by another process, or is in this one. This process stays on the processors of whoever starts it. It
 * counts and times as crates/quintet-cli/src/bench/space/pair.rs does, and prints as the programs of benches/peers do. `pair-64-built`
 * makes the tuple anew for each pair, as a program does whose data change. */

#define _POSIX_C_SOURCE 200809L
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 20000, GROUP = 16, GROUPS = PAIRS / GROUP, BYTES = 64 };

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ("pair", 64 bytes), or the template for it. */
static quintet_tuple *make(bool is_template) {
    static const char bytes[BYTES] = {7};
    quintet_tuple *tuple;
    must(quintet_tuple_new(&tuple), "make a tuple");
    quintet_tuple_add_string(tuple, "pair", 4);
    if (is_template) {
        quintet_tuple_add_formal(tuple, QUINTET_TYPE_BYTES);
    } else {
        quintet_tuple_add_bytes(tuple, bytes, BYTES);
    }
    return tuple;
}

static void exchange(quintet_space *space, const quintet_tuple *ready, const quintet_tuple *wanted) {
    quintet_tuple *built = ready == NULL ? make(false) : NULL, *taken;
    const void *data;
    size_t length;
    must(quintet_space_out(space, ready == NULL ? built : ready, QUINTET_FOREVER), "put");
    must(quintet_space_take(space, wanted, QUINTET_FOREVER, &taken), "take");
    must(quintet_tuple_get_bytes(taken, 1, &data, &length), "read");
    if (length != BYTES) {
        fprintf(stderr, "a value came back with another length\n");
        exit(1);
    }
    quintet_tuple_free(taken);
    quintet_tuple_free(built);
}

static int by_value(const void *a, const void *b) {
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static void measure(quintet_space *space, const char *name, const quintet_tuple *ready, const quintet_tuple *wanted) {
    static double groups[GROUPS];
    double sum = 0;
    for (int i = 0; i < PAIRS / 10; i++) exchange(space, ready, wanted);
    for (int group = 0; group < GROUPS; group++) {
        double started = now_ns();
        for (int i = 0; i < GROUP; i++) exchange(space, ready, wanted);
        groups[group] = (now_ns() - started) / GROUP;
        sum += groups[group];
    }
    qsort(groups, GROUPS, sizeof *groups, by_value);
    const char *row = "{\"peer\": \"quintet-c\", \"case\": \"%s\", \"unit\": \"ns\", \"statistic\": \"%s\", \"value\": %.3f}\n";
    printf(row, name, "mean", sum / GROUPS);
    printf(row, name, "p50", groups[GROUPS / 2]);
}

int main(int count, char **arguments) {
    const char *address = NULL, *name = "pair-64";
    long rounds = 1;
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--address") == 0) address = arguments[i + 1];
        else if (strcmp(arguments[i], "--case") == 0) name = arguments[i + 1];
        else if (strcmp(arguments[i], "--rounds") == 0) rounds = strtol(arguments[i + 1], NULL, 10);
        else return fprintf(stderr, "%s: no such option\n", arguments[i]), 2;
    }
    quintet_lab *lab;
    quintet_space *space;
    must(address == NULL ? quintet_lab_embedded(&lab) : quintet_lab_connect(address, &lab), "connect");
    must(quintet_lab_space(lab, &space), "find the space");
    quintet_tuple *ready = strcmp(name, "pair-64-built") == 0 ? NULL : make(false), *wanted = make(true);
    for (long round = 0; round < rounds; round++) measure(space, name, ready, wanted);
    quintet_tuple_free(ready);
    quintet_tuple_free(wanted);
    quintet_lab_free(lab);
    return 0;
}

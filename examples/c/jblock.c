/* Puts ever larger blocks into the space and takes them out again: the Linda-LAN paper's benchmark of input and output. Its tuples are those of
 * ../clinda/jblock.cl.
 *
 *     cc jblock.c $(pkg-config --cflags --libs quintet) -o jblock
 *     ./jblock [BLOCKS [STEP]]                         # blocks; bytes of the first, and by which each is larger
 *     QUINTET_SPACE=shm:./space ./jblock 10000 32     # in a space that another process serves */

#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

static double seconds_since(const struct timespec *start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* ("block", ...): its bytes are still to be added. */
static quintet_tuple *begun(void) {
    quintet_tuple *block;
    must(quintet_tuple_new(&block), "making a tuple");
    quintet_tuple_add_string(block, "block", QUINTET_NUL_TERMINATED);
    return block;
}

/* Puts a block and takes it; whether it came as it was. */
static bool put_and_take(quintet_space *space, const char *bytes, size_t size) {
    quintet_tuple *block = begun(), *any_block = begun(), *taken;
    quintet_array found;
    quintet_tuple_add_array(block, QUINTET_TYPE_INT8, 1, (uint64_t[]){size}, bytes);
    quintet_tuple_add_formal_array(any_block, QUINTET_TYPE_INT8, 1, NULL);
    must(quintet_space_out(space, block, QUINTET_FOREVER), "putting a block");
    must(quintet_space_take(space, any_block, QUINTET_FOREVER, &taken), "taking a block");
    must(quintet_tuple_get_array(taken, 1, &found), "looking at a block");
    bool same = found.length_bytes == size && memcmp(found.data, bytes, size) == 0;
    quintet_tuple_free(taken);
    quintet_tuple_free(any_block);
    quintet_tuple_free(block);
    return same;
}

int main(int count, char **arguments) {
    long blocks = count > 1 ? atol(arguments[1]) : 1000, step = count > 2 ? atol(arguments[2]) : 32;
    int64_t rank;
    quintet_lab *lab;
    quintet_space *space;
    if (blocks < 1 || step < 1) {
        fprintf(stderr, "usage: jblock [BLOCKS [STEP]]\n");
        return 64;
    }
    /* The master does it all: workers have nothing to do. */
    must(quintet_job_rank(&rank), "learning the rank");
    if (rank >= 0) return 0;
    must(quintet_lab_connect(NULL, &lab), "connecting");
    must(quintet_lab_space(lab, &space), "finding the space");
    char *bytes = malloc((size_t)(blocks * step));
    double *times = malloc((size_t)blocks * sizeof *times);
    if (bytes == NULL || times == NULL) {
        perror("jblock");
        return 71;
    }
    memset(bytes, 'x', (size_t)(blocks * step));
    bool right = true;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < blocks; i++) {
        times[i] = seconds_since(&start);
        right &= put_and_take(space, bytes, (size_t)((i + 1) * step));
    }
    double total = seconds_since(&start);
    for (long i = 0; i < blocks; i++) printf("%12.6f s  size - %ld\n", times[i], (i + 1) * step);
    free(times);
    free(bytes);
    quintet_lab_free(lab);
    if (!right) {
        printf("main job: FAILED, not each block was as it was put\n");
        return 1;
    }
    printf("main job: ok, %ld blocks in %.6f s, each as it was put\n", blocks, total);
    return 0;
}

/* Multiplies two matrices by blocks that lie in a space: the data of a put matrix are copied nowhere between processes.
 *
 *     cc matrix_product.c $(pkg-config --cflags --libs quintet) -o matrix_product
 *     quintet run -n 4 ./matrix_product     # workers are processes, and see the matrices in shared memory
 *     ./matrix_product                      # workers are threads of this process
 *
 * The product is compared with one computed directly. */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, BLOCK = 32, ROWS = 96, INNER = 130, COLUMNS = 70 };

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* The same numbers each time, between -1 and 1. */
static void make_up(double *elements, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        elements[i] = (double)(seed >> 11) / (double)(UINT64_C(1) << 52) - 1.0;
    }
}

/* One element of the product of a (.. x INNER) and b (INNER x COLUMNS). */
static double element(const double *a, const double *b, size_t row, size_t column) {
    double sum = 0;
    for (size_t k = 0; k < INNER; k++) sum += a[row * INNER + k] * b[k * COLUMNS + column];
    return sum;
}

/* A tuple that begins with a name. */
static quintet_tuple *named(const char *name) {
    quintet_tuple *tuple;
    must(quintet_tuple_new(&tuple), "make a tuple");
    quintet_tuple_add_string(tuple, name, QUINTET_NUL_TERMINATED);
    return tuple;
}

/* Puts a made-up matrix. It is written where it will lie: nobody copies it. */
static void put_matrix(quintet_space *space, const char *name, size_t rows, size_t columns, uint64_t seed) {
    quintet_buffer *buffer;
    void *elements;
    must(quintet_buffer_new(rows * columns * sizeof(double), &buffer), "get memory");
    must(quintet_buffer_write(buffer, &elements), "write");
    make_up(elements, rows * columns, seed);
    quintet_tuple *matrix = named(name);
    quintet_tuple_add_buffer(matrix, QUINTET_TYPE_DOUBLE, 2, (uint64_t[]){rows, columns}, buffer);
    must(quintet_space_out(space, matrix, QUINTET_FOREVER), "put a matrix");
    quintet_tuple_free(matrix);
    quintet_buffer_free(buffer);
}

/* Reads a matrix, which stays in the space. The elements are good while the tuple lives. */
static const double *read_matrix(quintet_space *space, const char *name, quintet_tuple **tuple) {
    quintet_array array;
    quintet_tuple *wanted = named(name);
    quintet_tuple_add_formal_array(wanted, QUINTET_TYPE_DOUBLE, 2, NULL);
    must(quintet_space_read(space, wanted, QUINTET_FOREVER, tuple), "read a matrix");
    must(quintet_tuple_get_array(*tuple, 1, &array), "look at a matrix");
    quintet_tuple_free(wanted);
    return array.data;
}

/* A template or a tuple ("block", row, column): where a block of the product begins. A row of -1: there are no more. */
static quintet_tuple *block_at(int64_t row, int64_t column) {
    quintet_tuple *task = named("block");
    quintet_tuple_add_int64(task, row);
    quintet_tuple_add_int64(task, column);
    return task;
}

static quintet_tuple *product_of(const double *a, const double *b, size_t row, size_t column) {
    size_t rows = smaller(BLOCK, ROWS - row), columns = smaller(BLOCK, COLUMNS - column);
    double block[BLOCK * BLOCK];
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) block[i * columns + j] = element(a, b, row + i, column + j);
    }
    quintet_tuple *result = named("product");
    quintet_tuple_add_int64(result, (int64_t)row);
    quintet_tuple_add_int64(result, (int64_t)column);
    quintet_tuple_add_array(result, QUINTET_TYPE_DOUBLE, 2, (uint64_t[]){rows, columns}, block);
    return result;
}

/* A worker: makes blocks of the product until it is told that there are no more. */
static void *work(void *argument) {
    quintet_space *space = argument;
    quintet_tuple *a_tuple, *b_tuple, *any_block = named("block");
    quintet_tuple_add_formal(any_block, QUINTET_TYPE_INT64);
    quintet_tuple_add_formal(any_block, QUINTET_TYPE_INT64);
    const double *a = read_matrix(space, "a", &a_tuple), *b = read_matrix(space, "b", &b_tuple);
    for (bool is_last = false; !is_last;) {
        quintet_lease *lease;
        const quintet_tuple *task;
        int64_t row, column;
        must(quintet_space_lease(space, any_block, QUINTET_FOREVER, &lease), "lease a task");
        must(quintet_lease_tuple(lease, &task), "read a task");
        must(quintet_tuple_get_int64(task, 1, &row), "read a row");
        must(quintet_tuple_get_int64(task, 2, &column), "read a column");
        is_last = row < 0;
        quintet_tuple *result = is_last ? NULL : product_of(a, b, (size_t)row, (size_t)column);
        must(quintet_lease_acknowledge(lease, (const quintet_tuple *[]){result}, is_last ? 0 : 1), "put a block");
        quintet_tuple_free(result);
        quintet_lease_free(lease);
    }
    quintet_tuple_free(any_block);
    quintet_tuple_free(a_tuple);
    quintet_tuple_free(b_tuple);
    return NULL;
}

/* The master: matrices and tasks go out, all tasks at one instant; blocks come back. */
static void multiply(quintet_space *space, double *product, uint32_t workers) {
    enum { TASKS = (ROWS + BLOCK - 1) / BLOCK * ((COLUMNS + BLOCK - 1) / BLOCK) };
    const quintet_tuple *tasks[TASKS];
    size_t count = 0;
    put_matrix(space, "a", ROWS, INNER, 1);
    put_matrix(space, "b", INNER, COLUMNS, 2);
    for (int64_t row = 0; row < ROWS; row += BLOCK) {
        for (int64_t column = 0; column < COLUMNS; column += BLOCK) tasks[count++] = block_at(row, column);
    }
    must(quintet_space_out_many(space, tasks, count, QUINTET_FOREVER), "put the tasks");
    quintet_tuple *any_product = named("product");
    quintet_tuple_add_formal(any_product, QUINTET_TYPE_INT64);
    quintet_tuple_add_formal(any_product, QUINTET_TYPE_INT64);
    quintet_tuple_add_formal_array(any_product, QUINTET_TYPE_DOUBLE, 2, NULL);
    for (size_t done = 0; done < count; done++) {
        quintet_tuple *result;
        quintet_array block;
        int64_t row, column;
        must(quintet_space_take(space, any_product, QUINTET_FOREVER, &result), "take a block");
        must(quintet_tuple_get_int64(result, 1, &row), "read a row");
        must(quintet_tuple_get_int64(result, 2, &column), "read a column");
        must(quintet_tuple_get_array(result, 3, &block), "read a block");
        for (uint64_t i = 0; i < block.shape[0]; i++) {
            for (uint64_t j = 0; j < block.shape[1]; j++) {
                size_t place = ((size_t)row + i) * COLUMNS + (size_t)column + j;
                product[place] = ((const double *)block.data)[i * block.shape[1] + j];
            }
        }
        quintet_tuple_free(result);
        quintet_tuple_free((quintet_tuple *)tasks[done]);
    }
    quintet_tuple *last = block_at(-1, -1);
    for (uint32_t i = 0; i < workers; i++) must(quintet_space_out(space, last, QUINTET_FOREVER), "end a worker");
    quintet_tuple_free(last);
    quintet_tuple_free(any_product);
}

/* Elements that differ from those computed directly. Both sum in the same order, so that not even the last bit may differ. */
static size_t count_wrong(const double *product) {
    static double a[ROWS * INNER], b[INNER * COLUMNS];
    size_t wrong = 0;
    make_up(a, ROWS * INNER, 1);
    make_up(b, INNER * COLUMNS, 2);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t column = 0; column < COLUMNS; column++) {
            wrong += product[row * COLUMNS + column] != element(a, b, row, column);
        }
    }
    return wrong;
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
    static double product[ROWS * COLUMNS];
    pthread_t threads[THREADS];
    uint32_t started = workers > 0 ? 0 : THREADS;
    for (uint32_t i = 0; i < started; i++) pthread_create(&threads[i], NULL, work, space);
    multiply(space, product, workers + started);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    quintet_lab_free(lab);
    size_t wrong = count_wrong(product);
    if (wrong > 0) {
        printf("main job: FAILED, %zu elements differ\n", wrong);
        return 1;
    }
    printf("main job: ok, %d x %d by %d x %d, equal to the direct product\n", ROWS, INNER, INNER, COLUMNS);
    return 0;
}

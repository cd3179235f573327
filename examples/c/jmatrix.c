/* Multiplies two symmetric matrices with workers that take rows and columns from the space: the Linda-LAN paper's benchmark of computing. Its
 * tuples and results are those of ../clinda/jmatrix.cl.
 *
 *     cc jmatrix.c $(pkg-config --cflags --libs quintet) -pthread -o jmatrix
 *     quintet run -n 5 ./jmatrix [DIMENSION]     # workers are processes
 *     ./jmatrix [DIMENSION [WORKERS]]            # workers are threads of this process
 *
 * The product is compared with one computed directly. */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

/* A tuple of a name and so many numbers. */
static quintet_tuple *tuple_of(const char *name, size_t count, const int32_t *numbers) {
    quintet_tuple *made;
    must(quintet_tuple_new(&made), "making a tuple");
    quintet_tuple_add_string(made, name, QUINTET_NUL_TERMINATED);
    for (size_t i = 0; i < count; i++) quintet_tuple_add_int32(made, numbers[i]);
    return made;
}

/* A template of a name and any so many numbers. */
static quintet_tuple *any_of(const char *name, size_t count) {
    quintet_tuple *made = tuple_of(name, 0, NULL);
    for (size_t i = 0; i < count; i++) quintet_tuple_add_formal(made, QUINTET_TYPE_INT32);
    return made;
}

/* Puts a tuple, which is freed. */
static void put(quintet_space *space, quintet_tuple *tuple) {
    must(quintet_space_out(space, tuple, QUINTET_FOREVER), "putting");
    quintet_tuple_free(tuple);
}

/* Reads what matches a template, which is freed. */
static quintet_tuple *read_one(quintet_space *space, quintet_tuple *wanted) {
    quintet_tuple *found;
    must(quintet_space_read(space, wanted, QUINTET_FOREVER, &found), "reading");
    quintet_tuple_free(wanted);
    return found;
}

static int32_t number_of(const quintet_tuple *tuple, size_t field) {
    int32_t number;
    must(quintet_tuple_get_int32(tuple, field, &number), "looking at a number");
    return number;
}

/* Puts ("row", index, values) or the column. */
static void put_line(quintet_space *space, const char *name, int32_t index, const int32_t *values, int32_t length) {
    quintet_tuple *line = tuple_of(name, 1, &index);
    quintet_tuple_add_array(line, QUINTET_TYPE_INT32, 1, (uint64_t[]){(uint64_t)length}, values);
    put(space, line);
}

/* Reads a row or a column. Its values are good while the tuple lives. */
static const int32_t *read_line(quintet_space *space, const char *name, int32_t index, quintet_tuple **line) {
    quintet_array values;
    quintet_tuple *wanted = tuple_of(name, 1, &index);
    quintet_tuple_add_formal_array(wanted, QUINTET_TYPE_INT32, 1, NULL);
    *line = read_one(space, wanted);
    must(quintet_tuple_get_array(*line, 2, &values), "looking at values");
    return values.data;
}

static int32_t product(const int32_t *row, const int32_t *column, int32_t length) {
    int32_t sum = 0;
    for (int32_t i = 0; i < length; i++) sum += row[i] * column[i];
    return sum;
}

/* A worker: multiplies rows by columns as long as there are tasks. */
static void *work(void *argument) {
    quintet_space *space = argument;
    quintet_tuple *told = read_one(space, any_of("dimension", 1)), *any_task = any_of("task", 2), *task;
    int32_t dimension = number_of(told, 1);
    quintet_tuple_free(told);
    for (;;) {
        must(quintet_space_take_if(space, any_task, &task), "taking a task");
        if (task == NULL) break;
        quintet_tuple *rows, *columns;
        int32_t row = number_of(task, 1), column = number_of(task, 2);
        const int32_t *a = read_line(space, "row", row, &rows), *b = read_line(space, "column", column, &columns);
        put(space, tuple_of("result", 3, (int32_t[]){row, column, product(a, b, dimension)}));
        quintet_tuple_free(rows);
        quintet_tuple_free(columns);
        quintet_tuple_free(task);
    }
    quintet_tuple_free(any_task);
    return NULL;
}

/* The master. Both matrices have at (i, j) the value i + j + 2: row i and column i are the same numbers. How many of the product are wrong. */
static int32_t multiply(quintet_space *space, int32_t dimension) {
    int32_t wrong = 0, *values = malloc(2 * (size_t)dimension * sizeof *values);
    quintet_tuple *any_result = any_of("result", 3), *result;
    if (values == NULL) {
        perror("jmatrix");
        exit(71);
    }
    for (int32_t i = 0; i < 2 * dimension; i++) values[i] = i + 2;
    for (int32_t i = 0; i < dimension; i++) {
        put_line(space, "row", i, values + i, dimension);
        put_line(space, "column", i, values + i, dimension);
    }
    for (int32_t row = 0; row < dimension; row++) {
        for (int32_t column = 0; column < dimension; column++) put(space, tuple_of("task", 2, (int32_t[]){row, column}));
    }
    /* The workers wait for this. */
    put(space, tuple_of("dimension", 1, &dimension));
    for (int32_t i = 0; i < dimension * dimension; i++) {
        must(quintet_space_take(space, any_result, QUINTET_FOREVER, &result), "taking a result");
        int32_t row = number_of(result, 1), column = number_of(result, 2), value = number_of(result, 3);
        printf("result(%d,%d) = %d\n", row, column, value);
        wrong += value != product(values + row, values + column, dimension);
        quintet_tuple_free(result);
    }
    quintet_tuple_free(any_result);
    free(values);
    return wrong;
}

int main(int count, char **arguments) {
    enum { MOST_THREADS = 64 };
    int32_t dimension = count > 1 ? atoi(arguments[1]) : 30;
    uint32_t workers, started = count > 2 ? (uint32_t)atoi(arguments[2]) : 5;
    int64_t rank;
    quintet_lab *lab;
    quintet_space *space;
    pthread_t threads[MOST_THREADS];
    if (dimension < 1 || started < 1 || started > MOST_THREADS) {
        fprintf(stderr, "usage: jmatrix [DIMENSION [WORKERS]]\n");
        return 64;
    }
    must(quintet_job_rank(&rank), "learning the rank");
    must(quintet_job_workers(&workers), "learning the number of workers");
    must(quintet_lab_connect(NULL, &lab), "connecting");
    must(quintet_lab_space(lab, &space), "finding the space");
    if (rank >= 0) {
        work(space);
        quintet_lab_free(lab);
        return 0;
    }
    /* Without workers threads of the master multiply. */
    if (workers > 0) started = 0;
    for (uint32_t i = 0; i < started; i++) pthread_create(&threads[i], NULL, work, space);
    int32_t wrong = multiply(space, dimension);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    quintet_lab_free(lab);
    if (wrong > 0) {
        printf("main job: FAILED, %d elements differ\n", wrong);
        return 1;
    }
    printf("main job: ok, %d x %d, equal to the direct product\n", dimension, dimension);
    return 0;
}

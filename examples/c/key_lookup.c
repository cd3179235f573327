/* Looks keys up in a table that one process has: workers call the master's handler, and sum up what it replies.
 *
 *     cc key_lookup.c $(pkg-config --cflags --libs quintet) -pthread -o key_lookup
 *     quintet run -n 4 ./key_lookup      # workers are processes
 *     ./key_lookup                       # workers are threads of this process
 *
 * The sum is compared with that of the table. */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1000, THREADS = 4 };
#define TABLE "squares"

/* Which share of the keys is looked up. */
struct worker {
    quintet_lab *lab;
    uint32_t number, workers;
};

struct server {
    quintet_handler *handler;
    const uint64_t *table;
};

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

/* Handles one call: a key, which is a uint32_t, is replied to with its value. Runs on the thread that serves. */
static void look_up(quintet_call *call, void *table) {
    const void *request;
    size_t length;
    must(quintet_call_request(call, &request, &length), "reading a call");
    uint32_t key = KEYS;
    if (length == sizeof key) memcpy(&key, request, sizeof key);
    if (key < KEYS) {
        must(quintet_call_reply(call, (const uint64_t *)table + key, sizeof(uint64_t)), "replying");
    } else {
        must(quintet_call_fail(call, "no such key"), "refusing");
    }
}

static void *serve(void *argument) {
    const struct server *server = argument;
    must(quintet_handler_serve(server->handler, look_up, (void *)server->table), "serving");
    return NULL;
}

static uint64_t value_of(quintet_lab *lab, uint32_t key) {
    quintet_buffer *reply;
    const void *value;
    size_t length;
    must(quintet_messaging_call(lab, TABLE, QUINTET_ANY_RANK, &key, sizeof key, 60000, &reply), "looking a key up");
    must(quintet_buffer_read(reply, &value, &length), "reading a reply");
    uint64_t found = 0;
    if (length == sizeof found) memcpy(&found, value, sizeof found);
    quintet_buffer_free(reply);
    return found;
}

static void *work(void *argument) {
    const struct worker *worker = argument;
    quintet_space *space;
    quintet_tuple *result;
    uint64_t sum = 0;
    must(quintet_messaging_wait(worker->lab, TABLE, QUINTET_ANY_RANK, 60000), "waiting for the table");
    for (uint32_t key = worker->number; key < KEYS; key += worker->workers) sum += value_of(worker->lab, key);
    must(quintet_lab_space(worker->lab, &space), "the space");
    quintet_tuple_new(&result);
    quintet_tuple_add_string(result, "sum", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_uint64(result, sum);
    must(quintet_space_out(space, result, QUINTET_FOREVER), "putting a sum");
    quintet_tuple_free(result);
    return NULL;
}

/* The sum of what the workers put. */
static uint64_t collect(quintet_lab *lab, uint32_t workers) {
    quintet_space *space;
    quintet_tuple *any, *sum;
    uint64_t total = 0, part;
    must(quintet_lab_space(lab, &space), "the space");
    quintet_tuple_new(&any);
    quintet_tuple_add_string(any, "sum", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(any, QUINTET_TYPE_UINT64);
    for (uint32_t number = 0; number < workers; number++) {
        must(quintet_space_take(space, any, QUINTET_FOREVER, &sum), "taking a sum");
        must(quintet_tuple_get_uint64(sum, 1, &part), "reading a sum");
        quintet_tuple_free(sum);
        total += part;
    }
    quintet_tuple_free(any);
    return total;
}

static int master(quintet_lab *lab, uint32_t workers) {
    static uint64_t table[KEYS];
    struct worker shares[THREADS];
    pthread_t serving, threads[THREADS];
    struct server server = {NULL, table};
    uint64_t expected = 0;
    for (uint64_t key = 0; key < KEYS; key++) expected += table[key] = key * key;
    must(quintet_handler_new(lab, TABLE, NULL, &server.handler), "handling calls");
    pthread_create(&serving, NULL, serve, &server);
    const uint32_t count = workers == 0 ? THREADS : workers;
    for (uint32_t number = 0; workers == 0 && number < THREADS; number++) {
        shares[number] = (struct worker){lab, number, THREADS};
        pthread_create(&threads[number], NULL, work, &shares[number]);
    }
    const uint64_t total = collect(lab, count);
    for (uint32_t number = 0; workers == 0 && number < THREADS; number++) pthread_join(threads[number], NULL);
    must(quintet_handler_leave(server.handler), "leaving");
    pthread_join(serving, NULL);
    quintet_handler_free(server.handler);
    if (total != expected) {
        printf("main job: WRONG, the sum is %llu, not %llu\n", (unsigned long long)total, (unsigned long long)expected);
        return 1;
    }
    printf("main job: ok, %u workers looked %d keys up\n", count, KEYS);
    return 0;
}

int main(void) {
    quintet_lab *lab;
    int64_t rank;
    uint32_t workers;
    int status = 0;
    must(quintet_lab_connect(NULL, &lab), "connecting");
    must(quintet_job_rank(&rank), "the job");
    must(quintet_job_workers(&workers), "the job");
    if (rank >= 0) {
        work(&(struct worker){lab, (uint32_t)rank, workers});
    } else {
        status = master(lab, workers);
    }
    quintet_lab_free(lab);
    return status;
}

/* The operations of a space, embedded, or served by another process at the address that is the argument. Each ends with an empty space. */

#include "serve.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>

static const char *address;

static quintet_lab *open_lab(quintet_space **space) {
    quintet_lab *lab;
    OK(address == NULL ? quintet_lab_embedded(&lab) : quintet_lab_connect(address, &lab));
    OK(quintet_lab_space(lab, space));
    return lab;
}

static void tuples_are_put_read_and_taken_in_order(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *found;
    for (int64_t i = 0; i < 3; i++) put_pair(space, "row", i);
    CHECK(count_pairs(space, "row") == 3);
    OK(quintet_space_read(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 0);
    OK(quintet_space_read_if(space, any, &found));
    CHECK(number_of(found) == 0);
    OK(quintet_space_take(space, any, QUINTET_FOREVER, &found));
    CHECK(number_of(found) == 0);
    OK(quintet_space_take_if(space, any, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_space_take(space, any, 0, &found));
    CHECK(number_of(found) == 2);
    OK(quintet_space_take_if(space, any, &found));
    CHECK(found == NULL);
    OK(quintet_space_read_if(space, any, &found));
    CHECK(found == NULL);
    quintet_tuple_free(any);
}

static void a_limit_ends_a_wait_and_says_what_nearly_matched(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *found = (quintet_tuple *)1, *near;
    quintet_lease *lease;
    OK(quintet_tuple_new(&near));
    OK(quintet_tuple_add_string(near, "row", 3));
    OK(quintet_tuple_add_int32(near, 1));
    OK(quintet_space_out(space, near, LONG_MS));
    COMES_TO(QUINTET_TIMED_OUT, quintet_space_take(space, any, 1, &found));
    CHECK(found == NULL && strstr(quintet_error_message(), "differs only in field 1") != NULL);
    COMES_TO(QUINTET_TIMED_OUT, quintet_space_read(space, any, 0, &found));
    COMES_TO(QUINTET_TIMED_OUT, quintet_space_lease(space, any, 0, &lease));
    CHECK(lease == NULL);
    OK(quintet_space_take(space, near, LONG_MS, &found));
    quintet_tuple_free(found), quintet_tuple_free(near), quintet_tuple_free(any);
}

static void several_are_put_at_one_instant(quintet_space *space) {
    quintet_tuple *tuples[] = {pair("row", 1), pair("row", 2)}, *any = any_pair("row"), *found;
    OK(quintet_space_out_many(space, (const quintet_tuple *const *)tuples, 2, LONG_MS));
    OK(quintet_space_out_many(space, NULL, 0, LONG_MS));
    REFUSED("tuples is NULL", quintet_space_out_many(space, NULL, 2, LONG_MS));
    const quintet_tuple *with_null[] = {tuples[0], NULL};
    REFUSED("tuple 1: tuple is NULL", quintet_space_out_many(space, with_null, 2, LONG_MS));
    for (int i = 0; i < 2; i++) {
        OK(quintet_space_take(space, any, LONG_MS, &found));
        CHECK(number_of(found) == i + 1);
        quintet_tuple_free(tuples[i]);
    }
    quintet_tuple_free(any);
}

static quintet_lease *lease_task(quintet_space *space, uint32_t attempt) {
    quintet_lease *lease;
    const quintet_tuple *task;
    uint32_t found;
    int64_t number;
    quintet_tuple *any = any_pair("task");
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    OK(quintet_lease_tuple(lease, &task));
    OK(quintet_tuple_get_int64(task, 1, &number));
    OK(quintet_lease_attempt(lease, &found));
    CHECK(number == 7 && found == attempt);
    quintet_tuple_free(any);
    return lease;
}

static void a_lease_is_acknowledged_released_or_freed(quintet_space *space) {
    quintet_tuple *result = pair("result", 49), *any = any_pair("result"), *found;
    put_pair(space, "task", 7);
    quintet_lease_free(lease_task(space, 1));
    quintet_lease *lease = lease_task(space, 2);
    CHECK(count_pairs(space, "task") == 0);
    OK(quintet_lease_release(lease));
    COMES_TO(QUINTET_LEASE_LOST, quintet_lease_release(lease));
    COMES_TO(QUINTET_LEASE_LOST, quintet_lease_acknowledge(lease, NULL, 0));
    quintet_lease_free(lease);
    lease = lease_task(space, 3);
    REFUSED("results is NULL", quintet_lease_acknowledge(lease, NULL, 1));
    REFUSED("field 1 is a formal", quintet_lease_acknowledge(lease, (const quintet_tuple *[]){any}, 1));
    OK(quintet_lease_acknowledge(lease, (const quintet_tuple *[]){result}, 1));
    const quintet_tuple *task;
    OK(quintet_lease_tuple(lease, &task));
    OK(quintet_tuple_length(task, &(size_t){0}));
    quintet_lease_free(lease);
    OK(quintet_space_take(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 49 && count_pairs(space, "task") == 0);
    quintet_tuple_free(any), quintet_tuple_free(result);
}

static void operations_are_begun_and_collected(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *row = pair("row", 5), *found;
    quintet_pending *take, *read, *put, *count, *take_if, *read_if;
    bool is_done;
    uint64_t number;
    OK(quintet_space_begin_take(space, any, LONG_MS, &take));
    OK(quintet_pending_wait(take, 0, &is_done));
    CHECK(!is_done);
    OK(quintet_space_begin_read(space, any, LONG_MS, &read));
    OK(quintet_space_begin_out(space, (const quintet_tuple *[]){row}, 1, LONG_MS, &put));
    OK(quintet_pending_result(put));
    OK(quintet_pending_result(put));
    OK(quintet_pending_wait(take, LONG_MS, &is_done));
    CHECK(is_done);
    for (int again = 0; again < 2; again++) {
        OK(quintet_pending_tuple(take, &found));
        CHECK(number_of(found) == 5);
    }
    OK(quintet_pending_wait(take, 0, &is_done));
    CHECK(is_done);
    put_pair(space, "row", 6);
    OK(quintet_pending_tuple(read, &found));
    CHECK(number_of(found) == 6);
    OK(quintet_space_begin_count(space, any, &count));
    REFUSED("is collected by quintet_pending_count", quintet_pending_result(count));
    OK(quintet_pending_count(count, &number));
    CHECK(number == 1);
    OK(quintet_space_begin_read_if(space, any, &read_if));
    OK(quintet_pending_tuple(read_if, &found));
    CHECK(number_of(found) == 6);
    OK(quintet_space_begin_take_if(space, any, &take_if));
    REFUSED("is collected by quintet_pending_tuple", quintet_pending_count(take_if, &number));
    OK(quintet_pending_tuple(take_if, &found));
    CHECK(number_of(found) == 6);
    quintet_pending_free(take_if);
    OK(quintet_space_begin_take_if(space, any, &take_if));
    OK(quintet_pending_tuple(take_if, &found));
    CHECK(found == NULL);
    quintet_pending_free(put);
    REFUSED("there is no tuple to put", quintet_space_begin_out(space, NULL, 0, LONG_MS, &put));
    CHECK(put == NULL);
    quintet_pending_free(take), quintet_pending_free(read), quintet_pending_free(count);
    quintet_pending_free(take_if), quintet_pending_free(read_if);
    quintet_tuple_free(any), quintet_tuple_free(row);
}

static void what_is_freed_or_cancelled_takes_nothing(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *found;
    quintet_pending *first, *second;
    OK(quintet_space_begin_take(space, any, QUINTET_FOREVER, &first));
    OK(quintet_space_begin_take(space, any, QUINTET_FOREVER, &second));
    OK(quintet_pending_cancel(first));
    COMES_TO(QUINTET_CANCELLED, quintet_pending_tuple(first, &found));
    CHECK(found == NULL);
    OK(quintet_pending_cancel(first));
    put_pair(space, "row", 1);
    OK(quintet_pending_wait(second, LONG_MS, &(bool){false}));
    /* It has come, and was not collected. */
    quintet_pending_free(second);
    quintet_pending_free(first);
    OK(quintet_space_take(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 1);
    quintet_tuple_free(any);
}

static void leases_are_begun_and_acknowledged_later(quintet_space *space) {
    quintet_tuple *any = any_pair("task"), *result = pair("result", 1), *any_result = any_pair("result"), *found;
    quintet_pending *pending, *acknowledgement;
    quintet_lease *lease;
    OK(quintet_space_begin_lease(space, any, LONG_MS, &pending));
    put_pair(space, "task", 1);
    REFUSED("is collected by quintet_pending_lease", quintet_pending_tuple(pending, &found));
    OK(quintet_pending_lease(pending, &lease));
    REFUSED("collected before", quintet_pending_lease(pending, &(quintet_lease *){NULL}));
    quintet_pending_free(pending);
    OK(quintet_lease_begin_acknowledge(lease, (const quintet_tuple *[]){result}, 1, &acknowledgement));
    COMES_TO(QUINTET_LEASE_LOST, quintet_lease_begin_acknowledge(lease, NULL, 0, &(quintet_pending *){NULL}));
    quintet_lease_free(lease);
    OK(quintet_pending_wait(acknowledgement, LONG_MS, &(bool){false}));
    OK(quintet_pending_result(acknowledgement));
    quintet_pending_free(acknowledgement);
    OK(quintet_space_take(space, any_result, LONG_MS, &found));
    CHECK(number_of(found) == 1);
    /* A lease that nobody collected returns. */
    put_pair(space, "task", 2);
    OK(quintet_space_begin_lease(space, any, LONG_MS, &pending));
    OK(quintet_pending_wait(pending, LONG_MS, &(bool){false}));
    quintet_pending_free(pending);
    OK(quintet_space_take(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 2);
    quintet_tuple_free(any), quintet_tuple_free(result), quintet_tuple_free(any_result);
}

static void count_call(void *calls) { ++*(_Atomic int *)calls; }

static void an_event_loop_is_told(quintet_lab *lab, quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *row = pair("row", 1), *found;
    quintet_pending *take, *put;
    struct pollfd watched = {.events = POLLIN};
    _Atomic int calls = 0;
    bool is_done = false;
    OK(quintet_lab_descriptor(lab, &watched.fd));
    OK(quintet_space_begin_take(space, any, LONG_MS, &take));
    OK(quintet_pending_notify(take, count_call, (void *)&calls));
    REFUSED("callback is NULL", quintet_pending_notify(take, NULL, NULL));
    OK(quintet_space_begin_out(space, (const quintet_tuple *[]){row}, 1, LONG_MS, &put));
    while (!is_done) {
        CHECK(poll(&watched, 1, calls == 0 ? LONG_MS : 0) >= 0);
        OK(quintet_lab_progress(lab));
        OK(quintet_pending_wait(take, 0, &is_done));
    }
    while (calls == 0) sched_yield();
    CHECK(calls == 1);
    OK(quintet_pending_tuple(take, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_pending_notify(take, count_call, (void *)&calls));
    CHECK(calls == 2);
    OK(quintet_pending_result(put));
    quintet_pending_free(take), quintet_pending_free(put);
    quintet_tuple_free(any), quintet_tuple_free(row);
}

struct collector {
    quintet_pending *take;
    _Atomic int64_t number;
};

/* Collects from within the call that brings the outcome. */
static void collect(void *argument) {
    struct collector *collector = argument;
    quintet_tuple *found;
    OK(quintet_pending_tuple(collector->take, &found));
    collector->number = number_of(found);
}

static void a_callback_may_collect(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *found;
    struct collector waited = {0}, done = {0};
    OK(quintet_space_begin_take(space, any, LONG_MS, &waited.take));
    OK(quintet_pending_notify(waited.take, collect, &waited));
    put_pair(space, "row", 1);
    /* It may have been called by now, or is called within this. */
    OK(quintet_pending_tuple(waited.take, &found));
    CHECK(number_of(found) == 1);
    /* Another thread of the library may have brought it, and be in the callback yet. */
    while (waited.number == 0) sched_yield();
    CHECK(waited.number == 1);
    put_pair(space, "row", 2);
    OK(quintet_space_begin_take(space, any, LONG_MS, &done.take));
    OK(quintet_pending_wait(done.take, LONG_MS, &(bool){false}));
    OK(quintet_pending_notify(done.take, collect, &done));
    CHECK(done.number == 2);
    quintet_pending_free(waited.take), quintet_pending_free(done.take), quintet_tuple_free(any);
}

static volatile sig_atomic_t signals;
static void on_signal(int signal) { (void)signal, signals = signals + 1; }
static bool is_interrupted(void *argument) { return *(volatile sig_atomic_t *)argument > 0; }

static void signal_every(long microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void a_signal_ends_a_wait_only_if_it_is_asked_for(quintet_lab *lab, quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *row = pair("row", 1), *found;
    quintet_lease *lease;
    quintet_pending *pending;
    bool is_done;
    signals = 0;
    CHECK(sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_signal}, NULL) == 0);
    signal_every(5000);
    COMES_TO(QUINTET_TIMED_OUT, quintet_space_take(space, any, 100, &found));
    CHECK(signals > 0);
    OK(quintet_lab_set_interrupt(lab, is_interrupted, (void *)&signals));
    COMES_TO(QUINTET_CANCELLED, quintet_space_take(space, any, QUINTET_FOREVER, &found));
    COMES_TO(QUINTET_CANCELLED, quintet_space_read(space, any, QUINTET_FOREVER, &found));
    COMES_TO(QUINTET_CANCELLED, quintet_space_lease(space, any, QUINTET_FOREVER, &lease));
    OK(quintet_space_begin_take(space, any, QUINTET_FOREVER, &pending));
    COMES_TO(QUINTET_CANCELLED, quintet_pending_wait(pending, QUINTET_FOREVER, &is_done));
    COMES_TO(QUINTET_CANCELLED, quintet_pending_tuple(pending, &found));
    /* The waits had no effect, and the operation that was begun goes on. */
    signal_every(0);
    signals = 0;
    OK(quintet_space_out_many(space, (const quintet_tuple *[]){row, row}, 2, LONG_MS));
    OK(quintet_space_out_many(space, NULL, 0, LONG_MS));
    OK(quintet_pending_tuple(pending, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_space_read_if(space, any, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_space_take_if(space, any, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_lab_set_interrupt(lab, NULL, NULL));
    quintet_pending_free(pending), quintet_tuple_free(any), quintet_tuple_free(row);
}

enum { THREADS = 4, ROWS = 200 };

/* Takes rows until one is negative. Gives their sum. */
static void *sum_rows(void *space) {
    quintet_tuple *any = any_pair("row");
    for (intptr_t sum = 0;;) {
        quintet_tuple *row;
        OK(quintet_space_take(space, any, QUINTET_FOREVER, &row));
        int64_t number = number_of(row);
        if (number < 0) {
            quintet_tuple_free(any);
            return (void *)sum;
        }
        sum += (intptr_t)number;
    }
}

static void threads_share_a_lab(quintet_space *space) {
    pthread_t threads[THREADS];
    intptr_t total = 0;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, sum_rows, space) == 0);
    for (int64_t row = 1; row <= ROWS; row++) put_pair(space, "row", row);
    for (int i = 0; i < THREADS; i++) put_pair(space, "row", -1);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        CHECK(pthread_join(threads[i], &sum) == 0);
        total += (intptr_t)sum;
    }
    CHECK(total == ROWS * (ROWS + 1) / 2);
}

static void *cancel(void *pending) {
    OK(quintet_pending_cancel(pending));
    return NULL;
}

static void one_thread_cancels_what_another_waits_for(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *found;
    quintet_pending *pending;
    pthread_t thread;
    OK(quintet_space_begin_take(space, any, QUINTET_FOREVER, &pending));
    CHECK(pthread_create(&thread, NULL, cancel, pending) == 0);
    COMES_TO(QUINTET_CANCELLED, quintet_pending_tuple(pending, &found));
    CHECK(pthread_join(thread, NULL) == 0);
    quintet_pending_free(pending), quintet_tuple_free(any);
}

static void what_is_null_is_refused(quintet_lab *lab, quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *found;
    quintet_pending *pending;
    REFUSED("space is NULL", quintet_space_take(NULL, any, 0, &found));
    REFUSED("wanted is NULL", quintet_space_take(space, NULL, 0, &found));
    REFUSED("tuple is NULL", quintet_space_take(space, any, 0, NULL));
    REFUSED("tuple is NULL", quintet_space_out(space, NULL, 0));
    REFUSED("count is NULL", quintet_space_count(space, any, NULL));
    REFUSED("state is NULL", quintet_space_status(space, NULL));
    REFUSED("lease is NULL", quintet_lease_release(NULL));
    REFUSED("lease is NULL", quintet_space_lease(space, any, 0, NULL));
    REFUSED("pending is NULL", quintet_pending_wait(NULL, 0, &(bool){false}));
    REFUSED("wanted is NULL", quintet_space_begin_take(space, NULL, 0, &pending));
    REFUSED("lab is NULL", quintet_lab_close(NULL));
    REFUSED("lab is NULL", quintet_lab_embedded(NULL));
    REFUSED("space is NULL", quintet_lab_space(lab, NULL));
    REFUSED("descriptor is NULL", quintet_lab_descriptor(lab, NULL));
    REFUSED("rank is NULL", quintet_job_rank(NULL));
    REFUSED("workers is NULL", quintet_job_workers(NULL));
    quintet_tuple_free(any);
}

/* Everything that was made from it outlives the lab, and knows that it is closed. */
static void after_its_close_everything_says_so(void) {
    quintet_space *space;
    quintet_lab *lab = open_lab(&space);
    quintet_tuple *any = any_pair("task"), *found;
    quintet_lease *lease;
    quintet_pending *pending, *collected;
    put_pair(space, "task", 7);
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    OK(quintet_space_begin_take(space, any, QUINTET_FOREVER, &pending));
    put_pair(space, "task", 8);
    OK(quintet_space_begin_take(space, any, QUINTET_FOREVER, &collected));
    OK(quintet_lab_close(lab));
    OK(quintet_lab_close(lab));
    COMES_TO(QUINTET_CLOSED, quintet_space_take(space, any, LONG_MS, &found));
    COMES_TO(QUINTET_CLOSED, quintet_space_status(space, &(quintet_state){0}));
    quintet_lab_free(lab);
    COMES_TO(QUINTET_CLOSED, quintet_lease_release(lease));
    COMES_TO(QUINTET_CLOSED, quintet_pending_tuple(collected, &found));
    quintet_lease_free(lease), quintet_pending_free(pending), quintet_pending_free(collected), quintet_tuple_free(any);
}

/* Waits for that event of any pair of that name. */
static void pair_event(quintet_watch *watch, quintet_change change) {
    quintet_event event;
    quintet_tuple *tuple;
    OK(quintet_watch_next(watch, LONG_MS, &event, &tuple));
    CHECK(tuple != NULL && event.change == change);
    quintet_tuple_free(tuple);
}

static void results_of_a_lease_expire(quintet_space *space) {
    quintet_tuple *any = any_pair("job"), *job = pair("job", 1), *result = pair("result", 1), *results = any_pair("result");
    const quintet_tuple *puts[] = {result};
    quintet_watch *watch;
    quintet_lease *lease;
    quintet_pending *acknowledgement;
    OK(quintet_space_watch(space, results, QUINTET_SINCE_NOW, &watch));
    for (int begun = 0; begun < 2; begun++) {
        OK(quintet_space_out(space, job, QUINTET_FOREVER));
        OK(quintet_space_lease(space, any, LONG_MS, &lease));
        if (begun) {
            OK(quintet_lease_begin_acknowledge_for(lease, puts, 1, 1, &acknowledgement));
            OK(quintet_pending_result(acknowledgement));
            quintet_pending_free(acknowledgement);
        } else {
            OK(quintet_lease_acknowledge_for(lease, puts, 1, 1));
        }
        COMES_TO(QUINTET_LEASE_LOST, quintet_lease_acknowledge_for(lease, puts, 1, 1));
        quintet_lease_free(lease);
        pair_event(watch, QUINTET_CHANGE_PUT);
        pair_event(watch, QUINTET_CHANGE_EXPIRED);
    }
    quintet_watch_free(watch);
    quintet_tuple_free(any), quintet_tuple_free(job), quintet_tuple_free(result), quintet_tuple_free(results);
}

static void what_expires_leaves_by_itself(quintet_space *space) {
    quintet_tuple *any = any_pair("short"), *row = pair("short", 1), *found;
    quintet_watch *watch;
    quintet_group *group;
    quintet_pending *put;
    OK(quintet_space_watch(space, any, QUINTET_SINCE_NOW, &watch));
    OK(quintet_space_out_for(space, row, 1, QUINTET_FOREVER));
    pair_event(watch, QUINTET_CHANGE_PUT);
    pair_event(watch, QUINTET_CHANGE_EXPIRED);
    OK(quintet_space_group(space, LONG_MS, &group));
    OK(quintet_group_out_for(group, row, 1));
    OK(quintet_group_commit(group));
    quintet_group_free(group);
    pair_event(watch, QUINTET_CHANGE_PUT);
    pair_event(watch, QUINTET_CHANGE_EXPIRED);
    OK(quintet_space_begin_out_for(space, (const quintet_tuple *[]){row}, 1, 100 * LONG_MS, QUINTET_FOREVER, &put));
    OK(quintet_pending_result(put));
    quintet_pending_free(put);
    OK(quintet_space_out_for(space, row, QUINTET_FOREVER, QUINTET_FOREVER));
    quintet_listing *listing;
    quintet_row shown;
    int forever = 0;
    OK(quintet_space_list(space, any, &listing));
    while (quintet_listing_next(listing, &shown, &found) == QUINTET_OK && found != NULL) {
        forever += shown.expires_in_ms == QUINTET_FOREVER;
        CHECK(shown.expires_in_ms <= 100 * LONG_MS);
        quintet_tuple_free(found);
    }
    CHECK(forever == 1);
    quintet_listing_free(listing);
    for (int left = 2; left > 0; left--) {
        OK(quintet_space_take_if(space, any, &found));
        CHECK(found != NULL);
        quintet_tuple_free(found);
    }
    quintet_watch_free(watch);
    quintet_tuple_free(any);
    quintet_tuple_free(row);
}

int main(int count, char **arguments) {
    address = count > 1 ? arguments[1] : NULL;
    pid_t server = address == NULL ? 0 : serve(address, 0);
    quintet_space *space;
    quintet_lab *lab = open_lab(&space);
    const char *found;
    OK(quintet_lab_address(lab, &found));
    CHECK(address == NULL ? found == NULL : strcmp(found, address) == 0);
    tuples_are_put_read_and_taken_in_order(space);
    a_limit_ends_a_wait_and_says_what_nearly_matched(space);
    several_are_put_at_one_instant(space);
    a_lease_is_acknowledged_released_or_freed(space);
    operations_are_begun_and_collected(space);
    what_expires_leaves_by_itself(space);
    results_of_a_lease_expire(space);
    what_is_freed_or_cancelled_takes_nothing(space);
    leases_are_begun_and_acknowledged_later(space);
    an_event_loop_is_told(lab, space);
    a_callback_may_collect(space);
    a_signal_ends_a_wait_only_if_it_is_asked_for(lab, space);
    threads_share_a_lab(space);
    one_thread_cancels_what_another_waits_for(space);
    what_is_null_is_refused(lab, space);
    quintet_state state;
    OK(quintet_space_status(space, &state));
    CHECK(state.tuples == 0 && state.leases == 0 && state.waiters == 0 && state.redone > 0 && state.managers == 1);
    after_its_close_everything_says_so();
    quintet_lab_free(lab);
    if (server != 0) kill_server(server);
    return 0;
}

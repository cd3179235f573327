/* What happens in a space, as it happens: in order, behind a number, with a timeout, in an event loop, interrupted, and from several threads. */

#include "serve.h"
#include <poll.h>
#include <pthread.h>

/* The next event is this change of the pair with this number; gives the event's own. */
static uint64_t comes(quintet_watch *watch, quintet_change change, int64_t number) {
    quintet_event event;
    quintet_tuple *tuple;
    OK(quintet_watch_next(watch, LONG_MS, &event, &tuple));
    CHECK(number_of(tuple) == number);
    CHECK(event.change == change);
    return event.number;
}

static void nothing_within(quintet_watch *watch, int64_t timeout_ms) {
    quintet_event event;
    quintet_tuple *tuple;
    OK(quintet_watch_next(watch, timeout_ms, &event, &tuple));
    CHECK(tuple == NULL && event.number == 0);
}

static quintet_watch *watch_pairs(quintet_space *space, const char *name, uint64_t since) {
    quintet_tuple *any = any_pair(name);
    quintet_watch *watch;
    OK(quintet_space_watch(space, any, since, &watch));
    quintet_tuple_free(any);
    return watch;
}

static void take_pair(quintet_space *space, const char *name) {
    quintet_tuple *any = any_pair(name), *found;
    OK(quintet_space_take(space, any, LONG_MS, &found));
    quintet_tuple_free(found), quintet_tuple_free(any);
}

static void events_come_in_order_and_behind_a_number(quintet_space *space) {
    put_pair(space, "before", 0);
    quintet_watch *all, *orders = watch_pairs(space, "order", QUINTET_SINCE_NOW), *again;
    uint64_t put, number;
    OK(quintet_space_watch(space, NULL, QUINTET_SINCE_NOW, &all));
    nothing_within(orders, 1);
    put_pair(space, "order", 1);
    put_pair(space, "other", 2);
    take_pair(space, "order");
    put = comes(orders, QUINTET_CHANGE_PUT, 1);
    OK(quintet_watch_number(orders, &number));
    CHECK(number == put);
    again = watch_pairs(space, "order", number);
    CHECK(comes(again, QUINTET_CHANGE_TAKEN, 1) == comes(orders, QUINTET_CHANGE_TAKEN, 1));
    nothing_within(again, 1);
    CHECK(comes(all, QUINTET_CHANGE_PUT, 1) == put);
    comes(all, QUINTET_CHANGE_PUT, 2);
    take_pair(space, "other"), take_pair(space, "before");
    quintet_watch_free(all), quintet_watch_free(orders), quintet_watch_free(again);
}

static void what_is_there_comes_first(quintet_space *space) {
    uint64_t number;
    put_pair(space, "there", 1), put_pair(space, "there", 2);
    quintet_watch *watch = watch_pairs(space, "there", QUINTET_SINCE_START);
    take_pair(space, "there");
    comes(watch, QUINTET_CHANGE_THERE, 1);
    OK(quintet_watch_number(watch, &number));
    CHECK(number == 0);
    comes(watch, QUINTET_CHANGE_THERE, 2);
    OK(quintet_watch_number(watch, &number));
    CHECK(number > 0);
    comes(watch, QUINTET_CHANGE_TAKEN, 1);
    take_pair(space, "there");
    quintet_watch_free(watch);
}

static void leases_are_told_with_their_ends(quintet_space *space) {
    quintet_watch *watch = watch_pairs(space, "task", QUINTET_SINCE_NOW);
    quintet_tuple *any = any_pair("task");
    quintet_lease *lease;
    put_pair(space, "task", 1);
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    OK(quintet_lease_release(lease));
    quintet_lease_free(lease);
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    OK(quintet_lease_acknowledge(lease, NULL, 0));
    quintet_lease_free(lease);
    const quintet_change changes[] = {QUINTET_CHANGE_PUT, QUINTET_CHANGE_LEASED, QUINTET_CHANGE_RETURNED, QUINTET_CHANGE_LEASED, QUINTET_CHANGE_DONE};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) comes(watch, changes[i], 1);
    quintet_tuple_free(any);
    quintet_watch_free(watch);
}

/* As a program does that polls descriptors of its own beside. */
static void an_event_loop_hears_of_an_event(quintet_lab *lab, quintet_space *space, quintet_space *others) {
    quintet_watch *watch = watch_pairs(space, "loop", QUINTET_SINCE_NOW);
    quintet_event event;
    quintet_tuple *tuple;
    struct pollfd watched = {.events = POLLIN};
    OK(quintet_watch_descriptor(watch, &watched.fd));
    for (int64_t number = 1; number <= 3; number++) {
        OK(quintet_watch_next(watch, 0, &event, &tuple));
        CHECK(tuple == NULL);
        put_pair(others, "loop", number);
        while (tuple == NULL) {
            CHECK(poll(&watched, 1, LONG_MS) == 1);
            OK(quintet_lab_progress(lab));
            OK(quintet_watch_next(watch, 0, &event, &tuple));
        }
        CHECK(event.change == QUINTET_CHANGE_PUT && number_of(tuple) == number);
    }
    for (int i = 0; i < 3; i++) take_pair(others, "loop");
    quintet_watch_free(watch);
}

static bool is_interrupted(void *argument) { return *(const bool *)argument; }

static void an_interrupted_wait_loses_no_event(quintet_lab *lab, quintet_space *space) {
    bool interrupted = true;
    quintet_watch *watch = watch_pairs(space, "interrupted", QUINTET_SINCE_NOW);
    quintet_tuple *tuple;
    OK(quintet_lab_set_interrupt(lab, is_interrupted, &interrupted));
    COMES_TO(QUINTET_CANCELLED, quintet_watch_next(watch, QUINTET_FOREVER, NULL, &tuple));
    CHECK(tuple == NULL);
    interrupted = false;
    put_pair(space, "interrupted", 1);
    comes(watch, QUINTET_CHANGE_PUT, 1);
    OK(quintet_lab_set_interrupt(lab, NULL, NULL));
    take_pair(space, "interrupted");
    quintet_watch_free(watch);
}

enum { EVENTS = 200, THREADS = 4 };
static int seen[EVENTS];

static void *watch_some(void *argument) {
    quintet_event event;
    quintet_tuple *tuple;
    for (int i = 0; i < EVENTS / THREADS; i++) {
        OK(quintet_watch_next(argument, LONG_MS, &event, &tuple));
        __atomic_fetch_add(&seen[number_of(tuple)], 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void each_event_is_given_to_one_thread(quintet_space *space) {
    pthread_t threads[THREADS];
    quintet_watch *watch = watch_pairs(space, "shared", QUINTET_SINCE_NOW);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, watch_some, watch) == 0);
    for (int64_t number = 0; number < EVENTS; number++) put_pair(space, "shared", number);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < EVENTS; i++) {
        CHECK(seen[i] == 1);
        take_pair(space, "shared");
    }
    quintet_watch_free(watch);
}

static void misuse_is_refused(quintet_lab *lab, quintet_space *space) {
    quintet_tuple *empty, *tuple;
    quintet_watch *watch = watch_pairs(space, "x", QUINTET_SINCE_NOW);
    OK(quintet_tuple_new(&empty));
    COMES_TO(QUINTET_BAD_VALUE, quintet_space_watch(space, empty, QUINTET_SINCE_NOW, &(quintet_watch *){NULL}));
    REFUSED("watch is NULL", quintet_space_watch(space, NULL, QUINTET_SINCE_NOW, NULL));
    REFUSED("tuple is NULL", quintet_watch_next(watch, 0, NULL, NULL));
    REFUSED("leads to no watch", quintet_watch_next((quintet_watch *)lab, 0, NULL, &tuple));
    quintet_watch_free(watch);
    /* A number of another life of the space. */
    OK(quintet_space_watch(space, NULL, 1, &watch));
    COMES_TO(QUINTET_TOO_OLD, quintet_watch_next(watch, LONG_MS, NULL, &tuple));
    nothing_within(watch, QUINTET_FOREVER);
    quintet_watch_free(watch), quintet_watch_free(NULL);
    quintet_tuple_free(empty);
}

static void a_watch_ends_with_its_lab(quintet_lab *lab, quintet_space *space) {
    quintet_tuple *tuple;
    quintet_watch *watch = watch_pairs(space, "x", QUINTET_SINCE_NOW);
    OK(quintet_lab_close(lab));
    COMES_TO(QUINTET_CLOSED, quintet_watch_next(watch, QUINTET_FOREVER, NULL, &tuple));
    quintet_lab_free(lab);
    quintet_watch_free(watch);
}

static void use(quintet_lab *lab, quintet_lab *other) {
    quintet_space *space, *others;
    OK(quintet_lab_space(lab, &space));
    OK(quintet_lab_space(other, &others));
    events_come_in_order_and_behind_a_number(space);
    what_is_there_comes_first(space);
    leases_are_told_with_their_ends(space);
    an_event_loop_hears_of_an_event(lab, space, others);
    an_interrupted_wait_loses_no_event(lab, space);
    each_event_is_given_to_one_thread(space);
    misuse_is_refused(lab, space);
    a_watch_ends_with_its_lab(lab, space);
}

int main(int argc, char **argv) {
    quintet_lab *lab, *other;
    if (argc > 1) {
        pid_t server = serve(argv[1], 0);
        OK(quintet_lab_connect(argv[1], &lab));
        OK(quintet_lab_connect(argv[1], &other));
        use(lab, other);
        quintet_lab_free(other);
        kill_server(server);
    } else {
        OK(quintet_lab_embedded(&lab));
        use(lab, lab);
    }
    return 0;
}

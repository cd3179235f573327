/* Calls of handlers, between processes and in one: in a folder that is the argument. */

#include "serve.h"
#include <pthread.h>

static char place[4096], other_place[4096];

static quintet_lab *connected(void) {
    quintet_lab *lab;
    OK(quintet_lab_connect(place, &lab));
    return lab;
}

/* Replies what it was told and an "!"; of "bad" it says that it is; to "nothing" it says nothing. */
static void exclaim(quintet_call *call, void *handled) {
    const void *request;
    size_t length;
    char reply[100];
    OK(quintet_call_request(call, &request, &length));
    ++*(int *)handled;
    if (length == 7 && memcmp(request, "nothing", 7) == 0) return;
    if (length == 3 && memcmp(request, "bad", 3) == 0) {
        OK(quintet_call_fail(call, "that is bad"));
        REFUSED("before", quintet_call_reply(call, "x", 1));
        return;
    }
    CHECK(length + 1 <= sizeof reply);
    if (length > 0) memcpy(reply, request, length);
    reply[length] = '!';
    OK(quintet_call_reply(call, reply, length + 1));
    REFUSED("before", quintet_call_fail(call, "x"));
}

struct serving {
    quintet_handler *handler;
    int handled;
    quintet_status ended;
};

static void *serve_calls(void *argument) {
    struct serving *serving = argument;
    serving->ended = quintet_handler_serve(serving->handler, exclaim, &serving->handled);
    return NULL;
}

static void replies_with(quintet_lab *lab, const char *request, const char *expected) {
    quintet_buffer *reply;
    const void *data;
    size_t length;
    OK(quintet_messaging_call(lab, "test", QUINTET_ANY_RANK, request, strlen(request), LONG_MS, &reply));
    OK(quintet_buffer_read(reply, &data, &length));
    CHECK(length == strlen(expected) && memcmp(data, expected, length) == 0);
    quintet_buffer_free(reply);
}

static void calls_are_replied_to_or_fail(quintet_lab *there, quintet_lab *here) {
    struct serving serving = {0};
    pthread_t thread;
    quintet_buffer *reply;
    OK(quintet_handler_new(there, "test", NULL, &serving.handler));
    CHECK(pthread_create(&thread, NULL, serve_calls, &serving) == 0);
    OK(quintet_messaging_wait(here, "test", QUINTET_ANY_RANK, LONG_MS));
    replies_with(here, "hello", "hello!");
    replies_with(here, "", "!");
    COMES_TO(QUINTET_TASK_FAILED, quintet_messaging_call(here, "test", QUINTET_ANY_RANK, "bad", 3, LONG_MS, &reply));
    CHECK(reply == NULL && strstr(quintet_error_message(), "that is bad") != NULL);
    COMES_TO(QUINTET_TASK_FAILED, quintet_messaging_call(here, "test", QUINTET_ANY_RANK, "nothing", 7, LONG_MS, &reply));
    CHECK(strstr(quintet_error_message(), "without a reply") != NULL);
    OK(quintet_messaging_send(here, "test", QUINTET_ANY_RANK, "one way", 7));
    replies_with(here, "last", "last!");
    OK(quintet_handler_leave(serving.handler));
    OK(quintet_handler_leave(serving.handler));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(serving.ended);
    CHECK(serving.handled == 6);
    COMES_TO(QUINTET_NO_HANDLER, quintet_messaging_call(here, "test", QUINTET_ANY_RANK, "x", 1, LONG_MS, &reply));
    quintet_handler_free(serving.handler);
}

static void what_is_too_much_is_refused(quintet_lab *there, quintet_lab *here) {
    quintet_handler *handler, *other;
    quintet_buffer *reply;
    quintet_call *call;
    const quintet_handler_limits limits = {.max_request_bytes = 10, .waiting = 2};
    OK(quintet_handler_new(there, "test", &limits, &handler));
    REFUSED("other limits", quintet_handler_new(here, "test", NULL, &other));
    CHECK(other == NULL);
    COMES_TO(QUINTET_TOO_LARGE, quintet_messaging_call(here, "test", QUINTET_ANY_RANK, "eleven long", 11, LONG_MS, &reply));
    OK(quintet_messaging_send(here, "test", QUINTET_ANY_RANK, "1", 1));
    OK(quintet_messaging_send(here, "test", QUINTET_ANY_RANK, "2", 1));
    COMES_TO(QUINTET_BUSY, quintet_messaging_send(here, "test", QUINTET_ANY_RANK, "3", 1));
    for (int number = 0; number < 2; number++) {
        int64_t remaining;
        bool is_one_way;
        OK(quintet_handler_next(handler, LONG_MS, &call));
        OK(quintet_call_is_one_way(call, &is_one_way));
        OK(quintet_call_remaining(call, &remaining));
        CHECK(is_one_way && remaining == QUINTET_FOREVER);
        OK(quintet_call_reply(call, NULL, 0));
        quintet_call_free(call);
    }
    COMES_TO(QUINTET_TIMED_OUT, quintet_handler_next(handler, 1, &call));
    CHECK(call == NULL);
    COMES_TO(QUINTET_TIMED_OUT, quintet_messaging_call(here, "test", QUINTET_ANY_RANK, "x", 1, 1, &reply));
    COMES_TO(QUINTET_TIMED_OUT, quintet_messaging_wait(here, "test", 3, 1));
    quintet_handler_free(handler);
}

static void mistakes_are_found(quintet_lab *lab) {
    quintet_handler *handler;
    quintet_buffer *reply;
    quintet_call *call;
    const quintet_handler_limits wrong = {.max_request_bytes = UINT32_MAX};
    REFUSED("lab is NULL", quintet_messaging_send(NULL, "test", QUINTET_ANY_RANK, NULL, 0));
    REFUSED("name is NULL", quintet_messaging_send(lab, NULL, QUINTET_ANY_RANK, NULL, 0));
    REFUSED("request is NULL", quintet_messaging_send(lab, "test", QUINTET_ANY_RANK, NULL, 1));
    REFUSED("no rank", quintet_messaging_send(lab, "test", -2, NULL, 0));
    REFUSED("1 to 128 bytes", quintet_messaging_call(lab, "", QUINTET_ANY_RANK, NULL, 0, 1, &reply));
    REFUSED("reply is NULL", quintet_messaging_call(lab, "test", QUINTET_ANY_RANK, NULL, 0, 1, NULL));
    REFUSED("limits", quintet_handler_new(lab, "test", &wrong, &handler));
    OK(quintet_handler_new(lab, "test", NULL, &handler));
    REFUSED("handle is NULL", quintet_handler_serve(handler, NULL, NULL));
    OK(quintet_messaging_send(lab, "test", QUINTET_ANY_RANK, "x", 1));
    OK(quintet_handler_next(handler, LONG_MS, &call));
    REFUSED("no handler", quintet_handler_leave((quintet_handler *)(void *)call));
    REFUSED("UTF-8", quintet_call_fail(call, "\xff"));
    quintet_call_free(call);
    quintet_call_free(NULL);
    quintet_handler_free(handler);
    quintet_handler_free(NULL);
}

static volatile bool is_interrupted;
static bool look(void *argument) {
    (void)argument;
    return is_interrupted;
}

static void a_check_of_the_program_ends_waits(quintet_lab *lab) {
    quintet_handler *handler;
    quintet_buffer *reply;
    quintet_call *call;
    OK(quintet_handler_new(lab, "test", NULL, &handler));
    OK(quintet_lab_set_interrupt(lab, look, NULL));
    is_interrupted = true;
    COMES_TO(QUINTET_CANCELLED, quintet_handler_next(handler, QUINTET_FOREVER, &call));
    COMES_TO(QUINTET_CANCELLED, quintet_messaging_call(lab, "test", QUINTET_ANY_RANK, "x", 1, QUINTET_FOREVER, &reply));
    /* A handler may have begun the call. */
    CHECK(strstr(quintet_error_message(), "interrupt check") != NULL && strstr(quintet_error_message(), "nothing") == NULL);
    COMES_TO(QUINTET_CANCELLED, quintet_messaging_wait(lab, "nobody", QUINTET_ANY_RANK, QUINTET_FOREVER));
    is_interrupted = false;
    COMES_TO(QUINTET_TIMED_OUT, quintet_handler_next(handler, 1, &call));
    OK(quintet_lab_set_interrupt(lab, NULL, NULL));
    quintet_handler_free(handler);
}

/* By which the child below learns that the server listens. */
static int go;

/* A child that has begun a call is killed: whoever called is told. To be called before this process has threads. */
static pid_t begin_calls_in_a_child(void) {
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        quintet_handler *handler;
        quintet_call *call;
        char byte;
        close(ready[1]);
        CHECK(read(ready[0], &byte, 1) == 1);
        quintet_lab *lab = connected();
        OK(quintet_handler_new(lab, "killed", NULL, &handler));
        OK(quintet_handler_next(handler, LONG_MS, &call));
        raise(SIGKILL);
    }
    close(ready[0]);
    go = ready[1];
    return child;
}

static void a_killed_handler_is_told_of(quintet_lab *lab, pid_t child) {
    quintet_buffer *reply;
    CHECK(write(go, "x", 1) == 1);
    close(go);
    OK(quintet_messaging_wait(lab, "killed", QUINTET_ANY_RANK, LONG_MS));
    COMES_TO(QUINTET_PEER_DIED, quintet_messaging_call(lab, "killed", QUINTET_ANY_RANK, "x", 1, QUINTET_FOREVER, &reply));
    COMES_TO(QUINTET_NO_HANDLER, quintet_messaging_call(lab, "killed", QUINTET_ANY_RANK, "x", 1, LONG_MS, &reply));
    CHECK(waitpid(child, NULL, 0) == child);
}

static void a_dead_broker_ends_handlers(pid_t server) {
    struct serving serving = {0};
    pthread_t thread;
    quintet_lab *lab;
    OK(quintet_lab_connect(other_place, &lab));
    OK(quintet_handler_new(lab, "test", NULL, &serving.handler));
    CHECK(pthread_create(&thread, NULL, serve_calls, &serving) == 0);
    replies_with(lab, "alive", "alive!");
    kill_server(server);
    CHECK(pthread_join(thread, NULL) == 0);
    COMES_TO(QUINTET_PEER_DIED, serving.ended);
    quintet_handler_free(serving.handler);
    quintet_lab_free(lab);
}

/* What lies in a space, with what is leased and what is long. */
static void a_listing_shows_tuples_and_takes_none(quintet_lab *lab) {
    quintet_space *space;
    quintet_listing *listing;
    quintet_lease *lease;
    quintet_tuple *any = any_pair("row"), *tuple, *large;
    quintet_row row;
    static char text[1001];
    uint64_t before = 0;
    OK(quintet_lab_space(lab, &space));
    memset(text, 'x', 1000);
    for (int64_t number = 0; number < 300; number++) put_pair(space, "row", number);
    OK(quintet_tuple_new(&large));
    OK(quintet_tuple_add_string(large, text, QUINTET_NUL_TERMINATED));
    OK(quintet_space_out(space, large, LONG_MS));
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    OK(quintet_space_list(space, any, &listing));
    for (int64_t number = 0; number < 300; number++) {
        OK(quintet_listing_next(listing, &row, &tuple));
        CHECK(row.age > before || number == 0);
        CHECK(row.is_leased == (number == 0) && row.cut == 0 && row.failed == 0 && row.bytes > 0);
        before = row.age;
        CHECK(number_of(tuple) == number);
    }
    OK(quintet_listing_next(listing, &row, &tuple));
    CHECK(tuple == NULL);
    OK(quintet_listing_next(listing, NULL, &tuple));
    quintet_listing_free(listing);
    OK(quintet_space_list(space, large, &listing));
    OK(quintet_listing_next(listing, &row, &tuple));
    const char *beginning;
    size_t length;
    OK(quintet_tuple_get_string(tuple, 0, &beginning, &length));
    CHECK(row.cut == 1 && length == 256 && beginning[255] == 'x' && row.ends_in_ms == QUINTET_FOREVER);
    quintet_tuple_free(tuple), quintet_listing_free(listing);
    OK(quintet_space_list(space, NULL, &listing));
    quintet_lab_close(lab);
    COMES_TO(QUINTET_CLOSED, quintet_listing_next(listing, &row, &tuple));
    CHECK(tuple == NULL);
    REFUSED("tuple is NULL", quintet_listing_next(listing, &row, NULL));
    REFUSED("listing is NULL", quintet_space_list(space, NULL, NULL));
    quintet_listing_free(listing), quintet_listing_free(NULL);
    quintet_lease_free(lease), quintet_tuple_free(large), quintet_tuple_free(any);
}

int main(int count, char **arguments) {
    quintet_server *server;
    quintet_lab *embedded;
    CHECK(count == 2);
    snprintf(place, sizeof place, "shm:%s/calls", arguments[1]);
    snprintf(other_place, sizeof other_place, "shm:%s/other-calls", arguments[1]);
    pid_t child = begin_calls_in_a_child();
    pid_t other = serve(other_place, 0);
    OK(quintet_server_start(place, 0, 0, &server));
    quintet_lab *there = connected(), *here = connected();
    OK(quintet_lab_embedded(&embedded));
    calls_are_replied_to_or_fail(there, here);
    calls_are_replied_to_or_fail(embedded, embedded);
    what_is_too_much_is_refused(there, here);
    mistakes_are_found(here);
    a_check_of_the_program_ends_waits(here);
    a_killed_handler_is_told_of(here, child);
    a_dead_broker_ends_handlers(other);
    a_listing_shows_tuples_and_takes_none(there);
    quintet_lab_free(here), quintet_lab_free(there), quintet_lab_free(embedded);
    quintet_server_free(server);
    return 0;
}

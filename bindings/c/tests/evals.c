/* Live tuples that workers make, in this process and in others, which are killed: in a folder that is the argument. */

#include "serve.h"
#include <pthread.h>

enum { PRODUCTS = 500, KILLS = 10 };

static char place[4096];
static char *folder, *program;

static quintet_space *space_of(quintet_lab *lab) {
    quintet_space *space;
    OK(quintet_lab_space(lab, &space));
    return space;
}

static quintet_tuple *made_of(const char *name) {
    quintet_tuple *tuple;
    OK(quintet_tuple_new(&tuple));
    OK(quintet_tuple_add_string(tuple, name, QUINTET_NUL_TERMINATED));
    return tuple;
}

/* So many formals of this type. */
static quintet_tuple *formals(int type, int count) {
    quintet_tuple *tuple;
    OK(quintet_tuple_new(&tuple));
    while (count-- > 0) OK(quintet_tuple_add_formal(tuple, type));
    return tuple;
}

static void add(quintet_evals *evals, const char *name, int type, int count, quintet_make make, void *argument) {
    quintet_tuple *arguments = formals(type, count);
    OK(quintet_evals_add(evals, name, arguments, make, argument));
    quintet_tuple_free(arguments);
}

static void give(quintet_eval *eval, quintet_tuple *made) {
    OK(quintet_eval_give(eval, made));
    quintet_tuple_free(made);
}

static const char *text_of(const quintet_tuple *tuple, size_t index) {
    const char *text;
    OK(quintet_tuple_get_string(tuple, index, &text, NULL));
    return text;
}

static const char *name_asked_for(quintet_eval *eval) {
    const quintet_tuple *arguments;
    OK(quintet_eval_arguments(eval, &arguments));
    return text_of(arguments, 0);
}

/* Says which process makes the tuple, and waits for a word. */
static void who(quintet_eval *eval, void *space) {
    const char *name = name_asked_for(eval);
    quintet_tuple *going_on = made_of("go on"), *seen, *made = pair("who", getpid());
    put_pair(space, "began", getpid());
    OK(quintet_tuple_add_string(going_on, name, QUINTET_NUL_TERMINATED));
    OK(quintet_space_read(space, going_on, LONG_MS, &seen));
    OK(quintet_tuple_add_string(made, name, QUINTET_NUL_TERMINATED));
    quintet_tuple_free(going_on), quintet_tuple_free(seen);
    give(eval, made);
}

static void multiply(quintet_eval *eval, void *unused) {
    const quintet_tuple *arguments;
    int64_t a, b;
    (void)unused;
    OK(quintet_eval_arguments(eval, &arguments));
    OK(quintet_tuple_get_int64(arguments, 0, &a));
    OK(quintet_tuple_get_int64(arguments, 1, &b));
    quintet_tuple *made = pair("product", a);
    OK(quintet_tuple_add_int64(made, a * b));
    give(eval, made);
}

static void die(quintet_eval *eval, void *unused) {
    (void)eval, (void)unused;
    raise(SIGKILL);
}

/* What a worker's process does, until its space is gone. */
static int work(void) {
    quintet_lab *lab;
    quintet_evals *evals;
    OK(quintet_lab_connect(place, &lab));
    OK(quintet_evals_new(&evals));
    add(evals, "who", QUINTET_TYPE_STRING, 1, who, space_of(lab));
    add(evals, "product", QUINTET_TYPE_INT64, 2, multiply, NULL);
    OK(quintet_evals_add(evals, "die", NULL, die, NULL));
    OK(quintet_evals_serve(evals, space_of(lab)));
    quintet_evals_free(evals), quintet_lab_free(lab);
    return 0;
}

static pid_t start_worker(void) {
    char *const arguments[] = {program, folder, "work", NULL};
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    return child;
}

static int ended(pid_t worker) {
    int status;
    CHECK(waitpid(worker, &status, 0) == worker);
    return status;
}

static void kill_worker(pid_t worker) {
    CHECK(kill(worker, SIGKILL) == 0);
    CHECK(WIFSIGNALED(ended(worker)));
}

static void ask_for(quintet_space *space, const char *function, const char *name) {
    quintet_tuple *arguments = made_of(name);
    OK(quintet_space_eval_on_workers(space, function, arguments, LONG_MS));
    quintet_tuple_free(arguments);
}

static pid_t who_began(quintet_space *space) {
    quintet_tuple *any = any_pair("began"), *began;
    OK(quintet_space_take(space, any, LONG_MS, &began));
    quintet_tuple_free(any);
    return (pid_t)number_of(began);
}

/* The text of a function's failure, which is taken. */
static void has_failed(quintet_space *space, const char *function, const char *with) {
    quintet_tuple *any = made_of("quintet.failed"), *failed;
    OK(quintet_tuple_add_string(any, function, QUINTET_NUL_TERMINATED));
    OK(quintet_tuple_add_formal(any, QUINTET_TYPE_STRING));
    OK(quintet_space_take(space, any, LONG_MS, &failed));
    if (strstr(text_of(failed, 2), with) == NULL) fprintf(stderr, "%s\n", text_of(failed, 2));
    CHECK(strstr(text_of(failed, 2), with) != NULL);
    quintet_tuple_free(any), quintet_tuple_free(failed);
}

static void a_killed_worker_costs_an_attempt_and_the_tuple_comes_once(quintet_space *space) {
    quintet_tuple *any = any_pair("who"), *made, *word = made_of("go on");
    OK(quintet_tuple_add_formal(any, QUINTET_TYPE_STRING));
    OK(quintet_tuple_add_string(word, "a", QUINTET_NUL_TERMINATED));
    ask_for(space, "who", "a");
    for (int kills = 0; kills < 3; kills++) {
        pid_t worker = start_worker();
        CHECK(who_began(space) == worker);
        kill_worker(worker);
    }
    pid_t survivor = start_worker();
    CHECK(who_began(space) == survivor);
    OK(quintet_space_out(space, word, LONG_MS));
    OK(quintet_space_take(space, any, LONG_MS, &made));
    CHECK(strcmp(text_of(made, 2), "a") == 0);
    CHECK(number_of(made) == survivor);
    OK(quintet_space_take_if(space, any, &made));
    CHECK(made == NULL);
    OK(quintet_space_take_if(space, word, &made));
    quintet_tuple_free(any), quintet_tuple_free(word), quintet_tuple_free(made);
    kill_worker(survivor);
}

static uint64_t tuples_in(quintet_space *space) {
    quintet_state state;
    OK(quintet_space_status(space, &state));
    return state.tuples + state.hidden;
}

/* Hidden may be too what this connection took since the worker on another of its threads began to wait: it is settled once that ends. */
static bool only_left(quintet_space *space, uint64_t tuples) {
    quintet_state state;
    OK(quintet_space_status(space, &state));
    return state.tuples == tuples && state.leases == 0;
}

static void workers_killed_at_any_moment_lose_and_double_no_tuple(quintet_space *space) {
    quintet_tuple *any = any_pair("product"), *made;
    OK(quintet_tuple_add_formal(any, QUINTET_TYPE_INT64));
    for (int64_t n = 0; n < PRODUCTS; n++) {
        quintet_tuple *arguments;
        OK(quintet_tuple_new(&arguments));
        OK(quintet_tuple_add_int64(arguments, n));
        OK(quintet_tuple_add_int64(arguments, 2));
        OK(quintet_space_eval_on_workers(space, "product", arguments, LONG_MS));
        quintet_tuple_free(arguments);
    }
    for (uint64_t kills = 1; kills <= KILLS; kills++) {
        pid_t worker = start_worker();
        for (uint64_t count = 0; count < kills * PRODUCTS / (KILLS + 2);) OK(quintet_space_count(space, any, &count));
        kill_worker(worker);
    }
    pid_t last = start_worker();
    bool came[PRODUCTS] = {false};
    for (int number = 0; number < PRODUCTS; number++) {
        int64_t n, product;
        OK(quintet_space_take(space, any, LONG_MS, &made));
        OK(quintet_tuple_get_int64(made, 1, &n));
        OK(quintet_tuple_get_int64(made, 2, &product));
        CHECK(n >= 0 && n < PRODUCTS && product == 2 * n && !came[n]);
        came[n] = true;
        quintet_tuple_free(made);
    }
    CHECK(tuples_in(space) == 0);
    quintet_tuple_free(any);
    kill_worker(last);
}

/* Until the server has seen that a killed worker is gone: a call may still go to it, and is an attempt. */
static void wait_for_no_waiter(quintet_space *space) {
    quintet_state state;
    do OK(quintet_space_status(space, &state));
    while (state.waiters > 0);
}

/* The worker that is left ends with its space. */
static pid_t one_whose_workers_all_die_fails(quintet_space *space) {
    wait_for_no_waiter(space);
    OK(quintet_space_eval_on_workers(space, "die", NULL, LONG_MS));
    for (int attempts = 0; attempts < 5; attempts++) CHECK(WIFSIGNALED(ended(start_worker())));
    pid_t left = start_worker();
    has_failed(space, "die", "given up after 5 attempts");
    CHECK(tuples_in(space) == 0);
    return left;
}

/* Ends a call in each of the ways in which a function may, and looks at what it is refused. */
static void end_as_asked(quintet_eval *eval, void *asked) {
    const char *name = name_asked_for(eval);
    quintet_tuple *made = pair(name, ++*(int *)asked), *any = any_pair("x");
    REFUSED("formal", quintet_eval_give(eval, any));
    REFUSED("tuple is NULL", quintet_eval_give(eval, NULL));
    REFUSED("text is NULL", quintet_eval_fail(eval, NULL));
    REFUSED("UTF-8", quintet_eval_fail(eval, "\xff"));
    REFUSED("arguments is NULL", quintet_eval_arguments(eval, NULL));
    REFUSED("no evals", quintet_evals_serve((quintet_evals *)(void *)eval, NULL));
    if (strcmp(name, "fail") == 0) OK(quintet_eval_fail(eval, "as it was told"));
    if (strcmp(name, "give") == 0) OK(quintet_eval_give(eval, made));
    if (strcmp(name, "nothing") != 0) {
        REFUSED("before", quintet_eval_fail(eval, "again"));
        REFUSED("before", quintet_eval_give(eval, made));
    }
    quintet_tuple_free(made), quintet_tuple_free(any);
}

struct serving {
    quintet_evals *evals;
    quintet_space *space;
    quintet_status status;
};

static void *serve_evals(void *argument) {
    struct serving *serving = argument;
    serving->status = quintet_evals_serve(serving->evals, serving->space);
    return NULL;
}

static void take_number(quintet_space *space, const char *name, int64_t expected) {
    quintet_tuple *any = any_pair(name), *made;
    OK(quintet_space_take(space, any, LONG_MS, &made));
    CHECK(number_of(made) == expected);
    quintet_tuple_free(any);
}

/* Whether so many calls wait for a worker that has this function. */
static uint64_t calls_of(quintet_space *space, const char *function) {
    quintet_tuple *call = made_of("quintet.eval");
    uint64_t count;
    OK(quintet_tuple_add_string(call, function, QUINTET_NUL_TERMINATED));
    OK(quintet_tuple_add_string(call, "give", QUINTET_NUL_TERMINATED));
    OK(quintet_space_count(space, call, &count));
    quintet_tuple_free(call);
    return count;
}

static void failures_are_tuples_and_other_calls_wait(void) {
    int asked = 0;
    quintet_lab *lab;
    quintet_evals *evals;
    pthread_t thread;
    OK(quintet_lab_embedded(&lab));
    OK(quintet_evals_new(&evals));
    quintet_space *space = space_of(lab);
    add(evals, "end", QUINTET_TYPE_STRING, 1, end_as_asked, &asked);
    add(evals, "other", QUINTET_TYPE_INT64, 1, end_as_asked, &asked);
    struct serving serving = {evals, space, QUINTET_OK};
    ask_for(space, "other", "give");    /* its argument is a string */
    ask_for(space, "nobody's", "give"); /* no worker has it */
    CHECK(pthread_create(&thread, NULL, serve_evals, &serving) == 0);
    ask_for(space, "end", "fail");
    has_failed(space, "end", "as it was told");
    ask_for(space, "end", "nothing");
    has_failed(space, "end", "without a tuple");
    ask_for(space, "end", "give");
    take_number(space, "give", 3);
    CHECK(calls_of(space, "other") == 1 && calls_of(space, "nobody's") == 1);
    CHECK(only_left(space, 2));
    REFUSED("before that", quintet_evals_add(evals, "late", NULL, die, NULL));
    OK(quintet_lab_close(lab));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(serving.status);
    quintet_evals_free(evals), quintet_lab_free(lab);
}

static volatile bool is_interrupted;
static bool look(void *argument) {
    (void)argument;
    return is_interrupted;
}

static void a_check_of_the_program_ends_serving(quintet_lab *lab) {
    int asked = 0;
    quintet_evals *evals;
    pthread_t thread;
    quintet_space *space = space_of(lab);
    OK(quintet_evals_new(&evals));
    add(evals, "end", QUINTET_TYPE_STRING, 1, end_as_asked, &asked);
    struct serving serving = {evals, space, QUINTET_OK};
    OK(quintet_lab_set_interrupt(lab, look, NULL));
    for (int times = 1; times <= 2; times++) {
        CHECK(pthread_create(&thread, NULL, serve_evals, &serving) == 0);
        ask_for(space, "end", "give");
        take_number(space, "give", times);
        is_interrupted = true;
        CHECK(pthread_join(thread, NULL) == 0);
        COMES_TO(QUINTET_CANCELLED, serving.status);
        is_interrupted = false;
    }
    OK(quintet_lab_set_interrupt(lab, NULL, NULL));
    quintet_evals_free(evals);
}

/* It is no worker: its parent's connection is none of its own. */
static void a_forked_child_serves_nothing(quintet_lab *lab) {
    quintet_evals *evals;
    OK(quintet_evals_new(&evals));
    OK(quintet_evals_add(evals, "die", NULL, die, NULL));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        COMES_TO(QUINTET_CLOSED, quintet_evals_serve(evals, space_of(lab)));
        CHECK(strstr(quintet_error_message(), "connect again") != NULL);
        _exit(0);
    }
    CHECK(ended(child) == 0);
    quintet_evals_free(evals);
}

static void mistakes_are_found(quintet_lab *lab) {
    quintet_space *space = space_of(lab);
    quintet_evals *evals;
    quintet_tuple *many = formals(QUINTET_TYPE_BOOL, 60), *wrong = formals(QUINTET_TYPE_BOOL, 1);
    REFUSED("evals is NULL", quintet_evals_new(NULL));
    OK(quintet_evals_new(&evals));
    REFUSED("1 to 16 functions", quintet_evals_serve(evals, space));
    REFUSED("evals is NULL", quintet_evals_serve(NULL, space));
    REFUSED("space is NULL", quintet_evals_serve(evals, NULL));
    REFUSED("evals is NULL", quintet_evals_add(NULL, "x", NULL, die, NULL));
    REFUSED("function is NULL", quintet_evals_add(evals, NULL, NULL, die, NULL));
    REFUSED("make is NULL", quintet_evals_add(evals, "x", NULL, NULL, NULL));
    REFUSED("room for 59", quintet_evals_add(evals, "x", many, die, NULL));
    for (int count = 0; count < 16; count++) OK(quintet_evals_add(evals, "x", NULL, die, NULL));
    REFUSED("1 to 16 functions", quintet_evals_add(evals, "x", NULL, die, NULL));
    REFUSED("space is NULL", quintet_space_eval_on_workers(NULL, "x", NULL, LONG_MS));
    REFUSED("function is NULL", quintet_space_eval_on_workers(space, NULL, NULL, LONG_MS));
    REFUSED("field 0 is a formal", quintet_space_eval_on_workers(space, "x", wrong, LONG_MS));
    REFUSED("eval is NULL", quintet_eval_fail(NULL, "x"));
    REFUSED("UTF-8", quintet_tuple_add_string(wrong, "\xff", QUINTET_NUL_TERMINATED));
    REFUSED("UTF-8", quintet_evals_add(evals, "x", wrong, die, NULL));
    REFUSED("UTF-8", quintet_space_eval_on_workers(space, "x", wrong, LONG_MS));
    quintet_evals_free(evals), quintet_evals_free(NULL);
    quintet_tuple_free(many), quintet_tuple_free(wrong);
}

int main(int count, char **arguments) {
    quintet_server *server;
    quintet_lab *lab;
    CHECK(count == 2 || count == 3);
    program = arguments[0], folder = arguments[1];
    snprintf(place, sizeof place, "shm:%s/evals", folder);
    if (count == 3) return work();
    OK(quintet_server_start(place, 0, 0, &server));
    OK(quintet_lab_connect(place, &lab));
    quintet_space *space = space_of(lab);
    mistakes_are_found(lab);
    failures_are_tuples_and_other_calls_wait();
    a_check_of_the_program_ends_serving(lab);
    a_forked_child_serves_nothing(lab);
    a_killed_worker_costs_an_attempt_and_the_tuple_comes_once(space);
    workers_killed_at_any_moment_lose_and_double_no_tuple(space);
    pid_t left = one_whose_workers_all_die_fails(space);
    quintet_lab_free(lab);
    quintet_server_free(server);
    CHECK(ended(left) == 0);
    return 0;
}

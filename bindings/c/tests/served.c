/* Spaces that other processes serve: in a folder that is the argument. */

#include "serve.h"
#include <dirent.h>
#include <pthread.h>
#include <sched.h>

static char place[4096], other_place[4096], unix_place[4200];

static void connect_to(const char *address, quintet_lab **lab, quintet_space **space) {
    OK(quintet_lab_connect(address, lab));
    OK(quintet_lab_space(*lab, space));
}

static void what_is_no_address_and_where_nobody_listens(void) {
    quintet_lab *lab;
    quintet_server *server;
    REFUSED("PATH", quintet_lab_connect("pigeon:7", &lab));
    REFUSED("not UTF-8", quintet_lab_connect("shm:/\xff", &lab));
    CHECK(lab == NULL);
    COMES_TO(QUINTET_UNREACHABLE, quintet_lab_connect(place, &lab));
    REFUSED("address is NULL", quintet_server_start(NULL, 0, 0, &server));
    REFUSED("server is NULL", quintet_server_start(place, 0, 0, NULL));
    setenv("QUINTET_CLUSTER", "many", 1);
    REFUSED("environment variable QUINTET_CLUSTER", quintet_lab_connect(place, &lab));
    unsetenv("QUINTET_CLUSTER");
}

static void the_environment_says_where_and_who(void) {
    quintet_server *server;
    quintet_lab *lab;
    const char *address, *served;
    int64_t rank;
    uint32_t workers;
    OK(quintet_lab_connect(NULL, &lab));
    OK(quintet_lab_address(lab, &address));
    CHECK(address == NULL);
    quintet_lab_free(lab);
    OK(quintet_job_rank(&rank));
    OK(quintet_job_workers(&workers));
    CHECK(rank == -1 && workers == 0);
    setenv("QUINTET_CLUSTER", "7", 1), setenv("QUINTET_RANK", "2", 1), setenv("QUINTET_WORKERS", "4", 1);
    OK(quintet_server_start("tcp:127.0.0.1:0", 0, 0, &server));
    OK(quintet_server_address(server, &served));
    CHECK(strncmp(served, "tcp:127.0.0.1:", 14) == 0 && strcmp(served, "tcp:127.0.0.1:0") != 0);
    setenv("QUINTET_SPACE", served, 1);
    OK(quintet_lab_connect(NULL, &lab));
    OK(quintet_lab_address(lab, &address));
    CHECK(strcmp(address, served) == 0);
    OK(quintet_job_rank(&rank));
    OK(quintet_job_workers(&workers));
    CHECK(rank == 2 && workers == 4);
    quintet_lab_free(lab);
    setenv("QUINTET_CLUSTER", "8", 1), setenv("QUINTET_RANK", "two", 1);
    COMES_TO(QUINTET_WRONG_CLUSTER, quintet_lab_connect(NULL, &lab));
    REFUSED("environment variable QUINTET_RANK", quintet_job_rank(&rank));
    CHECK(rank == -1);
    unsetenv("QUINTET_SPACE"), unsetenv("QUINTET_CLUSTER"), unsetenv("QUINTET_RANK"), unsetenv("QUINTET_WORKERS");
    quintet_server_free(server);
}

static void one_process_listens_at_an_address(void) {
    quintet_server *server, *second;
    quintet_lab *lab;
    OK(quintet_server_start(place, 0, 0, &server));
    COMES_TO(QUINTET_ADDRESS_IN_USE, quintet_server_start(place, 0, 0, &second));
    CHECK(second == NULL);
    OK(quintet_server_stop(server));
    OK(quintet_server_stop(server));
    COMES_TO(QUINTET_UNREACHABLE, quintet_lab_connect(place, &lab));
    quintet_server_free(server);
}

static void a_space_holds_so_many_bytes(void) {
    quintet_server *server;
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *half, *large, *found;
    static char bytes[20000];
    OK(quintet_server_start(place, 20000, 0, &server));
    connect_to(place, &lab, &space);
    OK(quintet_tuple_new(&half));
    OK(quintet_tuple_add_bytes(half, bytes, 11000));
    OK(quintet_tuple_new(&large));
    OK(quintet_tuple_add_bytes(large, bytes, sizeof bytes));
    COMES_TO(QUINTET_TOO_LARGE, quintet_space_out(space, large, LONG_MS));
    OK(quintet_space_out(space, half, LONG_MS));
    COMES_TO(QUINTET_SPACE_FULL, quintet_space_out(space, half, 1));
    quintet_pending *parked;
    OK(quintet_space_begin_out(space, (const quintet_tuple *[]){half}, 1, QUINTET_FOREVER, &parked));
    OK(quintet_space_take(space, half, LONG_MS, &found));
    OK(quintet_pending_result(parked));
    quintet_pending_free(parked);
    quintet_tuple_free(found), quintet_tuple_free(half), quintet_tuple_free(large);
    quintet_lab_free(lab), quintet_server_free(server);
}

static void *take_a_row(void *space) {
    quintet_tuple *any = any_pair("row"), *found;
    COMES_TO(QUINTET_PEER_DIED, quintet_space_take(space, any, QUINTET_FOREVER, &found));
    CHECK(found == NULL);
    quintet_tuple_free(any);
    return NULL;
}

/* The server is killed under a take that waits, a lease, and a tuple that lies in its memory. */
static void a_dead_server_ends_every_wait(pid_t server) {
    quintet_lab *lab;
    quintet_space *space;
    quintet_lease *lease;
    quintet_buffer *buffer;
    quintet_state state = {0};
    pthread_t thread;
    quintet_tuple *any = any_pair("task"), *image, *taken;
    void *pixels;
    connect_to(other_place, &lab, &space);
    put_pair(space, "task", 1);
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    OK(quintet_buffer_new(100000, &buffer));
    OK(quintet_buffer_write(buffer, &pixels));
    memset(pixels, 7, 100000);
    OK(quintet_tuple_new(&image));
    OK(quintet_tuple_add_buffer(image, QUINTET_TYPE_UINT8, 2, (uint64_t[]){100, 1000}, buffer));
    quintet_buffer_free(buffer);
    OK(quintet_space_out(space, image, LONG_MS));
    OK(quintet_space_take(space, image, LONG_MS, &taken));
    CHECK(pthread_create(&thread, NULL, take_a_row, space) == 0);
    while (state.waiters == 0) OK(quintet_space_status(space, &state));
    kill_server(server);
    CHECK(pthread_join(thread, NULL) == 0);
    COMES_TO(QUINTET_PEER_DIED, quintet_space_status(space, &state));
    CHECK(strstr(quintet_error_message(), "the connection is over") != NULL);
    COMES_TO(QUINTET_PEER_DIED, quintet_lease_acknowledge(lease, NULL, 0));
    quintet_array array;
    OK(quintet_tuple_get_array(taken, 0, &array));
    CHECK(((const uint8_t *)array.data)[99999] == 7);
    quintet_tuple_free(taken), quintet_tuple_free(image), quintet_tuple_free(any);
    quintet_lease_free(lease);
    quintet_lab_free(lab);
}

/* Whether every thread of the library blocks every signal that can be blocked; how many there are. */
static int count_quiet_threads(void) {
    int count = 0;
    char path[300], line[200], name[64];
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads != NULL);
    for (struct dirent *next; (next = readdir(threads)) != NULL;) {
        unsigned long long blocked = 0;
        bool is_ours = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", next->d_name);
        FILE *status = fopen(path, "r");
        if (status == NULL) continue;
        while (fgets(line, sizeof line, status) != NULL) {
            if (sscanf(line, "Name: %63s", name) == 1) is_ours = strncmp(name, "quintet-", 8) == 0;
            sscanf(line, "SigBlk: %llx", &blocked);
        }
        fclose(status);
        for (int signal = 1; is_ours && signal <= SIGTERM; signal++) {
            CHECK(signal == SIGKILL || (blocked >> (signal - 1) & 1) == 1);
        }
        count += is_ours;
    }
    closedir(threads);
    return count;
}

static void signals_are_the_programs(void) {
    quintet_server *server;
    quintet_lab *lab;
    quintet_space *space;
    quintet_lease *lease;
    sigset_t mask;
    quintet_tuple *any = any_pair("task");
    snprintf(unix_place, sizeof unix_place, "unix:%s-unix", place + 4);
    OK(quintet_server_start(unix_place, 0, 0, &server));
    connect_to(unix_place, &lab, &space);
    put_pair(space, "task", 1);
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    /* The server's, what writes behind, what renews leases: each gives itself its name when it begins. */
    while (count_quiet_threads() < 3) sched_yield();
    CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0 && !sigismember(&mask, SIGTERM) && !sigismember(&mask, SIGINT));
    quintet_lease_free(lease), quintet_tuple_free(any), quintet_lab_free(lab), quintet_server_free(server);
}

/* A child of fork has its parent's handles, and may not speak for it. */
static void a_forked_child_connects_again(void) {
    quintet_server *server;
    quintet_lab *lab;
    quintet_space *space;
    quintet_lease *lease;
    quintet_tuple *any = any_pair("task"), *found;
    OK(quintet_server_start(place, 0, 0, &server));
    connect_to(place, &lab, &space);
    put_pair(space, "task", 7);
    OK(quintet_space_lease(space, any, LONG_MS, &lease));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        COMES_TO(QUINTET_CLOSED, quintet_space_take(space, any, LONG_MS, &found));
        CHECK(strstr(quintet_error_message(), "connect again") != NULL);
        quintet_lease_free(lease), quintet_lab_free(lab), quintet_server_free(server);
        connect_to(place, &lab, &space);
        put_pair(space, "from the child", 1);
        quintet_lab_free(lab);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(count_pairs(space, "from the child") == 1 && count_pairs(space, "task") == 0);
    OK(quintet_lease_acknowledge(lease, NULL, 0));
    quintet_lease_free(lease), quintet_tuple_free(any), quintet_lab_free(lab), quintet_server_free(server);
}

static void a_logged_space_outlives_its_server(void) {
    char log[4200];
    quintet_server *server, *second;
    quintet_lab *lab;
    quintet_space *space;
    snprintf(log, sizeof log, "%s.log", place + 4);
    quintet_server_settings settings = {.log_dir = log, .max_tuples = 7};
    OK(quintet_server_start_with(place, &settings, &server));
    COMES_TO(QUINTET_ADDRESS_IN_USE, quintet_server_start_with(other_place, &settings, &second));
    connect_to(place, &lab, &space);
    put_pair(space, "kept", 1);
    quintet_lab_free(lab);
    OK(quintet_server_stop(server));
    quintet_server_free(server);
    OK(quintet_server_start_with(place, &settings, &server));
    connect_to(place, &lab, &space);
    CHECK(count_pairs(space, "kept") == 1);
    quintet_lab_free(lab);
    quintet_server_free(server);
    settings.managers = 2;
    REFUSED("keeps no log", quintet_server_start_with(place, &settings, &server));
}

static void a_space_has_several_managers_and_limits_of_its_own(void) {
    char first[4200], other[4200];
    snprintf(first, sizeof first, "%s.one", place);
    snprintf(other, sizeof other, "%s.two", place);
    const char *peers[] = {first, other};
    quintet_server_settings settings = {.managers = 2, .hot_key_requests = 1000, .max_spaces = 1, .max_attempts = 1};
    quintet_server *server, *second;
    quintet_lab *lab;
    quintet_space *space, *named;
    OK(quintet_server_start_with(place, &settings, &server));
    connect_to(place, &lab, &space);
    put_pair(space, "row", 1);
    OK(quintet_lab_create_space(lab, "one", NULL, &named));
    quintet_space_free(named);
    COMES_TO(QUINTET_SPACE_FULL, quintet_lab_create_space(lab, "two", NULL, &named));
    quintet_lab_free(lab);
    quintet_server_free(server);
    /* Each in its own place, as in processes of their own. */
    settings = (quintet_server_settings){.peers = peers, .peer_count = 2, .number = 1};
    OK(quintet_server_start_with(NULL, &settings, &server));
    settings.number = 2;
    OK(quintet_server_start_with(NULL, &settings, &second));
    connect_to(first, &lab, &space);
    put_pair(space, "row", 1);
    CHECK(count_pairs(space, "row") == 1);
    quintet_state state;
    OK(quintet_space_status(space, &state));
    CHECK(state.managers == 2);
    quintet_lab_free(lab);
    quintet_server_free(server);
    quintet_server_free(second);
}

static void what_cannot_be_served_is_refused(void) {
    const char *two[] = {"127.0.0.1:1", "127.0.0.1:2"}, *odd[] = {"/tmp/x"};
    quintet_server_settings settings = {.replicas = two, .replica_count = 2, .number = 1};
    quintet_server *server;
    REFUSED("three or five", quintet_server_start_with(NULL, &settings, &server));
    settings.replicas = odd;
    settings.replica_count = 1;
    COMES_TO(QUINTET_BAD_VALUE, quintet_server_start_with(NULL, &settings, &server));
    REFUSED("address is NULL", quintet_server_start_with(NULL, NULL, &server));
    CHECK(server == NULL);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    snprintf(place, sizeof place, "shm:%s/space", arguments[1]);
    snprintf(other_place, sizeof other_place, "shm:%s/other", arguments[1]);
    pid_t server = serve(other_place, 0);
    what_is_no_address_and_where_nobody_listens();
    the_environment_says_where_and_who();
    one_process_listens_at_an_address();
    a_space_holds_so_many_bytes();
    a_logged_space_outlives_its_server();
    a_space_has_several_managers_and_limits_of_its_own();
    what_cannot_be_served_is_refused();
    a_dead_server_ends_every_wait(server);
    signals_are_the_programs();
    a_forked_child_connects_again();
    return 0;
}

/* Who waits in a space, who is connected to it, how it is used, and what its replicas do. */

#include "check.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A space that is served in this process, or is embedded. */
static quintet_lab *connected(const char *address, quintet_space **space) {
    quintet_lab *lab;
    OK(address == NULL ? quintet_lab_embedded(&lab) : quintet_lab_connect(address, &lab));
    OK(quintet_lab_space(lab, space));
    return lab;
}

/* The only request that waits, with what it asks for. */
static quintet_waiting_row only_waiting(quintet_space *space, quintet_tuple **wanted) {
    quintet_waiting *waiting;
    quintet_waiting_row row = {0}, none;
    bool is_there;
    OK(quintet_space_waiting(space, &waiting));
    OK(quintet_waiting_next(waiting, &row, wanted, &is_there));
    CHECK(is_there);
    OK(quintet_waiting_next(waiting, &none, NULL, &is_there));
    CHECK(!is_there && none.age == 0);
    quintet_waiting_free(waiting);
    return row;
}

static void who_waits_is_shown_with_what_he_asks_for(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *long_one, *put = pair("row", 1), *wanted, *found;
    quintet_pending *pending;
    quintet_type type;
    static char text[1001];
    const char *beginning;
    size_t length;
    OK(quintet_space_begin_take(space, any, LONG_MS, &pending));
    quintet_waiting_row row = only_waiting(space, &wanted);
    CHECK(row.operation == QUINTET_OPERATION_TAKE && row.awaited == QUINTET_AWAITED_TUPLE);
    CHECK(row.puts == 0 && row.hidden == 0 && row.cut == 0 && row.age > 0 && row.client_port > 0);
    CHECK(row.waited_ms >= 0 && row.ends_in_ms > 0 && row.waited_ms + row.ends_in_ms <= LONG_MS);
    OK(quintet_tuple_get_string(wanted, 0, &beginning, &length));
    CHECK(strcmp(beginning, "row") == 0);
    OK(quintet_tuple_type(wanted, 1, &type));
    CHECK(type == QUINTET_TYPE_INT64);
    REFUSED("formal", quintet_tuple_get_int64(wanted, 1, &(int64_t){0}));
    /* What is shown is a template of its own. */
    OK(quintet_space_out(space, put, LONG_MS));
    OK(quintet_pending_tuple(pending, &found));
    CHECK(number_of(found) == 1);
    quintet_pending_free(pending);
    OK(quintet_space_out(space, put, LONG_MS));
    OK(quintet_space_take_if(space, wanted, &found));
    CHECK(number_of(found) == 1);
    quintet_tuple_free(wanted);
    memset(text, 'x', 1000);
    OK(quintet_tuple_new(&long_one));
    OK(quintet_tuple_add_string(long_one, text, QUINTET_NUL_TERMINATED));
    OK(quintet_space_begin_lease(space, long_one, QUINTET_FOREVER, &pending));
    row = only_waiting(space, &wanted);
    CHECK(row.operation == QUINTET_OPERATION_LEASE && row.cut == 1 && row.ends_in_ms == QUINTET_FOREVER);
    OK(quintet_tuple_get_string(wanted, 0, &beginning, &length));
    CHECK(length == 256 && beginning[255] == 'x');
    quintet_pending_free(pending);
    quintet_tuple_free(wanted), quintet_tuple_free(any), quintet_tuple_free(put), quintet_tuple_free(long_one);
}

/* The second of two tuples waits for room. */
static void who_puts_without_room_asks_for_nothing(const char *address) {
    quintet_server *server;
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *tuple = pair("row", 1), *wanted;
    const quintet_tuple *both[] = {tuple, tuple};
    quintet_pending *pending;
    OK(quintet_server_start(address, 0, 1, &server));
    lab = connected(address, &space);
    OK(quintet_space_begin_out(space, both, 1, LONG_MS, &pending));
    OK(quintet_pending_result(pending));
    quintet_pending_free(pending);
    OK(quintet_space_begin_out(space, both, 1, LONG_MS, &pending));
    quintet_waiting_row row = only_waiting(space, &wanted);
    CHECK(row.operation == QUINTET_OPERATION_OUT && row.awaited == QUINTET_AWAITED_ROOM && row.puts == 1 && wanted == NULL);
    quintet_pending_free(pending);
    quintet_lab_free(lab);
    quintet_server_free(server);
    quintet_tuple_free(tuple);
}

/* How many clients there are; that which has leases, or has acknowledged some, if there is one. */
static int count_clients(quintet_space *space, quintet_client_row *holder) {
    quintet_clients *clients;
    quintet_client_row row;
    bool is_there;
    int count = 0;
    OK(quintet_space_clients(space, &clients));
    for (;; count++) {
        OK(quintet_clients_next(clients, &row, &is_there));
        if (!is_there) break;
        if (row.leases + row.acknowledged > 0) *holder = row;
    }
    CHECK(row.node == 0);
    quintet_clients_free(clients);
    return count;
}

static void clients_are_shown_with_what_they_hold(const char *address) {
    static const uint8_t nobody[32];
    quintet_space *space, *other;
    quintet_client_row holder = {0};
    quintet_lease *lease;
    quintet_tuple *any = any_pair("task");
    quintet_lab *lab = connected(address, &space), *second = connected(address, &other);
    put_pair(other, "task", 1);
    OK(quintet_space_lease(other, any, LONG_MS, &lease));
    if (address == NULL) {
        CHECK(count_clients(other, &holder) == 0);
    } else {
        CHECK(count_clients(space, &holder) >= 2 && holder.leases == 1 && holder.acknowledged == 0);
        CHECK(holder.reach == QUINTET_REACH_MACHINE && holder.node > 0 && holder.port > 0 && holder.connected_ms >= 0);
        CHECK(!holder.is_proved && memcmp(holder.identity, nobody, sizeof nobody) == 0);
        const quintet_client_row before = holder;
        OK(quintet_lease_acknowledge(lease, NULL, 0));
        count_clients(space, &holder);
        CHECK(holder.leases == 0 && holder.acknowledged == 1 && holder.held_ms >= 0 && holder.node == before.node);
    }
    quintet_lease_free(lease);
    quintet_tuple_free(any);
    quintet_lab_free(second), quintet_lab_free(lab);
}

/* The partition whose tuples this one is like. */
static quintet_partition_row partition_of(quintet_space *space, const char *expected) {
    quintet_partitions *partitions;
    quintet_partition_row row, found = {0};
    quintet_tuple *types;
    const char *shown;
    bool is_there = false;
    OK(quintet_space_partitions(space, &partitions));
    for (;;) {
        OK(quintet_partitions_next(partitions, &row, &types));
        if (types == NULL) break;
        OK(quintet_tuple_show(types, &shown));
        if (strcmp(shown, expected) == 0) found = row, is_there = true;
        quintet_tuple_free(types);
    }
    OK(quintet_partitions_next(partitions, NULL, &types));
    CHECK(is_there && types == NULL);
    quintet_partitions_free(partitions);
    return found;
}

static void partitions_and_hot_keys_tell_what_is_used(const char *address) {
    quintet_space *space;
    quintet_lab *lab = connected(address, &space);
    quintet_tuple *second = pair("job", 2), *any = any_pair("job"), *found, *nameless;
    for (int64_t n = 0; n < 3; n++) put_pair(space, "job", n);
    put_pair(space, "done", 1);
    OK(quintet_tuple_new(&nameless));
    OK(quintet_tuple_add_double(nameless, 0.5));
    OK(quintet_space_out(space, nameless, LONG_MS));
    for (int n = 0; n < 200; n++) {
        OK(quintet_space_read(space, second, LONG_MS, &found));
        CHECK(number_of(found) == 2);
    }
    OK(quintet_space_take(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 0);
    quintet_partition_row job = partition_of(space, "(\"job\", ?i64)"), done = partition_of(space, "(\"done\", ?i64)");
    CHECK(job.has_name && job.tuples == 2 && job.put == 3 && job.taken == 1 && job.read == 200 && job.asked == 201 && job.bytes > 0);
    CHECK(job.filled_ms >= job.since_put_ms && job.since_put_ms >= 0 && job.since_delivery_ms >= 0 && job.since_asked_ms >= 0);
    CHECK(job.shape_count == 2 && job.shapes[0].fields == 3 && job.shapes[0].asked == 200);
    CHECK(job.shapes[1].fields == 1 && job.shapes[1].asked == 1 && job.other_shapes == 0 && job.shapes[2].asked == 0);
    CHECK(done.tuples == 1 && done.since_delivery_ms == QUINTET_NEVER && done.since_asked_ms == QUINTET_NEVER && done.shape_count == 0);
    CHECK(!partition_of(space, "(?f64)").has_name);
    quintet_hot_keys *keys;
    quintet_hot_key_row row;
    OK(quintet_space_hot_keys(space, &keys));
    OK(quintet_hot_keys_next(keys, &row, &found));
    CHECK(row.asked >= 8 && row.asked <= 25 && row.error < row.asked && row.cut == 0); /* One question in sixteen counts. */
    CHECK(number_of(found) == 2);
    while (quintet_hot_keys_next(keys, NULL, &found) == QUINTET_OK && found != NULL) quintet_tuple_free(found);
    quintet_hot_keys_free(keys);
    quintet_tuple_free(second), quintet_tuple_free(any), quintet_tuple_free(nameless);
    quintet_lab_free(lab);
}

static void mistakes_are_found(const char *address) {
    quintet_space *space;
    quintet_lab *lab = connected(address, &space);
    quintet_waiting *waiting;
    quintet_clients *clients;
    quintet_partitions *partitions;
    quintet_hot_keys *keys;
    quintet_replicas *replicas;
    quintet_waiting_row row;
    quintet_client_row client;
    quintet_replica_row replica;
    quintet_tuple *tuple;
    bool is_there = true;
    OK(quintet_lab_replicas(lab, &replicas));
    OK(quintet_replicas_next(replicas, &replica, &is_there));
    CHECK(!is_there && replica.address == NULL);
    quintet_replicas_free(replicas), quintet_replicas_free(NULL);
    REFUSED("replicas is NULL", quintet_lab_replicas(lab, NULL));
    REFUSED("waiting is NULL", quintet_space_waiting(space, NULL));
    REFUSED("space is NULL", quintet_space_clients(NULL, &clients));
    CHECK(clients == NULL);
    OK(quintet_space_waiting(space, &waiting));
    OK(quintet_space_clients(space, &clients));
    OK(quintet_space_partitions(space, &partitions));
    OK(quintet_space_hot_keys(space, &keys));
    REFUSED("row is NULL", quintet_waiting_next(waiting, NULL, NULL, &is_there));
    CHECK(!is_there);
    REFUSED("is_there is NULL", quintet_clients_next(clients, &client, NULL));
    REFUSED("types is NULL", quintet_partitions_next(partitions, NULL, NULL));
    REFUSED("wanted is NULL", quintet_hot_keys_next(keys, NULL, NULL));
    quintet_lab_close(lab);
    COMES_TO(QUINTET_CLOSED, quintet_waiting_next(waiting, &row, &tuple, &is_there));
    CHECK(tuple == NULL && !is_there);
    COMES_TO(QUINTET_CLOSED, quintet_clients_next(clients, &client, &is_there));
    COMES_TO(QUINTET_CLOSED, quintet_partitions_next(partitions, NULL, &tuple));
    COMES_TO(QUINTET_CLOSED, quintet_hot_keys_next(keys, NULL, &tuple));
    CHECK(tuple == NULL);
    quintet_waiting_free(waiting), quintet_clients_free(clients), quintet_partitions_free(partitions), quintet_hot_keys_free(keys);
    quintet_waiting_free(NULL), quintet_clients_free(NULL), quintet_partitions_free(NULL), quintet_hot_keys_free(NULL);
    quintet_lab_free(lab);
}

enum { REPLICAS = 3 };

static quintet_server *serve_replica(const char *const *places, const char *folder, uint16_t number) {
    char log[200];
    quintet_server *server;
    snprintf(log, sizeof log, "%s/replica-%d", folder, number);
    quintet_server_settings settings = {.replicas = places, .replica_count = REPLICAS, .number = number, .log_dir = log};
    OK(quintet_server_start_with(NULL, &settings, &server));
    return server;
}

static void remove_log(const char *folder, uint16_t number) {
    char log[200], file[500];
    snprintf(log, sizeof log, "%s/replica-%d", folder, number);
    DIR *found = opendir(log);
    CHECK(found != NULL);
    for (struct dirent *entry; (entry = readdir(found)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        snprintf(file, sizeof file, "%s/%s", log, entry->d_name);
        CHECK(unlink(file) == 0);
    }
    closedir(found);
    CHECK(rmdir(log) == 0);
}

/* Where nobody listens now. */
static int free_port(void) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof place;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&place, length) == 0 && getsockname(listener, (struct sockaddr *)&place, &length) == 0);
    close(listener);
    return ntohs(place.sin_port);
}

/* Asks all, until one of them does that: this one, or any if it is 0. Gives its row; its texts are gone. */
static quintet_replica_row wait_for_role(quintet_lab *lab, uint16_t number, quintet_role role) {
    for (quintet_replica_row found = {0};; usleep(10000)) {
        quintet_replicas *replicas;
        quintet_replica_row row;
        bool is_there;
        OK(quintet_lab_replicas(lab, &replicas));
        for (uint16_t expected = 1;; expected++) {
            OK(quintet_replicas_next(replicas, &row, &is_there));
            CHECK(is_there == (expected <= REPLICAS));
            if (!is_there) break;
            CHECK(row.number == expected && strncmp(row.address, "tcp:127.0.0.1:", 14) == 0);
            CHECK((row.status == QUINTET_OK) == (row.error == NULL) && (row.error == NULL) == (row.role != QUINTET_ROLE_UNKNOWN));
            if (row.role == role && (number == 0 || row.number == number)) found = row;
        }
        quintet_replicas_free(replicas);
        if (found.number > 0) return found;
    }
}

static void replicas_say_what_they_do(const char *folder) {
    char texts[REPLICAS][40], address[200];
    const char *places[REPLICAS];
    quintet_server *servers[REPLICAS];
    quintet_space *space;
    for (int i = 0; i < REPLICAS; i++) {
        snprintf(texts[i], sizeof texts[i], "127.0.0.1:%d", free_port());
        places[i] = texts[i];
    }
    for (int i = 0; i < REPLICAS; i++) servers[i] = serve_replica(places, folder, (uint16_t)(i + 1));
    snprintf(address, sizeof address, "quintet://%s,%s,%s", places[0], places[1], places[2]);
    quintet_lab *lab = connected(address, &space);
    put_pair(space, "row", 1);
    const quintet_replica_row leads = wait_for_role(lab, 0, QUINTET_ROLE_LEADS);
    const uint16_t leader = leads.number, gone = leader % REPLICAS + 1, lost = gone % REPLICAS + 1;
    CHECK(leads.leader == leader && wait_for_role(lab, lost, QUINTET_ROLE_FOLLOWS).leader == leader);
    quintet_server_free(servers[gone - 1]);
    CHECK(wait_for_role(lab, gone, QUINTET_ROLE_UNKNOWN).status == QUINTET_UNREACHABLE);
    /* One that has lost its log waits until it has heard all others. */
    quintet_server_free(servers[lost - 1]);
    remove_log(folder, lost);
    servers[lost - 1] = serve_replica(places, folder, lost);
    CHECK(wait_for_role(lab, lost, QUINTET_ROLE_HAS_NO_LOG).leader == 0);
    CHECK(wait_for_role(lab, leader, QUINTET_ROLE_KNOWS_NO_LEADER).leader == 0);
    servers[gone - 1] = serve_replica(places, folder, gone);
    CHECK(wait_for_role(lab, 0, QUINTET_ROLE_LEADS).number != lost);
    quintet_lab_free(lab);
    lab = connected(address, &space);
    CHECK(count_pairs(space, "row") == 1);
    quintet_lab_free(lab);
    for (int i = 0; i < REPLICAS; i++) quintet_server_free(servers[i]);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    char address[200], full[200];
    snprintf(address, sizeof address, "shm:%s/inspected", arguments[1]);
    snprintf(full, sizeof full, "unix:%s/full", arguments[1]);
    const char *places[] = {NULL, address};
    quintet_server *server;
    OK(quintet_server_start(address, 0, 0, &server));
    for (int i = 0; i < 2; i++) {
        quintet_space *space;
        quintet_lab *lab = connected(places[i], &space);
        who_waits_is_shown_with_what_he_asks_for(space);
        quintet_lab_free(lab);
        clients_are_shown_with_what_they_hold(places[i]);
        mistakes_are_found(places[i]);
        partitions_and_hot_keys_tell_what_is_used(places[i]);
    }
    who_puts_without_room_asks_for_nothing(full);
    replicas_say_what_they_do(arguments[1]);
    quintet_server_free(server);
    return 0;
}

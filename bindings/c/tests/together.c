/* What happens at one instant: groups, replacements, selects; embedded, or served by another process at the address that is the argument. Each ends with an empty space. */

#include "serve.h"

static const char *address;

static quintet_lab *open_lab(quintet_space **space) {
    quintet_lab *lab;
    OK(address == NULL ? quintet_lab_embedded(&lab) : quintet_lab_connect(address, &lab));
    OK(quintet_lab_space(lab, space));
    return lab;
}

static void a_group_happens_whole_or_not_at_all(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *sold = pair("sold", 1), *found;
    quintet_group *group;
    put_pair(space, "row", 1);
    put_pair(space, "row", 2);
    /* Freed, aborted, or out of its time, nothing of it has happened. */
    for (int how = 0; how < 3; how++) {
        OK(quintet_space_group(space, how == 2 ? 20 : LONG_MS, &group));
        OK(quintet_group_take(group, any, QUINTET_FOREVER, &found));
        CHECK(number_of(found) == 1);
        OK(quintet_group_take_if(group, any, &found));
        CHECK(number_of(found) == 2);
        OK(quintet_group_take_if(group, any, &found));
        CHECK(found == NULL && count_pairs(space, "row") == 0);
        OK(quintet_group_out(group, sold));
        REFUSED("field 1 is a formal", quintet_group_out(group, any));
        if (how == 1) {
            OK(quintet_group_abort(group));
            COMES_TO(QUINTET_LEASE_LOST, quintet_group_abort(group));
            COMES_TO(QUINTET_LEASE_LOST, quintet_group_out(group, sold));
        } else if (how == 2) {
            COMES_TO(QUINTET_TIMED_OUT, quintet_group_take(group, any, QUINTET_FOREVER, &found));
            /* Both return, though nobody has aborted it. */
            for (int64_t i = 1; i <= 2; i++) {
                quintet_tuple *row = pair("row", i);
                OK(quintet_space_read(space, row, LONG_MS, &found));
                CHECK(number_of(found) == i);
                quintet_tuple_free(row);
            }
            COMES_TO(QUINTET_TIMED_OUT, quintet_group_commit(group));
        }
        quintet_group_free(group);
        OK(quintet_space_read(space, any, LONG_MS, &found));
        CHECK(number_of(found) == 1);
    }
    OK(quintet_space_group(space, LONG_MS, &group));
    OK(quintet_group_take(group, any, LONG_MS, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_group_read(group, any, LONG_MS, &found));
    CHECK(number_of(found) == 2);
    OK(quintet_group_out(group, sold));
    OK(quintet_group_commit(group));
    quintet_group_free(group);
    CHECK(count_pairs(space, "row") == 1 && count_pairs(space, "sold") == 1);
    /* What was read and is gone. */
    OK(quintet_space_group(space, LONG_MS, &group));
    OK(quintet_group_read_if(group, any, &found));
    CHECK(number_of(found) == 2);
    OK(quintet_space_take(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 2);
    OK(quintet_group_out(group, sold));
    COMES_TO(QUINTET_CONFLICT, quintet_group_commit(group));
    quintet_group_free(group);
    CHECK(count_pairs(space, "sold") == 1);
    OK(quintet_space_take(space, sold, LONG_MS, &found));
    CHECK(number_of(found) == 1);
    REFUSED("group is NULL", quintet_group_take(NULL, any, 0, &found));
    quintet_tuple_free(any), quintet_tuple_free(sold);
}

static void the_operations_of_a_group_are_begun_and_collected(quintet_space *space) {
    quintet_tuple *any = any_pair("row"), *sold = pair("sold", 1), *found;
    quintet_pending *pending, *late;
    quintet_group *group;
    OK(quintet_space_group(space, LONG_MS, &group));
    OK(quintet_group_begin_take(group, any, QUINTET_FOREVER, &pending));
    put_pair(space, "row", 1);
    put_pair(space, "row", 2);
    OK(quintet_pending_tuple(pending, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_pending_tuple(pending, &found));
    CHECK(number_of(found) == 1 && count_pairs(space, "row") == 1);
    quintet_pending_free(pending);
    OK(quintet_group_begin_read(group, any, LONG_MS, &pending));
    OK(quintet_pending_tuple(pending, &found));
    CHECK(number_of(found) == 2);
    quintet_pending_free(pending);
    OK(quintet_group_begin_read_if(group, sold, &pending));
    OK(quintet_pending_tuple(pending, &found));
    CHECK(found == NULL);
    quintet_pending_free(pending);
    OK(quintet_group_out(group, sold));
    OK(quintet_group_begin_commit(group, &pending));
    OK(quintet_pending_result(pending));
    OK(quintet_pending_result(pending));
    COMES_TO(QUINTET_LEASE_LOST, quintet_group_begin_take(group, any, LONG_MS, &late));
    quintet_pending_free(pending);
    quintet_group_free(group);
    CHECK(count_pairs(space, "row") == 1 && count_pairs(space, "sold") == 1);
    /* What was not collected is not the group's: it returns, whichever of the two is freed first. */
    for (int how = 0; how < 3; how++) {
        OK(quintet_space_group(space, LONG_MS, &group));
        OK(quintet_group_begin_take_if(group, any, &pending));
        bool is_done;
        OK(quintet_pending_wait(pending, LONG_MS, &is_done));
        CHECK(is_done && count_pairs(space, "row") == 0);
        if (how == 0) {
            quintet_pending_free(pending);
            OK(quintet_space_read(space, any, LONG_MS, &found));
            OK(quintet_group_commit(group));
            quintet_group_free(group);
        } else {
            if (how == 1) OK(quintet_group_abort(group));
            else quintet_group_free(group);
            COMES_TO(QUINTET_LEASE_LOST, quintet_pending_tuple(pending, &found));
            quintet_pending_free(pending);
            OK(quintet_space_read(space, any, LONG_MS, &found));
            if (how == 1) quintet_group_free(group);
        }
        CHECK(number_of(found) == 2);
    }
    OK(quintet_space_take(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 2);
    OK(quintet_space_take(space, sold, LONG_MS, &found));
    CHECK(number_of(found) == 1);
    quintet_tuple_free(any), quintet_tuple_free(sold);
}

static void something_is_put_in_the_place_of_something(quintet_space *space) {
    quintet_tuple *any = any_pair("state"), *one = pair("state", 1), *two = pair("state", 2), *log = pair("log", 3), *found;
    const quintet_tuple *both[] = {two, log};
    quintet_pending *pending;
    OK(quintet_space_replace_if(space, any, both, 2, &found));
    CHECK(found == NULL && count_pairs(space, "log") == 0);
    put_pair(space, "state", 1);
    OK(quintet_space_replace(space, one, both, 2, LONG_MS, &found));
    CHECK(number_of(found) == 1 && count_pairs(space, "state") == 1 && count_pairs(space, "log") == 1);
    OK(quintet_space_replace_if(space, one, both, 2, &found));
    CHECK(found == NULL);
    COMES_TO(QUINTET_TIMED_OUT, quintet_space_replace(space, one, both, 2, 1, &found));
    REFUSED("at least one tuple", quintet_space_replace(space, any, NULL, 0, LONG_MS, &found));
    REFUSED("tuple 0: field 1 is a formal", quintet_space_replace_if(space, any, (const quintet_tuple *[]){any}, 1, &found));
    OK(quintet_space_begin_replace(space, any, (const quintet_tuple *[]){one}, 1, QUINTET_FOREVER, &pending));
    OK(quintet_pending_tuple(pending, &found));
    CHECK(number_of(found) == 2);
    quintet_pending_free(pending);
    OK(quintet_space_begin_replace_if(space, two, both, 1, &pending));
    OK(quintet_pending_tuple(pending, &found));
    CHECK(found == NULL);
    quintet_pending_free(pending);
    OK(quintet_space_take(space, any, LONG_MS, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_space_take(space, log, LONG_MS, &found));
    CHECK(number_of(found) == 3);
    quintet_tuple_free(any), quintet_tuple_free(one), quintet_tuple_free(two), quintet_tuple_free(log);
}

static void a_select_gets_the_oldest_of_all(quintet_space *space) {
    quintet_tuple *job = any_pair("job"), *stop = any_pair("stop"), *found;
    const quintet_tuple *both[] = {stop, job}, *many[33];
    size_t which = 7;
    quintet_pending *pending;
    quintet_lease *lease;
    put_pair(space, "job", 1);
    put_pair(space, "stop", 2);
    OK(quintet_space_select_read(space, both, 2, LONG_MS, &which, &found));
    CHECK(which == 1 && number_of(found) == 1);
    OK(quintet_space_select_lease(space, both, 2, LONG_MS, &which, &lease));
    CHECK(which == 1 && count_pairs(space, "job") == 0);
    OK(quintet_space_select_read_if(space, both, 2, &which, &found));
    CHECK(which == 0 && number_of(found) == 2);
    quintet_lease_free(lease);
    /* It returns with the lease's end, which nobody waits for. */
    OK(quintet_space_take(space, job, LONG_MS, &found));
    CHECK(number_of(found) == 1);
    OK(quintet_space_select(space, both, 2, LONG_MS, &which, &found));
    CHECK(which == 0 && number_of(found) == 2);
    OK(quintet_space_select_if(space, both, 2, &which, &found));
    CHECK(found == NULL);
    COMES_TO(QUINTET_TIMED_OUT, quintet_space_select(space, both, 2, 1, &which, &found));
    for (size_t i = 0; i < 33; i++) many[i] = job;
    REFUSED("1 to 32 templates", quintet_space_select(space, many, 33, LONG_MS, &which, &found));
    REFUSED("1 to 32 templates", quintet_space_select_if(space, NULL, 0, &which, &found));
    REFUSED("template 1", quintet_space_select_if(space, (const quintet_tuple *[]){job, NULL}, 2, &which, &found));
    OK(quintet_space_begin_select(space, both, 2, QUINTET_FOREVER, &pending));
    put_pair(space, "job", 3);
    REFUSED("quintet_pending_selected", quintet_pending_tuple(pending, &found));
    OK(quintet_pending_selected(pending, &which, &found));
    CHECK(which == 1 && number_of(found) == 3);
    quintet_pending_free(pending);
    put_pair(space, "job", 4);
    OK(quintet_space_begin_select_read(space, both, 2, LONG_MS, &pending));
    OK(quintet_pending_selected(pending, &which, &found));
    CHECK(which == 1 && number_of(found) == 4);
    quintet_pending_free(pending);
    OK(quintet_space_begin_select_read_if(space, both, 1, &pending));
    OK(quintet_pending_selected(pending, &which, &found));
    CHECK(found == NULL);
    quintet_pending_free(pending);
    OK(quintet_space_begin_select_if(space, both, 2, &pending));
    OK(quintet_pending_selected(pending, &which, &found));
    CHECK(which == 1 && number_of(found) == 4);
    quintet_pending_free(pending);
    put_pair(space, "job", 5);
    OK(quintet_space_begin_select_lease(space, both, 2, LONG_MS, &pending));
    REFUSED("quintet_pending_selected_lease", quintet_pending_selected(pending, &which, &found));
    OK(quintet_pending_selected_lease(pending, &which, &lease));
    CHECK(which == 1);
    REFUSED("collected before", quintet_pending_selected_lease(pending, &which, &(quintet_lease *){NULL}));
    quintet_pending_free(pending);
    OK(quintet_lease_acknowledge(lease, NULL, 0));
    quintet_lease_free(lease);
    REFUSED("field 2 is none of the 2 fields", quintet_space_declare_key(space, job, 2));
    OK(quintet_space_declare_key(space, job, 1));
    quintet_tuple_free(job), quintet_tuple_free(stop);
}

int main(int count, char **arguments) {
    address = count > 1 ? arguments[1] : NULL;
    pid_t server = address == NULL ? 0 : serve(address, 0);
    quintet_space *space;
    quintet_lab *lab = open_lab(&space);
    a_group_happens_whole_or_not_at_all(space);
    the_operations_of_a_group_are_begun_and_collected(space);
    something_is_put_in_the_place_of_something(space);
    a_select_gets_the_oldest_of_all(space);
    quintet_state state;
    OK(quintet_space_status(space, &state));
    CHECK(state.tuples == 0 && state.leases == 0 && state.waiters == 0);
    quintet_lab_free(lab);
    if (server != 0) kill_server(server);
    return 0;
}

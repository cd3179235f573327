/* Named spaces: created, opened, listed, used beside each other, removed. */

#include "check.h"

static void each_space_is_its_own(quintet_lab *lab) {
    quintet_space *unnamed, *orders, *again;
    quintet_tuple *order = pair("order", 7), *any = any_pair("order"), *found;
    uint64_t count;
    OK(quintet_lab_space(lab, &unnamed));
    OK(quintet_lab_create_space(lab, "orders", NULL, &orders));
    OK(quintet_space_out(orders, order, QUINTET_FOREVER));
    OK(quintet_space_count(unnamed, any, &count));
    CHECK(count == 0);
    OK(quintet_lab_open_space(lab, "orders", &again));
    OK(quintet_space_take(again, any, LONG_MS, &found));
    quintet_tuple_free(found);
    OK(quintet_space_out(orders, order, QUINTET_FOREVER));
    quintet_space_free(again);
    OK(quintet_space_count(orders, any, &count));
    CHECK(count == 1);
    quintet_space_free(orders);
    quintet_tuple_free(order);
    quintet_tuple_free(any);
}

static void operations_of_every_kind_go_to_the_named_one(quintet_lab *lab) {
    quintet_space *tasks;
    quintet_tuple *task = pair("task", 1), *any = any_pair("task"), *found;
    quintet_lease *lease;
    quintet_group *group;
    quintet_pending *pending;
    quintet_listing *listing;
    quintet_state state = {0};
    OK(quintet_lab_create_space(lab, "tasks", NULL, &tasks));
    const quintet_tuple *all[] = {task};
    OK(quintet_space_begin_out(tasks, all, 1, QUINTET_FOREVER, &pending));
    OK(quintet_pending_result(pending));
    quintet_pending_free(pending);
    OK(quintet_space_lease(tasks, any, LONG_MS, &lease));
    OK(quintet_lease_release(lease));
    quintet_lease_free(lease);
    OK(quintet_space_group(tasks, LONG_MS, &group));
    OK(quintet_group_take(group, any, LONG_MS, &found));
    OK(quintet_group_out(group, found));
    OK(quintet_group_commit(group));
    quintet_group_free(group);
    quintet_tuple_free(found);
    OK(quintet_space_list(tasks, any, &listing));
    OK(quintet_listing_next(listing, NULL, &found));
    CHECK(found != NULL);
    quintet_tuple_free(found);
    quintet_listing_free(listing);
    OK(quintet_space_status(tasks, &state));
    CHECK(state.tuples == 1);
    quintet_space_free(tasks);
    quintet_tuple_free(task);
    quintet_tuple_free(any);
    OK(quintet_lab_remove_space(lab, "tasks"));
}

static void they_are_listed_by_name(quintet_lab *lab) {
    static const unsigned char identities[64] = {1};
    quintet_space_settings settings = {.max_bytes = 5000, .max_tuples = 10, .policy = "volatile"};
    quintet_space_settings own = {.is_restricted = true, .allow_own_machine = true, .allow = identities, .allow_count = 2};
    quintet_space *space;
    quintet_spaces *list;
    quintet_space_row row;
    bool is_there;
    OK(quintet_lab_create_space(lab, "archive", &settings, &space));
    quintet_space_free(space);
    OK(quintet_lab_create_space(lab, "zoo", &own, &space));
    quintet_space_free(space);
    OK(quintet_lab_list_spaces(lab, &list));
    OK(quintet_spaces_next(list, &row, &is_there));
    CHECK(is_there && strcmp(row.name, "archive") == 0 && strcmp(row.policy, "volatile") == 0);
    CHECK(row.max_bytes == 5000 && row.max_tuples == 10 && row.tuples == 0 && !row.is_restricted);
    OK(quintet_spaces_next(list, &row, &is_there));
    CHECK(is_there && strcmp(row.name, "orders") == 0 && row.tuples == 1);
    OK(quintet_spaces_next(list, &row, &is_there));
    CHECK(is_there && strcmp(row.name, "zoo") == 0 && row.is_restricted);
    OK(quintet_spaces_next(list, &row, &is_there));
    CHECK(!is_there && row.name == NULL);
    quintet_spaces_free(list);
    quintet_spaces_free(NULL);
    /* Machines of a cluster keep none for a lab that is not connected to one. */
    OK(quintet_lab_list_kept_spaces(lab, &list));
    OK(quintet_spaces_next(list, &row, &is_there));
    CHECK(!is_there);
    quintet_spaces_free(list);
}

static void what_cannot_be_is_refused(quintet_lab *lab) {
    quintet_space_settings settings = {.max_bytes = 6000}, odd = {.policy = "fast"}, logged = {.policy = "logged"};
    quintet_space_settings crowd = {.is_restricted = true, .allow_count = (size_t)-1 / 2};
    quintet_space *space, *unnamed;
    COMES_TO(QUINTET_SPACE_EXISTS, quintet_lab_create_space(lab, "archive", &settings, &space));
    CHECK(space == NULL);
    COMES_TO(QUINTET_NO_SUCH_SPACE, quintet_lab_open_space(lab, "nothing", &space));
    CHECK(strstr(quintet_error_message(), "archive") != NULL);
    REFUSED("letters, digits", quintet_lab_create_space(lab, "a b", NULL, &space));
    REFUSED("name is NULL", quintet_lab_open_space(lab, NULL, &space));
    REFUSED("volatile, logged", quintet_lab_create_space(lab, "x", &odd, &space));
    REFUSED("cannot keep a space", quintet_lab_create_space(lab, "x", &logged, &space));
    COMES_TO(QUINTET_TOO_LARGE, quintet_lab_create_space(lab, "x", &crowd, &space));
    const char *machines[] = {"a"};
    quintet_space_settings named = {.is_restricted = true, .machines = machines, .machine_count = 1}, open = {.allow_own_machine = true};
    REFUSED("no connection to one", quintet_lab_create_space(lab, "x", &named, &space));
    REFUSED("is_restricted is false", quintet_lab_create_space(lab, "x", &open, &space));
    REFUSED("no connection to one", quintet_lab_allow_space(lab, "archive", machines, 1, NULL, 0));
    OK(quintet_lab_space(lab, &unnamed));
    quintet_space_free(unnamed);
    CHECK(strstr(quintet_error_message(), "its lab's") != NULL);
    quintet_space_free(NULL);
}

static void a_space_that_was_removed_says_so(quintet_lab *lab) {
    quintet_space *orders;
    quintet_state state;
    OK(quintet_lab_open_space(lab, "orders", &orders));
    OK(quintet_lab_remove_space(lab, "orders"));
    COMES_TO(QUINTET_NO_SUCH_SPACE, quintet_space_status(orders, &state));
    COMES_TO(QUINTET_NO_SUCH_SPACE, quintet_lab_remove_space(lab, "orders"));
    quintet_space_free(orders);
}

static void all_that_match_are_collected(quintet_lab *lab) {
    quintet_space *space, *other;
    quintet_tuple *any = any_pair("row"), *none = any_pair("none"), *found;
    quintet_collection *rows;
    uint64_t count;
    OK(quintet_lab_create_space(lab, "rows", NULL, &space));
    OK(quintet_lab_create_space(lab, "others", NULL, &other));
    for (int i = 0; i < 3000; i++) put_pair(space, "row", i);
    put_pair(space, "none", 1);
    for (int takes = 0; takes < 2; takes++) {
        OK(takes ? quintet_space_collect(space, any, &rows) : quintet_space_copy_collect(space, any, &rows));
        OK(quintet_collection_count(rows, &count));
        CHECK(count == 3000);
        for (int i = 0; i < 3000; i++) {
            OK(quintet_collection_next(rows, &found));
            CHECK(number_of(found) == i);
        }
        OK(quintet_collection_next(rows, &found));
        CHECK(found == NULL);
        quintet_collection_free(rows);
        CHECK(count_pairs(space, "row") == (takes ? 0 : 3000));
    }
    OK(quintet_space_collect(space, any, &rows));
    OK(quintet_collection_next(rows, &found));
    CHECK(found == NULL);
    quintet_collection_free(rows);
    OK(quintet_space_copy_collect_into(space, other, none, &count));
    CHECK(count == 1 && count_pairs(space, "none") == 1 && count_pairs(other, "none") == 1);
    OK(quintet_space_collect_into(other, space, none, &count));
    CHECK(count == 1 && count_pairs(space, "none") == 2 && count_pairs(other, "none") == 0);
    REFUSED("the same one", quintet_space_collect_into(space, space, none, &count));
    REFUSED("into is NULL", quintet_space_collect_into(space, NULL, none, &count));
    REFUSED("wanted is NULL", quintet_space_collect(space, NULL, &rows));
    CHECK(rows == NULL);
    quintet_collection_free(NULL);
    quintet_space_free(space), quintet_space_free(other);
    quintet_tuple_free(any), quintet_tuple_free(none);
    OK(quintet_lab_remove_space(lab, "rows"));
    OK(quintet_lab_remove_space(lab, "others"));
}

static int next_number(quintet_collection *rows) {
    quintet_tuple *found;
    OK(quintet_collection_next(rows, &found));
    return found == NULL ? -1 : number_of(found);
}

static void as_many_as_are_wanted_are_taken(quintet_lab *lab) {
    quintet_space *space;
    quintet_tuple *any = any_pair("row"), *none = any_pair("none");
    quintet_collection *rows;
    quintet_pending *pending;
    quintet_page_start next;
    bool has_more;
    uint64_t count;
    OK(quintet_lab_create_space(lab, "rows", NULL, &space));
    for (int i = 0; i < 10; i++) put_pair(space, "row", i);
    OK(quintet_space_take_up_to(space, 3, any, &rows));
    for (int i = 0; i < 3; i++) CHECK(next_number(rows) == i);
    CHECK(next_number(rows) == -1);
    quintet_collection_free(rows);
    for (size_t most = 0; most < 2; most++) {
        OK(quintet_space_take_up_to(space, most, most ? none : any, &rows));
        CHECK(next_number(rows) == -1);
        quintet_collection_free(rows);
    }
    /* What nobody collects goes back. */
    OK(quintet_space_begin_take_up_to(space, 4, any, NULL, &pending));
    quintet_pending_free(pending);
    OK(quintet_space_begin_take_up_to(space, 4, any, NULL, &pending));
    OK(quintet_pending_collection(pending, &rows, &next, &has_more));
    for (int i = 3; i < 7; i++) CHECK(next_number(rows) == i);
    quintet_collection_free(rows), quintet_pending_free(pending);
    CHECK(count_pairs(space, "row") == 3);
    REFUSED("0 tuples", quintet_space_begin_take_up_to(space, 0, any, NULL, &pending));
    REFUSED("wanted is NULL", quintet_space_take_up_to(space, 1, NULL, &rows));
    OK(quintet_space_take_up_to(space, SIZE_MAX, any, &rows));
    OK(quintet_collection_count(rows, &count));
    CHECK(count == 3);
    quintet_collection_free(rows);
    quintet_space_free(space), quintet_tuple_free(any), quintet_tuple_free(none);
    OK(quintet_lab_remove_space(lab, "rows"));
}

static void what_collects_leases_and_declares_is_begun(quintet_lab *lab) {
    enum { ROWS = 3000 };
    quintet_space *space, *other;
    quintet_tuple *any = any_pair("many"), *none = any_pair("none"), *row;
    quintet_pending *pending;
    quintet_collection *page;
    quintet_page_start next = {0};
    quintet_lease *lease;
    bool has_more = true, is_done;
    uint64_t count, found = 0, pages = 0;
    OK(quintet_lab_create_space(lab, "many", NULL, &space));
    OK(quintet_lab_create_space(lab, "others-of-many", NULL, &other));
    OK(quintet_space_begin_declare_key(space, any, 1, &pending));
    OK(quintet_pending_result(pending));
    quintet_pending_free(pending);
    REFUSED("none of the 2 fields", quintet_space_begin_declare_key(space, any, 2, &pending));
    for (int64_t n = 0; n < ROWS; n++) put_pair(space, "many", n);
    /* One that is dropped puts its page back. */
    OK(quintet_space_begin_collect(space, any, NULL, &pending));
    quintet_pending_free(pending);
    OK(quintet_space_count(space, any, &count));
    CHECK(count == ROWS);
    while (has_more) {
        OK(quintet_space_begin_copy_collect(space, any, pages ? &next : NULL, &pending));
        OK(quintet_pending_collection(pending, &page, &next, &has_more));
        OK(quintet_collection_count(page, &count));
        found += count, pages++;
        quintet_collection_free(page);
        REFUSED("quintet_pending_collection", quintet_pending_count(pending, &count));
        quintet_pending_free(pending);
    }
    CHECK(found == ROWS && pages > 1);
    OK(quintet_space_begin_lease_if(space, none, &pending));
    OK(quintet_pending_lease(pending, &lease));
    CHECK(lease == NULL);
    quintet_pending_free(pending);
    OK(quintet_space_begin_lease_if(space, any, &pending));
    OK(quintet_pending_lease(pending, &lease));
    CHECK(lease != NULL);
    OK(quintet_lease_release(lease));
    quintet_lease_free(lease);
    quintet_pending_free(pending);
    OK(quintet_space_begin_copy_collect_into(space, other, any, &pending));
    OK(quintet_pending_collected_into(pending, &count, &is_done));
    CHECK(is_done && count == ROWS);
    quintet_pending_free(pending);
    OK(quintet_space_begin_collect_into(space, other, any, &pending));
    OK(quintet_pending_collected_into(pending, &count, &is_done));
    CHECK(is_done && count == ROWS);
    quintet_pending_free(pending);
    REFUSED("into is NULL", quintet_space_begin_collect_into(space, NULL, any, &pending));
    /* A page without tuples need not be the last. */
    for (found = 0, pages = 0, has_more = true; has_more; pages++) {
        OK(quintet_space_begin_collect(other, any, pages ? &next : NULL, &pending));
        OK(quintet_pending_collection(pending, &page, &next, &has_more));
        while (quintet_collection_next(page, &row) == QUINTET_OK && row != NULL) {
            CHECK(number_of(row) == (int64_t)(found % ROWS));
            found++;
        }
        quintet_collection_free(page);
        quintet_pending_free(pending);
    }
    CHECK(found == 2 * ROWS);
    quintet_space_free(space);
    quintet_space_free(other);
    quintet_tuple_free(any);
    quintet_tuple_free(none);
    OK(quintet_lab_remove_space(lab, "many"));
    OK(quintet_lab_remove_space(lab, "others-of-many"));
}

int main(void) {
    quintet_lab *lab;
    quintet_space *left;
    quintet_state state;
    OK(quintet_lab_embedded(&lab));
    each_space_is_its_own(lab);
    operations_of_every_kind_go_to_the_named_one(lab);
    they_are_listed_by_name(lab);
    what_cannot_be_is_refused(lab);
    a_space_that_was_removed_says_so(lab);
    all_that_match_are_collected(lab);
    as_many_as_are_wanted_are_taken(lab);
    what_collects_leases_and_declares_is_begun(lab);
    /* One that outlives its lab is closed, and is freed all the same. */
    OK(quintet_lab_open_space(lab, "archive", &left));
    quintet_lab_free(lab);
    COMES_TO(QUINTET_CLOSED, quintet_space_status(left, &state));
    quintet_space_free(left);
    return 0;
}

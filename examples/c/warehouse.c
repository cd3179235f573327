/* Clerks ship orders from a stock: each order with its pieces, all of it at one instant or not at all.
 *
 *     cc warehouse.c $(pkg-config --cflags --libs quintet) -pthread -o warehouse
 *     ./warehouse      # threads are the clerks, everything is in this process
 *
 * A clerk waits for an order or for the end of the day, whichever is older (quintet_space_select_read), and does the order in a group: the order,
 * the stock before it and the stock after it are never seen half way. The day is ended by one message that replaces what the office is
 * (quintet_space_replace). At the end the pieces are counted. */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLERKS = 4, ORDERS = 200, PIECES = 400, ITEMS = 2 };
static const char *const items[ITEMS] = {"bolt", "nut"};

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

static quintet_tuple *begun(const char *what) {
    quintet_tuple *made;
    must(quintet_tuple_new(&made), "making a tuple");
    quintet_tuple_add_string(made, what, QUINTET_NUL_TERMINATED);
    return made;
}

/* ("order", number, item, pieces): what was shipped or refused has the same fields. */
static quintet_tuple *order(const char *what, int64_t number, const char *item, int64_t pieces) {
    quintet_tuple *made = begun(what);
    quintet_tuple_add_int64(made, number), quintet_tuple_add_string(made, item, QUINTET_NUL_TERMINATED);
    quintet_tuple_add_int64(made, pieces);
    return made;
}

static quintet_tuple *any_order(const char *what) {
    quintet_tuple *made = begun(what);
    quintet_tuple_add_formal(made, QUINTET_TYPE_INT64), quintet_tuple_add_formal(made, QUINTET_TYPE_STRING);
    quintet_tuple_add_formal(made, QUINTET_TYPE_INT64);
    return made;
}

static quintet_tuple *stock(const char *item, int64_t pieces) {
    quintet_tuple *made = begun("stock");
    quintet_tuple_add_string(made, item, QUINTET_NUL_TERMINATED), quintet_tuple_add_int64(made, pieces);
    return made;
}

static quintet_tuple *any_stock(const char *item) {
    quintet_tuple *made = begun("stock");
    quintet_tuple_add_string(made, item, QUINTET_NUL_TERMINATED), quintet_tuple_add_formal(made, QUINTET_TYPE_INT64);
    return made;
}

static quintet_tuple *office(const char *state) {
    quintet_tuple *made = begun("office");
    quintet_tuple_add_string(made, state, QUINTET_NUL_TERMINATED);
    return made;
}

/* Puts a tuple, which is freed. */
static void put(quintet_space *space, quintet_tuple *tuple) {
    must(quintet_space_out(space, tuple, QUINTET_FOREVER), "putting");
    quintet_tuple_free(tuple);
}

static int64_t number_of(const quintet_tuple *tuple, size_t field) {
    int64_t number;
    must(quintet_tuple_get_int64(tuple, field, &number), "reading a number");
    return number;
}

static const char *item_of(const quintet_tuple *tuple) {
    const char *item;
    must(quintet_tuple_get_string(tuple, 2, &item, NULL), "reading an item");
    return item;
}

/* Puts at the end of the group what becomes of an order. */
static void decide(quintet_group *group, const quintet_tuple *taken) {
    int64_t number = number_of(taken, 1), wanted = number_of(taken, 3);
    quintet_tuple *any = any_stock(item_of(taken)), *before;
    must(quintet_group_take(group, any, QUINTET_FOREVER, &before), "taking the stock");
    int64_t left = number_of(before, 2), after = wanted <= left ? left - wanted : left;
    quintet_tuple *result = order(wanted <= left ? "shipped" : "refused", number, item_of(taken), wanted);
    quintet_tuple *remaining = stock(item_of(taken), after);
    must(quintet_group_out(group, result), "shipping"), must(quintet_group_out(group, remaining), "keeping");
    quintet_tuple_free(any), quintet_tuple_free(before), quintet_tuple_free(result), quintet_tuple_free(remaining);
}

/* Does the oldest order, if no other clerk was faster; whether it did. */
static int ship(quintet_space *space, const quintet_tuple *wanted) {
    quintet_group *group;
    quintet_tuple *taken;
    must(quintet_space_group(space, 60000, &group), "beginning a group");
    must(quintet_group_take_if(group, wanted, &taken), "taking an order");
    int is_done = taken != NULL;
    if (is_done) {
        decide(group, taken);
        must(quintet_group_commit(group), "ending a group");
        quintet_tuple_free(taken);
    }
    quintet_group_free(group);
    return is_done;
}

/* Does orders until the office is closed; how many, in `done`. */
struct clerk {
    quintet_space *space;
    pthread_t thread;
    int done;
};

static void *serve(void *argument) {
    struct clerk *clerk = argument;
    quintet_tuple *orders = any_order("order"), *closed = office("closed"), *seen;
    const quintet_tuple *either[] = {orders, closed};
    size_t which = 0;
    while (which == 0) {
        must(quintet_space_select_read(clerk->space, either, 2, QUINTET_FOREVER, &which, &seen), "waiting");
        quintet_tuple_free(seen);
        if (which == 0) clerk->done += ship(clerk->space, orders);
    }
    quintet_tuple_free(orders), quintet_tuple_free(closed);
    return NULL;
}

/* The sum of a field of all tuples that match; they are taken. */
static int64_t pieces(quintet_space *space, quintet_tuple *wanted, size_t field) {
    int64_t sum = 0;
    for (quintet_tuple *found;;) {
        must(quintet_space_take_if(space, wanted, &found), "counting");
        if (found == NULL) break;
        sum += number_of(found, field);
        quintet_tuple_free(found);
    }
    quintet_tuple_free(wanted);
    return sum;
}

static void close_office(quintet_space *space) {
    quintet_tuple *open = office("open"), *closed = office("closed"), *was;
    const quintet_tuple *then[] = {closed};
    must(quintet_space_replace(space, open, then, 1, QUINTET_FOREVER, &was), "closing the office");
    quintet_tuple_free(open), quintet_tuple_free(closed), quintet_tuple_free(was);
}

int main(void) {
    quintet_lab *lab;
    quintet_space *space;
    struct clerk clerks[CLERKS];
    must(quintet_lab_embedded(&lab), "making a space"), must(quintet_lab_space(lab, &space), "finding the space");
    for (int i = 0; i < ITEMS; i++) put(space, stock(items[i], PIECES));
    put(space, office("open"));
    for (int i = 0; i < CLERKS; i++) {
        clerks[i] = (struct clerk){.space = space, .done = 0};
        if (pthread_create(&clerks[i].thread, NULL, serve, &clerks[i]) != 0) return perror("warehouse"), 1;
    }
    for (int64_t number = 0; number < ORDERS; number++) put(space, order("order", number, items[number % ITEMS], 1 + number % 9));
    /* Younger than all orders, so that those go first. */
    close_office(space);
    int done = 0;
    for (int i = 0; i < CLERKS; i++) {
        pthread_join(clerks[i].thread, NULL);
        done += clerks[i].done;
    }
    int64_t left = 0, shipped = pieces(space, any_order("shipped"), 3);
    for (int i = 0; i < ITEMS; i++) left += pieces(space, any_stock(items[i]), 2);
    quintet_lab_free(lab);
    int is_right = done == ORDERS && left + shipped == PIECES * ITEMS;
    printf("warehouse: %s, %d orders, %lld pieces shipped, %lld left\n", is_right ? "ok" : "WRONG", done, (long long)shipped, (long long)left);
    return !is_right;
}

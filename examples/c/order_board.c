/* A board of orders, kept by a watch: what happens to orders is told as it happens, in its order and without gaps.
 *
 *     cc order_board.c $(pkg-config --cflags --libs quintet) -pthread -o order_board
 *     ./order_board      # threads do the orders, everything is in this process
 *
 * Workers lease orders and acknowledge them; every seventh is given back once. The board looks at no tuple of the space but for its watch: it follows each order from its
 * put to its end, comes back once behind the last event that it has seen, as after a restart, and counts at the end whether it has seen all. */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 3, ORDERS = 200, RETURNED = (ORDERS + 6) / 7 };

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

static quintet_tuple *order(int64_t number) {
    quintet_tuple *made;
    must(quintet_tuple_new(&made), "making a tuple");
    quintet_tuple_add_string(made, "order", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_int64(made, number);
    return made;
}

static quintet_tuple *any_order(void) {
    quintet_tuple *made;
    must(quintet_tuple_new(&made), "making a template");
    quintet_tuple_add_string(made, "order", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(made, QUINTET_TYPE_INT64);
    return made;
}

static int64_t number_of(const quintet_tuple *tuple) {
    int64_t number;
    must(quintet_tuple_get_int64(tuple, 1, &number), "reading a number");
    return number;
}

/* Does orders until it is given one below 0. */
static void *work(void *argument) {
    quintet_space *space = argument;
    quintet_tuple *any = any_order();
    for (int64_t number = 0; number >= 0;) {
        quintet_lease *lease;
        const quintet_tuple *leased;
        uint32_t attempt;
        must(quintet_space_lease(space, any, QUINTET_FOREVER, &lease), "leasing an order");
        must(quintet_lease_tuple(lease, &leased), "looking at it");
        must(quintet_lease_attempt(lease, &attempt), "counting its attempts");
        number = number_of(leased);
        if (number >= 0 && number % 7 == 0 && attempt == 1) must(quintet_lease_release(lease), "giving it back");
        else must(quintet_lease_acknowledge(lease, NULL, 0), "ending it");
        quintet_lease_free(lease);
    }
    quintet_tuple_free(any);
    return NULL;
}

/* What the board knows of each order: the change that it has seen last. */
struct board {
    quintet_change last[ORDERS];
    int returned, done, wrong;
};

/* Whether an order may go on like that. */
static int follows(quintet_change last, quintet_change next) {
    int is_free = last == QUINTET_CHANGE_PUT || last == QUINTET_CHANGE_RETURNED;
    return next == QUINTET_CHANGE_LEASED ? is_free : last == QUINTET_CHANGE_LEASED;
}

static void enter(struct board *board, quintet_change change, int64_t number) {
    if (number < 0) return;
    if (change != QUINTET_CHANGE_PUT && !follows(board->last[number], change)) board->wrong++;
    board->last[number] = change;
    board->returned += change == QUINTET_CHANGE_RETURNED;
    board->done += change == QUINTET_CHANGE_DONE;
}

/* Follows the watch until so many orders are done. */
static void follow(struct board *board, quintet_watch *watch, int until) {
    while (board->done < until) {
        quintet_event event;
        quintet_tuple *tuple;
        must(quintet_watch_next(watch, QUINTET_FOREVER, &event, &tuple), "watching");
        enter(board, event.change, number_of(tuple));
        quintet_tuple_free(tuple);
    }
}

int main(void) {
    static struct board board;
    quintet_lab *lab;
    quintet_space *space;
    quintet_watch *watch;
    pthread_t workers[WORKERS];
    uint64_t seen;
    must(quintet_lab_embedded(&lab), "making a lab");
    must(quintet_lab_space(lab, &space), "its space");
    quintet_tuple *any = any_order();
    must(quintet_space_watch(space, any, QUINTET_SINCE_NOW, &watch), "beginning to watch");
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&workers[i], NULL, work, space) != 0) return perror("order_board"), 71;
    }
    for (int64_t number = 0; number < ORDERS; number++) {
        quintet_tuple *made = order(number);
        must(quintet_space_out(space, made, QUINTET_FOREVER), "ordering");
        quintet_tuple_free(made);
    }
    follow(&board, watch, ORDERS / 2);
    must(quintet_watch_number(watch, &seen), "looking how far it is");
    quintet_watch_free(watch);
    must(quintet_space_watch(space, any, seen, &watch), "coming back");
    follow(&board, watch, ORDERS);
    quintet_tuple *end = order(-1);
    for (int i = 0; i < WORKERS; i++) must(quintet_space_out(space, end, QUINTET_FOREVER), "ending the work");
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    quintet_tuple_free(any), quintet_tuple_free(end);
    quintet_watch_free(watch);
    quintet_lab_free(lab);
    int is_right = board.done == ORDERS && board.returned == RETURNED && board.wrong == 0;
    printf("%d orders, %d of them returned, %d out of order: %s\n", board.done, board.returned, board.wrong, is_right ? "right" : "WRONG");
    return is_right ? 0 : 1;
}

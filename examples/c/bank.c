/* A bank in several processes: each has all accounts, and does the same transfers in the same order, without a lock and without a server of its own.
 *
 *     cc bank.c $(pkg-config --cflags --libs quintet) -o bank
 *     ./bank                        # branches are threads
 *     quintet run -n 3 ./bank       # branches are processes
 *
 * A transfer is an isochron: one message to every branch, executed by all at one instant. So each branch refuses the same transfers, those for which the
 * account has too little by then, and in the end all books are alike. */

#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BRANCHES = 3, ACCOUNTS = 4, TRANSFERS = 50, TRANSFER = 1, WITHIN_MS = 60000 };

struct book {
    int64_t accounts[ACCOUNTS], refused;
};

struct branch {
    quintet_lab *lab;
    uint16_t number, of;
};

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

/* The replicated state machine: what it does depends on nothing but what it is told, in order. */
static void enter(struct book *book, const unsigned char *transfer) {
    int64_t *from = &book->accounts[transfer[0]], *to = &book->accounts[transfer[1]], amount = transfer[2];
    if (*from < amount) {
        book->refused++;
        return;
    }
    *from -= amount;
    *to += amount;
}

/* Begins a transfer at all branches. */
static void transfer(quintet_isonet *bank, int number, int branch) {
    const unsigned char bytes[] = {number % ACCOUNTS, (number + branch) % ACCOUNTS, number * 7 % 60};
    quintet_isochron *isochron;
    must(quintet_isochron_new(bank, &isochron), "making an isochron");
    must(quintet_isochron_send_all(isochron, TRANSFER, bytes, sizeof bytes), "sending to all");
    must(quintet_isochron_begin(isochron), "beginning a transfer");
    quintet_isochron_free(isochron);
}

/* Takes the next transfer, whoever has made it; returns who has. */
static int take(quintet_isonet *bank, struct book *book) {
    quintet_isonet_message message;
    must(quintet_isonet_next(bank, WITHIN_MS, &message), "taking a transfer");
    enter(book, message.data);
    return message.sender;
}

/* Makes transfers, keeps the book of everybody's, and puts it into the space. */
static void *keep_book(void *argument) {
    const struct branch *me = argument;
    struct book book = {{100, 100, 100, 100}, 0};
    quintet_isonet *bank;
    quintet_space *space;
    quintet_tuple *kept;
    must(quintet_isonet_new(me->lab, "bank", &bank), "making an isonet");
    must(quintet_isonet_set_member(bank, me->number, me->of), "being a branch");
    must(quintet_isonet_add_handler(bank, TRANSFER), "handling transfers");
    must(quintet_isonet_join(bank, WITHIN_MS), "joining");
    int taken = 0;
    for (int number = 0; number < TRANSFERS; number++) {
        transfer(bank, number, me->number);
        do taken++;
        while (take(bank, &book) != me->number); /* its own is executed when it comes among those of all */
    }
    for (; taken < me->of * TRANSFERS; taken++) take(bank, &book);
    must(quintet_isonet_close(bank), "closing");
    quintet_isonet_free(bank);
    must(quintet_lab_space(me->lab, &space), "the space");
    quintet_tuple_new(&kept);
    quintet_tuple_add_string(kept, "book", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_bytes(kept, &book, sizeof book);
    must(quintet_space_out(space, kept, QUINTET_FOREVER), "putting a book");
    quintet_tuple_free(kept);
    return NULL;
}

/* Takes the book of a branch. */
static struct book taken_book(quintet_space *space) {
    quintet_tuple *any, *kept;
    const void *bytes;
    size_t length;
    struct book book;
    quintet_tuple_new(&any);
    quintet_tuple_add_string(any, "book", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(any, QUINTET_TYPE_BYTES);
    must(quintet_space_take(space, any, QUINTET_FOREVER, &kept), "taking a book");
    must(quintet_tuple_get_bytes(kept, 1, &bytes, &length), "reading a book");
    memcpy(&book, bytes, sizeof book);
    quintet_tuple_free(kept);
    quintet_tuple_free(any);
    return book;
}

/* Whether the books of so many branches are alike, and no money was lost or made. */
static int compare(quintet_lab *lab, int branches) {
    quintet_space *space;
    must(quintet_lab_space(lab, &space), "the space");
    const struct book first = taken_book(space);
    int64_t sum = 0;
    for (int account = 0; account < ACCOUNTS; account++) sum += first.accounts[account];
    for (int branch = 1; branch < branches; branch++) {
        const struct book other = taken_book(space);
        if (memcmp(&other, &first, sizeof first) != 0) sum = -1;
    }
    if (sum != 100 * ACCOUNTS) {
        printf("bank: WRONG, the books differ\n");
        return 1;
    }
    printf("bank: ok, %d transfers, %d of them refused\n", branches * TRANSFERS, (int)first.refused);
    return 0;
}

int main(void) {
    quintet_lab *lab;
    int64_t rank;
    uint32_t workers;
    int status = 0;
    struct branch branches[BRANCHES];
    pthread_t threads[BRANCHES];
    must(quintet_lab_connect(NULL, &lab), "connecting");
    must(quintet_job_rank(&rank), "the job");
    must(quintet_job_workers(&workers), "the job");
    if (rank >= 0) {
        keep_book(&(struct branch){lab, (uint16_t)rank, (uint16_t)workers});
    } else {
        const int own = workers == 0 ? BRANCHES : 0;
        for (int number = 0; number < own; number++) {
            branches[number] = (struct branch){lab, (uint16_t)number, BRANCHES};
            pthread_create(&threads[number], NULL, keep_book, &branches[number]);
        }
        status = compare(lab, own > 0 ? own : (int)workers);
        for (int number = 0; number < own; number++) pthread_join(threads[number], NULL);
    }
    quintet_lab_free(lab);
    return status;
}

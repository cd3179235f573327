/* What the driver answers: a line with the number of the step in front. */

#ifndef ANSWERS_H
#define ANSWERS_H

#include "fields.h"
#include <ctype.h>

/* The step that is answered. */
static unsigned long step;

/* "QUINTET_TIMED_OUT" is `TimedOut`. */
static void say_error(quintet_status status) {
    if (cannot_say != NULL) {
        printf("%lu cannot %s\n", step, cannot_say);
        cannot_say = NULL;
        return;
    }
    printf("%lu error ", step);
    const char *name = quintet_status_name((int)status) + strlen("QUINTET");
    for (; *name != 0; name++) {
        if (*name == '_') putchar(*++name);
        else putchar(tolower((unsigned char)*name));
    }
    putchar('\n');
}

static void say_done(quintet_status status, const char *otherwise) {
    if (status != QUINTET_OK) say_error(status);
    else printf("%lu %s\n", step, otherwise);
}

static void say_tuple(quintet_status status, quintet_tuple *tuple) {
    if (status != QUINTET_OK) {
        say_error(status);
    } else if (tuple == NULL) {
        printf("%lu nothing\n", step);
    } else {
        printf("%lu tuple ", step);
        write_fields(tuple, 0);
        putchar('\n');
        quintet_tuple_free(tuple);
    }
}

static void say_selected(quintet_status status, size_t which, quintet_tuple *tuple) {
    if (status != QUINTET_OK || tuple == NULL) {
        say_tuple(status, tuple);
        return;
    }
    printf("%lu selected %zu ", step, which);
    write_fields(tuple, 0);
    putchar('\n');
    quintet_tuple_free(tuple);
}

static void say_count(quintet_status status, uint64_t count) {
    if (status != QUINTET_OK) say_error(status);
    else printf("%lu count %llu\n", step, (unsigned long long)count);
}

static void say_status(quintet_space *space) {
    quintet_state state;
    quintet_status status = quintet_space_status(space, &state);
    if (status != QUINTET_OK) {
        say_error(status);
        return;
    }
#define NUMBER(NAME) printf(" " #NAME "=%llu", (unsigned long long)state.NAME)
    printf("%lu status", step);
    NUMBER(tuples), NUMBER(hidden), NUMBER(waiters), NUMBER(leases), NUMBER(parked), NUMBER(redone), NUMBER(dead_letters), NUMBER(signatures);
    putchar('\n');
}

static void list(quintet_space *space, const quintet_tuple *wanted) {
    quintet_listing *listing;
    quintet_tuple *tuple = NULL;
    quintet_row row;
    quintet_status status = quintet_space_list(space, wanted, &listing);
    if (status == QUINTET_OK) status = quintet_listing_next(listing, &row, &tuple);
    if (status != QUINTET_OK) {
        say_error(status);
        quintet_listing_free(listing);
        return;
    }
    printf("%lu rows", step);
    for (; status == QUINTET_OK && tuple != NULL; status = quintet_listing_next(listing, &row, &tuple)) {
        fputs(row.is_leased ? " !" : " ", stdout);
        write_fields(tuple, row.cut);
        quintet_tuple_free(tuple);
    }
    if (status != QUINTET_OK) fail("a listing failed in its midst");
    putchar('\n');
    quintet_listing_free(listing);
}

static void say_collected(quintet_status status, quintet_collection *rows) {
    quintet_tuple *tuple;
    if (status != QUINTET_OK) {
        say_error(status);
        quintet_collection_free(rows);
        return;
    }
    printf("%lu rows", step);
    while (quintet_collection_next(rows, &tuple) == QUINTET_OK && tuple != NULL) {
        putchar(' ');
        write_fields(tuple, 0);
        quintet_tuple_free(tuple);
    }
    putchar('\n');
    quintet_collection_free(rows);
}

#endif

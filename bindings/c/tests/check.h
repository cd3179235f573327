/* What the tests of the C library share. */

#ifndef CHECK_H
#define CHECK_H

#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than anything here takes, also on a busy machine. */
enum { LONG_MS = 60000 };

/* Ends the test unless it is so. */
#define CHECK(is_so)                                                                                                   \
    do {                                                                                                               \
        if (!(is_so)) {                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #is_so, quintet_error_message());  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Ends the test unless the call comes to this status. */
#define COMES_TO(expected, call)                                                                                       \
    do {                                                                                                               \
        quintet_status status_ = (call);                                                                               \
        if (status_ != (expected)) {                                                                                   \
            fprintf(stderr, "%s:%d: %s came to %s (%s)\n", __FILE__, __LINE__, #call, quintet_status_name((int)status_), \
                    quintet_error_message());                                                                          \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define OK(call) COMES_TO(QUINTET_OK, call)

/* Ends the test unless the call is refused with this text in its message. */
#define REFUSED(text, call)                                                                                            \
    do {                                                                                                               \
        COMES_TO(QUINTET_BAD_VALUE, call);                                                                             \
        CHECK(strstr(quintet_error_message(), text) != NULL);                                                          \
    } while (0)

/* A tuple of a name and a number. */
static inline quintet_tuple *pair(const char *name, int64_t number) {
    quintet_tuple *tuple;
    OK(quintet_tuple_new(&tuple));
    OK(quintet_tuple_add_string(tuple, name, QUINTET_NUL_TERMINATED));
    OK(quintet_tuple_add_int64(tuple, number));
    return tuple;
}

/* A template of a name and any number. */
static inline quintet_tuple *any_pair(const char *name) {
    quintet_tuple *tuple;
    OK(quintet_tuple_new(&tuple));
    OK(quintet_tuple_add_string(tuple, name, QUINTET_NUL_TERMINATED));
    OK(quintet_tuple_add_formal(tuple, QUINTET_TYPE_INT64));
    return tuple;
}

/* The number of a pair, which is freed. */
static inline int64_t number_of(quintet_tuple *tuple) {
    int64_t number;
    CHECK(tuple != NULL);
    OK(quintet_tuple_get_int64(tuple, 1, &number));
    quintet_tuple_free(tuple);
    return number;
}

/* Puts a pair. */
static inline void put_pair(quintet_space *space, const char *name, int64_t number) {
    quintet_tuple *tuple = pair(name, number);
    OK(quintet_space_out(space, tuple, LONG_MS));
    quintet_tuple_free(tuple);
}

static inline uint64_t count_pairs(quintet_space *space, const char *name) {
    uint64_t count;
    quintet_tuple *any = any_pair(name);
    OK(quintet_space_count(space, any, &count));
    quintet_tuple_free(any);
    return count;
}

#endif

/* Tuples: fields as the space has them. */

#include "runtime.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Dimensions that an array of C may have here. */
enum { DIMENSIONS = 8 };

static const struct {
    quintet_type type;
    size_t bytes;
} TYPES[] = {
    [CLINDA_BOOL] = {QUINTET_TYPE_BOOL, sizeof(_Bool)},
    [CLINDA_CHAR] = {QUINTET_TYPE_INT8, sizeof(char)},
    [CLINDA_UNSIGNED_CHAR] = {QUINTET_TYPE_UINT8, sizeof(unsigned char)},
    [CLINDA_SHORT] = {QUINTET_TYPE_INT16, sizeof(short)},
    [CLINDA_UNSIGNED_SHORT] = {QUINTET_TYPE_UINT16, sizeof(unsigned short)},
    [CLINDA_INT] = {QUINTET_TYPE_INT32, sizeof(int)},
    [CLINDA_UNSIGNED_INT] = {QUINTET_TYPE_UINT32, sizeof(unsigned int)},
    [CLINDA_LONG] = {QUINTET_TYPE_INT64, sizeof(long)},
    [CLINDA_UNSIGNED_LONG] = {QUINTET_TYPE_UINT64, sizeof(unsigned long)},
    [CLINDA_FLOAT] = {QUINTET_TYPE_FLOAT, sizeof(float)},
    [CLINDA_DOUBLE] = {QUINTET_TYPE_DOUBLE, sizeof(double)},
};

void clinda_fail(const char *place, const char *format, ...)
{
    va_list arguments;
    char text[512];

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", place, text);
    exit(1);
}

void clinda_must(quintet_status status, const char *place)
{
    if (status == QUINTET_OK)
        return;
    fprintf(stderr, "%s: %s\n", place, quintet_error_message());
    exit(quintet_status_exit(status));
}

size_t clinda_size(clinda_type type) { return TYPES[type].bytes; }

/* ---- Tuples that threads keep ---- */

/* One that a thread keeps, and the one that it has kept before. */
typedef struct kept {
    quintet_tuple *fields;
    struct kept *next;
} kept;

/* What a thread keeps goes with it. */
static pthread_key_t all_kept;

static void free_kept(void *all)
{
    for (kept *one = all, *next; one != NULL; one = next) {
        next = one->next;
        quintet_tuple_free(one->fields);
        free(one);
    }
}

static void make_key(void)
{
    if (pthread_key_create(&all_kept, free_kept) != 0)
        clinda_fail("clinda", "the system has no room for what threads keep");
}

static void keep(const clinda_tuple *tuple)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    kept *one = malloc(sizeof *one);

    pthread_once(&once, make_key);
    if (one == NULL)
        clinda_fail(tuple->place, "there is no memory");
    *one = (kept){tuple->fields, pthread_getspecific(all_kept)};
    if (pthread_setspecific(all_kept, one) != 0)
        clinda_fail(tuple->place, "there is no memory");
}

int clinda_begin(clinda_tuple *tuple)
{
    if (tuple->fields != NULL)
        return 0;
    clinda_must(quintet_tuple_new(&tuple->fields), tuple->place);
    keep(tuple);
    return 1;
}

/* ---- Fields ---- */

clinda_tuple clinda_new(const char *place)
{
    clinda_tuple tuple = {.place = place};

    clinda_must(quintet_tuple_new(&tuple.fields), place);
    return tuple;
}

void clinda_text(clinda_tuple *tuple, const char *text)
{
    quintet_tuple_add_string(tuple->fields, text, QUINTET_NUL_TERMINATED);
}

void clinda_value(clinda_tuple *tuple, clinda_type type, const void *value)
{
    quintet_tuple *fields = tuple->fields;

    switch (type) {
    case CLINDA_BOOL: quintet_tuple_add_bool(fields, *(const _Bool *)value); break;
    case CLINDA_CHAR: quintet_tuple_add_int8(fields, *(const signed char *)value); break;
    case CLINDA_UNSIGNED_CHAR: quintet_tuple_add_uint8(fields, *(const unsigned char *)value); break;
    case CLINDA_SHORT: quintet_tuple_add_int16(fields, *(const short *)value); break;
    case CLINDA_UNSIGNED_SHORT: quintet_tuple_add_uint16(fields, *(const unsigned short *)value); break;
    case CLINDA_INT: quintet_tuple_add_int32(fields, *(const int *)value); break;
    case CLINDA_UNSIGNED_INT: quintet_tuple_add_uint32(fields, *(const unsigned int *)value); break;
    case CLINDA_LONG: quintet_tuple_add_int64(fields, *(const long *)value); break;
    case CLINDA_UNSIGNED_LONG: quintet_tuple_add_uint64(fields, *(const unsigned long *)value); break;
    case CLINDA_FLOAT: quintet_tuple_add_float(fields, *(const float *)value); break;
    case CLINDA_DOUBLE: quintet_tuple_add_double(fields, *(const double *)value); break;
    }
}

/* The shape of an array of `count` elements that are arrays of `inner` dimensions. */
static void write_shape(const clinda_tuple *tuple, uint64_t *to, uint64_t count, size_t inner, const size_t *shape)
{
    if (inner >= DIMENSIONS)
        clinda_fail(tuple->place, "an array has %zu dimensions, %d is the most", inner + 1, DIMENSIONS);
    to[0] = count;
    for (size_t i = 0; i < inner; i++)
        to[i + 1] = shape[i];
}

void clinda_array(clinda_tuple *tuple, clinda_type type, long count, size_t inner, const size_t *shape, const void *data)
{
    uint64_t lengths[DIMENSIONS];

    if (count < 0)
        clinda_fail(tuple->place, "an array of %ld elements cannot be", count);
    write_shape(tuple, lengths, (uint64_t)count, inner, shape);
    quintet_tuple_add_array(tuple->fields, (int32_t)TYPES[type].type, inner + 1, lengths, data);
}

void clinda_formal(clinda_tuple *tuple, clinda_type type)
{
    quintet_tuple_add_formal(tuple->fields, (int32_t)TYPES[type].type);
}

void clinda_formal_array(clinda_tuple *tuple, clinda_type type, size_t count, size_t inner, const size_t *shape)
{
    uint64_t lengths[DIMENSIONS];

    write_shape(tuple, lengths, count == CLINDA_ANY ? QUINTET_ANY_LENGTH : count, inner, shape);
    quintet_tuple_add_formal_array(tuple->fields, (int32_t)TYPES[type].type, inner + 1, lengths);
}

void clinda_copy(clinda_tuple *tuple, const clinda_tuple *from, size_t field)
{
    quintet_tuple_add_field(tuple->fields, from->fields, field);
}

void clinda_get(const clinda_tuple *tuple, size_t field, clinda_type type, void *value)
{
    const quintet_tuple *fields = tuple->fields;
    quintet_status status = QUINTET_INTERNAL;

    switch (type) {
    case CLINDA_BOOL: status = quintet_tuple_get_bool(fields, field, value); break;
    case CLINDA_CHAR: status = quintet_tuple_get_int8(fields, field, value); break;
    case CLINDA_UNSIGNED_CHAR: status = quintet_tuple_get_uint8(fields, field, value); break;
    case CLINDA_SHORT: status = quintet_tuple_get_int16(fields, field, value); break;
    case CLINDA_UNSIGNED_SHORT: status = quintet_tuple_get_uint16(fields, field, value); break;
    case CLINDA_INT: status = quintet_tuple_get_int32(fields, field, value); break;
    case CLINDA_UNSIGNED_INT: status = quintet_tuple_get_uint32(fields, field, value); break;
    case CLINDA_LONG: status = quintet_tuple_get_int64(fields, field, value); break;
    case CLINDA_UNSIGNED_LONG: status = quintet_tuple_get_uint64(fields, field, value); break;
    case CLINDA_FLOAT: status = quintet_tuple_get_float(fields, field, value); break;
    case CLINDA_DOUBLE: status = quintet_tuple_get_double(fields, field, value); break;
    }
    clinda_must(status, tuple->place);
}

size_t clinda_get_array(const clinda_tuple *tuple, size_t field, size_t room, void *data)
{
    quintet_array array;

    clinda_must(quintet_tuple_get_array(tuple->fields, field, &array), tuple->place);
    if (array.shape[0] > room)
        clinda_fail(tuple->place, "the array in field %zu has %llu elements, and there is room for %zu", field + 1,
                    (unsigned long long)array.shape[0], room);
    if (array.length_bytes > 0)
        memcpy(data, array.data, array.length_bytes);
    return array.shape[0];
}

void clinda_free(clinda_tuple *tuple)
{
    quintet_tuple_free(tuple->fields);
    tuple->fields = NULL;
}

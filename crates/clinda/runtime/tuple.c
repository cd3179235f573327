/* Tuples: fields as the space has them. */

#include "runtime.h"

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

clinda_tuple *clinda_wrap(quintet_tuple *fields, const char *place)
{
    clinda_tuple *tuple = malloc(sizeof *tuple);

    if (tuple == NULL)
        clinda_fail(place, "there is no memory");
    tuple->fields = fields;
    tuple->place = place;
    return tuple;
}

clinda_tuple *clinda_begin(const char *place)
{
    quintet_tuple *fields;

    clinda_must(quintet_tuple_new(&fields), place);
    return clinda_wrap(fields, place);
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

void clinda_get(const clinda_tuple *tuple, size_t field, void *value)
{
    const quintet_tuple *fields = tuple->fields;
    quintet_status status = QUINTET_INTERNAL;
    quintet_type type;

    clinda_must(quintet_tuple_type(fields, field, &type), tuple->place);
    switch (type) {
    case QUINTET_TYPE_BOOL: status = quintet_tuple_get_bool(fields, field, value); break;
    case QUINTET_TYPE_INT8: status = quintet_tuple_get_int8(fields, field, value); break;
    case QUINTET_TYPE_UINT8: status = quintet_tuple_get_uint8(fields, field, value); break;
    case QUINTET_TYPE_INT16: status = quintet_tuple_get_int16(fields, field, value); break;
    case QUINTET_TYPE_UINT16: status = quintet_tuple_get_uint16(fields, field, value); break;
    case QUINTET_TYPE_INT32: status = quintet_tuple_get_int32(fields, field, value); break;
    case QUINTET_TYPE_UINT32: status = quintet_tuple_get_uint32(fields, field, value); break;
    case QUINTET_TYPE_INT64: status = quintet_tuple_get_int64(fields, field, value); break;
    case QUINTET_TYPE_UINT64: status = quintet_tuple_get_uint64(fields, field, value); break;
    case QUINTET_TYPE_FLOAT: status = quintet_tuple_get_float(fields, field, value); break;
    case QUINTET_TYPE_DOUBLE: status = quintet_tuple_get_double(fields, field, value); break;
    default: clinda_fail(tuple->place, "field %zu is no scalar", field + 1);
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
    if (tuple == NULL)
        return;
    quintet_tuple_free(tuple->fields);
    free(tuple);
}

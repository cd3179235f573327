/* Fields as they travel between the player and a driver, as tuples of the C library and back. */

#ifndef FIELDS_H
#define FIELDS_H

#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The scalar types: as the text names them, as the library does, and how many bytes one has. */
static const struct {
    const char *name;
    quintet_type type;
    size_t width;
} SCALARS[] = {
    {"bool", QUINTET_TYPE_BOOL, 1},  {"i8", QUINTET_TYPE_INT8, 1},    {"i16", QUINTET_TYPE_INT16, 2},
    {"i32", QUINTET_TYPE_INT32, 4},  {"i64", QUINTET_TYPE_INT64, 8},  {"u8", QUINTET_TYPE_UINT8, 1},
    {"u16", QUINTET_TYPE_UINT16, 2}, {"u32", QUINTET_TYPE_UINT32, 4}, {"u64", QUINTET_TYPE_UINT64, 8},
    {"f32", QUINTET_TYPE_FLOAT, 4},  {"f64", QUINTET_TYPE_DOUBLE, 8}, {"text", QUINTET_TYPE_STRING, 0},
    {"binary", QUINTET_TYPE_BYTES, 0},
};
enum { KINDS = sizeof SCALARS / sizeof *SCALARS, MOST_DIMENSIONS = 64 };

/* Ends the driver: the player sent what it never sends, or the library broke its word. */
static inline _Noreturn void fail(const char *why) {
    fprintf(stderr, "the driver in C: %s (last error: %s)\n", why, quintet_error_message());
    exit(1);
}

static inline int kind_named(const char *name) {
    for (int kind = 0; kind < KINDS; kind++)
        if (strcmp(SCALARS[kind].name, name) == 0) return kind;
    fail("there is no such type");
}

static inline int kind_of(quintet_type type) {
    for (int kind = 0; kind < KINDS; kind++)
        if (SCALARS[kind].type == type) return kind;
    fail("the library gave an unknown type");
}

/* The bytes that hexadecimal digits stand for; to be freed. */
static inline unsigned char *read_bytes(const char *hex, size_t *length) {
    *length = strlen(hex) / 2;
    unsigned char *bytes = malloc(*length + 1);
    if (bytes == NULL) fail("no memory");
    for (size_t i = 0; i < *length; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return bytes;
}

static inline void write_bytes(const void *data, size_t length) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) {
        putchar("0123456789abcdef"[bytes[i] >> 4]);
        putchar("0123456789abcdef"[bytes[i] & 15]);
    }
}

/* `2x?x3` */
static inline size_t read_shape(char *text, uint64_t *shape) {
    size_t count = 0;
    for (char *size = strtok(text, "x"); size != NULL && count < MOST_DIMENSIONS; size = strtok(NULL, "x"))
        shape[count++] = *size == '?' ? QUINTET_ANY_LENGTH : strtoull(size, NULL, 10);
    return count;
}

static inline quintet_status add_scalar(quintet_tuple *tuple, quintet_type type, const unsigned char *bytes) {
    /* A tuple of the same bytes, as the library lays them. */
    uint64_t bits = 0;
    memcpy(&bits, bytes, SCALARS[kind_of(type)].width);
    float single;
    double wide;
    memcpy(&single, &bits, sizeof single), memcpy(&wide, &bits, sizeof wide);
    switch (type) {
    case QUINTET_TYPE_BOOL: return quintet_tuple_add_bool(tuple, bits != 0);
    case QUINTET_TYPE_INT8: return quintet_tuple_add_int8(tuple, (int8_t)bits);
    case QUINTET_TYPE_INT16: return quintet_tuple_add_int16(tuple, (int16_t)bits);
    case QUINTET_TYPE_INT32: return quintet_tuple_add_int32(tuple, (int32_t)bits);
    case QUINTET_TYPE_INT64: return quintet_tuple_add_int64(tuple, (int64_t)bits);
    case QUINTET_TYPE_UINT8: return quintet_tuple_add_uint8(tuple, (uint8_t)bits);
    case QUINTET_TYPE_UINT16: return quintet_tuple_add_uint16(tuple, (uint16_t)bits);
    case QUINTET_TYPE_UINT32: return quintet_tuple_add_uint32(tuple, (uint32_t)bits);
    case QUINTET_TYPE_UINT64: return quintet_tuple_add_uint64(tuple, bits);
    case QUINTET_TYPE_FLOAT: return quintet_tuple_add_float(tuple, single);
    case QUINTET_TYPE_DOUBLE: return quintet_tuple_add_double(tuple, wide);
    default: fail("no scalar");
    }
}

/* What this interface has no word for, where a field is that. */
static const char *cannot_say;

static inline quintet_status add_field(quintet_tuple *tuple, char *token);

/* `from~i64:...~below~i64:...` or `prefix~text:...`; the text is written over. */
static inline quintet_status add_range(quintet_tuple *tuple, char *token) {
    quintet_bound low = QUINTET_BOUND_NONE, high = QUINTET_BOUND_NONE;
    quintet_tuple *bounds;
    quintet_status status = quintet_tuple_new(&bounds);
    while (status == QUINTET_OK && token != NULL) {
        char *end = token, *value = strchr(token, '~');
        *value++ = 0;
        token = strchr(value, '~');
        if (token != NULL) *token++ = 0;
        if (strcmp(end, "prefix") == 0) {
            size_t length;
            bool is_text = strncmp(value, "text:", 5) == 0;
            if (!is_text && strncmp(value, "binary:", 7) != 0) {
                cannot_say = "a prefix of what is no text and no bytes: C has none";
                quintet_tuple_free(bounds);
                return QUINTET_BAD_VALUE;
            }
            unsigned char *bytes = read_bytes(strchr(value, ':') + 1, &length);
            status = is_text ? quintet_tuple_add_string_prefix(tuple, (const char *)bytes, length)
                             : quintet_tuple_add_bytes_prefix(tuple, bytes, length);
            free(bytes), quintet_tuple_free(bounds);
            return status;
        }
        if (strcmp(end, "from") == 0) low = QUINTET_BOUND_INCLUDED;
        else if (strcmp(end, "above") == 0) low = QUINTET_BOUND_EXCLUDED;
        else high = strcmp(end, "to") == 0 ? QUINTET_BOUND_INCLUDED : QUINTET_BOUND_EXCLUDED;
        status = add_field(bounds, value);
    }
    if (status == QUINTET_OK) status = quintet_tuple_add_range(tuple, bounds, low, high);
    quintet_tuple_free(bounds);
    return status;
}

/* One field, `name:...`; the text is written over. */
static inline quintet_status add_field(quintet_tuple *tuple, char *token) {
    if (*token == '~') return add_range(tuple, token + 1);
    uint64_t shape[MOST_DIMENSIONS];
    char *rest = strchr(token, ':');
    if (rest != NULL) *rest++ = 0;
    if (strcmp(token, "?array") == 0) {
        char *sizes = strchr(rest, ':');
        *sizes++ = 0;
        quintet_type element = SCALARS[kind_named(rest)].type;
        size_t dimensions = read_shape(sizes, shape);
        return quintet_tuple_add_formal_array(tuple, element, dimensions, shape);
    }
    if (*token == '?') return quintet_tuple_add_formal(tuple, SCALARS[kind_named(token + 1)].type);
    quintet_status status;
    size_t length, dimensions = 0;
    char *data = rest;
    quintet_type element = 0;
    if (strcmp(token, "array") == 0) {
        char *sizes = strchr(rest, ':');
        *sizes++ = 0;
        data = strchr(sizes, ':');
        *data++ = 0;
        element = SCALARS[kind_named(rest)].type;
        dimensions = read_shape(sizes, shape);
    }
    unsigned char *bytes = read_bytes(data, &length);
    if (element != 0) {
        status = quintet_tuple_add_array(tuple, element, dimensions, shape, bytes);
    } else if (strcmp(token, "text") == 0) {
        status = quintet_tuple_add_string(tuple, (const char *)bytes, length);
    } else if (strcmp(token, "binary") == 0) {
        status = quintet_tuple_add_bytes(tuple, bytes, length);
    } else {
        status = add_scalar(tuple, SCALARS[kind_named(token)].type, bytes);
    }
    free(bytes);
    return status;
}

/* A tuple or a template; the text is written over. NULL with the status of the first field that was refused. */
static inline quintet_status read_fields(char *token, quintet_tuple **tuple) {
    quintet_status status = quintet_tuple_new(tuple);
    if (strcmp(token, "()") == 0) return status;
    while (status == QUINTET_OK && token != NULL) {
        char *next = strchr(token, ',');
        if (next != NULL) *next++ = 0;
        status = add_field(*tuple, token);
        token = next;
    }
    if (status != QUINTET_OK) quintet_tuple_free(*tuple), *tuple = NULL;
    return status;
}

#define GET(TYPE, NAME)                                                                                                \
    do {                                                                                                               \
        TYPE value;                                                                                                    \
        if (quintet_tuple_get_##NAME(tuple, index, &value) != QUINTET_OK) fail("a field of another type");             \
        write_bytes(&value, sizeof value);                                                                             \
    } while (0)

static inline void write_field(const quintet_tuple *tuple, size_t index) {
    quintet_type type;
    const char *text;
    const void *data;
    size_t length;
    quintet_array array;
    if (quintet_tuple_type(tuple, index, &type) != QUINTET_OK) fail("no such field");
    if (type == QUINTET_TYPE_ARRAY) {
        if (quintet_tuple_get_array(tuple, index, &array) != QUINTET_OK) fail("no array");
        printf("array:%s:", SCALARS[kind_of(array.element_type)].name);
        for (size_t i = 0; i < array.dimensions; i++) printf("%s%llu", i == 0 ? "" : "x", (unsigned long long)array.shape[i]);
        putchar(':');
        write_bytes(array.data, array.length_bytes);
        return;
    }
    printf("%s:", SCALARS[kind_of(type)].name);
    switch (type) {
    case QUINTET_TYPE_BOOL: GET(bool, bool); break;
    case QUINTET_TYPE_INT8: GET(int8_t, int8); break;
    case QUINTET_TYPE_INT16: GET(int16_t, int16); break;
    case QUINTET_TYPE_INT32: GET(int32_t, int32); break;
    case QUINTET_TYPE_INT64: GET(int64_t, int64); break;
    case QUINTET_TYPE_UINT8: GET(uint8_t, uint8); break;
    case QUINTET_TYPE_UINT16: GET(uint16_t, uint16); break;
    case QUINTET_TYPE_UINT32: GET(uint32_t, uint32); break;
    case QUINTET_TYPE_UINT64: GET(uint64_t, uint64); break;
    case QUINTET_TYPE_FLOAT: GET(float, float); break;
    case QUINTET_TYPE_DOUBLE: GET(double, double); break;
    case QUINTET_TYPE_STRING:
        if (quintet_tuple_get_string(tuple, index, &text, &length) != QUINTET_OK) fail("no text");
        write_bytes(text, length);
        break;
    case QUINTET_TYPE_BYTES:
        if (quintet_tuple_get_bytes(tuple, index, &data, &length) != QUINTET_OK) fail("no bytes");
        write_bytes(data, length);
        break;
    default: fail("an unknown type");
    }
}

/* All fields; of those that a listing shows the beginning of (`cut`, a bit each) only that they are cut. */
static inline void write_fields(const quintet_tuple *tuple, uint64_t cut) {
    size_t length;
    if (quintet_tuple_length(tuple, &length) != QUINTET_OK) fail("no tuple");
    for (size_t i = 0; i < length; i++) {
        if (i > 0) putchar(',');
        if (cut >> i & 1) fputs("cut", stdout);
        else write_field(tuple, i);
    }
}

#endif

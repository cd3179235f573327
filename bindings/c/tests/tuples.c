/* Tuples and templates, buffers, statuses: what needs no space. */

#include "check.h"

/* A tuple through a space, so that what is read is what was received. */
static quintet_tuple *through_a_space(quintet_tuple *tuple) {
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *taken;
    OK(quintet_lab_embedded(&lab));
    OK(quintet_lab_space(lab, &space));
    OK(quintet_space_out(space, tuple, LONG_MS));
    OK(quintet_space_take(space, tuple, LONG_MS, &taken));
    quintet_tuple_free(tuple);
    quintet_lab_free(lab);
    return taken;
}

static quintet_tuple *one_of_each(void) {
    quintet_tuple *tuple;
    OK(quintet_tuple_new(&tuple));
    OK(quintet_tuple_add_bool(tuple, true));
    OK(quintet_tuple_add_int8(tuple, INT8_MIN));
    OK(quintet_tuple_add_int16(tuple, INT16_MIN));
    OK(quintet_tuple_add_int32(tuple, INT32_MIN));
    OK(quintet_tuple_add_int64(tuple, INT64_MIN));
    OK(quintet_tuple_add_uint8(tuple, UINT8_MAX));
    OK(quintet_tuple_add_uint16(tuple, UINT16_MAX));
    OK(quintet_tuple_add_uint32(tuple, UINT32_MAX));
    OK(quintet_tuple_add_uint64(tuple, UINT64_MAX));
    OK(quintet_tuple_add_float(tuple, 0.5f));
    OK(quintet_tuple_add_double(tuple, -0.1));
    OK(quintet_tuple_add_string(tuple, "gr\xc3\xbc\xc3\x9f" "e\0!", 9));
    OK(quintet_tuple_add_bytes(tuple, "\0\xff\0", 3));
    OK(quintet_tuple_add_array(tuple, QUINTET_TYPE_INT16, 2, (uint64_t[]){2, 3}, (int16_t[]){1, 2, 3, 4, 5, -6}));
    return tuple;
}

#define HAS(type, function, index, expected)                                                                           \
    do {                                                                                                               \
        type value_;                                                                                                   \
        OK(function(tuple, index, &value_));                                                                           \
        CHECK(value_ == (expected));                                                                                   \
        /* Every field is of one type. */                                                                              \
        for (size_t other_ = 0; other_ < 14; other_++) {                                                               \
            if (other_ != (index)) REFUSED("is of type", function(tuple, other_, &value_));                            \
        }                                                                                                              \
        CHECK(value_ == (type)0);                                                                                      \
        REFUSED("there is no field 99: the tuple has 14 fields", function(tuple, 99, &value_));                        \
        REFUSED("value is NULL", function(tuple, index, NULL));                                                        \
        REFUSED("tuple is NULL", function(NULL, index, &value_));                                                      \
    } while (0)

static void values_come_back_with_their_types(void) {
    quintet_tuple *tuple = through_a_space(one_of_each());
    HAS(bool, quintet_tuple_get_bool, 0, true);
    HAS(int8_t, quintet_tuple_get_int8, 1, INT8_MIN);
    HAS(int16_t, quintet_tuple_get_int16, 2, INT16_MIN);
    HAS(int32_t, quintet_tuple_get_int32, 3, INT32_MIN);
    HAS(int64_t, quintet_tuple_get_int64, 4, INT64_MIN);
    HAS(uint8_t, quintet_tuple_get_uint8, 5, UINT8_MAX);
    HAS(uint16_t, quintet_tuple_get_uint16, 6, UINT16_MAX);
    HAS(uint32_t, quintet_tuple_get_uint32, 7, UINT32_MAX);
    HAS(uint64_t, quintet_tuple_get_uint64, 8, UINT64_MAX);
    HAS(float, quintet_tuple_get_float, 9, 0.5f);
    HAS(double, quintet_tuple_get_double, 10, -0.1);
    size_t length;
    OK(quintet_tuple_length(tuple, &length));
    CHECK(length == 14);
    const quintet_type types[] = {QUINTET_TYPE_BOOL,   QUINTET_TYPE_INT8,   QUINTET_TYPE_INT16,  QUINTET_TYPE_INT32,
                                  QUINTET_TYPE_INT64,  QUINTET_TYPE_UINT8,  QUINTET_TYPE_UINT16, QUINTET_TYPE_UINT32,
                                  QUINTET_TYPE_UINT64, QUINTET_TYPE_FLOAT,  QUINTET_TYPE_DOUBLE, QUINTET_TYPE_STRING,
                                  QUINTET_TYPE_BYTES,  QUINTET_TYPE_ARRAY};
    for (size_t i = 0; i < length; i++) {
        quintet_type type;
        OK(quintet_tuple_type(tuple, i, &type));
        CHECK(type == types[i]);
    }
    const char *shown;
    OK(quintet_tuple_show(tuple, &shown));
    CHECK(strstr(shown, "(true, -128, ") == shown && strstr(shown, "binary[3], i16[2,3])") != NULL);
    quintet_tuple_free(tuple);
}

static void texts_bytes_and_arrays_are_lent(void) {
    quintet_tuple *tuple = through_a_space(one_of_each());
    const char *text, *again;
    size_t length;
    OK(quintet_tuple_get_string(tuple, 11, &text, &length));
    CHECK(length == 9 && memcmp(text, "gr\xc3\xbc\xc3\x9f" "e\0!", 10) == 0);
    OK(quintet_tuple_get_string(tuple, 11, &again, NULL));
    CHECK(again == text);
    const void *data;
    OK(quintet_tuple_get_bytes(tuple, 12, &data, &length));
    CHECK(length == 3 && memcmp(data, "\0\xff\0", 3) == 0);
    quintet_array array;
    OK(quintet_tuple_get_array(tuple, 13, &array));
    CHECK(array.element_type == QUINTET_TYPE_INT16 && array.dimensions == 2 && array.length_bytes == 12);
    CHECK(array.shape[0] == 2 && array.shape[1] == 3 && (uintptr_t)array.data % 2 == 0);
    CHECK(((const int16_t *)array.data)[5] == -6);
    REFUSED("not text", quintet_tuple_get_string(tuple, 12, &text, &length));
    CHECK(text == NULL && length == 0);
    REFUSED("not binary", quintet_tuple_get_bytes(tuple, 11, &data, &length));
    CHECK(data == NULL);
    REFUSED("not an array", quintet_tuple_get_array(tuple, 0, &array));
    CHECK(array.data == NULL && array.shape == NULL);
    REFUSED("string is NULL", quintet_tuple_get_string(tuple, 11, NULL, &length));
    REFUSED("array is NULL", quintet_tuple_get_array(tuple, 13, NULL));
    quintet_tuple_free(tuple);
}

static void a_template_matches_by_values_and_types(void) {
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *put = one_of_each(), *any, *found;
    OK(quintet_lab_embedded(&lab));
    OK(quintet_lab_space(lab, &space));
    OK(quintet_space_out(space, put, LONG_MS));
    OK(quintet_tuple_new(&any));
    for (size_t i = 0; i < 13; i++) {
        quintet_type type;
        OK(quintet_tuple_type(put, i, &type));
        OK(quintet_tuple_add_formal(any, type));
    }
    OK(quintet_tuple_add_formal_array(any, QUINTET_TYPE_INT16, 2, (uint64_t[]){QUINTET_ANY_LENGTH, 3}));
    OK(quintet_space_read_if(space, any, &found));
    CHECK(found != NULL);
    quintet_tuple_free(found);
    quintet_type type;
    OK(quintet_tuple_type(any, 13, &type));
    CHECK(type == QUINTET_TYPE_ARRAY);
    bool value;
    REFUSED("is a formal, ?bool, and has no value", quintet_tuple_get_bool(any, 0, &value));
    REFUSED("field 0 is a formal", quintet_space_out(space, any, LONG_MS));
    quintet_tuple *wrong;
    OK(quintet_tuple_new(&wrong));
    for (size_t i = 0; i < 13; i++) OK(quintet_tuple_add_field(wrong, any, i));
    OK(quintet_tuple_add_formal_array(wrong, QUINTET_TYPE_INT16, 2, (uint64_t[]){QUINTET_ANY_LENGTH, 4}));
    OK(quintet_space_read_if(space, wrong, &found));
    CHECK(found == NULL);
    quintet_tuple_free(wrong);
    quintet_tuple_free(any);
    quintet_tuple_free(put);
    quintet_lab_free(lab);
}

/* A tuple that one addition failed for says so itself when it is used, with the first error. */
static void the_first_error_of_an_addition_stays(void) {
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *tuple, *found;
    OK(quintet_lab_embedded(&lab));
    OK(quintet_lab_space(lab, &space));
    OK(quintet_tuple_new(&tuple));
    OK(quintet_tuple_add_int64(tuple, 1));
    REFUSED("field 1: string is not UTF-8", quintet_tuple_add_string(tuple, "\xff", QUINTET_NUL_TERMINATED));
    REFUSED("field 1: string is not UTF-8", quintet_tuple_add_int64(tuple, 2));
    REFUSED("field 1: string is not UTF-8", quintet_space_out(space, tuple, LONG_MS));
    REFUSED("field 1: string is not UTF-8", quintet_space_take(space, tuple, LONG_MS, &found));
    const quintet_tuple *tuples[] = {tuple};
    REFUSED("tuple 0: field 1", quintet_space_out_many(space, tuples, 1, LONG_MS));
    quintet_tuple_free(tuple);
    quintet_lab_free(lab);
}

static void refuse_with(const char *text, quintet_status status, quintet_tuple *tuple) {
    CHECK(status != QUINTET_OK && strstr(quintet_error_message(), text) != NULL);
    quintet_tuple_free(tuple);
}

static quintet_tuple *empty(void) {
    quintet_tuple *tuple;
    OK(quintet_tuple_new(&tuple));
    return tuple;
}

/* A tuple of these two numbers. */
static quintet_tuple *numbers(int64_t first, int64_t second) {
    quintet_tuple *tuple = empty();
    OK(quintet_tuple_add_int64(tuple, first));
    OK(quintet_tuple_add_int64(tuple, second));
    return tuple;
}

static void a_range_matches_what_lies_in_it(void) {
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *found, *bounds = numbers(3, 5), *wanted = empty(), *open = empty();
    OK(quintet_lab_embedded(&lab));
    OK(quintet_lab_space(lab, &space));
    for (int64_t n = 6; n > 0; n--) {
        quintet_tuple *row = empty();
        OK(quintet_tuple_add_string(row, "row", QUINTET_NUL_TERMINATED));
        OK(quintet_tuple_add_int64(row, n));
        OK(quintet_space_out(space, row, LONG_MS));
        quintet_tuple_free(row);
    }
    OK(quintet_tuple_add_string_prefix(wanted, "rows", 2));
    OK(quintet_tuple_add_range(wanted, bounds, QUINTET_BOUND_EXCLUDED, QUINTET_BOUND_INCLUDED));
    uint64_t count;
    OK(quintet_space_count(space, wanted, &count));
    CHECK(count == 2);
    int64_t value;
    OK(quintet_space_take(space, wanted, LONG_MS, &found));
    OK(quintet_tuple_get_int64(found, 1, &value));
    CHECK(value == 5);
    quintet_tuple_free(found);
    /* The tuple of its bounds may be the template itself. */
    OK(quintet_tuple_add_int64(open, 2));
    OK(quintet_tuple_add_range(open, open, QUINTET_BOUND_NONE, QUINTET_BOUND_EXCLUDED));
    const char *shown;
    OK(quintet_tuple_show(open, &shown));
    CHECK(strcmp(shown, "(2, ..2)") == 0);
    quintet_type type;
    OK(quintet_tuple_type(open, 1, &type));
    CHECK(type == QUINTET_TYPE_INT64);
    REFUSED("is a range, ..2, and has no value", quintet_tuple_get_int64(open, 1, &value));
    REFUSED("field 1 is a range", quintet_space_out(space, open, LONG_MS));
    quintet_tuple_free(open), quintet_tuple_free(wanted), quintet_tuple_free(bounds);
    quintet_lab_free(lab);
}

static void what_is_no_range_is_refused(void) {
    enum { NONE = QUINTET_BOUND_NONE, IN = QUINTET_BOUND_INCLUDED };
    quintet_tuple *t, *two = numbers(1, 2), *none = empty(), *truth = empty();
    OK(quintet_tuple_add_bool(truth, true));
    t = empty(), refuse_with("bounds 2 fields", quintet_tuple_add_range(t, two, IN, NONE), t);
    t = empty(), refuse_with("at least one bound", quintet_tuple_add_range(t, none, NONE, NONE), t);
    t = empty(), refuse_with("have no order", quintet_tuple_add_range(t, truth, IN, NONE), t);
    t = empty(), refuse_with("an end of a range", quintet_tuple_add_range(t, two, IN, 3), t);
    t = empty(), refuse_with("tuple is NULL", quintet_tuple_add_range(t, NULL, IN, IN), t);
    t = empty(), refuse_with("prefix is NULL", quintet_tuple_add_string_prefix(t, NULL, 3), t);
    t = empty(), refuse_with("not UTF-8", quintet_tuple_add_string_prefix(t, "\xc3", 1), t);
    t = empty(), refuse_with("prefix is NULL", quintet_tuple_add_bytes_prefix(t, NULL, 3), t);
    quintet_tuple_free(two), quintet_tuple_free(none), quintet_tuple_free(truth);
}

static void what_cannot_be_a_field_is_refused(void) {
    uint64_t shape[QUINTET_MAX_DIMENSIONS + 1] = {0}, huge[] = {UINT64_MAX / 2, 16};
    int32_t numbers[] = {1, 2};
    quintet_tuple *t;
    t = empty(), refuse_with("string is NULL", quintet_tuple_add_string(t, NULL, 3), t);
    t = empty(), refuse_with("string is NULL", quintet_tuple_add_string(t, NULL, QUINTET_NUL_TERMINATED), t);
    t = empty(), refuse_with("not UTF-8", quintet_tuple_add_string(t, "ab\xc3", 3), t);
    t = empty(), refuse_with("data is NULL", quintet_tuple_add_bytes(t, NULL, 1), t);
    t = empty(), refuse_with("more than memory holds", quintet_tuple_add_bytes(t, numbers, SIZE_MAX), t);
    t = empty(), refuse_with("shape is NULL", quintet_tuple_add_array(t, QUINTET_TYPE_INT32, 1, NULL, numbers), t);
    t = empty(), refuse_with("not aligned", quintet_tuple_add_array(t, QUINTET_TYPE_INT32, 1, (uint64_t *)((char *)shape + 1), numbers), t);
    t = empty(), refuse_with("at most 32", quintet_tuple_add_array(t, QUINTET_TYPE_INT32, 33, shape, numbers), t);
    t = empty(), refuse_with("above the limit", quintet_tuple_add_array(t, QUINTET_TYPE_INT32, 2, huge, numbers), t);
    t = empty(), refuse_with("data is NULL", quintet_tuple_add_array(t, QUINTET_TYPE_INT32, 1, (uint64_t[]){2}, NULL), t);
    t = empty(), refuse_with("none of the scalar", quintet_tuple_add_array(t, QUINTET_TYPE_STRING, 1, (uint64_t[]){2}, numbers), t);
    t = empty(), refuse_with("none of the scalar", quintet_tuple_add_formal(t, 77), t);
    t = empty(), refuse_with("none of the scalar", quintet_tuple_add_formal(t, -1), t);
    t = empty(), refuse_with("quintet_tuple_add_formal_array", quintet_tuple_add_formal(t, QUINTET_TYPE_ARRAY), t);
    t = empty(), refuse_with("at most 32", quintet_tuple_add_formal_array(t, QUINTET_TYPE_BOOL, 33, NULL), t);
    t = empty(), refuse_with("dimension 0", quintet_tuple_add_formal_array(t, QUINTET_TYPE_BOOL, 1, huge), t);
    t = empty(), refuse_with("there is no field 0", quintet_tuple_add_field(t, t, 0), t);
    t = empty(), refuse_with("tuple is NULL", quintet_tuple_add_field(t, NULL, 0), t);
    t = empty(), refuse_with("buffer is NULL", quintet_tuple_add_buffer(t, QUINTET_TYPE_INT8, 1, shape, NULL), t);
    REFUSED("tuple is NULL", quintet_tuple_add_int8(NULL, 1));
    REFUSED("tuple is NULL", quintet_tuple_new(NULL));
    t = empty();
    for (int i = 0; i < QUINTET_MAX_TEMPLATE_FIELDS; i++) OK(quintet_tuple_add_uint8(t, (uint8_t)i));
    refuse_with("at most 64 fields", quintet_tuple_add_uint8(t, 0), t);
}

static void a_field_may_be_added_to_its_own_tuple(void) {
    quintet_tuple *tuple = pair("x", 7);
    int64_t number;
    OK(quintet_tuple_add_field(tuple, tuple, 1));
    OK(quintet_tuple_get_int64(tuple, 2, &number));
    CHECK(number == 7);
    quintet_tuple_free(tuple);
}

/* One tuple for many that begin alike. */
static void a_tuple_is_cut_and_goes_on(void) {
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *row = empty(), *wanted = empty(), *taken;
    const char *shown;
    int64_t number;
    OK(quintet_lab_embedded(&lab));
    OK(quintet_lab_space(lab, &space));
    OK(quintet_tuple_add_string(row, "row", QUINTET_NUL_TERMINATED));
    OK(quintet_tuple_add_string(wanted, "row", QUINTET_NUL_TERMINATED));
    for (int64_t n = 0; n < 3; n++) {
        OK(quintet_tuple_truncate(row, 1));
        OK(quintet_tuple_add_int64(row, n));
        OK(quintet_tuple_add_bytes(row, "data", (size_t)n));
        OK(quintet_space_out(space, row, LONG_MS));
    }
    for (int64_t n = 2; n >= 0; n--) {
        OK(quintet_tuple_truncate(wanted, 1));
        OK(quintet_tuple_add_int64(wanted, n));
        OK(quintet_tuple_add_formal(wanted, QUINTET_TYPE_BYTES));
        OK(quintet_space_take(space, wanted, LONG_MS, &taken));
        OK(quintet_tuple_get_int64(taken, 1, &number));
        CHECK(number == n);
        /* What was taken can be cut too, and what was a template may become a tuple. */
        OK(quintet_tuple_truncate(taken, 2));
        OK(quintet_tuple_show(taken, &shown));
        CHECK(strncmp(shown, "(\"row\", ", 8) == 0 && strchr(shown, ')') == shown + 9);
        quintet_tuple_free(taken);
    }
    OK(quintet_tuple_truncate(wanted, 2));
    OK(quintet_space_out(space, wanted, LONG_MS));
    OK(quintet_space_take(space, wanted, LONG_MS, &taken));
    OK(quintet_tuple_truncate(wanted, 3));
    CHECK(quintet_tuple_truncate(wanted, 0) == QUINTET_OK);
    REFUSED("there is no field 0: the tuple has 0 fields", quintet_tuple_get_int64(wanted, 0, &number));
    OK(quintet_tuple_add_int64(wanted, 7));
    OK(quintet_tuple_get_int64(wanted, 0, &number));
    CHECK(number == 7);
    /* An error goes with the field that it is of. */
    COMES_TO(QUINTET_BAD_VALUE, quintet_tuple_add_formal(wanted, -1));
    OK(quintet_tuple_truncate(wanted, 2));
    REFUSED("field 1: the type -1", quintet_tuple_add_int64(wanted, 8));
    OK(quintet_tuple_truncate(wanted, 1));
    OK(quintet_tuple_add_int64(wanted, 8));
    REFUSED("tuple is NULL", quintet_tuple_truncate(NULL, 0));
    quintet_tuple_free(row), quintet_tuple_free(wanted), quintet_tuple_free(taken);
    quintet_lab_free(lab);
}

static void empty_data_need_no_address(void) {
    quintet_tuple *tuple = empty();
    OK(quintet_tuple_add_string(tuple, NULL, 0));
    OK(quintet_tuple_add_bytes(tuple, NULL, 0));
    OK(quintet_tuple_add_array(tuple, QUINTET_TYPE_DOUBLE, 2, (uint64_t[]){0, UINT32_MAX / 4}, NULL));
    OK(quintet_tuple_add_array(tuple, QUINTET_TYPE_DOUBLE, 0, NULL, &(double){2.5}));
    tuple = through_a_space(tuple);
    quintet_array array;
    const char *text;
    OK(quintet_tuple_get_string(tuple, 0, &text, NULL));
    CHECK(*text == '\0');
    OK(quintet_tuple_get_array(tuple, 2, &array));
    CHECK(array.length_bytes == 0 && array.shape[0] == 0 && array.data != NULL);
    OK(quintet_tuple_get_array(tuple, 3, &array));
    CHECK(array.dimensions == 0 && *(const double *)array.data == 2.5);
    quintet_tuple_free(tuple);
}

static void a_buffer_is_written_once_and_outlives_its_tuples(size_t numbers) {
    quintet_buffer *buffer, *kept;
    void *place;
    const void *data;
    size_t length;
    OK(quintet_buffer_new(numbers * sizeof(double), &buffer));
    OK(quintet_buffer_write(buffer, &place));
    for (size_t i = 0; i < numbers; i++) ((double *)place)[i] = (double)i;
    OK(quintet_buffer_read(buffer, &data, &length));
    CHECK(data == place && length == numbers * sizeof(double));
    quintet_tuple *tuple = empty();
    OK(quintet_tuple_add_buffer(tuple, QUINTET_TYPE_DOUBLE, 1, (uint64_t[]){numbers - 1}, buffer));
    REFUSED("can only be read", quintet_buffer_write(buffer, &place));
    CHECK(place == NULL);
    quintet_tuple *long_one = empty();
    REFUSED("the buffer has", quintet_tuple_add_buffer(long_one, QUINTET_TYPE_DOUBLE, 1, (uint64_t[]){numbers + 1}, buffer));
    quintet_tuple_free(long_one);
    quintet_buffer_free(buffer);
    tuple = through_a_space(tuple);
    OK(quintet_tuple_get_buffer(tuple, 0, &kept));
    quintet_array array;
    OK(quintet_tuple_get_array(tuple, 0, &array));
    const void *before = array.data;
    quintet_tuple_free(tuple);
    OK(quintet_buffer_read(kept, &data, &length));
    CHECK(length == (numbers - 1) * sizeof(double) && (numbers < 1000 || data == before));
    double last;
    memcpy(&last, (const char *)data + length - sizeof last, sizeof last);
    CHECK(last == (double)(numbers - 2));
    quintet_buffer_free(kept);
}

static void buffers_have_limits(void) {
    quintet_buffer *buffer;
    COMES_TO(QUINTET_TOO_LARGE, quintet_buffer_new(SIZE_MAX, &buffer));
    CHECK(buffer == NULL);
    REFUSED("buffer is NULL", quintet_buffer_new(1, NULL));
    OK(quintet_buffer_new(0, &buffer));
    REFUSED("data is NULL", quintet_buffer_write(buffer, NULL));
    REFUSED("length is NULL", quintet_buffer_read(buffer, &(const void *){NULL}, NULL));
    quintet_buffer_free(buffer);
    quintet_tuple *tuple = pair("x", 1);
    REFUSED("an array or bytes", quintet_tuple_get_buffer(tuple, 1, &buffer));
    quintet_tuple_free(tuple);
}

static void a_handle_of_another_kind_is_recognised(void) {
    quintet_lab *lab;
    size_t length = 7;
    OK(quintet_lab_embedded(&lab));
    REFUSED("this pointer leads to no tuple", quintet_tuple_length((quintet_tuple *)(void *)lab, &length));
    CHECK(length == 0);
    quintet_tuple_free((quintet_tuple *)(void *)lab); /* Left alone. */
    quintet_lab_free(lab);
    quintet_tuple_free(NULL), quintet_buffer_free(NULL), quintet_lab_free(NULL);
    quintet_lease_free(NULL), quintet_pending_free(NULL), quintet_server_free(NULL);
}

#ifdef __SANITIZE_ADDRESS__
/* What was freed is kept for a while by the sanitizer, as it was left. */
static void a_handle_that_was_freed_is_recognised(void) {
    quintet_tuple *tuple = pair("x", 1);
    size_t length;
    quintet_tuple_free(tuple);
    REFUSED("this tuple was freed before", quintet_tuple_length(tuple, &length));
    quintet_tuple_free(tuple);
    CHECK(strstr(quintet_error_message(), "this tuple was freed before") != NULL);
}
#endif

static void statuses_say_what_they_are(void) {
    CHECK(strcmp(quintet_status_name(QUINTET_TIMED_OUT), "QUINTET_TIMED_OUT") == 0);
    CHECK(strcmp(quintet_status_text(QUINTET_TIMED_OUT), "the deadline passed") == 0);
    CHECK(quintet_status_retry(QUINTET_TIMED_OUT) == QUINTET_RETRY_SAFE);
    CHECK(quintet_status_retry(QUINTET_PEER_DIED) == QUINTET_RETRY_INDETERMINATE);
    CHECK(quintet_status_retry(QUINTET_BAD_VALUE) == QUINTET_RETRY_USELESS);
    CHECK(quintet_status_fault(QUINTET_BAD_VALUE) == QUINTET_FAULT_MISUSE);
    CHECK(quintet_status_fault(QUINTET_MALFORMED) == QUINTET_FAULT_PEER);
    CHECK(quintet_status_fault(QUINTET_SPACE_FULL) == QUINTET_FAULT_LIMIT);
    CHECK(quintet_status_fault(12345) == QUINTET_FAULT_SYSTEM);
    CHECK(quintet_status_exit(QUINTET_OK) == 0 && quintet_status_exit(QUINTET_TIMED_OUT) == 75);
    CHECK(quintet_version()[0] != '\0' && strchr(quintet_version(), '.') != NULL);
}

int main(void) {
    CHECK(strcmp(quintet_error_message(), "") == 0);
    values_come_back_with_their_types();
    texts_bytes_and_arrays_are_lent();
    a_template_matches_by_values_and_types();
    the_first_error_of_an_addition_stays();
    what_cannot_be_a_field_is_refused();
    a_range_matches_what_lies_in_it();
    what_is_no_range_is_refused();
    a_field_may_be_added_to_its_own_tuple();
    a_tuple_is_cut_and_goes_on();
    empty_data_need_no_address();
    a_buffer_is_written_once_and_outlives_its_tuples(10);
    a_buffer_is_written_once_and_outlives_its_tuples(10000);
    buffers_have_limits();
    a_handle_of_another_kind_is_recognised();
#ifdef __SANITIZE_ADDRESS__
    a_handle_that_was_freed_is_recognised();
#endif
    statuses_say_what_they_are();
    return 0;
}

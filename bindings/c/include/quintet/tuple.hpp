// Part of quintet.hpp: errors, buffers and tuples.

#ifndef QUINTET_TUPLE_HPP
#define QUINTET_TUPLE_HPP

#include "../quintet.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace quintet {

/// A call that failed: what() says what was wrong and what to do.
class error : public std::runtime_error {
public:
    explicit error(quintet_status status) : error(status, quintet_error_message()) {}
    error(quintet_status status, const std::string &text) : std::runtime_error(text), status_(status) {}
    quintet_status status() const noexcept { return status_; }
    quintet_retry retry() const noexcept { return quintet_status_retry(status_); }
    quintet_fault fault() const noexcept { return quintet_status_fault(status_); }

private:
    quintet_status status_;
};

/// How long an operation may wait; none: without end.
using timeout = std::optional<std::chrono::milliseconds>;
inline constexpr std::nullopt_t forever = std::nullopt;

namespace detail {

inline void check(quintet_status status) {
    if (status != QUINTET_OK) throw error(status);
}

inline std::int64_t milliseconds(timeout limit) {
    if (!limit) return QUINTET_FOREVER;
    // Less than none is none here; in C it would be forever.
    return limit->count() < 0 ? 0 : static_cast<std::int64_t>(limit->count());
}

template <auto Free> struct deleter {
    template <typename Handle> void operator()(Handle *handle) const noexcept { Free(handle); }
};

template <typename Handle, auto Free> using owned = std::unique_ptr<Handle, deleter<Free>>;

/// What `make` puts into its last argument.
template <typename Handle, typename Make> Handle *made(Make &&make) {
    Handle *handle = nullptr;
    check(make(&handle));
    return handle;
}

template <typename T> constexpr quintet_type type_of() {
    if constexpr (std::is_same_v<T, bool>) return QUINTET_TYPE_BOOL;
    else if constexpr (std::is_same_v<T, float>) return QUINTET_TYPE_FLOAT;
    else if constexpr (std::is_same_v<T, double>) return QUINTET_TYPE_DOUBLE;
    else {
        static_assert(std::is_integral_v<T>, "a field is a bool, an integer, a float, a double, text, bytes or an array");
        constexpr bool is_signed = std::is_signed_v<T>;
        switch (sizeof(T)) {
        case 1: return is_signed ? QUINTET_TYPE_INT8 : QUINTET_TYPE_UINT8;
        case 2: return is_signed ? QUINTET_TYPE_INT16 : QUINTET_TYPE_UINT16;
        case 4: return is_signed ? QUINTET_TYPE_INT32 : QUINTET_TYPE_UINT32;
        default: return is_signed ? QUINTET_TYPE_INT64 : QUINTET_TYPE_UINT64;
        }
    }
}

} // namespace detail

/// Bytes that are lent.
struct bytes {
    const void *data;
    std::size_t length;
};

/// An array that is lent: elements in C order, the last index varying fastest.
template <typename T> class array_view {
public:
    array_view(const T *data, std::vector<std::uint64_t> shape) : data_(data), shape_(std::move(shape)) {}
    const T *data() const noexcept { return data_; }
    const std::vector<std::uint64_t> &shape() const noexcept { return shape_; }
    std::size_t size() const {
        return std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, [](auto a, auto b) { return a * b; });
    }
    const T *begin() const noexcept { return data_; }
    const T *end() const { return data_ + size(); }
    const T &operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    const T *data_;
    std::vector<std::uint64_t> shape_;
};

/// Stands in a template for any value of a type: `quintet::any<double>`, `quintet::any<std::string_view>`, `quintet::any<quintet::bytes>`.
template <typename T> struct formal {};
template <typename T> inline constexpr formal<T> any{};

/// Stands in a template for any array of so many dimensions.
template <typename T> struct formal_array {
    std::size_t dimensions;
};
template <typename T> constexpr formal_array<T> any_array(std::size_t dimensions) { return {dimensions}; }

/// Stands in a template for the values of a type that lie in a range; made by the functions below.
template <typename T> struct range {
    T low, high;
    quintet_bound low_end, high_end;
};
/// From the one to the other, both in it; the ends say otherwise. Text is compared by its bytes.
template <typename T>
range<T> between(T low, T high, quintet_bound low_end = QUINTET_BOUND_INCLUDED, quintet_bound high_end = QUINTET_BOUND_INCLUDED) {
    return {low, high, low_end, high_end};
}
inline range<std::string_view> between(const char *low, const char *high, quintet_bound low_end = QUINTET_BOUND_INCLUDED,
                                       quintet_bound high_end = QUINTET_BOUND_INCLUDED) {
    return {low, high, low_end, high_end};
}
/// The value and all above it, or below it.
template <typename T> range<T> at_least(T low) { return {low, low, QUINTET_BOUND_INCLUDED, QUINTET_BOUND_NONE}; }
template <typename T> range<T> at_most(T high) { return {high, high, QUINTET_BOUND_NONE, QUINTET_BOUND_INCLUDED}; }
/// All above the value, or below it, without it.
template <typename T> range<T> above(T low) { return {low, low, QUINTET_BOUND_EXCLUDED, QUINTET_BOUND_NONE}; }
template <typename T> range<T> below(T high) { return {high, high, QUINTET_BOUND_NONE, QUINTET_BOUND_EXCLUDED}; }

/// Stands in a template for text that begins so, or for bytes.
template <typename T> struct beginning {
    T prefix;
};
inline beginning<std::string_view> prefix(std::string_view text) { return {text}; }
inline beginning<bytes> prefix(bytes data) { return {data}; }

/// Memory for large data that is copied nowhere: written, then put.
class buffer {
public:
    explicit buffer(std::size_t length)
        : handle_(detail::made<quintet_buffer>([&](auto place) { return quintet_buffer_new(length, place); })) {}
    explicit buffer(quintet_buffer *handle) noexcept : handle_(handle) {}
    void *write() {
        return detail::made<void>([&](auto place) { return quintet_buffer_write(handle_.get(), place); });
    }
    bytes read() const {
        bytes found{};
        detail::check(quintet_buffer_read(handle_.get(), &found.data, &found.length));
        return found;
    }
    quintet_buffer *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<quintet_buffer, quintet_buffer_free> handle_;
};

/// An array in a buffer, to be put.
template <typename T> struct array_in {
    const buffer &memory;
    std::vector<std::uint64_t> shape;
};

/// The fields of a tuple that another object owns.
class tuple_view {
public:
    explicit tuple_view(const quintet_tuple *handle) noexcept : handle_(handle) {}

    std::size_t size() const {
        std::size_t length = 0;
        detail::check(quintet_tuple_length(handle_, &length));
        return length;
    }

    quintet_type type(std::size_t index) const {
        quintet_type found{};
        detail::check(quintet_tuple_type(handle_, index, &found));
        return found;
    }

    /// The value of a field: a scalar, std::string, std::string_view or bytes; the last two are lent by the tuple.
    template <typename T> T get(std::size_t index) const {
        if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>) {
            const char *text = nullptr;
            std::size_t length = 0;
            detail::check(quintet_tuple_get_string(handle_, index, &text, &length));
            return T(text, length);
        } else if constexpr (std::is_same_v<T, bytes>) {
            bytes found{};
            detail::check(quintet_tuple_get_bytes(handle_, index, &found.data, &found.length));
            return found;
        } else {
            return static_cast<T>(scalar<detail::type_of<T>()>(index));
        }
    }

    /// The array in a field, lent by the tuple.
    template <typename T> array_view<T> get_array(std::size_t index) const {
        quintet_array found{};
        detail::check(quintet_tuple_get_array(handle_, index, &found));
        if (found.element_type != detail::type_of<T>()) {
            const std::string text = "field " + std::to_string(index) + " is an array of elements of another type";
            throw error(QUINTET_BAD_VALUE, text);
        }
        return {static_cast<const T *>(found.data), {found.shape, found.shape + found.dimensions}};
    }

    /// The data of a field, kept beyond the tuple.
    buffer get_buffer(std::size_t index) const {
        return buffer(detail::made<quintet_buffer>([&](auto place) { return quintet_tuple_get_buffer(handle_, index, place); }));
    }

    /// The tuple for people to read.
    std::string show() const {
        const char *text = nullptr;
        detail::check(quintet_tuple_show(handle_, &text));
        return text;
    }

    const quintet_tuple *handle() const noexcept { return handle_; }

private:
    template <quintet_type Type> auto scalar(std::size_t index) const {
        const auto of = [&](auto empty, auto get) {
            detail::check(get(handle_, index, &empty));
            return empty;
        };
        if constexpr (Type == QUINTET_TYPE_BOOL) return of(bool{}, quintet_tuple_get_bool);
        else if constexpr (Type == QUINTET_TYPE_INT8) return of(std::int8_t{}, quintet_tuple_get_int8);
        else if constexpr (Type == QUINTET_TYPE_INT16) return of(std::int16_t{}, quintet_tuple_get_int16);
        else if constexpr (Type == QUINTET_TYPE_INT32) return of(std::int32_t{}, quintet_tuple_get_int32);
        else if constexpr (Type == QUINTET_TYPE_INT64) return of(std::int64_t{}, quintet_tuple_get_int64);
        else if constexpr (Type == QUINTET_TYPE_UINT8) return of(std::uint8_t{}, quintet_tuple_get_uint8);
        else if constexpr (Type == QUINTET_TYPE_UINT16) return of(std::uint16_t{}, quintet_tuple_get_uint16);
        else if constexpr (Type == QUINTET_TYPE_UINT32) return of(std::uint32_t{}, quintet_tuple_get_uint32);
        else if constexpr (Type == QUINTET_TYPE_UINT64) return of(std::uint64_t{}, quintet_tuple_get_uint64);
        else if constexpr (Type == QUINTET_TYPE_FLOAT) return of(float{}, quintet_tuple_get_float);
        else return of(double{}, quintet_tuple_get_double);
    }

    const quintet_tuple *handle_;
};

/// A tuple, or a template if there are formals or ranges among its fields.
class tuple {
public:
    template <typename... Fields, typename = std::enable_if_t<(sizeof...(Fields) > 0)>,
              typename = std::enable_if_t<!(sizeof...(Fields) == 1 && (std::is_same_v<std::decay_t<Fields>, tuple> && ...))>>
    tuple(const Fields &...fields) : handle_(detail::made<quintet_tuple>(quintet_tuple_new)) {
        (add(fields), ...);
    }
    explicit tuple(quintet_tuple *handle) noexcept : handle_(handle) {}

    tuple &add(std::string_view text) { return checked(quintet_tuple_add_string(handle(), text.data(), text.size())); }
    tuple &add(const char *text) { return add(std::string_view(text)); }
    tuple &add(const std::string &text) { return add(std::string_view(text)); }
    tuple &add(bytes data) { return checked(quintet_tuple_add_bytes(handle(), data.data, data.length)); }
    template <typename T> tuple &add(const array_view<T> &array) {
        const auto &shape = array.shape();
        return checked(quintet_tuple_add_array(handle(), detail::type_of<T>(), shape.size(), shape.data(), array.data()));
    }
    /// A vector is an array of one dimension.
    template <typename T> tuple &add(const std::vector<T> &elements) {
        static_assert(!std::is_same_v<T, bool>, "a vector of bool has no elements in memory");
        return add(array_view<T>(elements.data(), {elements.size()}));
    }
    template <typename T> tuple &add(const array_in<T> &array) {
        const auto &shape = array.shape;
        const auto memory = array.memory.handle();
        return checked(quintet_tuple_add_buffer(handle(), detail::type_of<T>(), shape.size(), shape.data(), memory));
    }
    template <typename T> tuple &add(formal<T>) {
        if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>) {
            return checked(quintet_tuple_add_formal(handle(), QUINTET_TYPE_STRING));
        } else if constexpr (std::is_same_v<T, bytes>) {
            return checked(quintet_tuple_add_formal(handle(), QUINTET_TYPE_BYTES));
        } else {
            return checked(quintet_tuple_add_formal(handle(), detail::type_of<T>()));
        }
    }
    template <typename T> tuple &add(formal_array<T> array) {
        return checked(quintet_tuple_add_formal_array(handle(), detail::type_of<T>(), array.dimensions, nullptr));
    }
    template <typename T> std::enable_if_t<std::is_arithmetic_v<T>, tuple &> add(T value) {
        constexpr auto type = detail::type_of<T>();
        if constexpr (type == QUINTET_TYPE_BOOL) return checked(quintet_tuple_add_bool(handle(), value));
        else if constexpr (type == QUINTET_TYPE_INT8) return checked(quintet_tuple_add_int8(handle(), value));
        else if constexpr (type == QUINTET_TYPE_INT16) return checked(quintet_tuple_add_int16(handle(), value));
        else if constexpr (type == QUINTET_TYPE_INT32) return checked(quintet_tuple_add_int32(handle(), value));
        else if constexpr (type == QUINTET_TYPE_INT64) return checked(quintet_tuple_add_int64(handle(), value));
        else if constexpr (type == QUINTET_TYPE_UINT8) return checked(quintet_tuple_add_uint8(handle(), value));
        else if constexpr (type == QUINTET_TYPE_UINT16) return checked(quintet_tuple_add_uint16(handle(), value));
        else if constexpr (type == QUINTET_TYPE_UINT32) return checked(quintet_tuple_add_uint32(handle(), value));
        else if constexpr (type == QUINTET_TYPE_UINT64) return checked(quintet_tuple_add_uint64(handle(), value));
        else if constexpr (type == QUINTET_TYPE_FLOAT) return checked(quintet_tuple_add_float(handle(), value));
        else return checked(quintet_tuple_add_double(handle(), value));
    }
    template <typename T> tuple &add(const range<T> &values) {
        tuple bounds(detail::made<quintet_tuple>(quintet_tuple_new));
        if (values.low_end != QUINTET_BOUND_NONE) bounds.add(values.low);
        if (values.high_end != QUINTET_BOUND_NONE) bounds.add(values.high);
        return checked(quintet_tuple_add_range(handle(), bounds.handle(), values.low_end, values.high_end));
    }
    tuple &add(beginning<std::string_view> begins) {
        return checked(quintet_tuple_add_string_prefix(handle(), begins.prefix.data(), begins.prefix.size()));
    }
    tuple &add(beginning<bytes> begins) {
        return checked(quintet_tuple_add_bytes_prefix(handle(), begins.prefix.data, begins.prefix.length));
    }
    /// Keeps the first fields, so many of them: others can be added behind them.
    tuple &truncate(std::size_t count) { return checked(quintet_tuple_truncate(handle(), count)); }
    /// A field of another tuple; large data are shared.
    tuple &add_field(tuple_view from, std::size_t index) {
        return checked(quintet_tuple_add_field(handle(), from.handle(), index));
    }

    template <typename T> T get(std::size_t index) const & { return view().get<T>(index); }
    /// Of a tuple that ends with the statement only what is no view.
    template <typename T> T get(std::size_t index) && {
        static_assert(!std::is_same_v<T, std::string_view> && !std::is_same_v<T, bytes>, "keep the tuple: it lends this");
        return view().get<T>(index);
    }
    template <typename T> array_view<T> get_array(std::size_t index) const & { return view().get_array<T>(index); }
    template <typename T> array_view<T> get_array(std::size_t index) && = delete;
    buffer get_buffer(std::size_t index) const { return view().get_buffer(index); }
    std::size_t size() const { return view().size(); }
    quintet_type type(std::size_t index) const { return view().type(index); }
    std::string show() const { return view().show(); }

    tuple_view view() const noexcept { return tuple_view(handle_.get()); }
    operator tuple_view() const noexcept { return view(); }
    quintet_tuple *handle() const noexcept { return handle_.get(); }

private:
    tuple &checked(quintet_status status) {
        detail::check(status);
        return *this;
    }

    detail::owned<quintet_tuple, quintet_tuple_free> handle_;
};

} // namespace quintet

#endif // QUINTET_TUPLE_HPP

// libquintet for C++17: what quintet.h declares, with handles that free themselves, values by their types, and exceptions.
//
//     quintet::lab lab;                                             // where the environment says, else in this process
//     quintet::space space = lab.space();
//     space.out({"row", std::int64_t{3}, 2.5});
//     quintet::tuple row = space.take({"row", quintet::any<std::int64_t>, quintet::any<double>});
//     auto [i, x] = std::pair(row.get<std::int64_t>(1), row.get<double>(2));
//
// Whatever fails throws quintet::error. A field has the type of the value that is given: 3 is an int32_t, and matches no int64_t.
// The guide is docs/c.md.

#ifndef QUINTET_HPP
#define QUINTET_HPP

#include "quintet/tuple.hpp"

namespace quintet {

namespace detail {
inline std::vector<const quintet_tuple *> handles(const std::vector<tuple> &tuples) {
    std::vector<const quintet_tuple *> found;
    for (const auto &one : tuples) found.push_back(one.handle());
    return found;
}
} // namespace detail

class lease;

/// An operation under way. Destroyed before it was collected, it is cancelled.
class pending {
public:
    explicit pending(quintet_pending *handle) noexcept : handle_(handle) {}
    /// Whether the outcome is there within `limit`.
    bool wait(timeout limit = forever) const {
        bool is_done = false;
        detail::check(quintet_pending_wait(handle_.get(), detail::milliseconds(limit), &is_done));
        return is_done;
    }
    void result() const { detail::check(quintet_pending_result(handle_.get())); }
    /// The tuple; none if there was no match for what does not wait.
    std::optional<quintet::tuple> tuple() const {
        quintet_tuple *found = nullptr;
        detail::check(quintet_pending_tuple(handle_.get(), &found));
        return found ? std::optional<quintet::tuple>(std::in_place, found) : std::nullopt;
    }
    quintet::lease lease() const;
    std::uint64_t count() const {
        std::uint64_t found = 0;
        detail::check(quintet_pending_count(handle_.get(), &found));
        return found;
    }
    void notify(quintet_callback callback, void *argument) const {
        detail::check(quintet_pending_notify(handle_.get(), callback, argument));
    }
    void cancel() const { detail::check(quintet_pending_cancel(handle_.get())); }
    quintet_pending *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<quintet_pending, quintet_pending_free> handle_;
};

/// A tuple that is leased. Destroyed before it was acknowledged, also by an exception, its tuple returns to the space.
class lease {
public:
    explicit lease(quintet_lease *handle) noexcept : handle_(handle) {}
    tuple_view tuple() const {
        const quintet_tuple *found = nullptr;
        detail::check(quintet_lease_tuple(handle_.get(), &found));
        return tuple_view(found);
    }
    std::uint32_t attempt() const {
        std::uint32_t found = 0;
        detail::check(quintet_lease_attempt(handle_.get(), &found));
        return found;
    }
    void acknowledge() { detail::check(quintet_lease_acknowledge(handle_.get(), nullptr, 0)); }
    void acknowledge(const quintet::tuple &result) {
        const quintet_tuple *results[] = {result.handle()};
        detail::check(quintet_lease_acknowledge(handle_.get(), results, 1));
    }
    void acknowledge(const std::vector<quintet::tuple> &results) {
        const auto handles = detail::handles(results);
        detail::check(quintet_lease_acknowledge(handle_.get(), handles.data(), handles.size()));
    }
    pending begin_acknowledge(const std::vector<quintet::tuple> &results) {
        const auto handles = detail::handles(results);
        return pending(detail::made<quintet_pending>([&](auto place) {
            return quintet_lease_begin_acknowledge(handle_.get(), handles.data(), handles.size(), place);
        }));
    }
    void release() { detail::check(quintet_lease_release(handle_.get())); }
    quintet_lease *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<quintet_lease, quintet_lease_free> handle_;
};

inline lease pending::lease() const {
    return quintet::lease(detail::made<quintet_lease>([&](auto place) { return quintet_pending_lease(handle_.get(), place); }));
}

/// Takes, reads and puts that happen at one instant, at `commit`. Destroyed before that, also by an exception, nothing of it happens.
class group {
public:
    explicit group(quintet_group *handle) noexcept : handle_(handle) {}
    tuple take(const tuple &wanted, timeout limit = forever) const {
        return tuple(found(quintet_group_take, wanted, detail::milliseconds(limit)));
    }
    tuple read(const tuple &wanted, timeout limit = forever) const {
        return tuple(found(quintet_group_read, wanted, detail::milliseconds(limit)));
    }
    std::optional<tuple> take_if(const tuple &wanted) const { return perhaps(found(quintet_group_take_if, wanted)); }
    std::optional<tuple> read_if(const tuple &wanted) const { return perhaps(found(quintet_group_read_if, wanted)); }
    void out(const tuple &put) const { detail::check(quintet_group_out(handle_.get(), put.handle())); }
    void commit() const { detail::check(quintet_group_commit(handle_.get())); }
    void abort() const { detail::check(quintet_group_abort(handle_.get())); }
    quintet_group *handle() const noexcept { return handle_.get(); }

private:
    template <typename Look, typename... Limit>
    quintet_tuple *found(Look look, const tuple &wanted, Limit... limit) const {
        return detail::made<quintet_tuple>([&](auto place) { return look(handle_.get(), wanted.handle(), limit..., place); });
    }
    static std::optional<tuple> perhaps(quintet_tuple *found) {
        return found ? std::optional<tuple>(std::in_place, found) : std::nullopt;
    }

    detail::owned<quintet_group, quintet_group_free> handle_;
};

/// A tuple as a listing shows it.
struct listed {
    quintet_row row;
    quintet::tuple tuple;
};

/// Tuples of a space, which are fetched as they are asked for: `for (const auto &shown : space.list()) ...`
class listing {
public:
    explicit listing(quintet_listing *handle) noexcept : handle_(handle) {}
    /// None when there is none any more.
    std::optional<listed> next() const {
        quintet_row row{};
        quintet_tuple *found = nullptr;
        detail::check(quintet_listing_next(handle_.get(), &row, &found));
        return found ? std::optional<listed>(listed{row, tuple(found)}) : std::nullopt;
    }

    struct end_of_rows {};
    class rows {
    public:
        explicit rows(const listing &from) : from_(&from), row_(from.next()) {}
        const listed &operator*() const { return *row_; }
        rows &operator++() { return row_ = from_->next(), *this; }
        bool operator!=(end_of_rows) const { return row_.has_value(); }

    private:
        const listing *from_;
        std::optional<listed> row_;
    };
    rows begin() const { return rows(*this); }
    end_of_rows end() const { return {}; }
    quintet_listing *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<quintet_listing, quintet_listing_free> handle_;
};

/// A tuple space. It is its lab's, and can be copied while that lives.
class space {
public:
    explicit space(quintet_space *handle) noexcept : handle_(handle) {}

    void out(const tuple &put, timeout limit = forever) const {
        detail::check(quintet_space_out(handle_, put.handle(), detail::milliseconds(limit)));
    }
    void out_many(const std::vector<tuple> &tuples, timeout limit = forever) const {
        const auto handles = detail::handles(tuples);
        detail::check(quintet_space_out_many(handle_, handles.data(), handles.size(), detail::milliseconds(limit)));
    }
    tuple take(const tuple &wanted, timeout limit = forever) const {
        return tuple(found<quintet_tuple>(quintet_space_take, wanted, detail::milliseconds(limit)));
    }
    tuple read(const tuple &wanted, timeout limit = forever) const {
        return tuple(found<quintet_tuple>(quintet_space_read, wanted, detail::milliseconds(limit)));
    }
    std::optional<tuple> take_if(const tuple &wanted) const { return perhaps(found<quintet_tuple>(quintet_space_take_if, wanted)); }
    std::optional<tuple> read_if(const tuple &wanted) const { return perhaps(found<quintet_tuple>(quintet_space_read_if, wanted)); }
    quintet::lease lease(const tuple &wanted, timeout limit = forever) const {
        return quintet::lease(found<quintet_lease>(quintet_space_lease, wanted, detail::milliseconds(limit)));
    }
    /// A group, which lasts so long at most.
    quintet::group group(timeout limit = std::chrono::minutes(1)) const {
        return quintet::group(detail::made<quintet_group>(
            [&](auto place) { return quintet_space_group(handle_, detail::milliseconds(limit), place); }));
    }
    std::uint64_t count(const tuple &wanted) const {
        std::uint64_t number = 0;
        detail::check(quintet_space_count(handle_, wanted.handle(), &number));
        return number;
    }
    /// All tuples, or those that match.
    quintet::listing list() const { return quintet::listing(rows_of(nullptr)); }
    quintet::listing list(const tuple &wanted) const { return quintet::listing(rows_of(wanted.handle())); }
    quintet_state status() const {
        quintet_state state{};
        detail::check(quintet_space_status(handle_, &state));
        return state;
    }

    pending begin_out(const std::vector<tuple> &tuples, timeout limit = forever) const {
        const auto handles = detail::handles(tuples);
        return pending(detail::made<quintet_pending>([&](auto place) {
            return quintet_space_begin_out(handle_, handles.data(), handles.size(), detail::milliseconds(limit), place);
        }));
    }
    pending begin_take(const tuple &wanted, timeout limit = forever) const {
        return pending(found<quintet_pending>(quintet_space_begin_take, wanted, detail::milliseconds(limit)));
    }
    pending begin_read(const tuple &wanted, timeout limit = forever) const {
        return pending(found<quintet_pending>(quintet_space_begin_read, wanted, detail::milliseconds(limit)));
    }
    pending begin_take_if(const tuple &wanted) const { return pending(found<quintet_pending>(quintet_space_begin_take_if, wanted)); }
    pending begin_read_if(const tuple &wanted) const { return pending(found<quintet_pending>(quintet_space_begin_read_if, wanted)); }
    pending begin_lease(const tuple &wanted, timeout limit = forever) const {
        return pending(found<quintet_pending>(quintet_space_begin_lease, wanted, detail::milliseconds(limit)));
    }
    pending begin_count(const tuple &wanted) const { return pending(found<quintet_pending>(quintet_space_begin_count, wanted)); }
    quintet_space *handle() const noexcept { return handle_; }

private:
    /// What one of the functions that look for a match gives.
    template <typename Handle, typename Look, typename... Limit>
    Handle *found(Look look, const tuple &wanted, Limit... limit) const {
        return detail::made<Handle>([&](auto place) { return look(handle_, wanted.handle(), limit..., place); });
    }
    quintet_listing *rows_of(const quintet_tuple *wanted) const {
        return detail::made<quintet_listing>([&](auto place) { return quintet_space_list(handle_, wanted, place); });
    }
    static std::optional<tuple> perhaps(quintet_tuple *handle) {
        return handle ? std::optional<tuple>(std::in_place, handle) : std::nullopt;
    }

    quintet_space *handle_;
};

/// A call that a handler was given, as long as its function runs.
class call_view {
public:
    explicit call_view(quintet_call *handle) noexcept : handle_(handle) {}
    std::string_view request() const {
        const void *data = nullptr;
        std::size_t length = 0;
        detail::check(quintet_call_request(handle_, &data, &length));
        return {static_cast<const char *>(data), length};
    }
    /// How long the caller still waits; none: without end.
    std::optional<std::chrono::milliseconds> remaining() const {
        std::int64_t left = 0;
        detail::check(quintet_call_remaining(handle_, &left));
        return left == QUINTET_FOREVER ? std::nullopt : std::optional<std::chrono::milliseconds>(left);
    }
    bool is_one_way() const {
        bool found = false;
        detail::check(quintet_call_is_one_way(handle_, &found));
        return found;
    }
    void reply(std::string_view bytes) const { detail::check(quintet_call_reply(handle_, bytes.data(), bytes.size())); }
    void fail(const std::string &text) const { detail::check(quintet_call_fail(handle_, text.c_str())); }
    quintet_call *handle() const noexcept { return handle_; }

private:
    quintet_call *handle_;
};

/// A call that is the program's own. Destroyed without a reply it fails.
class call : public call_view {
public:
    explicit call(quintet_call *handle) noexcept : call_view(handle), handle_(handle) {}

private:
    detail::owned<quintet_call, quintet_call_free> handle_;
};

/// Takes calls of a name. Destroyed, it leaves.
class handler {
public:
    explicit handler(quintet_handler *handle) noexcept : handle_(handle) {}
    /// Handles calls on this thread until the handler leaves or the lab is closed: what `handle(const call_view &)` returns, a text or bytes, is the
    /// reply; what it throws is why it failed.
    template <typename Handle>
    void serve(Handle handle) const {
        const quintet_handle each = [](quintet_call *given, void *argument) {
            try {
                call_view(given).reply((*static_cast<Handle *>(argument))(call_view(given)));
            } catch (const std::exception &thrown) {
                quintet_call_fail(given, thrown.what());
            } catch (...) {
                quintet_call_fail(given, "the handler threw what is no std::exception");
            }
        };
        detail::check(quintet_handler_serve(handle_.get(), each, &handle));
    }
    call next(timeout limit = forever) const {
        return call(detail::made<quintet_call>(
            [&](auto place) { return quintet_handler_next(handle_.get(), detail::milliseconds(limit), place); }));
    }
    void leave() const { detail::check(quintet_handler_leave(handle_.get())); }
    quintet_handler *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<quintet_handler, quintet_handler_free> handle_;
};

/// Calls of handlers in other processes. It is its lab's, and can be copied while that lives.
class messaging {
public:
    explicit messaging(quintet_lab *lab) noexcept : lab_(lab) {}
    /// Handles calls of a name.
    quintet::handler handle(const std::string &name) const { return made(name, nullptr); }
    quintet::handler handle(const std::string &name, const quintet_handler_limits &limits) const { return made(name, &limits); }
    /// The reply of a handler of this name.
    std::string call(const std::string &name, std::string_view request, timeout limit = forever, std::int64_t rank = QUINTET_ANY_RANK) const {
        const detail::owned<quintet_buffer, quintet_buffer_free> reply(detail::made<quintet_buffer>([&](auto place) {
            return quintet_messaging_call(lab_, name.c_str(), rank, request.data(), request.size(), detail::milliseconds(limit), place);
        }));
        const void *data = nullptr;
        std::size_t length = 0;
        detail::check(quintet_buffer_read(reply.get(), &data, &length));
        return {static_cast<const char *>(data), length};
    }
    void send(const std::string &name, std::string_view request, std::int64_t rank = QUINTET_ANY_RANK) const {
        detail::check(quintet_messaging_send(lab_, name.c_str(), rank, request.data(), request.size()));
    }
    void wait_for_handler(const std::string &name, timeout limit = forever, std::int64_t rank = QUINTET_ANY_RANK) const {
        detail::check(quintet_messaging_wait(lab_, name.c_str(), rank, detail::milliseconds(limit)));
    }

private:
    quintet::handler made(const std::string &name, const quintet_handler_limits *limits) const {
        return quintet::handler(detail::made<quintet_handler>(
            [&](auto place) { return quintet_handler_new(lab_, name.c_str(), limits, place); }));
    }

    quintet_lab *lab_;
};

/// A connection to everything. Destroyed, it is closed; leases and operations under way may outlive it.
class lab {
public:
    /// Where the environment says, else in this process.
    lab() : lab(detail::made<quintet_lab>([](auto place) { return quintet_lab_connect(nullptr, place); })) {}
    explicit lab(const std::string &address)
        : lab(detail::made<quintet_lab>([&](auto place) { return quintet_lab_connect(address.c_str(), place); })) {}
    static lab embedded() { return lab(detail::made<quintet_lab>(quintet_lab_embedded)); }

    quintet::space space() const {
        return quintet::space(detail::made<quintet_space>([&](auto place) { return quintet_lab_space(handle(), place); }));
    }
    quintet::messaging messaging() const { return quintet::messaging(handle()); }
    /// Where the space is; none if it is in this process.
    std::optional<std::string> address() const {
        const char *found = nullptr;
        detail::check(quintet_lab_address(handle(), &found));
        return found ? std::optional<std::string>(found) : std::nullopt;
    }
    void close() const { detail::check(quintet_lab_close(handle())); }
    void set_interrupt(quintet_interrupt check, void *argument = nullptr) const {
        detail::check(quintet_lab_set_interrupt(handle(), check, argument));
    }
    int descriptor() const {
        int found = -1;
        detail::check(quintet_lab_descriptor(handle(), &found));
        return found;
    }
    void progress() const { detail::check(quintet_lab_progress(handle())); }
    quintet_lab *handle() const noexcept { return handle_.get(); }

private:
    explicit lab(quintet_lab *handle) noexcept : handle_(handle) {}

    detail::owned<quintet_lab, quintet_lab_free> handle_;
};

/// A space that serves other processes. Destroyed, it is stopped.
class server {
public:
    explicit server(const std::string &address, std::uint64_t max_bytes = 0, std::uint64_t max_tuples = 0)
        : handle_(detail::made<quintet_server>(
              [&](auto place) { return quintet_server_start(address.c_str(), max_bytes, max_tuples, place); })) {}
    std::string address() const {
        const char *found = nullptr;
        detail::check(quintet_server_address(handle_.get(), &found));
        return found;
    }
    void stop() const { detail::check(quintet_server_stop(handle_.get())); }
    quintet_server *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<quintet_server, quintet_server_free> handle_;
};

/// What part this process has in a job: see quintet_job(3).
struct job {
    /// None for the master.
    std::optional<std::uint32_t> rank;
    std::uint32_t workers = 0;

    static job from_environment() {
        std::int64_t rank = -1;
        job found;
        detail::check(quintet_job_rank(&rank));
        detail::check(quintet_job_workers(&found.workers));
        if (rank >= 0) found.rank = static_cast<std::uint32_t>(rank);
        return found;
    }
};

} // namespace quintet

#endif // QUINTET_HPP

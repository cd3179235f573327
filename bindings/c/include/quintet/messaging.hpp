// Part of quintet.hpp: calls of handlers.

#ifndef QUINTET_MESSAGING_HPP
#define QUINTET_MESSAGING_HPP

#include "tuple.hpp"

namespace quintet {

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

} // namespace quintet

#endif // QUINTET_MESSAGING_HPP

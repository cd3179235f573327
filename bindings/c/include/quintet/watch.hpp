// Part of quintet.hpp: what happens in a space.

#ifndef QUINTET_WATCH_HPP
#define QUINTET_WATCH_HPP

#include "tuple.hpp"

namespace quintet {

/// Something that happened to a tuple.
struct event {
    quintet_event what;
    quintet::tuple tuple;
};

/// What happens to tuples, as it happens. Where it begins again after `number`, nothing is missing.
class watch {
public:
    explicit watch(quintet_watch *handle) noexcept : handle_(handle) {}
    /// The next event; none if none comes within `limit`. Without time it does not wait.
    std::optional<event> next(timeout limit = forever) const {
        quintet_event what{};
        quintet_tuple *found = nullptr;
        detail::check(quintet_watch_next(handle_.get(), detail::milliseconds(limit), &what, &found));
        return found ? std::optional<event>(event{what, tuple(found)}) : std::nullopt;
    }
    std::uint64_t number() const {
        std::uint64_t found = 0;
        detail::check(quintet_watch_number(handle_.get(), &found));
        return found;
    }
    /// The lab's, for an event loop: see quintet_watch(3).
    int descriptor() const {
        int found = -1;
        detail::check(quintet_watch_descriptor(handle_.get(), &found));
        return found;
    }
    quintet_watch *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<quintet_watch, quintet_watch_free> handle_;
};

} // namespace quintet

#endif

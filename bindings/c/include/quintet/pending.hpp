// Part of quintet.hpp: operations under way, and leases.

#ifndef QUINTET_PENDING_HPP
#define QUINTET_PENDING_HPP

#include "tuple.hpp"

namespace quintet {

namespace detail {
inline std::vector<const quintet_tuple *> handles(const std::vector<tuple> &tuples) {
    std::vector<const quintet_tuple *> found;
    for (const auto &one : tuples) found.push_back(one.handle());
    return found;
}
} // namespace detail

class lease;

/// Tuples that were collected, and where the next page begins, if there is one.
struct page {
    std::vector<tuple> tuples;
    std::optional<quintet_page_start> next;
};

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
    /// Of a select: which of its templates matches, and the tuple; none if there was no match for what does not wait.
    std::optional<std::pair<std::size_t, quintet::tuple>> selected() const {
        std::size_t which = 0;
        quintet_tuple *found = nullptr;
        detail::check(quintet_pending_selected(handle_.get(), &which, &found));
        if (!found) return std::nullopt;
        return std::make_pair(which, quintet::tuple(found));
    }
    quintet::lease lease() const;
    /// Of what leases only what is there: none if nothing was.
    std::optional<quintet::lease> lease_if() const;
    /// Of one page of a collection.
    quintet::page page() const {
        quintet_collection *handle = nullptr;
        quintet_page_start next{};
        bool has_more = false;
        detail::check(quintet_pending_collection(handle_.get(), &handle, &next, &has_more));
        const detail::owned<quintet_collection, quintet_collection_free> rows(handle);
        quintet::page page;
        if (has_more) page.next = next;
        for (quintet_tuple *found = nullptr;;) {
            detail::check(quintet_collection_next(rows.get(), &found));
            if (!found) return page;
            page.tuples.emplace_back(found);
        }
    }
    /// How many tuples went to another space; none: nothing has happened so far, begin it again.
    std::optional<std::uint64_t> collected_into() const {
        std::uint64_t count = 0;
        bool is_done = false;
        detail::check(quintet_pending_collected_into(handle_.get(), &count, &is_done));
        return is_done ? std::optional<std::uint64_t>(count) : std::nullopt;
    }
    /// Of a select under a lease: which of its templates matches, and the lease.
    std::pair<std::size_t, quintet::lease> selected_lease() const;
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
    /// The results leave the space by themselves so long after they were put.
    void acknowledge_for(const std::vector<quintet::tuple> &results, std::chrono::milliseconds expires_in) {
        const auto handles = detail::handles(results);
        detail::check(quintet_lease_acknowledge_for(
            handle_.get(), handles.data(), handles.size(), detail::milliseconds(expires_in)));
    }
    pending begin_acknowledge(const std::vector<quintet::tuple> &results) {
        const auto handles = detail::handles(results);
        return pending(detail::made<quintet_pending>([&](auto place) {
            return quintet_lease_begin_acknowledge(handle_.get(), handles.data(), handles.size(), place);
        }));
    }
    pending begin_acknowledge_for(const std::vector<quintet::tuple> &results, std::chrono::milliseconds expires_in) {
        const auto handles = detail::handles(results);
        return pending(detail::made<quintet_pending>([&](auto place) {
            return quintet_lease_begin_acknowledge_for(
                handle_.get(), handles.data(), handles.size(), detail::milliseconds(expires_in), place);
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

inline std::optional<lease> pending::lease_if() const {
    quintet_lease *found = nullptr;
    detail::check(quintet_pending_lease(handle_.get(), &found));
    return found ? std::optional<quintet::lease>(std::in_place, found) : std::nullopt;
}

inline std::pair<std::size_t, lease> pending::selected_lease() const {
    std::size_t which = 0;
    auto *found = detail::made<quintet_lease>([&](auto place) { return quintet_pending_selected_lease(handle_.get(), &which, place); });
    return {which, quintet::lease(found)};
}

} // namespace quintet

#endif

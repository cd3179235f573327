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

#include "quintet/evals.hpp"
#include "quintet/inspecting.hpp"
#include "quintet/messaging.hpp"
#include "quintet/pending.hpp"
#include "quintet/tuple.hpp"
#include "quintet/watch.hpp"

namespace quintet {

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
    void out_for(const tuple &put, std::chrono::milliseconds expires_in) const {
        detail::check(quintet_group_out_for(handle_.get(), put.handle(), detail::milliseconds(expires_in)));
    }
    void commit() const { detail::check(quintet_group_commit(handle_.get())); }
    pending begin_take(const tuple &wanted, timeout limit = forever) const {
        return begun(quintet_group_begin_take, wanted, detail::milliseconds(limit));
    }
    pending begin_read(const tuple &wanted, timeout limit = forever) const {
        return begun(quintet_group_begin_read, wanted, detail::milliseconds(limit));
    }
    pending begin_take_if(const tuple &wanted) const { return begun(quintet_group_begin_take_if, wanted); }
    pending begin_read_if(const tuple &wanted) const { return begun(quintet_group_begin_read_if, wanted); }
    pending begin_commit() const {
        return pending(detail::made<quintet_pending>([&](auto place) { return quintet_group_begin_commit(handle_.get(), place); }));
    }
    void abort() const { detail::check(quintet_group_abort(handle_.get())); }
    quintet_group *handle() const noexcept { return handle_.get(); }

private:
    template <typename Look, typename... Limit>
    pending begun(Look look, const tuple &wanted, Limit... limit) const {
        return pending(detail::made<quintet_pending>([&](auto place) { return look(handle_.get(), wanted.handle(), limit..., place); }));
    }
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
    /// It leaves the space by itself `expires_in` after it was put, unless somebody has taken it by then.
    void out_for(const tuple &put, std::chrono::milliseconds expires_in, timeout limit = forever) const {
        detail::check(quintet_space_out_for(handle_, put.handle(), detail::milliseconds(expires_in), detail::milliseconds(limit)));
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
    /// Takes the oldest match and puts others in its place, at one instant; gives what was taken.
    tuple replace(const tuple &wanted, const std::vector<tuple> &tuples, timeout limit = forever) const {
        const auto handles = detail::handles(tuples);
        return tuple(detail::made<quintet_tuple>([&](auto place) {
            return quintet_space_replace(handle_, wanted.handle(), handles.data(), handles.size(), detail::milliseconds(limit), place);
        }));
    }
    std::optional<tuple> replace_if(const tuple &wanted, const std::vector<tuple> &tuples) const {
        const auto handles = detail::handles(tuples);
        return perhaps(detail::made<quintet_tuple>([&](auto place) {
            return quintet_space_replace_if(handle_, wanted.handle(), handles.data(), handles.size(), place);
        }));
    }
    /// The oldest tuple that matches one of several templates, and which of them, counted from 0.
    std::pair<std::size_t, tuple> select(const std::vector<tuple> &wanted, timeout limit = forever) const {
        return selected<tuple, quintet_tuple>(quintet_space_select, wanted, detail::milliseconds(limit));
    }
    std::pair<std::size_t, tuple> select_read(const std::vector<tuple> &wanted, timeout limit = forever) const {
        return selected<tuple, quintet_tuple>(quintet_space_select_read, wanted, detail::milliseconds(limit));
    }
    std::optional<std::pair<std::size_t, tuple>> select_if(const std::vector<tuple> &wanted) const {
        return perhaps_selected(quintet_space_select_if, wanted);
    }
    std::optional<std::pair<std::size_t, tuple>> select_read_if(const std::vector<tuple> &wanted) const {
        return perhaps_selected(quintet_space_select_read_if, wanted);
    }
    std::pair<std::size_t, quintet::lease> select_lease(const std::vector<tuple> &wanted, timeout limit = forever) const {
        return selected<quintet::lease, quintet_lease>(quintet_space_select_lease, wanted, detail::milliseconds(limit));
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
    /// Takes all tuples that match, the oldest first. Where it throws, what it has taken before is lost; `quintet_space_collect` keeps that.
    std::vector<tuple> collect(const tuple &wanted) const { return collected(quintet_space_collect, wanted); }
    /// At most so many of them, all at one instant.
    std::vector<tuple> take_up_to(std::size_t most, const tuple &wanted) const {
        return collected([most](auto space, auto match, auto place) { return quintet_space_take_up_to(space, most, match, place); }, wanted);
    }
    /// All tuples that match; they stay.
    std::vector<tuple> copy_collect(const tuple &wanted) const { return collected(quintet_space_copy_collect, wanted); }
    /// Moves all that match into another space of the same lab at one instant; how many.
    std::uint64_t collect_into(const space &other, const tuple &wanted) const {
        return moved(quintet_space_collect_into, other, wanted);
    }
    /// The same; the tuples stay here as well.
    std::uint64_t copy_collect_into(const space &other, const tuple &wanted) const {
        return moved(quintet_space_copy_collect_into, other, wanted);
    }
    /// Asks workers for the live tuple of a function, which comes once: see `quintet::evals`.
    template <typename... Arguments> void eval_on_workers(const std::string &function, const Arguments &...given) const {
        tuple arguments(detail::made<quintet_tuple>(quintet_tuple_new));
        (arguments.add(given), ...);
        detail::check(quintet_space_eval_on_workers(handle_, function.c_str(), arguments.handle(), QUINTET_FOREVER));
    }
    /// All tuples, or those that match.
    quintet::listing list() const { return quintet::listing(rows_of(nullptr)); }
    quintet::listing list(const tuple &wanted) const { return quintet::listing(rows_of(wanted.handle())); }
    /// What `quintet scope` shows: who waits, who is connected, how tuples are used, which values are asked for most.
    std::vector<waiting_request> waiting() const { return detail::waiting(handle_); }
    std::vector<quintet_client_row> clients() const { return detail::clients(handle_); }
    std::vector<partition> partitions() const { return detail::partitions(handle_); }
    std::vector<hot_key> hot_keys() const { return detail::hot_keys(handle_); }
    /// What happens to all tuples, or to those that match: from now on, from what is there (`QUINTET_SINCE_START`), or behind a number.
    quintet::watch watch(std::uint64_t since = QUINTET_SINCE_NOW) const { return watched(nullptr, since); }
    quintet::watch watch(const tuple &wanted, std::uint64_t since = QUINTET_SINCE_NOW) const { return watched(wanted.handle(), since); }
    quintet_state status() const {
        quintet_state state{};
        detail::check(quintet_space_status(handle_, &state));
        return state;
    }

    /// Several managers have tuples of these types by the value of this field, counted from 0, from the first one on.
    void declare_key(const tuple &types, std::size_t field) const {
        detail::check(quintet_space_declare_key(handle_, types.handle(), field));
    }
    pending begin_out(const std::vector<tuple> &tuples, timeout limit = forever) const {
        const auto handles = detail::handles(tuples);
        return begun(quintet_space_begin_out, handles.data(), handles.size(), detail::milliseconds(limit));
    }
    pending begin_out_for(const std::vector<tuple> &tuples, std::chrono::milliseconds expires_in, timeout limit = forever) const {
        const auto handles = detail::handles(tuples);
        return begun(quintet_space_begin_out_for, handles.data(), handles.size(), detail::milliseconds(expires_in), detail::milliseconds(limit));
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
    pending begin_lease_if(const tuple &wanted) const {
        return pending(found<quintet_pending>(quintet_space_begin_lease_if, wanted));
    }
    pending begin_declare_key(const tuple &types, std::size_t field) const {
        return pending(found<quintet_pending>(quintet_space_begin_declare_key, types, field));
    }
    /// One page of `collect`: the first one, or that which begins where the page before says.
    pending begin_collect(const tuple &wanted, const std::optional<quintet_page_start> &from = std::nullopt) const {
        return pending(found<quintet_pending>(quintet_space_begin_collect, wanted, from ? &*from : nullptr));
    }
    /// Its page has what was taken.
    pending begin_take_up_to(std::size_t most, const tuple &wanted, const std::optional<quintet_page_start> &from = std::nullopt) const {
        return begun(quintet_space_begin_take_up_to, most, wanted.handle(), from ? &*from : nullptr);
    }
    pending begin_copy_collect(const tuple &wanted, const std::optional<quintet_page_start> &from = std::nullopt) const {
        return pending(found<quintet_pending>(quintet_space_begin_copy_collect, wanted, from ? &*from : nullptr));
    }
    pending begin_collect_into(const space &other, const tuple &wanted) const {
        return begun(quintet_space_begin_collect_into, other.handle(), wanted.handle());
    }
    pending begin_copy_collect_into(const space &other, const tuple &wanted) const {
        return begun(quintet_space_begin_copy_collect_into, other.handle(), wanted.handle());
    }
    pending begin_replace(const tuple &wanted, const std::vector<tuple> &tuples, timeout limit = forever) const {
        const auto handles = detail::handles(tuples);
        return begun(quintet_space_begin_replace, wanted.handle(), handles.data(), handles.size(), detail::milliseconds(limit));
    }
    pending begin_replace_if(const tuple &wanted, const std::vector<tuple> &tuples) const {
        const auto handles = detail::handles(tuples);
        return begun(quintet_space_begin_replace_if, wanted.handle(), handles.data(), handles.size());
    }
    pending begin_select(const std::vector<tuple> &wanted, timeout limit = forever) const {
        return begun_select(quintet_space_begin_select, wanted, detail::milliseconds(limit));
    }
    pending begin_select_read(const std::vector<tuple> &wanted, timeout limit = forever) const {
        return begun_select(quintet_space_begin_select_read, wanted, detail::milliseconds(limit));
    }
    pending begin_select_if(const std::vector<tuple> &wanted) const { return begun_select(quintet_space_begin_select_if, wanted); }
    pending begin_select_read_if(const std::vector<tuple> &wanted) const {
        return begun_select(quintet_space_begin_select_read_if, wanted);
    }
    pending begin_select_lease(const std::vector<tuple> &wanted, timeout limit = forever) const {
        return begun_select(quintet_space_begin_select_lease, wanted, detail::milliseconds(limit));
    }
    pending begin_count(const tuple &wanted) const { return pending(found<quintet_pending>(quintet_space_begin_count, wanted)); }
    quintet_space *handle() const noexcept { return handle_; }

private:
    /// What one of the functions that begin an operation gives.
    template <typename Begin, typename... Given>
    pending begun(Begin begin, Given... given) const {
        return pending(detail::made<quintet_pending>([&](auto place) { return begin(handle_, given..., place); }));
    }
    template <typename Begin, typename... Limit>
    pending begun_select(Begin begin, const std::vector<tuple> &wanted, Limit... limit) const {
        const auto handles = detail::handles(wanted);
        return begun(begin, handles.data(), handles.size(), limit...);
    }
    /// What one of the functions that look for a match gives.
    template <typename Handle, typename Look, typename... Limit>
    Handle *found(Look look, const tuple &wanted, Limit... limit) const {
        return detail::made<Handle>([&](auto place) { return look(handle_, wanted.handle(), limit..., place); });
    }
    /// What one of the selects gives, and which template it matches.
    template <typename Owner, typename Handle, typename Look, typename... Limit>
    std::pair<std::size_t, Owner> selected(Look look, const std::vector<tuple> &wanted, Limit... limit) const {
        const auto handles = detail::handles(wanted);
        std::size_t which = 0;
        auto *found = detail::made<Handle>(
            [&](auto place) { return look(handle_, handles.data(), handles.size(), limit..., &which, place); });
        return {which, Owner(found)};
    }
    template <typename Look>
    std::optional<std::pair<std::size_t, tuple>> perhaps_selected(Look look, const std::vector<tuple> &wanted) const {
        const auto handles = detail::handles(wanted);
        std::size_t which = 0;
        auto *found = detail::made<quintet_tuple>(
            [&](auto place) { return look(handle_, handles.data(), handles.size(), &which, place); });
        if (!found) return std::nullopt;
        return std::make_pair(which, tuple(found));
    }
    template <typename Look>
    std::vector<tuple> collected(Look look, const tuple &wanted) const {
        quintet_collection *handle = nullptr;
        const quintet_status status = look(handle_, wanted.handle(), &handle);
        const detail::owned<quintet_collection, quintet_collection_free> rows(handle);
        detail::check(status);
        std::vector<tuple> tuples;
        for (;;) {
            quintet_tuple *found = nullptr;
            detail::check(quintet_collection_next(rows.get(), &found));
            if (!found) return tuples;
            tuples.emplace_back(found);
        }
    }
    template <typename Look>
    std::uint64_t moved(Look look, const space &other, const tuple &wanted) const {
        std::uint64_t number = 0;
        detail::check(look(handle_, other.handle(), wanted.handle(), &number));
        return number;
    }
    quintet_listing *rows_of(const quintet_tuple *wanted) const {
        return detail::made<quintet_listing>([&](auto place) { return quintet_space_list(handle_, wanted, place); });
    }
    quintet::watch watched(const quintet_tuple *wanted, std::uint64_t since) const {
        return quintet::watch(
            detail::made<quintet_watch>([&](auto place) { return quintet_space_watch(handle_, wanted, since, place); }));
    }
    static std::optional<tuple> perhaps(quintet_tuple *handle) {
        return handle ? std::optional<tuple>(std::in_place, handle) : std::nullopt;
    }

    quintet_space *handle_;
};

inline void evals::serve(const space &served) const { detail::check(quintet_evals_serve(handle(), served.handle())); }

/// A named space, as a list shows it.
struct space_info {
    std::string name;
    std::string policy;
    /// Its numbers; its texts are gone.
    quintet_space_row numbers;
};

/// A named space, used as the lab's own. Destroyed, it is closed here; its tuples stay.
class named_space : public space {
public:
    explicit named_space(quintet_space *handle) noexcept : space(handle), owned_(handle) {}

private:
    detail::owned<quintet_space, quintet_space_free> owned_;
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
    /// The named space of this name, which somebody has created.
    named_space open_space(const std::string &name) const {
        return named_space(
            detail::made<quintet_space>([&](auto place) { return quintet_lab_open_space(handle(), name.c_str(), place); }));
    }
    /// Creates a named space, and opens it.
    named_space create_space(const std::string &name, const quintet_space_settings &settings = {}) const {
        return named_space(detail::made<quintet_space>(
            [&](auto place) { return quintet_lab_create_space(handle(), name.c_str(), &settings, place); }));
    }
    /// Lets the programs of machines of the cluster use a space that its machines keep, and those of others no more.
    void allow_space(const std::string &name, const std::vector<std::string> &granted,
                     const std::vector<std::string> &revoked = {}) const {
        const auto texts = [](const std::vector<std::string> &names) {
            std::vector<const char *> texts;
            for (const auto &one : names) texts.push_back(one.c_str());
            return texts;
        };
        const auto in = texts(granted), out = texts(revoked);
        detail::check(
            quintet_lab_allow_space(handle(), name.c_str(), in.data(), in.size(), out.data(), out.size()));
    }
    /// Removes a named space with its tuples.
    void remove_space(const std::string &name) const { detail::check(quintet_lab_remove_space(handle(), name.c_str())); }
    /// All named spaces of the server, by name.
    std::vector<space_info> spaces() const { return listed_by(quintet_lab_list_spaces); }
    /// The spaces that machines of the cluster keep on their disks; what is in them is 0 here.
    std::vector<space_info> kept_spaces() const { return listed_by(quintet_lab_list_kept_spaces); }
    /// What each server of the lab's space does, if that is replicated.
    std::vector<replica> replicas() const { return detail::replicas(handle()); }
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
    std::vector<space_info> listed_by(quintet_status (*list_all)(quintet_lab *, quintet_spaces **)) const {
        detail::owned<quintet_spaces, quintet_spaces_free> list(
            detail::made<quintet_spaces>([&](auto place) { return list_all(handle(), place); }));
        std::vector<space_info> all;
        quintet_space_row row{};
        for (bool is_there = true;;) {
            detail::check(quintet_spaces_next(list.get(), &row, &is_there));
            if (!is_there) return all;
            all.push_back({row.name, row.policy, row});
        }
    }
    explicit lab(quintet_lab *handle) noexcept : handle_(handle) {}

    detail::owned<quintet_lab, quintet_lab_free> handle_;
};

/// A space that serves other processes. Destroyed, it is stopped.
class server {
public:
    explicit server(const std::string &address, std::uint64_t max_bytes = 0, std::uint64_t max_tuples = 0)
        : handle_(detail::made<quintet_server>(
              [&](auto place) { return quintet_server_start(address.c_str(), max_bytes, max_tuples, place); })) {}
    /// None for the address: its place among its replicas or peers.
    server(const std::optional<std::string> &address, const quintet_server_settings &settings)
        : handle_(detail::made<quintet_server>([&](auto place) {
              return quintet_server_start_with(address ? address->c_str() : nullptr, &settings, place);
          })) {}
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

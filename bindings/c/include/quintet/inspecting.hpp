// Part of quintet.hpp: who waits in a space, who is connected to it, how it is used, what its replicas do.

#ifndef QUINTET_INSPECTING_HPP
#define QUINTET_INSPECTING_HPP

#include "tuple.hpp"

namespace quintet {

/// A request that waits in a space.
struct waiting_request {
    quintet_waiting_row row;
    /// What it asks for; none if it puts tuples.
    std::optional<tuple> wanted;
};

/// How the tuples of the same types with the same text in front are used.
struct partition {
    quintet_partition_row row;
    /// A template that they match.
    tuple types;
};

/// Values that are asked for often.
struct hot_key {
    quintet_hot_key_row row;
    /// The template that asked first.
    tuple wanted;
};

/// One of the servers of a replicated space.
struct replica {
    std::uint16_t number;
    std::string address;
    quintet_role role;
    /// Which one leads, as far as it knows.
    std::optional<std::uint16_t> leader;
    /// Why it cannot be asked, if it cannot.
    std::optional<quintet::error> why;
};

namespace detail {

inline std::vector<waiting_request> waiting(quintet_space *space) {
    const owned<quintet_waiting, quintet_waiting_free> list(
        made<quintet_waiting>([&](auto place) { return quintet_space_waiting(space, place); }));
    std::vector<waiting_request> all;
    for (bool is_there = true;;) {
        quintet_waiting_row row{};
        quintet_tuple *wanted = nullptr;
        check(quintet_waiting_next(list.get(), &row, &wanted, &is_there));
        if (!is_there) return all;
        all.push_back({row, wanted ? std::optional<tuple>(std::in_place, wanted) : std::nullopt});
    }
}

inline std::vector<quintet_client_row> clients(quintet_space *space) {
    const owned<quintet_clients, quintet_clients_free> list(
        made<quintet_clients>([&](auto place) { return quintet_space_clients(space, place); }));
    std::vector<quintet_client_row> all;
    for (bool is_there = true;;) {
        quintet_client_row row{};
        check(quintet_clients_next(list.get(), &row, &is_there));
        if (!is_there) return all;
        all.push_back(row);
    }
}

/// All rows of a list that come with a template each.
template <typename Row, typename List, typename Numbers>
std::vector<Row> rows_with_templates(List *list, quintet_status (*next)(List *, Numbers *, quintet_tuple **)) {
    std::vector<Row> all;
    for (;;) {
        Numbers row{};
        quintet_tuple *found = nullptr;
        check(next(list, &row, &found));
        if (!found) return all;
        all.push_back({row, tuple(found)});
    }
}

inline std::vector<partition> partitions(quintet_space *space) {
    const owned<quintet_partitions, quintet_partitions_free> list(
        made<quintet_partitions>([&](auto place) { return quintet_space_partitions(space, place); }));
    return rows_with_templates<partition>(list.get(), quintet_partitions_next);
}

inline std::vector<hot_key> hot_keys(quintet_space *space) {
    const owned<quintet_hot_keys, quintet_hot_keys_free> list(
        made<quintet_hot_keys>([&](auto place) { return quintet_space_hot_keys(space, place); }));
    return rows_with_templates<hot_key>(list.get(), quintet_hot_keys_next);
}

inline std::vector<replica> replicas(quintet_lab *lab) {
    const owned<quintet_replicas, quintet_replicas_free> list(
        made<quintet_replicas>([&](auto place) { return quintet_lab_replicas(lab, place); }));
    std::vector<replica> all;
    for (bool is_there = true;;) {
        quintet_replica_row row{};
        check(quintet_replicas_next(list.get(), &row, &is_there));
        if (!is_there) return all;
        all.push_back({row.number, row.address, row.role,
                       row.leader > 0 ? std::optional<std::uint16_t>(row.leader) : std::nullopt,
                       row.error ? std::optional<error>(std::in_place, row.status, row.error) : std::nullopt});
    }
}

} // namespace detail

} // namespace quintet

#endif

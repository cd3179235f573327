// quintet.hpp: the whole interface in C++17, embedded.

#include <cstring>
#include <iostream>
#include <quintet.hpp>
#include <thread>

using namespace std::chrono_literals;

namespace {

void check(bool is_so, const char *what, int line) {
    if (is_so) return;
    std::cerr << "wrapper.cpp:" << line << ": not so: " << what << '\n';
    std::exit(1);
}
#define CHECK(is_so) check((is_so), #is_so, __LINE__)

/// The error that a call throws.
template <typename Call> quintet::error thrown(Call &&call) {
    try {
        call();
    } catch (const quintet::error &error) {
        return error;
    }
    std::cerr << "nothing was thrown\n";
    std::exit(1);
}

void values_keep_their_types(quintet::space space) {
    const std::vector<double> row{1.5, 2.5, 3.5};
    const std::string text = "gr\xc3\xbc\xc3\x9f" "e";
    space.out({"all", true, std::int8_t{-1}, std::int16_t{-2}, -3, std::int64_t{-4}, std::uint8_t{5}, std::uint16_t{6}, 7u,
               std::uint64_t{8}, 0.5f, 2.5, text, quintet::bytes{"\0x", 2}, row, 9LL});
    const auto found = space.take({"all", quintet::any<bool>, quintet::any<std::int8_t>, quintet::any<std::int16_t>, quintet::any<int>,
                                   quintet::any<std::int64_t>, quintet::any<std::uint8_t>, quintet::any<std::uint16_t>,
                                   quintet::any<unsigned>, quintet::any<std::uint64_t>, quintet::any<float>, quintet::any<double>,
                                   quintet::any<std::string>, quintet::any<quintet::bytes>, quintet::any_array<double>(1),
                                   quintet::any<long long>});
    CHECK(found.size() == 16 && found.type(4) == QUINTET_TYPE_INT32 && found.get<bool>(1) && found.get<std::int8_t>(2) == -1);
    CHECK(found.get<std::int16_t>(3) == -2 && found.get<int>(4) == -3 && found.get<std::int64_t>(5) == -4);
    CHECK(found.get<std::uint8_t>(6) == 5 && found.get<std::uint16_t>(7) == 6 && found.get<unsigned>(8) == 7);
    CHECK(found.get<std::uint64_t>(9) == 8 && found.get<float>(10) == 0.5f && found.get<double>(11) == 2.5);
    CHECK(found.get<std::string>(12) == text && found.get<std::string_view>(12) == text && found.get<long long>(15) == 9);
    CHECK(found.get<quintet::bytes>(13).length == 2 && std::memcmp(found.get<quintet::bytes>(13).data, "\0x", 2) == 0);
    const auto array = found.get_array<double>(14);
    CHECK(std::vector<double>(array.begin(), array.end()) == row && array.shape() == std::vector<std::uint64_t>{3} && array[1] == 2.5);
    CHECK(found.show().find("f64[3]") != std::string::npos);
    const auto other = thrown([&] { found.get<double>(4); });
    CHECK(other.status() == QUINTET_BAD_VALUE && std::strstr(other.what(), "field 4 is of type i32, not f64"));
    CHECK(thrown([&] { found.get_array<float>(14); }).status() == QUINTET_BAD_VALUE);
    quintet::tuple copied("copied");
    copied.add_field(found, 14).add(1);
    CHECK(copied.get_array<double>(1).data() == array.data());
    CHECK(copied.truncate(1).add(true).show() == "(\"copied\", true)");
}

void ranges_are_fields_of_templates(quintet::space space) {
    for (const int n : {5, 9, 3}) space.out({"job", n, "eu/" + std::to_string(n)});
    CHECK(space.count({"job", quintet::between(3, 5), quintet::any<std::string>}) == 2);
    CHECK(space.count({"job", quintet::between(3, 5, QUINTET_BOUND_EXCLUDED), quintet::prefix("eu/")}) == 1);
    CHECK(space.count({"job", quintet::at_least(5), quintet::between("eu/5", "eu/9")}) == 2);
    CHECK(space.count({"job", quintet::above(5), quintet::at_most("f")}) == 1);
    CHECK(space.take({"job", quintet::below(9), quintet::any<std::string>}).get<int>(1) == 5);
    space.out({quintet::bytes{"\1\2", 2}});
    CHECK(space.take({quintet::prefix(quintet::bytes{"\1", 1})}).size() == 1);
    while (space.take_if({"job", quintet::any<int>, quintet::any<std::string>})) {
    }
    CHECK(thrown([&] { space.count({quintet::at_least(true)}); }).status() == QUINTET_BAD_VALUE);
}

void what_fails_is_thrown(quintet::space space) {
    const auto late = thrown([&] { space.take({"nothing"}, 0ms); });
    CHECK(late.status() == QUINTET_TIMED_OUT && late.retry() == QUINTET_RETRY_SAFE && late.fault() == QUINTET_FAULT_LIMIT);
    CHECK(thrown([&] { space.take({"nothing"}, -5ms); }).status() == QUINTET_TIMED_OUT);
    CHECK(!space.take_if({"nothing"}) && !space.read_if({"nothing"}));
    CHECK(thrown([] { quintet::tuple("\xff"); }).status() == QUINTET_BAD_VALUE);
    CHECK(thrown([] { quintet::lab("pigeon:7"); }).status() == QUINTET_BAD_VALUE);
    CHECK(thrown([] { quintet::server("pigeon:7"); }).status() == QUINTET_BAD_VALUE);
}

/* Handles are moved, never copied. */
template <typename... Tuples>
std::vector<quintet::tuple> all(Tuples... tuples) {
    std::vector<quintet::tuple> list;
    (list.push_back(std::move(tuples)), ...);
    return list;
}

void what_expires_leaves_by_itself(quintet::space space) {
    const quintet::tuple any{"short", quintet::any<bool>};
    auto watch = space.watch(any);
    space.out_for({"short", true}, 1ms);
    auto group = space.group(1min);
    group.out_for({"short", false}, 1ms);
    group.commit();
    space.out({"task", 1});
    space.lease({"task", quintet::any<int>}).acknowledge_for(all(quintet::tuple{"short", true}), 1ms);
    space.out({"task", 2});
    space.lease({"task", quintet::any<int>}).begin_acknowledge_for(all(quintet::tuple{"short", true}), 1ms).result();
    int expired = 0;
    for (int seen = 0; seen < 8; seen++) expired += watch.next(1min)->what.change == QUINTET_CHANGE_EXPIRED;
    CHECK(expired == 4 && !space.take_if(any));
}

void a_group_happens_whole_or_not_at_all(quintet::space space) {
    const quintet::tuple any("counter", quintet::any<int>);
    space.out({"counter", 1});
    thrown([&] {
        auto group = space.group();
        group.take(any);
        group.out({"counter", 2});
        group.take({"nothing"}, 1ms);
    });
    CHECK(space.read(any).get<int>(1) == 1);
    auto group = space.group(1min);
    const int next = group.take(any).get<int>(1) + 1;
    CHECK(!group.take_if(any) && !group.read_if(any));
    group.out({"counter", next});
    group.commit();
    CHECK(thrown([&] { group.abort(); }).status() == QUINTET_LEASE_LOST);
    auto later = space.group();
    CHECK(later.begin_read_if(any).tuple() && later.begin_take_if(any).tuple()->get<int>(1) == 2);
    CHECK(!later.begin_take_if(any).tuple());
    later.out({"counter", 3});
    later.begin_commit().result();
    CHECK(space.take(any).get<int>(1) == 3);
}

void replacements_and_selects(quintet::space space) {
    using quintet::tuple;
    const tuple any("counter", quintet::any<int>);
    const auto either = all(tuple("stop"), tuple("counter", quintet::any<int>));
    CHECK(!space.replace_if(any, all(tuple("counter", 1))));
    space.out({"counter", 1});
    CHECK(space.replace(any, all(tuple("counter", 2), tuple("stop")), 1min).get<int>(1) == 1);
    const auto replaced = space.replace_if(any, all(tuple("counter", 3)));
    CHECK(replaced && replaced->get<int>(1) == 2);
    CHECK(space.select_read(either).first == 0);
    CHECK(space.select(either, 1min).first == 0);
    auto [which, lease] = space.select_lease(either);
    CHECK(which == 1 && !space.select_read_if(either));
    lease.acknowledge();
    CHECK(!space.select_if(either));
    space.out({"counter", 4});
    const auto begun = space.begin_replace(any, all(tuple("counter", 5))).tuple();
    CHECK(begun && begun->get<int>(1) == 4);
    const auto found = space.begin_select(either, 1min).selected();
    CHECK(found && found->first == 1 && found->second.get<int>(1) == 5);
    CHECK(!space.begin_replace_if(any, all(tuple("counter", 6))).tuple() && !space.begin_select_if(either).selected());
    space.begin_out_for(all(tuple("counter", 7)), 1h).result();
    CHECK(space.begin_select_read(either).selected()->first == 1 && space.begin_select_read_if(either).selected()->first == 1);
    auto [number, held] = space.begin_select_lease(either, 1min).selected_lease();
    CHECK(number == 1 && held.tuple().get<int>(1) == 7 && !space.read_if(any));
    held.acknowledge();
    CHECK(thrown([&] { space.select({}); }).status() == QUINTET_BAD_VALUE);
    CHECK(thrown([&] { space.declare_key(any, 2); }).status() == QUINTET_BAD_VALUE);
    space.declare_key(any, 1);
}

void leases_return_by_themselves(quintet::space space) {
    const quintet::tuple any("task", quintet::any<int>);
    space.out({"task", 7});
    try {
        auto lease = space.lease(any);
        throw std::runtime_error("the work failed");
    } catch (const std::runtime_error &) {
    }
    auto lease = space.lease(any, 1min);
    CHECK(lease.attempt() == 2 && lease.tuple().get<int>(1) == 7);
    lease.release();
    CHECK(thrown([&] { lease.acknowledge(); }).status() == QUINTET_LEASE_LOST);
    lease = space.begin_lease(any).lease();
    lease.acknowledge(quintet::tuple("result", 49));
    CHECK(space.count({"result", quintet::any<int>}) == 1 && space.take({"result", 49}).size() == 2);
    space.out({"task", 8});
    std::vector<quintet::tuple> results;
    results.emplace_back("result", 64);
    space.lease(any).begin_acknowledge(results).result();
    space.out({"task", 9});
    space.lease(any).acknowledge(results);
    CHECK(space.count({"result", 64}) == 2 && space.status().tuples == 2 && space.begin_count({"result", 64}).count() == 2);
    while (space.take_if({"result", 64})) {}
}

void operations_are_begun(const quintet::lab &lab, quintet::space space) {
    const quintet::tuple any("row", quintet::any<int>);
    const auto take = space.begin_take(any), read = space.begin_read(any);
    CHECK(!take.wait(0ms) && lab.descriptor() >= 0);
    int calls = 0;
    read.notify([](void *calls) { ++*static_cast<int *>(calls); }, &calls);
    std::vector<quintet::tuple> rows;
    rows.emplace_back("row", 1);
    rows.emplace_back("row", 2);
    space.begin_out(rows).result();
    lab.progress();
    CHECK(take.wait() && take.tuple()->get<int>(1) == 1 && read.tuple()->get<int>(1) > 0 && calls == 1);
    CHECK(space.begin_read_if(any).tuple() && space.begin_take_if(any).tuple() && !space.begin_take_if(any).tuple());
    auto cancelled = space.begin_take(any);
    cancelled.cancel();
    CHECK(thrown([&] { cancelled.tuple(); }).status() == QUINTET_CANCELLED);
    lab.set_interrupt([](void *) { return true; });
    CHECK(thrown([&] { space.take(any); }).status() == QUINTET_CANCELLED);
    lab.set_interrupt(nullptr);
}

void buffers_are_shared() {
    quintet::buffer memory(8000);
    static_cast<float *>(memory.write())[1999] = 1.5f;
    CHECK(memory.read().length == 8000);
    const quintet::tuple image("image", quintet::array_in<float>{memory, {20, 100}});
    const auto kept = image.get_buffer(1);
    CHECK(image.get_array<float>(1).size() == 2000 && image.get_array<float>(1)[1999] == 1.5f);
    CHECK(kept.read().data == memory.read().data && thrown([&] { memory.write(); }).status() == QUINTET_BAD_VALUE);
}

void a_server_is_found(const std::string &folder) {
    const quintet::server server("unix:" + folder + "/cpp");
    const quintet::lab lab(server.address());
    CHECK(lab.address() == server.address());
    std::thread other([&] { quintet::lab(server.address()).space().out({"from another lab"}); });
    CHECK(lab.space().read({"from another lab"}, 1min).size() == 1);
    other.join();
    lab.close();
    CHECK(thrown([&] { lab.space().count({"x"}); }).status() == QUINTET_CLOSED);
    server.stop();
}

void calls_are_handled(const quintet::lab &lab) {
    const auto calls = lab.messaging();
    const auto handler = calls.handle("test");
    std::thread serving([&] {
        handler.serve([](const quintet::call_view &call) {
            if (call.request() == "bad") throw std::runtime_error("that is bad");
            if (call.request() == "odd") throw 7;
            CHECK(!call.is_one_way() && call.remaining());
            return std::string(call.request()) + "!";
        });
    });
    calls.wait_for_handler("test", 1min);
    CHECK(calls.call("test", "hello", 1min) == "hello!");
    const auto error = thrown([&] { calls.call("test", "bad", 1min); });
    CHECK(error.status() == QUINTET_TASK_FAILED && std::string(error.what()).find("that is bad") != std::string::npos);
    CHECK(thrown([&] { calls.call("test", "odd", 1min); }).status() == QUINTET_TASK_FAILED);
    handler.leave();
    serving.join();
    const auto second = calls.handle("other", quintet_handler_limits{10, 1, 1});
    calls.send("other", "one");
    CHECK(thrown([&] { calls.send("other", "two"); }).status() == QUINTET_BUSY);
    const auto given = second.next(1min);
    CHECK(given.request() == "one" && given.is_one_way() && !given.remaining());
    given.reply("");
    CHECK(thrown([&] { second.next(0ms); }).status() == QUINTET_TIMED_OUT);
    CHECK(thrown([&] { calls.call("other", "x", 1min, 5); }).status() == QUINTET_NO_HANDLER);
}

void live_tuples_are_made(const std::string &folder) {
    const quintet::server server("unix:" + folder + "/evals");
    const quintet::lab there(server.address()), here(server.address());
    const auto space = here.space();
    int called = 0;
    quintet::evals evals;
    evals.function<std::int64_t, std::string_view>("repeat", [&called](std::int64_t times, std::string_view text) {
        if (times < 0) throw std::runtime_error("that is less than none");
        if (times == 0) throw 7;
        called++;
        return quintet::tuple("repeated", std::string(static_cast<std::size_t>(times), text.front()));
    });
    evals.function<>("nothing", [] { return quintet::tuple("\xff"); });
    std::thread serving([&] { evals.serve(there.space()); });
    space.eval_on_workers("repeat", std::int64_t{3}, "x");
    CHECK(space.take({"repeated", quintet::any<std::string>}, 1min).get<std::string>(1) == "xxx" && called == 1);
    const auto failed = [&](const char *name) {
        return space.take({"quintet.failed", name, quintet::any<std::string>}, 1min).get<std::string>(2);
    };
    space.eval_on_workers("repeat", std::int64_t{-1}, "x");
    CHECK(failed("repeat") == "that is less than none");
    space.eval_on_workers("repeat", std::int64_t{0}, "x");
    CHECK(failed("repeat").find("no std::exception") != std::string::npos);
    space.eval_on_workers("nothing");
    CHECK(failed("nothing").find("UTF-8") != std::string::npos);
    there.close();
    serving.join();
    CHECK(thrown([&] { quintet::evals().serve(space); }).status() == QUINTET_BAD_VALUE);
}

void what_lies_there_is_listed(quintet::space space) {
    for (int number = 0; number < 3; number++) space.out({"listed", number});
    int expected = 0;
    for (const auto &shown : space.list({"listed", quintet::any<int>})) {
        CHECK(shown.tuple.get<int>(1) == expected++ && !shown.row.is_leased);
    }
    CHECK(expected == 3 && space.list().next());
    while (space.take_if({"listed", quintet::any<int>})) {
    }
    CHECK(!space.list().next());
}

void who_waits_and_what_is_used_is_shown(const quintet::lab &lab, const quintet::space &space) {
    const quintet::tuple any{"inspected", quintet::any<int>};
    {
        const auto take = space.begin_take(any, 1min);
        const auto waiting = space.waiting();
        CHECK(waiting.size() == 1 && waiting[0].row.operation == QUINTET_OPERATION_TAKE);
        CHECK(waiting[0].wanted && waiting[0].wanted->size() == 2 && waiting[0].row.ends_in_ms > 0);
    }
    space.out({"inspected", 7});
    for (int i = 0; i < 32; i++) space.read({"inspected", 7});
    std::optional<std::uint64_t> read;
    for (const auto &partition : space.partitions()) {
        if (space.count(partition.types) == 1 && partition.row.has_name) read = partition.row.read;
    }
    bool is_hot = false;
    for (const auto &key : space.hot_keys()) is_hot |= key.wanted.get<std::string>(0) == "inspected" && key.row.asked > 0;
    CHECK(read == 32u && is_hot);
    CHECK(space.clients().empty() && lab.replicas().empty());
    space.take(any);
}

void a_watch_tells_what_happens(quintet::space space) {
    const auto any = quintet::tuple{"watched", quintet::any<int>};
    const auto watch = space.watch(any), all = space.watch();
    CHECK(!watch.next(0ms) && watch.descriptor() >= 0);
    space.out({"watched", 1});
    space.take(any);
    const auto put = watch.next(), taken = watch.next();
    CHECK(put && put->what.change == QUINTET_CHANGE_PUT && put->tuple.get<int>(1) == 1);
    CHECK(taken && taken->what.change == QUINTET_CHANGE_TAKEN && watch.number() == taken->what.number && !watch.next(1ms));
    CHECK(space.watch(any, put->what.number).next()->what.number == taken->what.number && all.next());
    CHECK(thrown([&] { space.watch(1).next(); }).status() == QUINTET_TOO_OLD);
}

void named_spaces_are_apart(const quintet::lab &lab) {
    const auto any = quintet::tuple{"order", quintet::any<int>};
    {
        const auto orders = lab.create_space("orders");
        orders.out({"order", 7});
        CHECK(lab.space().count(any) == 0 && lab.open_space("orders").count(any) == 1);
        CHECK(lab.spaces().size() == 1 && lab.spaces()[0].name == "orders" && lab.spaces()[0].numbers.tuples == 1);
        quintet_space_settings settings{};
        settings.max_bytes = 5000;
        CHECK(thrown([&] { lab.create_space("orders", settings); }).status() == QUINTET_SPACE_EXISTS);
        CHECK(thrown([&] { lab.allow_space("orders", {"a"}, {"b"}); }).status() == QUINTET_BAD_VALUE);
    }
    {
        const auto orders = lab.open_space("orders");
        lab.space().out({"order", 8});
        CHECK(lab.space().copy_collect_into(orders, any) == 1 && lab.space().collect(any).size() == 1);
        const auto both = orders.copy_collect(any);
        CHECK(both.size() == 2 && both[0].get<int>(1) == 7 && both[1].get<int>(1) == 8);
        CHECK(lab.space().begin_copy_collect_into(orders, {"order", 9}).collected_into() == 0u);
        const auto page = orders.begin_copy_collect(any).page();
        CHECK(page.tuples.size() == 2 && !page.next && page.tuples[1].get<int>(1) == 8);
        orders.begin_declare_key(any, 1).result();
        CHECK(orders.begin_lease_if(any).lease_if()->attempt() == 1 && !orders.begin_lease_if({"none"}).lease_if());
        CHECK(orders.begin_collect_into(lab.space(), {"order", 8}).collected_into() == 1u);
        CHECK(lab.space().begin_collect(any).page().tuples.size() == 1);
        lab.space().out({"order", 1}), lab.space().out({"order", 2}), lab.space().out({"order", 3});
        CHECK(lab.space().take_up_to(2, any).size() == 2 && lab.space().begin_take_up_to(2, any).page().tuples.size() == 1);
        CHECK(thrown([&] { orders.collect_into(orders, any); }).status() == QUINTET_BAD_VALUE);
    }
    CHECK(lab.open_space("orders").take(any).get<int>(1) == 7);
    lab.remove_space("orders");
    CHECK(lab.spaces().empty() && thrown([&] { lab.open_space("orders"); }).status() == QUINTET_NO_SUCH_SPACE);
}

} // namespace

int main(int, char **arguments) {
    const auto lab = quintet::lab::embedded();
    const auto space = lab.space();
    const auto job = quintet::job::from_environment();
    CHECK(!job.rank && job.workers == 0 && !quintet::lab().address());
    values_keep_their_types(space);
    ranges_are_fields_of_templates(space);
    what_fails_is_thrown(space);
    leases_return_by_themselves(space);
    replacements_and_selects(space);
    what_expires_leaves_by_itself(space);
    a_group_happens_whole_or_not_at_all(space);
    operations_are_begun(lab, space);
    buffers_are_shared();
    a_server_is_found(arguments[1]);
    live_tuples_are_made(arguments[1]);
    calls_are_handled(lab);
    what_lies_there_is_listed(space);
    who_waits_and_what_is_used_is_shown(lab, space);
    a_watch_tells_what_happens(lab.space());
    named_spaces_are_apart(lab);
    CHECK(space.status().tuples == 0);
}

// Squares numbers by workers, in C++17: leases and tuples free themselves, and what fails throws.
//
//     c++ -std=c++17 squares.cpp $(pkg-config --cflags --libs quintet) -o squares
//     quintet run -n 4 ./squares     # workers are processes
//     ./squares                      # workers are threads of this process

#include <iostream>
#include <quintet.hpp>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t numbers = 100;
constexpr std::int64_t no_more = -1;

/// A worker: takes a number at a time. An exception, or the end of the process, gives it back.
void work(quintet::space space) {
    const quintet::tuple any_task("task", quintet::any<std::int64_t>);
    for (;;) {
        quintet::lease task = space.lease(any_task);
        const auto number = task.tuple().get<std::int64_t>(1);
        if (number == no_more) return task.acknowledge();
        task.acknowledge(quintet::tuple("square", number, number * number));
    }
}

/// The master: whether every square is right.
bool count_right(quintet::space space, std::uint32_t workers) {
    std::vector<quintet::tuple> tasks;
    for (std::int64_t number = 0; number < numbers; number++) tasks.emplace_back("task", number);
    space.out_many(tasks);
    std::int64_t right = 0;
    for (std::int64_t number = 0; number < numbers; number++) {
        const auto square = space.take({"square", number, quintet::any<std::int64_t>});
        right += square.get<std::int64_t>(2) == number * number;
    }
    for (std::uint32_t worker = 0; worker < workers; worker++) space.out({"task", no_more});
    return right == numbers;
}

} // namespace

int main() try {
    const auto job = quintet::job::from_environment();
    const quintet::lab lab;
    if (job.rank) {
        work(lab.space());
        return 0;
    }
    std::vector<std::thread> threads;
    const std::uint32_t started = job.workers > 0 ? 0 : 4;
    for (std::uint32_t i = 0; i < started; i++) threads.emplace_back(work, lab.space());
    const bool right = count_right(lab.space(), job.workers + started);
    for (auto &thread : threads) thread.join();
    std::cout << (right ? "main job: ok, " : "main job: FAILED, not all of ") << numbers << " squares\n";
    return right ? 0 : 1;
} catch (const quintet::error &error) {
    std::cerr << error.what() << '\n';
    return quintet_status_exit(error.status());
}

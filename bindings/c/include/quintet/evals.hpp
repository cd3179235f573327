// Part of quintet.hpp: live tuples that workers make.

#ifndef QUINTET_EVALS_HPP
#define QUINTET_EVALS_HPP

#include "tuple.hpp"

namespace quintet {

class space;

/// The functions of a worker that makes live tuples.
class evals {
public:
    evals() : handle_(detail::made<quintet_evals>(quintet_evals_new)) {}
    /// Adds a function: `evals.function<std::int64_t>("square", [](std::int64_t n) { return quintet::tuple("square", n, n * n); })`. The types of its arguments, as in
    /// `quintet::any`, are said; what it returns is the tuple, and what it throws is why there is none. Texts and bytes are lent until it returns.
    /// Threads that serve call it at once.
    template <typename... Arguments, typename Make>
    evals &function(const std::string &name, Make make) {
        tuple arguments(detail::made<quintet_tuple>(quintet_tuple_new));
        (arguments.add(any<Arguments>), ...);
        const auto kept = std::make_shared<Make>(std::move(make));
        detail::check(quintet_evals_add(handle(), name.c_str(), arguments.handle(), make_one<Make, Arguments...>, kept.get()));
        functions_.push_back(kept);
        return *this;
    }
    /// Makes live tuples on this thread until the space is gone or its lab is closed.
    void serve(const space &served) const;
    quintet_evals *handle() const noexcept { return handle_.get(); }

private:
    template <typename Make, typename... Arguments> static void make_one(quintet_eval *eval, void *make) {
        try {
            const quintet_tuple *arguments = nullptr;
            detail::check(quintet_eval_arguments(eval, &arguments));
            const tuple made = called<Arguments...>(*static_cast<Make *>(make), tuple_view(arguments), std::index_sequence_for<Arguments...>());
            detail::check(quintet_eval_give(eval, made.handle()));
        } catch (const std::exception &thrown) {
            quintet_eval_fail(eval, thrown.what());
        } catch (...) {
            quintet_eval_fail(eval, "the function threw what is no std::exception");
        }
    }
    template <typename... Arguments, typename Make, std::size_t... Indexes>
    static tuple called(Make &make, [[maybe_unused]] const tuple_view &arguments, std::index_sequence<Indexes...>) {
        return make(arguments.template get<Arguments>(Indexes)...);
    }

    // Freed after the handle, which leads to them.
    std::vector<std::shared_ptr<void>> functions_;
    detail::owned<quintet_evals, quintet_evals_free> handle_;
};

} // namespace quintet

#endif // QUINTET_EVALS_HPP

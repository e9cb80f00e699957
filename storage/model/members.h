// The members of an aggregate, in order, without a list of them. Of what travels between machines,
// where a list could leave one out.
#pragma once

#include <cstddef>
#include <type_traits>

namespace shardscope {
namespace members {

/// Converts to anything, to count what an aggregate is made of.
struct Anything {
    template <class T>
    operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class T, class... Parts>
constexpr std::size_t count() {
    if constexpr (requires { T{Parts{}..., Anything{}}; })
        return count<T, Parts..., Anything>();
    else
        return sizeof...(Parts);
}

}  // namespace members

/// Of a class with constructors, which cannot be counted: specialise it. A wrong number does not
/// compile.
template <class T>
inline constexpr std::size_t kStatedMembers = 0;

namespace shapes {
/// Specialise it for a class whose shape (shape.h) is kOther: what walks over it knows the type.
template <class T>
inline constexpr bool kIsOpaque = false;
}  // namespace shapes

/// Calls `use` with each member.
template <class Whole, class Use>
// NOLINTNEXTLINE(readability-function-size): the language counts no further than it is written
constexpr void forEachMember(Whole& whole, Use use) {
    using Plain = std::remove_const_t<Whole>;
    constexpr std::size_t kStated = kStatedMembers<Plain>;
    constexpr std::size_t kCount = kStated > 0 ? kStated : members::count<Plain>();
    static_assert(kCount <= 20, "write it out for one more");
    const auto each = [&](auto&... member) { (use(member), ...); };
    if constexpr (kCount == 1) {
        auto& [a] = whole;
        each(a);
    } else if constexpr (kCount == 2) {
        auto& [a, b] = whole;
        each(a, b);
    } else if constexpr (kCount == 3) {
        auto& [a, b, c] = whole;
        each(a, b, c);
    } else if constexpr (kCount == 4) {
        auto& [a, b, c, d] = whole;
        each(a, b, c, d);
    } else if constexpr (kCount == 5) {
        auto& [a, b, c, d, e] = whole;
        each(a, b, c, d, e);
    } else if constexpr (kCount == 6) {
        auto& [a, b, c, d, e, f] = whole;
        each(a, b, c, d, e, f);
    } else if constexpr (kCount == 7) {
        auto& [a, b, c, d, e, f, g] = whole;
        each(a, b, c, d, e, f, g);
    } else if constexpr (kCount == 8) {
        auto& [a, b, c, d, e, f, g, h] = whole;
        each(a, b, c, d, e, f, g, h);
    } else if constexpr (kCount == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = whole;
        each(a, b, c, d, e, f, g, h, i);
    } else if constexpr (kCount == 10) {
        auto& [a, b, c, d, e, f, g, h, i, j] = whole;
        each(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (kCount == 11) {
        auto& [a, b, c, d, e, f, g, h, i, j, k] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (kCount == 12) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (kCount == 13) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (kCount == 14) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    } else if constexpr (kCount == 15) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
    } else if constexpr (kCount == 16) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
    } else if constexpr (kCount == 17) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
    } else if constexpr (kCount == 18) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
    } else if constexpr (kCount == 19) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
    } else if constexpr (kCount == 20) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = whole;
        each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
    }
}

}  // namespace shardscope

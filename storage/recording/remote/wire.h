// Values as bytes, for frames between a reader and who serves a recording.
//
// A list is written column by column: all values of a member, then all of the next, each as narrow
// as it can be (storage/columns/column.h). A value alone is a list of one. Which members a type has
// says wireMembers() (wire_types.h); rows of tables have their columns.
// Reading never trusts its bytes: it turns bad and stays so. Pure.
#pragma once

#include "storage/columns/column.h"
#include "storage/model/recording.h"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardscope::storage::wire {

template <class T>
using MembersOf = std::type_identity<T>;

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <>
inline constexpr bool kIsVector<Arrivals> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;

/// What is one whole number: ids, times, sizes, enumerators and numbers themselves.
template <class T>
concept Number = kIsNumber<T> || std::is_floating_point_v<T> || std::is_same_v<T, Duration> ||
    std::is_same_v<T, Timestamp> || std::is_same_v<T, Bytes> || requires {
    typename T::Representation;
};

template <class T>
concept Composed = requires {
    wireMembers(MembersOf<T>{});
};

/// Of which takeApart() makes members that take fewer bytes, and putTogether() the same again.
template <class T>
concept Apart = requires(T& value) {
    takeApart(value);
    putTogether(value);
};

/// Calls `use` with a function for each member, which gives the member of a value.
template <class T, class Use>
void forEachMember(Use use) {
    if constexpr (Composed<T>) {
        std::apply(
            [&](auto... member) { (use([member](auto& of) -> auto& { return of.*member; }), ...); },
            wireMembers(MembersOf<T>{}));
    } else {
        forEachColumn<T>([&](const auto& column) {
            use([&column](auto& of) -> auto& { return column.of(of); });
        });
    }
}

class Writer {
public:
    template <class T>
    void put(const T& value) {
        putAll<T>(1, [&](std::size_t) -> const T& { return value; });
    }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(m_bytes); }

private:
    /// `at(i)`: the i-th of `count` values.
    template <class T, class At>
    void putAll(std::size_t count, At at) {
        if constexpr (Number<T>) {
            putColumn(count, [&](std::size_t i) { return asInteger(at(i)); });
        } else if constexpr (std::is_same_v<T, std::string>) {
            putColumn(count,
                      [&](std::size_t i) { return static_cast<std::int64_t>(at(i).size()); });
            for (std::size_t i = 0; i < count; ++i) {
                const auto bytes = std::as_bytes(std::span(at(i)));
                m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
            }
        } else if constexpr (kIsOptional<T>) {
            using Value = typename T::value_type;
            std::vector<const Value*> present;
            putColumn(count, [&](std::size_t i) {
                const T& value = at(i);
                if (value) present.push_back(&*value);
                return std::int64_t{value.has_value()};
            });
            putAll<Value>(present.size(),
                          [&](std::size_t i) -> const Value& { return *present[i]; });
        } else if constexpr (kIsVector<T>) {
            putVectors<T>(count, at);
        } else if constexpr (kIsArray<T>) {
            for (std::size_t place = 0; place < std::tuple_size_v<T>; ++place)
                putAll<typename T::value_type>(
                    count, [&](std::size_t i) -> auto& { return at(i)[place]; });
        } else if constexpr (Apart<T>) {
            std::vector<T> apart;
            apart.reserve(count);
            for (std::size_t i = 0; i < count; ++i) apart.push_back(at(i));
            for (T& value : apart) takeApart(value);
            putMembers<T>(count, [&](std::size_t i) -> const T& { return apart[i]; });
        } else {
            putMembers<T>(count, at);
        }
    }

    template <class T, class At>
    void putMembers(std::size_t count, At at) {
        forEachMember<T>([&](const auto& member) {
            using Member = std::remove_cvref_t<decltype(member(std::declval<T&>()))>;
            putAll<Member>(count, [&](std::size_t i) -> const Member& { return member(at(i)); });
        });
    }

    template <class T, class At>
    void putVectors(std::size_t count, At at) {
        using Value = typename T::value_type;
        putColumn(count, [&](std::size_t i) { return static_cast<std::int64_t>(at(i).size()); });
        if (count == 1) {  // no list of pointers to what lies in one row
            const T& only = at(0);
            return putAll<Value>(only.size(),
                                 [&](std::size_t i) -> const Value& { return only[i]; });
        }
        std::vector<const Value*> all;
        for (std::size_t i = 0; i < count; ++i)
            for (const Value& value : at(i)) all.push_back(&value);
        putAll<Value>(all.size(), [&](std::size_t i) -> const Value& { return *all[i]; });
    }

    template <class T>
    [[nodiscard]] static std::int64_t asInteger(const T& value) {
        if constexpr (std::is_floating_point_v<T>)
            return std::bit_cast<std::int64_t>(static_cast<double>(value));
        else
            return static_cast<std::int64_t>(numberIn(value));
    }

    template <class ValueAt>
    void putColumn(std::size_t count, ValueAt valueAt) {
        m_column.resize(count);
        for (std::size_t i = 0; i < count; ++i) m_column[i] = valueAt(i);
        columns::encodeColumn(m_column, m_bytes);
    }

    std::vector<std::byte> m_bytes;
    std::vector<std::int64_t> m_column;
};

class Reader {
public:
    /// What is made of the bytes takes at most `budget` bytes of memory.
    Reader(std::span<const std::byte> bytes, std::size_t budget) : m_in(bytes), m_budget(budget) {}

    template <class T>
    void get(T& value) {
        getAll<T>(1, [&](std::size_t) -> T& { return value; });
    }
    /// All was sound, and nothing is left.
    [[nodiscard]] bool isWhole() const { return m_good && m_in.good() && m_in.left() == 0; }

private:
    template <class T, class At>
    void getAll(std::size_t count, At at) {
        if (!m_good) return;
        if constexpr (Number<T>) {
            getColumn(count, [&](std::size_t i, std::int64_t number) { set(number, at(i)); });
        } else if constexpr (std::is_same_v<T, std::string>) {
            getTexts(count, at);
        } else if constexpr (kIsOptional<T>) {
            using Value = typename T::value_type;
            std::vector<Value*> present;
            getColumn(count, [&](std::size_t i, std::int64_t number) {
                require(number == 0 || number == 1);
                at(i).reset();
                if (number == 1) present.push_back(&at(i).emplace());
            });
            getAll<Value>(present.size(), [&](std::size_t i) -> Value& { return *present[i]; });
        } else if constexpr (std::is_same_v<T, Arrivals>) {
            std::vector<std::vector<Timestamp>> times(count);
            getVectors<std::vector<Timestamp>>(
                count, [&](std::size_t i) -> auto& { return times[i]; });
            for (std::size_t i = 0; i < count && m_good; ++i) at(i) = Arrivals(times[i]);
        } else if constexpr (kIsVector<T>) {
            getVectors<T>(count, at);
        } else if constexpr (kIsArray<T>) {
            for (std::size_t place = 0; place < std::tuple_size_v<T>; ++place)
                getAll<typename T::value_type>(
                    count, [&](std::size_t i) -> auto& { return at(i)[place]; });
        } else {
            forEachMember<T>([&](const auto& member) {
                using Member = std::remove_cvref_t<decltype(member(std::declval<T&>()))>;
                getAll<Member>(count, [&](std::size_t i) -> Member& { return member(at(i)); });
            });
            if constexpr (Apart<T>)
                for (std::size_t i = 0; i < count && m_good; ++i) putTogether(at(i));
            if constexpr (requires(const T& value) { isSound(value); })
                for (std::size_t i = 0; i < count && m_good; ++i) require(isSound(at(i)));
        }
    }

    template <class At>
    void getTexts(std::size_t count, At at) {
        std::vector<std::size_t> sizes(count);
        getColumn(count, [&](std::size_t i, std::int64_t number) {
            require(number >= 0);
            sizes[i] = static_cast<std::size_t>(number);
        });
        for (std::size_t i = 0; i < count && m_good; ++i) {
            const auto bytes = m_in.take(sizes[i]);
            if (!m_in.good() || !afford(bytes.size())) return require(false);
            at(i).assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        }
    }

    template <class T, class At>
    void getVectors(std::size_t count, At at) {
        using Value = typename T::value_type;
        std::vector<std::size_t> sizes(count);
        std::size_t total = 0;
        getColumn(count, [&](std::size_t i, std::int64_t number) {
            // Each is afforded on its own, so that no sum of them overflows.
            require(number >= 0 &&
                    afford(static_cast<std::uint64_t>(number), sizeof(Value) + sizeof(Value*)));
            if (!m_good) return;
            sizes[i] = static_cast<std::size_t>(number);
            total += sizes[i];
        });
        if (!m_good) return;
        for (std::size_t i = 0; i < count; ++i) at(i).resize(sizes[i]);
        if (count == 1) {
            T& only = at(0);
            return getAll<Value>(total, [&](std::size_t i) -> Value& { return only[i]; });
        }
        std::vector<Value*> all;
        all.reserve(total);
        for (std::size_t i = 0; i < count; ++i)
            for (Value& value : at(i)) all.push_back(&value);
        getAll<Value>(total, [&](std::size_t i) -> Value& { return *all[i]; });
    }

    template <class T>
    void set(std::int64_t number, T& value) {
        if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(std::bit_cast<double>(number));
        } else if constexpr (std::is_same_v<T, bool>) {
            require(number == 0 || number == 1);
            value = number == 1;
        } else if constexpr (std::is_enum_v<T>) {
            using Raw = std::underlying_type_t<T>;
            // The last value of its type stands for what a damaged row held.
            constexpr std::int64_t kNone = std::numeric_limits<Raw>::max();
            require(number == kNone || isEnumerator<T>(number));
            value = static_cast<T>(static_cast<Raw>(number));
        } else {
            auto& to = numberIn(value);
            to = static_cast<std::remove_cvref_t<decltype(to)>>(number);
            require(static_cast<std::int64_t>(to) == number);
        }
    }
    template <class T>
    [[nodiscard]] static bool isEnumerator(std::int64_t number) {
        if constexpr (requires { wordsOf(T{}); })
            return isValue<T>(number);
        else
            return number >= 0 && number <= static_cast<std::int64_t>(lastOf(T{}));
    }

    template <class Take>
    void getColumn(std::size_t count, Take take) {
        if (!m_good) return;
        // What a dictionary and its indexes take, for as long as the column is read.
        columns::ColumnReader column;
        if (!afford(count, 2 * sizeof(std::int64_t)) || !column.open(m_in, count))
            return require(false);
        std::array<std::int64_t, kBlock> block;
        for (std::size_t done = 0; done < count && m_good;) {
            const auto part = std::span(block).first(std::min(kBlock, count - done));
            column.read(part);
            for (std::size_t i = 0; i < part.size(); ++i) take(done + i, part[i]);
            done += part.size();
        }
        refund(count, 2 * sizeof(std::int64_t));
    }

    void require(bool condition) { m_good = m_good && condition; }
    [[nodiscard]] bool afford(std::uint64_t count, std::size_t each = 1) {
        if (count > m_budget / each) return false;
        m_budget -= static_cast<std::size_t>(count) * each;
        return true;
    }
    void refund(std::size_t count, std::size_t each) { m_budget += count * each; }

    static constexpr std::size_t kBlock = 1024;

    columns::ByteReader m_in;
    std::size_t m_budget;
    bool m_good = true;
};

}  // namespace shardscope::storage::wire

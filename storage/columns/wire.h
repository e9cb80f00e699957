// Values as bytes, for frames between a reader and who serves a recording.
//
// A list is written column by column: all values of a member, then all of the next, each as narrow
// as it can be (storage/columns/column.h). A value alone is a list of one. Which members a type has
// says its shape (storage/model/shape.h).
// Reading never trusts its bytes: it turns bad and stays so. Pure.
#pragma once

#include "storage/columns/column.h"
#include "storage/model/arrivals.h"
#include "storage/model/shape.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace shardscope::columns::wire {

/// Where values of one type are: one after the other, or anywhere.
struct Places {
    std::byte* first = nullptr;
    std::size_t stride = 0;            ///< bytes from one to the next
    std::byte* const* each = nullptr;  ///< not null: there they are
    std::size_t offset = 0;            ///< bytes from each
    std::size_t count = 0;

    [[nodiscard]] std::byte* at(std::size_t place) const {
        return each == nullptr ? first + place * stride : each[place] + offset;
    }
    /// What is `bytes` further in each of them.
    [[nodiscard]] Places within(std::size_t bytes) const {
        // None of them may be nowhere.
        return {first == nullptr ? first : first + bytes, stride, each, offset + bytes, count};
    }
};

class Writer {
public:
    template <class T>
    void put(const T& value) {
        putOne(kShape<T>, &value);
    }
    void putOne(const Shape& shape, const void* value);
    [[nodiscard]] std::vector<std::byte> take() { return std::move(m_bytes); }

private:
    void putAll(const Shape& shape, const Places& places);
    void putNumbers(const Shape& shape, const Places& places);
    void putTexts(const Places& places);
    void putOptionals(const Shape& shape, const Places& places);
    void putLists(const Shape& of, const std::vector<Shape::Items>& lists);
    void putStructs(const Shape& shape, const Places& places);
    template <class ValueAt>
    void putColumn(std::size_t count, ValueAt valueAt);

    std::vector<std::byte> m_bytes;
    std::vector<std::int64_t> m_column;
};

class Reader {
public:
    /// What is made of the bytes takes at most `budget` bytes of memory.
    Reader(std::span<const std::byte> bytes, std::size_t budget) : m_in(bytes), m_budget(budget) {}

    template <class T>
    void get(T& value) {
        getOne(kShape<T>, &value);
    }
    void getOne(const Shape& shape, void* value);
    /// All was sound, and nothing is left.
    [[nodiscard]] bool isWhole() const { return m_good && m_in.good() && m_in.left() == 0; }

private:
    void getAll(const Shape& shape, const Places& places);
    void getNumbers(const Shape& shape, const Places& places);
    void getTexts(const Places& places);
    void getOptionals(const Shape& shape, const Places& places);
    void getLists(const Shape& shape, const Places& places);
    void getArrivals(const Places& places);
    void getStructs(const Shape& shape, const Places& places);
    template <class Take>
    void getColumn(std::size_t count, Take take);

    void require(bool condition) { m_good = m_good && condition; }
    [[nodiscard]] bool afford(std::uint64_t count, std::size_t each = 1);
    void refund(std::size_t count, std::size_t each) { m_budget += count * each; }

    columns::ByteReader m_in;
    std::size_t m_budget;
    bool m_good = true;
};

/// Calls `use` with every id of a text in a value, empty ones among them.
void forEachTextOf(const Shape& shape, const void* value, const std::function<void(StringId)>& use);

}  // namespace shardscope::columns::wire

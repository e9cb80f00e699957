// Little-endian reading and writing of byte strings. Reading is bounds-checked: past the end a
// reader turns bad and yields zeros, so that callers check once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace shardscope::columns {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

template <class T>
void putNumber(std::vector<std::byte>& out, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = out.size();
    out.resize(at + sizeof(T));
    std::memcpy(out.data() + at, &value, sizeof(T));
}

class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) : m_rest(bytes) {}

    template <class T>
    T number() {
        T value{};
        const auto from = take(sizeof(T));
        if (!from.empty()) std::memcpy(&value, from.data(), sizeof(T));
        return value;
    }

    /// Empty, and the reader bad, when fewer than `count` bytes are left.
    std::span<const std::byte> take(std::size_t count) {
        if (count > m_rest.size()) {
            m_good = false;
            m_rest = {};
            return {};
        }
        const auto taken = m_rest.first(count);
        m_rest = m_rest.subspan(count);
        return taken;
    }

    [[nodiscard]] bool good() const { return m_good; }
    [[nodiscard]] std::size_t left() const { return m_rest.size(); }

private:
    std::span<const std::byte> m_rest;
    bool m_good = true;
};

}  // namespace shardscope::columns

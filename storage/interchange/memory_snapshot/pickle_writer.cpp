#include "storage/interchange/memory_snapshot/pickle_writer.h"

#include <bit>
#include <limits>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kMostTexts = 1u << 20;  ///< remembered; more are written out each time

}  // namespace

PickleWriter::PickleWriter(ExportWriter& writer) : m_writer(writer) {
    put("\x80\x04");
}

void PickleWriter::little(std::uint64_t value, int bytes) {
    char text[8];
    for (int i = 0; i < bytes; ++i) text[i] = static_cast<char>(value >> (8 * i) & 0xff);
    put({text, static_cast<std::size_t>(bytes)});
}

void PickleWriter::integer(std::int64_t value) {
    if (value >= 0 && value < 0x100) {
        put("K");
        little(static_cast<std::uint64_t>(value), 1);
    } else if (value >= std::numeric_limits<std::int32_t>::min() &&
               value <= std::numeric_limits<std::int32_t>::max()) {
        put("J");
        little(static_cast<std::uint64_t>(value), 4);
    } else {
        put({"\x8a\x08", 2});
        little(static_cast<std::uint64_t>(value), 8);
    }
}

/// Big-endian, unlike all else in a pickle.
void PickleWriter::real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    char text[9] = {'G'};
    for (int i = 0; i < 8; ++i) text[1 + i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
    put({text, sizeof(text)});
}

void PickleWriter::text(std::string_view text) {
    if (const auto known = m_texts.find(std::string(text)); known != m_texts.end())
        return recall(known->second);
    if (text.size() < 0x100) {
        put("\x8c");
        little(text.size(), 1);
    } else {
        put("X");
        little(text.size(), 4);
    }
    put(text);
    if (m_texts.size() < kMostTexts) m_texts.emplace(text, remember());
}

std::uint32_t PickleWriter::remember() {
    put("r");
    little(m_memos, 4);
    return m_memos++;
}

void PickleWriter::recall(std::uint32_t memo) {
    put("j");
    little(memo, 4);
}

}  // namespace shardscope::interchange

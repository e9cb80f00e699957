#include "engine/network/sealed_records.h"

#include <algorithm>
#include <string_view>

namespace shardscope::network {
namespace {

constexpr std::size_t kLengthBytes = 4;

std::string_view textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t lengthAt(std::span<const std::byte> bytes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i)
        length |= std::to_integer<std::size_t>(bytes[i]) << (8 * i);
    return length;
}

}  // namespace

std::vector<std::byte> sealedRecord(std::span<const std::byte> message, Seal& seal) {
    const std::size_t tagged = kLengthBytes + message.size();
    std::vector<std::byte> record(tagged + Seal::kBytes);
    for (std::size_t i = 0; i < kLengthBytes; ++i)
        record[i] = static_cast<std::byte>((message.size() >> (8 * i)) & 0xFF);
    std::copy(message.begin(), message.end(), record.begin() + kLengthBytes);
    const Seal::Tag tag = seal.next(textOf(std::span(record).first(tagged)));
    std::ranges::copy(std::as_bytes(std::span(tag)), record.end() - Seal::kBytes);
    return record;
}

void SealedRecords::append(std::span<const std::byte> bytes) {
    m_bytes.erase(m_bytes.begin(), m_bytes.begin() + static_cast<std::ptrdiff_t>(m_begin));
    m_begin = 0;
    m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
}

Result<std::optional<std::span<const std::byte>>> SealedRecords::next(Seal& seal) {
    const std::span<const std::byte> left = std::span(m_bytes).subspan(m_begin);
    if (left.size() < kLengthBytes) return std::nullopt;
    const std::size_t length = lengthAt(left), tagged = kLengthBytes + length;
    if (length <= m_longest && left.size() < tagged + Seal::kBytes) return std::nullopt;
    if (length > m_longest ||
        !seal.fits(textOf(left.first(tagged)), textOf(left.subspan(tagged, Seal::kBytes))))
        return failure(ErrorCode::kLaunch,
                       "what came over the connection is not what the other side sent: it was "
                       "changed, or put in, on its way");
    m_begin += tagged + Seal::kBytes;
    return left.subspan(kLengthBytes, length);
}

}  // namespace shardscope::network

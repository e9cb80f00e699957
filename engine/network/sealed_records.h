// Messages over a connection whose two sides have proved a key: u32 bytes, little-endian, the
// message, and the tag of both (Seal).
//
// One thread.
#pragma once

#include "engine/network/keyed_hash.h"
#include "storage/model/result.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace shardscope::network {

[[nodiscard]] std::vector<std::byte> sealedRecord(std::span<const std::byte> message, Seal& seal);

/// Cuts what came into messages.
class SealedRecords {
public:
    explicit SealedRecords(std::size_t longestMessage) : m_longest(longestMessage) {}

    void append(std::span<const std::byte> bytes);
    /// The next whole one, valid until append(). kLaunch: it is longer than any, or not what the
    /// other side sent, and so is all that follows.
    Result<std::optional<std::span<const std::byte>>> next(Seal& seal);
    void clear() { m_bytes.clear(), m_begin = 0; }

private:
    std::size_t m_longest;
    std::vector<std::byte> m_bytes;
    std::size_t m_begin = 0;
};

}  // namespace shardscope::network

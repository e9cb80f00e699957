// In which pieces rows travel between hosts (engine/comm/rails.h works by it, memory theory counts
// it), and so what a rank's buffers for them take.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shardscope::theory {

/// Large enough that its messages and meetings cost little: of half a megabyte they did, where
/// ranks share cores. Two and four megabytes were no faster.
inline constexpr std::int64_t kRailPieceBytes = std::int64_t{1} << 20;
/// Of a rank's staging memory, whatever the number of hosts.
inline constexpr std::int64_t kMostStagingBytes = std::int64_t{32} << 20;
/// Pieces on their way at a time.
inline constexpr std::int64_t kPiecesInFlight = 4;

/// Of one piece; whole cache lines.
[[nodiscard]] constexpr std::int64_t railPieceBytes(std::int64_t hosts) {
    constexpr std::int64_t kLine = 64;
    const std::int64_t others = std::max<std::int64_t>(hosts - 1, 1);
    return std::min(kRailPieceBytes, kMostStagingBytes / kPiecesInFlight / others / kLine * kLine);
}

/// Shared memory in which a rank lays down what it gathers from other hosts; 0 where nobody is
/// there to share it with.
[[nodiscard]] constexpr std::int64_t railStagingBytes(std::int64_t hosts, std::int64_t perHost) {
    if (hosts == 1 || perHost == 1) return 0;
    return kPiecesInFlight * (hosts - 1) * railPieceBytes(hosts);
}

/// Buffers of a piece that is summed: one comes, one is summed, one goes; two hosts pass nothing
/// on.
[[nodiscard]] constexpr std::int64_t railSumBuffers(std::int64_t hosts) {
    return std::min<std::int64_t>(hosts, 3);
}

/// Elements of a piece that is summed, in fp32, of a rank's part of `part` elements.
[[nodiscard]] constexpr std::int64_t railSumElements(std::int64_t hosts, std::int64_t part) {
    return std::min(railPieceBytes(hosts) / std::int64_t{sizeof(float)}, part);
}

/// In which a rank sums its part of `part` elements over hosts.
[[nodiscard]] constexpr std::int64_t railSumBytes(std::int64_t hosts, std::int64_t part) {
    if (hosts == 1) return 0;
    return kPiecesInFlight * railSumBuffers(hosts) * railSumElements(hosts, part) *
           std::int64_t{sizeof(float)};
}

}  // namespace shardscope::theory

#include "engine/comm/arguments.h"

#include "engine/comm/communicator.h"
#include "engine/comm/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace shardscope::comm {

int placeAmong(std::span<const int> members, int rank, int size) {
    const bool ascending =
        std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) == members.end();
    const auto own = std::find(members.begin(), members.end(), rank);
    if (!ascending || own == members.end() || members.front() < 0 || members.back() >= size) {
        throw CommunicationError(fmt::format(
            "ranks {} are no group that rank {} of {} can be in: name ascending ranks, itself "
            "among them",
            fmt::join(members, ", "), rank, size));
    }
    return static_cast<int>(own - members.begin());
}

/// FNV-1a.
std::int32_t fingerprint(std::span<const int> members) {
    std::uint32_t hash = 2166136261U;
    for (const int member : members) hash = (hash ^ static_cast<std::uint32_t>(member)) * 16777619U;
    return static_cast<std::int32_t>(hash & 0x7fffffffU);
}

void requireRank(int named, int size) {
    if (named >= 0 && named < size) return;
    throw CommunicationError(fmt::format("there is no rank {} among {} ranks", named, size));
}

void requireSummable(DataType dtype) {
    if (canSum(dtype)) return;
    throw CommunicationError(
        fmt::format("a sum over ranks takes fp32, bf16 or fp16, not {}", toWord(dtype)));
}

void requireSmall(std::size_t values) {
    if (values <= kSmallValues) return;
    throw CommunicationError(
        fmt::format("a small all-reduce takes at most {} values, got {}", kSmallValues, values));
}

void requirePeer(int named, int rank, int size) {
    requireRank(named, size);
    if (named != rank) return;
    throw CommunicationError(fmt::format("rank {} cannot exchange a message with itself", rank));
}

}  // namespace shardscope::comm

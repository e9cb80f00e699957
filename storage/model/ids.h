// Ids as types. A lane or string id is unique within its rank, a step index within the run.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace shardscope {

template <class Tag, class Rep>
struct Id {
    using Representation = Rep;
    Rep value{};
    friend constexpr auto operator<=>(Id, Id) = default;
};

using RankId = Id<struct RankTag, std::uint32_t>;
using LaneId = Id<struct LaneTag, std::uint32_t>;
using StringId = Id<struct StringTag, std::uint32_t>;  ///< 0 is the empty string
using StepIndex = Id<struct StepTag, std::int32_t>;    ///< first training step is 0
using LayerIndex = Id<struct LayerTag, std::int16_t>;  ///< transformer blocks count from 0

inline constexpr StringId kEmptyString{0};
inline constexpr StepIndex kNoStep{-1};
inline constexpr LayerIndex kNoLayer{-1};
/// Token and position embeddings with the final norm and tied head: one shard unit.
inline constexpr LayerIndex kRootLayer{-2};

}  // namespace shardscope

template <class Tag, class Rep>
struct std::hash<shardscope::Id<Tag, Rep>> {
    std::size_t operator()(shardscope::Id<Tag, Rep> id) const noexcept {
        return std::hash<Rep>{}(id.value);
    }
};

// Parameters and their gradients as views into flat buffers.
#pragma once

#include "engine/kernels/parameter.h"
#include "storage/model/events.h"

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace shardscope::parallel {

// Where a unit's parameters lie in its flat buffer, and which part of it a rank owns.
//
// The flat buffer is the parameters one after another, zero-padded so that it splits into W
// equal shards of whole cache lines. Matrices come first, so that the elements that weight
// decay applies to are a prefix. Pure arithmetic.

struct ShardLayout {
    std::int64_t used = 0;      ///< floats of all parameters
    std::int64_t decaying = 0;  ///< prefix of `used` under weight decay
    std::int64_t counted = 0;   ///< prefix that this rank answers for, see layOut()
    std::int64_t shard = 0;     ///< floats a rank owns
    std::int64_t ranks = 1;
    std::vector<std::int64_t> offsets;  ///< of each parameter

    [[nodiscard]] std::int64_t padded() const { return shard * ranks; }
    /// How many of the leading elements of `rank`'s shard decay.
    [[nodiscard]] std::int64_t decayingInShard(std::int64_t rank) const {
        return std::clamp<std::int64_t>(decaying - rank * shard, 0, shard);
    }
    /// Of the leading elements of `rank`'s shard, those that count in the norm of all gradients.
    [[nodiscard]] std::int64_t countedInShard(std::int64_t rank) const {
        return std::clamp<std::int64_t>(counted - rank * shard, 0, shard);
    }
};

inline constexpr std::int64_t kCacheLineFloats = 16;

/// Precondition: nothing that decays after something that does not, nor what is divided over a
/// tensor group after what is not. That is whole on each of its ranks, and one `answers` for it.
[[nodiscard]] ShardLayout layOut(std::span<const kernels::Parameter> parameters, std::int64_t ranks,
                                 bool answers = true);

void bindValues(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                const at::Tensor& flat);
void unbindValues(std::span<kernels::Parameter> parameters);
void bindGradients(std::span<kernels::Parameter> parameters, const ShardLayout& layout,
                   const at::Tensor& flat, bool accumulate);

/// Hands out views of the whole unit in `flat`.
void visitValues(std::span<const kernels::Parameter> parameters, const ShardLayout& layout,
                 const at::Tensor& flat,
                 const std::function<void(const kernels::Parameter&, const at::Tensor&)>& sink);

/// Calls `visit(parameter index, begin inside it, begin of `range`, count)` for every parameter
/// that overlaps the elements [begin, begin + count) of the flat buffer.
void forEachOverlap(
    std::span<const kernels::Parameter> parameters, const ShardLayout& layout, std::int64_t begin,
    std::int64_t count,
    const std::function<void(std::size_t, std::int64_t, std::int64_t, std::int64_t)>& visit);

/// (n) zeros booked under `category` as `owner`, a static string.
at::Tensor zeros(MemoryCategory category, const char* owner, std::int64_t n,
                 const at::TensorOptions& options);

}  // namespace shardscope::parallel

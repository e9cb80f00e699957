// The importers' only rule on names: which kernels communicate with other devices.
#pragma once

#include "storage/model/events.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::interchange {

/// Of NCCL and its kin, and of libraries that communicate within kernels of their own (table with
/// sources in the .cpp).
[[nodiscard]] bool isCollectiveKernel(std::string_view name);
/// Of kernels that do not have it in their name as NCCL's do.
[[nodiscard]] std::optional<CollectiveOp> impliedOperation(std::string_view name);

/// isCollectiveKernel() of names that come again and again. One thread.
class CollectiveNames {
public:
    [[nodiscard]] bool has(std::string_view name);

private:
    static constexpr std::size_t kMost = 16'384;
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    std::unordered_map<std::string, bool, Hash, std::equal_to<>> m_known;
};

}  // namespace shardscope::interchange

// How large a recording may grow, and sizes as people write them.
#pragma once

#include "storage/model/result.h"
#include "storage/model/units.h"

#include <optional>
#include <string_view>

namespace shardscope {

/// "200MB", "2 GB", "500MiB", "1.5g": k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024.
/// kUsage with a sentence on anything else, on nothing, and from 2^53 bytes up.
[[nodiscard]] Result<Bytes> parseSize(std::string_view text);
/// The same a second: "2MB/s"; the "/s" may be missing.
[[nodiscard]] Result<Bytes> parseRate(std::string_view text);

struct SizeLimit {
    /// Smaller ones could not hold the tables and their log.
    static constexpr Bytes kLeast{4'000'000};
    static constexpr Bytes kLeastRate{10'000};
    /// A file may be ahead of its rate by so much, so that a run can begin.
    static constexpr std::int64_t kHeadStartSeconds = 10;

    std::optional<Bytes> most;             ///< file and log together
    std::optional<Bytes> mostEverySecond;  ///< on the average from the run's beginning

    [[nodiscard]] bool any() const { return most || mostEverySecond; }
    /// What the file may take when the run has come to `now` on the recording's clock. Any limit.
    [[nodiscard]] Bytes allowed(Timestamp now) const;
    /// Whether it is the rate that binds then.
    [[nodiscard]] bool rateBinds(Timestamp now) const;
};

}  // namespace shardscope

// The first look at an export: when it begins and ends, whose events it holds, how many, and what
// its NVTX domains, categories and threads are called.
#pragma once

#include "storage/interchange/nsys/rank_map.h"
#include "storage/interchange/nsys/texts.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace shardscope::interchange::nsys {

/// Times beyond this are none (storage/interchange/trace_builder.h).
inline constexpr std::int64_t kMostTime = std::int64_t{1} << 60;

struct Survey {
    std::int64_t first = 0;  ///< earliest start that is not negative, on the file's clock
    std::int64_t last = 0;   ///< latest end
    std::uint64_t rows = 0;
    RankMap ranks;
    std::map<std::int64_t, std::string> threads;  ///< by globalTid
    using InProcess = std::pair<std::int64_t, std::int64_t>;
    std::map<InProcess, std::string> domains;                              ///< process, domain
    std::map<std::pair<InProcess, std::int64_t>, std::string> categories;  ///< and category
};

/// `goOn` is asked every few thousand rows; kCancelled when it says no.
Result<Survey> survey(NsysFile& file, Texts& texts, const std::function<bool()>& goOn);

}  // namespace shardscope::interchange::nsys

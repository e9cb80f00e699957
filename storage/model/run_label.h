// What the user calls a run: a name and tags. Rows of `facts` that belong to no host and no rank
// (storage/schema/FORMAT.md); they say nothing of how the run computed.
#pragma once

#include "storage/model/result.h"
#include "storage/model/run_facts.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

struct RunLabel {
    std::string name;               ///< empty: none
    std::vector<std::string> tags;  ///< "lr=3e-4" is text as any other
    [[nodiscard]] bool empty() const { return name.empty() && tags.empty(); }
    friend bool operator==(const RunLabel&, const RunLabel&) = default;
};

inline constexpr std::size_t kMostLabelBytes = 200;
inline constexpr std::size_t kMostTags = 20;

/// What is wrong with a name or a tag that is given, as the rest of a sentence that begins with
/// what it is: "is empty; ..."; empty: nothing.
[[nodiscard]] std::string labelFault(std::string_view text);
/// kUsage: that, of any of them, or too many tags.
[[nodiscard]] Result<void> checkLabel(const RunLabel& label);

/// As `facts` holds them.
[[nodiscard]] std::vector<FactRow> rowsOf(const RunLabel& label);
/// Tags by their text; of a recording that was made elsewhere any text.
[[nodiscard]] RunLabel labelIn(const std::vector<FactRow>& facts);
/// "baseline, 2 hosts": the tags as one text; empty: there are none.
[[nodiscard]] std::string tagsText(const RunLabel& label);

/// The names of several runs where each has one and no two have the same; else empty.
[[nodiscard]] std::vector<std::string> distinctNames(const std::vector<RunLabel>& labels);

}  // namespace shardscope

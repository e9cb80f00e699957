#include "storage/model/run_label.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

namespace shardscope {
namespace {

constexpr const char* kName = "name";
/// The tag follows, so that tags of recordings that are joined are those of both.
constexpr std::string_view kTag = "tag:";
/// Of the run as a whole.
constexpr std::int32_t kNoHost = -1, kNoRank = -1;

FactRow rowOf(std::string name, const std::string& value) {
    return {std::move(name), kNoHost, kNoRank, value};
}

bool isPlain(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = plainCharacter(text.substr(at));
        if (length == 0) return false;
        at += length;
    }
    return true;
}

}  // namespace

std::string labelFault(std::string_view text) {
    if (text.find_first_not_of(' ') == text.npos)
        return "is empty; give some text, or leave it out";
    if (text.size() > kMostLabelBytes)
        return fmt::format("has {} bytes; give {} at most", text.size(), kMostLabelBytes);
    if (!isPlain(text))
        return "has a character that cannot be printed (a line break, a tab, or bytes that are no "
               "UTF-8); give text of one line";
    return {};
}

Result<void> checkLabel(const RunLabel& label) {
    const auto refuse = [](const char* what, const std::string& fault) {
        return failure(ErrorCode::kUsage, fmt::format("the {} of the run {}", what, fault));
    };
    if (!label.name.empty())
        if (const std::string fault = labelFault(label.name); !fault.empty())
            return refuse("name", fault);
    for (const std::string& tag : label.tags)
        if (const std::string fault = labelFault(tag); !fault.empty()) return refuse("tag", fault);
    if (label.tags.size() <= kMostTags) return {};
    return failure(ErrorCode::kUsage, fmt::format("the run has {} tags; give {} at most",
                                                  label.tags.size(), kMostTags));
}

std::vector<FactRow> rowsOf(const RunLabel& label) {
    std::vector<FactRow> rows;
    if (!label.name.empty()) rows.push_back(rowOf(kName, label.name));
    for (const std::string& tag : label.tags) rows.push_back(rowOf(std::string(kTag) + tag, tag));
    return rows;
}

RunLabel labelIn(const std::vector<FactRow>& facts) {
    RunLabel label;
    for (const FactRow& row : facts) {
        if (row.host != kNoHost || row.rank != kNoRank) continue;
        if (row.name == kName) label.name = row.value;
        if (row.name.starts_with(kTag)) label.tags.push_back(row.value);
    }
    return label;
}

std::string tagsText(const RunLabel& label) {
    return fmt::format("{}", fmt::join(label.tags, ", "));
}

std::vector<std::string> distinctNames(const std::vector<RunLabel>& labels) {
    std::vector<std::string> names;
    for (const RunLabel& label : labels) names.push_back(label.name);
    const std::set<std::string> distinct(names.begin(), names.end());
    if (distinct.size() != names.size() || distinct.contains("")) return {};
    return names;
}

}  // namespace shardscope

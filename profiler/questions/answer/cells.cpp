#include "profiler/questions/answer/cells.h"

#include "engine/run/config/rank_layout.h"
#include "profiler/analysis/intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace shardscope::questions {

namespace {

std::string listText(const std::vector<RankId>& members) {
    std::string text;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::uint32_t first = members[i].value;
        while (i + 1 < members.size() && members[i + 1].value == members[i].value + 1) ++i;
        text += fmt::format("{}{}", text.empty() ? "" : ",", first);
        if (members[i].value != first) text += fmt::format("-{}", members[i].value);
    }
    return text;
}

}  // namespace

Unit Table::unitOf(const std::vector<Cell>& row, std::size_t column) const {
    static constexpr std::pair<std::string_view, Unit> kNames[] = {
        {"ns", Unit::kNanoseconds}, {"bytes", Unit::kBytes}, {"tokens/s", Unit::kTokensPerSecond}};
    if (columns[column].unit != Unit::kOfRow) return columns[column].unit;
    const auto* name = row[columnAt("unit")].text();
    for (const auto& [word, unit] : kNames)
        if (name != nullptr && *name == word) return unit;
    return Unit::kNone;
}

bool Table::saysNothing(std::size_t column) const {
    return std::all_of(rows.begin(), rows.end(), [column](const std::vector<Cell>& row) {
        const std::string* text = row[column].text();
        return row[column].isNone() || (text != nullptr && *text == toWord(Phase::kNone));
    });
}

double numberOf(const Cell& cell) {
    if (const auto* whole = cell.integer()) return static_cast<double>(*whole);
    if (const auto* number = cell.real()) return *number;
    return -std::numeric_limits<double>::infinity();
}

GroupNames::GroupNames(const std::vector<RankEvents>& ranks, const RunFacts& run) : m_ranks(ranks) {
    if (const auto config = run::parseRunConfigJson(run.configJson)) m_config = *config;
}

Cell GroupNames::kindOf(std::uint32_t group) const {
    return m_config ? Cell(toWord(run::groupKindOf(*m_config, group))) : Cell();
}

const std::string& GroupNames::of(std::uint32_t group) {
    const auto [name, fresh] = m_names.try_emplace(group);
    if (fresh) name->second = group == 0 ? "all" : listText(analysis::groupMembers(m_ranks, group));
    return name->second;
}

}  // namespace shardscope::questions

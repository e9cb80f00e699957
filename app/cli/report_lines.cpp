#include "app/cli/report_lines.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::cli {

ReportLines::Lines::iterator ReportLines::find(std::string_view name) {
    return std::find_if(m_lines.begin(), m_lines.end(),
                        [&](const auto& line) { return line.first == name; });
}

void ReportLines::join(std::string_view name, std::string_view to) {
    const auto from = find(name);
    const auto at = find(to);
    if (from == m_lines.end() || at == m_lines.end()) return;
    at->second += fmt::format("; {} {}", from->first, from->second);
    m_lines.erase(from);
}

std::string ReportLines::text() const {
    std::string text;
    for (const auto& [name, value] : m_lines) text += reportLine(name, value);
    return text;
}

std::string reportLine(std::string_view name, std::string_view value) {
    return fmt::format("  {:<22}{}\n", printableLine(std::string(name)),
                       printableLine(std::string(value)));
}

}  // namespace shardscope::cli

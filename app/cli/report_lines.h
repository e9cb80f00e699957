// Named values, one a line; where there is little room several on one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::cli {

class ReportLines {
public:
    void add(std::string_view name, std::string value) {
        m_lines.emplace_back(name, std::move(value));
    }
    /// Appends the value of `name`, with its name, to the line `to`; nothing where either is not
    /// there.
    void join(std::string_view name, std::string_view to);
    [[nodiscard]] std::string text() const;

private:
    using Lines = std::vector<std::pair<std::string, std::string>>;
    [[nodiscard]] Lines::iterator find(std::string_view name);

    Lines m_lines;
};

/// "  name                value\n"
[[nodiscard]] std::string reportLine(std::string_view name, std::string_view value);

}  // namespace shardscope::cli

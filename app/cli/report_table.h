// Text tables with aligned columns, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

class TextTable {
public:
    explicit TextTable(std::vector<std::string> header);
    /// Cells are printed as printableLine(): names may come from anywhere.
    void add(std::vector<std::string> row);
    /// Columns that hold only numbers are aligned right. Every line ends in a newline.
    [[nodiscard]] std::string text(const std::string& indent = "") const;

private:
    std::vector<std::string> m_header;
    std::vector<std::vector<std::string>> m_rows;
};

/// Quantities as people read them: "12.3 MiB", "4.56 ms", "1,234,567".
[[nodiscard]] std::string bytesText(std::int64_t bytes);
[[nodiscard]] std::string durationText(std::int64_t nanoseconds);
[[nodiscard]] std::string countText(std::uint64_t count);
/// "1 step", "1,200 steps"; of nouns whose plural ends in s.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view what);
/// "12.3 %"; a dash where there is no whole.
[[nodiscard]] std::string shareText(double part, double whole);

}  // namespace shardscope::cli

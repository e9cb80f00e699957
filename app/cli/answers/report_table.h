// Text tables with aligned columns, for people.
#pragma once

#include <string>
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

}  // namespace shardscope::cli

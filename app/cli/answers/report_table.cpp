#include "app/cli/answers/report_table.h"

#include "storage/model/plain_text.h"

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

/// Code points, which is what a terminal shows of the texts we print.
std::size_t widthOf(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

/// Starts like a number; "–" stands for an absent one.
bool looksNumeric(const std::string& cell) {
    if (cell.empty() || cell == "–") return true;
    const std::size_t digit = cell.front() == '-' || cell.front() == '+' ? 1 : 0;
    return digit < cell.size() && cell[digit] >= '0' && cell[digit] <= '9';
}

void appendCell(std::string& line, const std::string& cell, std::size_t width, bool right) {
    const std::string padding(width - std::min(width, widthOf(cell)), ' ');
    line += right ? padding + cell : cell + padding;
}

std::vector<std::string> printableCells(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printableLine(std::move(cell));
    return cells;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header)
    : m_header(printableCells(std::move(header))) {}

void TextTable::add(std::vector<std::string> row) {
    m_rows.push_back(printableCells(std::move(row)));
}

std::string TextTable::text(const std::string& indent) const {
    std::vector<std::size_t> widths;
    std::vector<bool> right;
    for (std::size_t column = 0; column < m_header.size(); ++column) {
        widths.push_back(widthOf(m_header[column]));
        right.push_back(!m_rows.empty());
        for (const auto& row : m_rows) {
            widths[column] = std::max(widths[column], widthOf(row[column]));
            right[column] = right[column] && looksNumeric(row[column]);
        }
    }
    std::string all;
    const auto append = [&](const std::vector<std::string>& row) {
        std::string line = indent;
        for (std::size_t column = 0; column < row.size(); ++column) {
            if (column > 0) line += "  ";
            appendCell(line, row[column], widths[column], right[column]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        all += line + '\n';
    };
    append(m_header);
    for (const auto& row : m_rows) append(row);
    return all;
}

}  // namespace shardscope::cli

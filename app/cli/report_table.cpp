#include "app/cli/report_table.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

std::string bytesText(std::int64_t bytes) {
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (std::abs(value) >= 1024 && unit + 1 < std::size(kUnits)) {
        value /= 1024;
        ++unit;
    }
    if (unit == 0) return fmt::format("{} B", bytes);
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string durationText(std::int64_t nanoseconds) {
    const auto value = static_cast<double>(nanoseconds);
    const double size = std::abs(value);
    if (size >= 1e9) return fmt::format("{:.2f} s", value * 1e-9);
    if (size >= 1e6) return fmt::format("{:.2f} ms", value * 1e-6);
    if (size >= 1e3) return fmt::format("{:.1f} µs", value * 1e-3);
    return fmt::format("{} ns", nanoseconds);
}

std::string counted(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", countText(count), what, count == 1 ? "" : "s");
}

std::string countText(std::uint64_t count) {
    const std::string digits = std::to_string(count);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

std::string shareText(double part, double whole) {
    return whole == 0 ? "–" : fmt::format("{:.1f} %", 100 * part / whole);
}

}  // namespace shardscope::cli

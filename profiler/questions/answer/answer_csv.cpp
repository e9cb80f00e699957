#include "profiler/questions/answer/answer.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <cmath>

namespace shardscope::questions {
namespace {

std::string field(const Cell& cell) {
    if (const auto* number = cell.integer()) return fmt::format("{}", *number);
    if (const auto* number = cell.real())
        return std::isfinite(*number) ? fmt::format("{}", *number) : "";
    // Names come out of traces: what would steer a terminal, or end a text for who reads it, is
    // spelled.
    if (const auto* text = cell.text()) return csvField(*text);
    return "";
}

template <class Range, class Text>
void addLine(const Range& cells, Text text, std::string& csv) {
    bool first = true;
    for (const auto& cell : cells) {
        if (!std::exchange(first, false)) csv += ',';
        csv += text(cell);
    }
    csv += "\r\n";
}

void addTable(const Table& table, std::string& csv) {
    if (!csv.empty()) csv += "\r\n";
    addLine(
        table.columns, [](const Column& column) { return csvField(column.key); }, csv);
    for (const auto& row : table.rows) addLine(row, field, csv);
}

}  // namespace

std::string toCsv(const std::vector<Answer>& answers) {
    std::string csv;
    for (const Answer& answer : answers) {
        if (!answer.figures.empty()) {
            Table figures{"figures", "", {}, {{}}};
            for (const Figure& figure : answer.figures) {
                figures.columns.push_back(figure.what);
                figures.rows.front().push_back(figure.value);
            }
            addTable(figures, csv);
        }
        for (const Table& table : answer.tables) addTable(table, csv);
    }
    return csv;
}

}  // namespace shardscope::questions

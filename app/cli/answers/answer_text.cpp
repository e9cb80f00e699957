#include "app/cli/answers/answer_text.h"

#include "app/cli/answers/report_table.h"
#include "app/cli/console.h"
#include "storage/model/plain_text.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using questions::Answer;
using questions::Cell;
using questions::Column;
using questions::Table;
using questions::Unit;

constexpr const char* kIndent = "  ";

/// Kernels' names can be longer than a screen: beginning and end distinguish most of them.
std::string shortened(const std::string& text) {
    constexpr std::size_t kMost = 72, kEnd = 20;
    if (text.size() <= kMost) return text;
    const auto isInside = [&](std::size_t at) { return (text[at] & 0xC0) == 0x80; };
    std::size_t front = kMost - kEnd - 3, back = text.size() - kEnd;
    while (front > 0 && isInside(front)) --front;
    while (back < text.size() && isInside(back)) ++back;
    return text.substr(0, front) + "..." + text.substr(back);
}

std::string cellText(const Cell& cell, Unit unit) {
    if (const auto* text = cell.text()) return shortened(printableLine(demangled(*text)));
    if (const auto* number = cell.real()) return quantityText(*number, unit).joined();
    const auto* whole = cell.integer();
    if (whole == nullptr) return "-";
    if (unit == Unit::kCount) return countText(*whole);
    if (unit == Unit::kNone) return fmt::format("{}", *whole);
    return quantityText(static_cast<double>(*whole), unit).joined();
}

/// The header first; of columns that people are to see.
std::vector<std::vector<std::string>> textsOf(const Table& table, std::size_t rows) {
    std::vector<std::vector<std::string>> texts(1);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        if (!table.shows(c)) continue;
        texts[0].emplace_back(table.columns[c].title);
    }
    for (std::size_t i = 0; i < rows; ++i) {
        std::vector<std::string>& row = texts.emplace_back();
        for (std::size_t c = 0; c < table.columns.size(); ++c)
            if (table.shows(c))
                row.push_back(cellText(table.rows[i][c], table.unitOf(table.rows[i], c)));
    }
    return texts;
}

/// Aligned, the header first.
std::string rowsText(const Table& table, std::size_t rows) {
    const auto texts = textsOf(table, rows);
    TextTable text(texts.front());
    for (std::size_t i = 1; i < texts.size(); ++i) text.add(texts[i]);
    return text.text(kIndent);
}

void addColumns(const std::vector<Column>& columns, std::string& text) {
    for (const Column& column : columns)
        if (*column.definition != '\0')
            text += fmt::format("  {}: {}\n", column.title, column.definition);
}

}  // namespace

std::string tableText(const Table& table, std::size_t mostRows) {
    const std::size_t shown =
        mostRows == 0 ? table.rows.size() : std::min(mostRows, table.rows.size());
    std::string all = printableLine(table.title) + '\n' + rowsText(table, shown);
    if (shown < table.rows.size())
        all += fmt::format("  {} more with --all\n", table.rows.size() - shown);
    return all;
}

std::string figuresText(const std::vector<questions::Figure>& figures, const std::string& indent) {
    std::size_t width = 0;
    for (const auto& [what, value] : figures)
        width = std::max(width, std::string_view(what.title).size());
    std::string text;
    for (const auto& [what, value] : figures)
        text += fmt::format(
            "{}{:<{}}  {}\n", indent, what.title, width,
            value.text() != nullptr ? quotedLines(*value.text()) : cellText(value, what.unit));
    return text;
}

std::string sectionText(const std::string& title, const Answer& answer) {
    std::string text = printableLine(title) + '\n' + figuresText(answer.figures, kIndent);
    for (const std::string& sentence : answer.sentences)
        text += kIndent + printableLine(sentence) + '\n';
    for (const Table& table : answer.tables) {
        if (table.rows.empty()) continue;
        if (*table.title != '\0') text += fmt::format("{}{}\n", kIndent, table.title);
        text += rowsText(table, table.rows.size());
    }
    return text;
}

std::string tableMarkdown(const Table& table) {
    std::string text, rule = "|";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (table.shows(c)) rule += table.columns[c].unit == Unit::kNone ? "---|" : "---:|";
    for (const auto& row : textsOf(table, table.rows.size())) {
        text += "|";
        for (const std::string& cell : row) text += fmt::format(" {} |", markdownText(cell));
        text += '\n';
        if (!rule.empty()) text += std::exchange(rule, {}) + "\n";
    }
    return text;
}

std::string answerText(const Answer& answer, std::size_t mostRows) {
    std::string text;
    for (const std::string& sentence : answer.sentences) text += printableLine(sentence) + '\n';
    for (const auto& [what, value] : answer.figures)
        if (!value.isNone())
            text += fmt::format("{}: {}\n", what.title, cellText(value, what.unit));
    for (const Table& table : answer.tables) {
        if (table.rows.empty()) continue;
        if (!text.empty()) text += '\n';
        text += tableText(table, mostRows);
    }
    if (!answer.unknown.empty() && !text.empty()) text += '\n';
    for (const std::string& unknown : answer.unknown) text += printableLine(unknown) + ".\n";
    return text;
}

std::string columnDefinitions(const Answer& answer) {
    std::string text;
    const auto add = [&](const std::vector<Column>& columns) {
        for (const Column& column : columns) {
            std::string line;
            addColumns({column}, line);
            if (text.find(line) == std::string::npos) text += line;
        }
    };
    for (const auto& [what, value] : answer.figures) add({what});
    for (const Table& table : answer.tables) add(table.columns);
    return text;
}

std::string answerMarkdown(const Answer& answer) {
    std::string text;
    for (const std::string& sentence : answer.sentences)
        text += markdownSentence(sentence) + "\n\n";
    for (const auto& [what, value] : answer.figures)
        if (!value.isNone())
            text += fmt::format("- {}: {}\n", what.title, markdownText(cellText(value, what.unit)));
    for (const Table& table : answer.tables) {
        if (table.rows.empty()) continue;
        text += fmt::format("\n## {}\n\n{}", markdownSentence(table.title), tableMarkdown(table));
    }
    for (const std::string& unknown : answer.unknown)
        text += '\n' + markdownSentence(unknown) + ".\n";
    const std::string definitions = columnDefinitions(answer);
    if (!definitions.empty()) text += "\nWhat columns mean:\n\n";
    std::istringstream lines(definitions);
    for (std::string line; std::getline(lines, line);)
        text += fmt::format("- {}\n", line.substr(2));
    return text;
}

std::string explanation(const questions::Question& question, const Answer& answer) {
    std::string text = fmt::format("{}\n{}\n", question.title, question.definition);
    for (const auto& [what, value] : answer.figures) addColumns({what}, text);
    for (const Table& table : answer.tables) addColumns(table.columns, text);
    return text + fmt::format("Source: {}\n", question.source);
}

std::string questionList() {
    std::string text;
    for (const questions::Question& question : questions::allQuestions())
        text += fmt::format("  {:<15}{}\n", question.key, question.title);
    return text;
}

}  // namespace shardscope::cli

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

/// A line is cut where it gets longer than most screens are wide, and a cell never below kLeast.
constexpr std::size_t kMostLine = 160, kLeast = 72;

/// Kernels' names can be longer than a screen: beginning and end distinguish most of them.
std::string shortened(const std::string& text, std::size_t most) {
    const std::size_t end = most / 3;
    if (text.size() <= most) return text;
    const auto isInside = [&](std::size_t at) { return (text[at] & 0xC0) == 0x80; };
    std::size_t front = most - end - 3, back = text.size() - end;
    while (front > 0 && isInside(front)) --front;
    while (back < text.size() && isInside(back)) ++back;
    return text.substr(0, front) + "..." + text.substr(back);
}

std::string cellText(const Cell& cell, Unit unit) {
    if (const auto* text = cell.text()) return printableLine(demangled(*text));
    if (const auto* number = cell.real()) return quantityText(*number, unit).joined();
    const auto* whole = cell.integer();
    if (whole == nullptr) return "-";
    if (unit == Unit::kCount) return countText(*whole);
    if (unit == Unit::kNone) return fmt::format("{}", *whole);
    return quantityText(static_cast<double>(*whole), unit).joined();
}

std::string figureText(const questions::Figure& figure) {
    return shortened(cellText(figure.value, figure.what.unit), kMostLine);
}

using Texts = std::vector<std::vector<std::string>>;

/// Long cells get what the other columns leave of a line, and share it.
void shortenCells(Texts& texts) {
    constexpr std::size_t kGap = 2;
    std::size_t others = 0, longOnes = 0;
    for (std::size_t c = 0; c < texts.front().size(); ++c) {
        std::size_t width = 0;
        for (const auto& row : texts) width = std::max(width, row[c].size());
        longOnes += width > kLeast ? 1 : 0;
        others += kGap + (width > kLeast ? 0 : width);
    }
    if (longOnes == 0) return;
    const std::size_t left = kMostLine - std::min(kMostLine, others);
    const std::size_t room = std::max(kLeast, left / longOnes);
    for (auto& row : texts)
        for (std::string& cell : row) cell = shortened(cell, room);
}

/// Those that people are to see, and of which some row says something.
std::vector<std::size_t> shownColumns(const Table& table) {
    std::vector<std::size_t> shown;
    for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (table.shows(c) && (c == 0 || !table.saysNothing(c))) shown.push_back(c);
    return shown;
}

/// The header first.
Texts textsOf(const Table& table, std::size_t rows) {
    Texts texts(1);
    const std::vector<std::size_t> shown = shownColumns(table);
    for (const std::size_t c : shown) texts[0].emplace_back(table.columns[c].title);
    for (std::size_t i = 0; i < rows; ++i) {
        std::vector<std::string>& row = texts.emplace_back();
        for (const std::size_t c : shown)
            row.push_back(cellText(table.rows[i][c], table.unitOf(table.rows[i], c)));
    }
    shortenCells(texts);
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
    for (const std::size_t c : shownColumns(table))
        rule += table.columns[c].unit == Unit::kNone ? "---|" : "---:|";
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
    if (!answer.doubt.empty()) text += printableLine("Uncertain: " + answer.doubt) + ".\n";
    for (const std::string& sentence : answer.sentences) text += printableLine(sentence) + '\n';
    for (const questions::Figure& figure : answer.figures)
        if (!figure.value.isNone())
            text += fmt::format("{}: {}\n", figure.what.title, figureText(figure));
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
    if (!answer.doubt.empty()) text += markdownSentence("Uncertain: " + answer.doubt) + ".\n\n";
    for (const std::string& sentence : answer.sentences)
        text += markdownSentence(sentence) + "\n\n";
    for (const questions::Figure& figure : answer.figures)
        if (!figure.value.isNone())
            text += fmt::format("- {}: {}\n", figure.what.title, markdownText(figureText(figure)));
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

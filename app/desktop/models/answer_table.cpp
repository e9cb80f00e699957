#include "app/desktop/models/answer_table.h"

#include "app/desktop/models/format.h"

#include <QCoreApplication>
#include <algorithm>
#include <string_view>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using questions::Cell;
using questions::Unit;

constexpr int kNumberWidth = 88;
constexpr int kSpeedWidth = 112;  ///< "45.2 GFLOP/s" is long
constexpr int kTextWidth = 160;
constexpr int kLetterWidth = 8;

double sortKeyOf(const Cell& cell) {
    if (const auto* whole = cell.integer()) return static_cast<double>(*whole);
    const auto* real = cell.real();
    return real != nullptr ? *real : 0;
}

/// The number with all its digits, as scripts get it.
QString exactText(const Cell& cell, const char* key) {
    if (const auto* whole = cell.integer())
        return u"%1 = %2"_s.arg(QLatin1String(key), QString::number(*whole));
    if (const auto* real = cell.real())
        return u"%1 = %2"_s.arg(QLatin1String(key), QString::number(*real, 'g', 17));
    return {};
}

/// Numbers that name something stand as names do.
bool isNumeric(const questions::Table& table, std::size_t column) {
    const std::string_view key = table.columns[column].key;
    if (key == "rank" || key == "step" || key == "stream" || key == "layer") return false;
    return std::none_of(table.rows.begin(), table.rows.end(),
                        [column](const auto& row) { return row[column].text() != nullptr; });
}

int widthOf(std::string_view key, const QString& title, bool numeric) {
    const int named = static_cast<int>(title.size()) * kLetterWidth + kLetterWidth * 3;
    if (numeric || key == "rank" || key == "step" || key == "stream" || key == "layer")
        return std::max(named, numeric ? kNumberWidth : 0);
    return std::max(named, kTextWidth);
}

}  // namespace

QString cellText(const Cell& cell, Unit unit) {
    if (const auto* text = cell.text()) return wholeName(fromUtf8(*text));
    if (const auto* real = cell.real()) return formatQuantity(*real, unit);
    const auto* whole = cell.integer();
    if (whole == nullptr) return unknownText();
    return unit == Unit::kNone ? QString::number(*whole)
                               : formatQuantity(static_cast<double>(*whole), unit);
}

namespace {

/// Words of answers are the command line's too, which knows no Qt: they are translated here.
QString answerText(const char* words) {
    return *words == '\0' ? QString() : QCoreApplication::translate("Answer", words);
}

/// So that no figure is cut.
void widen(TableColumn& column, std::size_t at, const TableRows& rows) {
    constexpr int kFigureWidth = 7, kMargins = 16;
    for (const std::vector<TableCell>& row : rows)
        column.minimumWidth = std::max(
            column.minimumWidth, static_cast<int>(row[at].text.size()) * kFigureWidth + kMargins);
}

bool isSpeed(Unit unit) {
    return unit == Unit::kFlops || unit == Unit::kTokensPerSecond;
}

}  // namespace

AnswerTable answerTable(const questions::Table& table, std::size_t mostRows,
                        const std::vector<const char*>& keys) {
    AnswerTable shown{answerText(table.title), {}, {}, 0};
    std::vector<std::size_t> columns;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const questions::Column& column = table.columns[c];
        const bool wanted =
            keys.empty() || std::any_of(keys.begin(), keys.end(),
                                        [&](std::string_view key) { return key == column.key; });
        if (!wanted || !table.shows(c) || (c > 0 && table.saysNothing(c))) continue;
        columns.push_back(c);
        const bool numeric = isNumeric(table, c);
        const std::string_view key = column.key;
        shown.columns.push_back({answerText(column.title), answerText(column.definition), numeric,
                                 key == "name" || key == "kernel" || key == "operator", false,
                                 std::max(widthOf(key, answerText(column.title), numeric),
                                          isSpeed(column.unit) ? kSpeedWidth : 0)});
    }
    const std::size_t count =
        mostRows == 0 ? table.rows.size() : std::min(mostRows, table.rows.size());
    shown.left = table.rows.size() - count;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<TableCell> row;
        for (const std::size_t c : columns) {
            const Cell& cell = table.rows[i][c];
            row.push_back({cellText(cell, table.unitOf(table.rows[i], c)),
                           exactText(cell, table.columns[c].key), sortKeyOf(cell), Meaning::kNone});
        }
        shown.rows.push_back(std::move(row));
    }
    for (std::size_t c = 0; c < columns.size(); ++c)
        if (shown.columns[c].numeric) widen(shown.columns[c], c, shown.rows);
    return shown;
}

QString unknownSentences(const questions::Answer& answer, std::size_t most) {
    QStringList sentences;
    for (std::size_t i = 0; i < std::min(most, answer.unknown.size()); ++i) {
        QString text = fromUtf8(answer.unknown[i]);
        if (!text.isEmpty()) text[0] = text[0].toUpper();
        sentences << text + u'.';
    }
    return sentences.join(u' ');
}

const questions::Table* findTable(const questions::Answer& answer, const char* key) {
    for (const questions::Table& table : answer.tables)
        if (std::string_view(table.key) == key) return &table;
    return nullptr;
}

}  // namespace shardscope::desktop

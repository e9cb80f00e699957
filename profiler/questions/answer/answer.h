// What a question about a recording is answered with: sentences, tables, and what is unknown.
//
// A table's columns say unit and meaning of their cells, so that text, JSON, CSV and the window
// show the same figures with the same words. Pure values.
#pragma once

#include "storage/model/quantity_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::questions {

using shardscope::Unit;  ///< of the numbers in a column, as JSON and CSV give them

/// Whom a column is for. JSON and CSV have all of them.
enum class Shown : std::uint8_t {
    kAlways,
    kWhereAny,   ///< people see it only if some row has more than zero there
    kToScripts,  ///< a sum of others, kept for who reads it
};

/// Names come from static storage.
struct Column {
    const char* key;    ///< in JSON and CSV, with its unit: "idle_us"
    const char* title;  ///< for people, without it
    Unit unit = Unit::kNone;
    const char* definition = "";  ///< what it is and, of a share, of what
    Shown shown = Shown::kAlways;
};

/// A whole number, a real one, a text; or nothing: undefined here, or unknown, which is
/// null in JSON.
class Cell {
public:
    Cell() = default;
    Cell(std::int64_t value) : m_kind(Kind::kInteger), m_integer(value) {}
    Cell(double value) : m_kind(Kind::kReal), m_real(value) {}
    Cell(std::string value) : m_kind(Kind::kText), m_text(std::move(value)) {}
    Cell(const char* value) : Cell(std::string(value)) {}

    [[nodiscard]] bool isNone() const { return m_kind == Kind::kNone; }
    // Null where it is something else.
    [[nodiscard]] const std::int64_t* integer() const {
        return m_kind == Kind::kInteger ? &m_integer : nullptr;
    }
    [[nodiscard]] const double* real() const { return m_kind == Kind::kReal ? &m_real : nullptr; }
    [[nodiscard]] const std::string* text() const {
        return m_kind == Kind::kText ? &m_text : nullptr;
    }
    friend bool operator==(const Cell&, const Cell&) = default;

private:
    enum class Kind : std::uint8_t { kNone, kInteger, kReal, kText };
    Kind m_kind = Kind::kNone;
    std::int64_t m_integer = 0;
    double m_real = 0;
    std::string m_text;
};

struct Table {
    const char* key = "";    ///< in JSON
    const char* title = "";  ///< for people
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;  ///< a cell for each column

    /// Whether people are to see a column.
    [[nodiscard]] bool shows(std::size_t column) const {
        if (columns[column].shown != Shown::kWhereAny)
            return columns[column].shown == Shown::kAlways;
        return std::any_of(rows.begin(), rows.end(), [column](const std::vector<Cell>& row) {
            const std::int64_t* whole = row[column].integer();
            return whole == nullptr ? !row[column].isNone() : *whole != 0;
        });
    }
    /// Whether every row leaves it open or has "none" there: no layer, cause or phase of anything.
    [[nodiscard]] bool saysNothing(std::size_t column) const;
    /// Of a row's cell; where the row says it, what it says.
    [[nodiscard]] Unit unitOf(const std::vector<Cell>& row, std::size_t column) const;
    /// Place of the column with that key, which there is.
    [[nodiscard]] std::size_t columnAt(std::string_view wanted) const {
        std::size_t place = 0;
        while (wanted != columns[place].key) ++place;
        return place;
    }
};

/// A figure by itself.
struct Figure {
    Column what;
    Cell value;
};

struct Answer {
    const char* question = "";                                  ///< its key
    std::vector<std::pair<const char*, std::string>> settings;  ///< "mode", "hta"
    /// What limits all that follows, said before it, without a full stop; empty: nothing.
    std::string doubt;
    std::vector<std::string> sentences;  ///< the answer, shortest first
    std::vector<Figure> figures;
    std::vector<Table> tables;
    /// "<what> unknown: <what is missing>", each without a full stop.
    std::vector<std::string> unknown;

    [[nodiscard]] bool saysNothing() const {
        return sentences.empty() && figures.empty() && tables.empty() && unknown.empty();
    }
};

/// "schema": "shardscope.analyze/1"; keys are stable. Of several answers: a list under "answers".
[[nodiscard]] std::string toJson(const std::vector<Answer>& answers);

/// Every table with a header line and an empty line between tables, RFC 4180; figures first.
[[nodiscard]] std::string toCsv(const std::vector<Answer>& answers);

}  // namespace shardscope::questions

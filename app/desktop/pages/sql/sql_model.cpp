#include "app/desktop/models/format.h"
#include "app/desktop/pages/sql/sql_page.h"

#include <QObject>
#include <QRegularExpression>
#include <QSettings>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using storage::TableResult;

constexpr QLatin1StringView kGroup{"queries"};
constexpr int kNumberWidth = 144, kTextWidth = 160;

bool isNumber(TableResult::CellType type) {
    return type == TableResult::CellType::kInteger || type == TableResult::CellType::kReal;
}

/// Numbers, with or without NULL.
bool isNumeric(const TableResult& table, std::size_t column) {
    bool any = false;
    for (const auto& types : table.types) {
        if (types[column] == TableResult::CellType::kText) return false;
        any = any || isNumber(types[column]);
    }
    return any;
}

TableCell cellOf(const std::optional<std::string>& text, TableResult::CellType type) {
    if (!text) return TableCell::unknown(u"NULL"_s);
    TableCell cell{fromUtf8(*text), {}, 0, Meaning::kNone};
    if (!isNumber(type)) return cell;
    cell.sortKey = std::strtod(text->c_str(), nullptr);
    if (type == TableResult::CellType::kInteger)
        cell.exact = static_cast<std::int64_t>(std::strtoll(text->c_str(), nullptr, 10));
    else
        cell.exact = cell.sortKey;
    return cell;
}

void fill(const TableResult& table, SqlAnswer& answer) {
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
        const bool numeric = isNumeric(table, column);
        const bool code = table.columns[column] == "name";
        answer.columns.push_back({fromUtf8(table.columns[column]),
                                  {},
                                  numeric,
                                  code,
                                  false,
                                  numeric ? kNumberWidth : kTextWidth});
    }
    answer.rows.reserve(table.rows.size());
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        auto& cells = answer.rows.emplace_back();
        for (std::size_t column = 0; column < table.columns.size(); ++column)
            cells.push_back(cellOf(table.rows[row][column], table.types[row][column]));
    }
    answer.cut = table.cut;
}

}  // namespace

std::vector<int> SqlAnswer::numbers() const {
    std::vector<int> found;
    for (std::size_t column = 0; column < columns.size(); ++column)
        if (columns[column].numeric) found.push_back(static_cast<int>(column));
    return found;
}

bool SqlAnswer::isWhole(int column) const {
    return std::all_of(rows.begin(), rows.end(), [column](const auto& row) {
        return !std::holds_alternative<double>(row[static_cast<std::size_t>(column)].exact);
    });
}

QString withSelection(const QString& sql, TimeRange selected) {
    static const QRegularExpression kBegin(u":begin_ns\\b"_s), kEnd(u":end_ns\\b"_s);
    return QString(sql)
        .replace(kBegin, QString::number(selected.begin.ns))
        .replace(kEnd, QString::number(selected.end.ns));
}

Result<SqlAnswerPtr> askSql(storage::RecordingReader& reader, const QString& sql,
                            const storage::Generation& generation) {
    const auto before = std::chrono::steady_clock::now();
    const auto table = reader.query(sql.toStdString(), kMostSqlRows, generation);
    auto answer = std::make_shared<SqlAnswer>();
    if (table)
        fill(*table, *answer);
    else if (table.error().code == ErrorCode::kCancelled)
        return failure(table);
    else
        answer->error = fromUtf8(table.error().message);
    answer->seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    return SqlAnswerPtr(std::move(answer));
}

LineSeries curveOf(const SqlAnswer& answer, int x, int y) {
    LineSeries line;
    const auto all = static_cast<int>(answer.columns.size());
    if (x < 0 || y < 0 || x >= all || y >= all) return line;
    line.name = answer.columns[static_cast<std::size_t>(y)].title;
    for (const auto& row : answer.rows) {
        const TableCell& across = row[static_cast<std::size_t>(x)];
        const TableCell& up = row[static_cast<std::size_t>(y)];
        if (across.exact.index() == 0 || up.exact.index() == 0) continue;
        if (std::isfinite(across.sortKey) && std::isfinite(up.sortKey))
            line.points.push_back({across.sortKey, up.sortKey});
    }
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); });
    return line;
}

QString firstQuery() {
    return QObject::tr("Time of each step");
}

Queries exampleQueries() {
    return {{QObject::tr("Operators by time"),
             u"SELECT name, count(*) AS count, sum(duration_ns) / 1e6 AS total_ms\n"
             "FROM operators WHERE start_ns >= :begin_ns AND end_ns <= :end_ns\n"
             "GROUP BY name ORDER BY total_ms DESC LIMIT 50"_s},
            {firstQuery(),
             u"SELECT step, (max(end_ns) - min(start_ns)) / 1e6 AS ms\n"
             "FROM steps GROUP BY step ORDER BY step"_s},
            {QObject::tr("Collectives by rank"),
             u"SELECT rank, operation, count(*) AS count, sum(size_bytes) AS bytes,\n"
             "       sum(end_ns - start_ns) / 1e6 AS ms\n"
             "FROM collectives GROUP BY rank, operation ORDER BY ms DESC"_s},
            {QObject::tr("Kernels by time"),
             u"SELECT name, count(*) AS count, sum(duration_ns) / 1e6 AS total_ms,\n"
             "       max(duration_ns) / 1e3 AS longest_us\n"
             "FROM kernels GROUP BY name ORDER BY total_ms DESC LIMIT 50"_s},
            {QObject::tr("Largest allocations"),
             u"SELECT rank, step, phase, category, size_bytes, time_ns\n"
             "FROM memory_events WHERE action = 'allocate'\n"
             "ORDER BY size_bytes DESC LIMIT 100"_s},
            {QObject::tr("Metrics by step"),
             u"SELECT step, name, value FROM metrics ORDER BY name, step"_s},
            {QObject::tr("Events of each lane"),
             u"SELECT rank, lane_name, kind, count(*) AS count\n"
             "FROM events GROUP BY rank, lane_name, kind ORDER BY count DESC"_s}};
}

Queries keptQueries(const QString& file) {
    Queries kept;
    if (file.isEmpty()) return kept;
    QSettings settings(file, QSettings::IniFormat);
    const int count = settings.beginReadArray(kGroup);
    for (int i = 0; i < count; ++i) {
        settings.setArrayIndex(i);
        kept[settings.value(u"name"_s).toString()] = settings.value(u"sql"_s).toString();
    }
    return kept;
}

void keepQueries(const QString& file, const Queries& queries) {
    if (file.isEmpty()) return;
    QSettings settings(file, QSettings::IniFormat);
    settings.remove(kGroup);
    settings.beginWriteArray(kGroup, static_cast<int>(queries.size()));
    int at = 0;
    for (const auto& [name, sql] : queries) {
        settings.setArrayIndex(at++);
        settings.setValue(u"name"_s, name);
        settings.setValue(u"sql"_s, sql);
    }
    settings.endArray();
}

}  // namespace shardscope::desktop

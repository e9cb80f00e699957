// Any view as RFC 4180: CRLF, quoted where needed, quotes doubled. NULL is an empty field and an
// empty text is "". Numbers keep every digit. Rows come by rank and time, a window at a time.
#include "storage/interchange/formats.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace shardscope::interchange {
namespace {

using storage::TableResult;

struct View {
    FormatView format;
    const char* start;    ///< column of the row's time
    const char* end;      ///< of its end; the same where it has none
    const char* replace;  ///< column that SQL text would spoil, or empty
    const char* by;       ///< expression that does not, put last
};

template <auto Count>
bool hasAny(const RecordingSummary& summary) {
    return summary.events.*Count > 0;
}
bool hasSteps(const RecordingSummary& summary) {
    return !summary.steps.empty();
}
template <LaneRole Role, bool OfDevice>
bool hasLane(const RecordingSummary& summary) {
    return std::any_of(summary.lanes.begin(), summary.lanes.end(), [](const LaneFacts& lane) {
        return lane.role == Role && isStreamLane(lane.lane) == OfDevice;
    });
}

constexpr FormatView kKernels{"kernels", "one row per kernel of a device",
                              hasLane<LaneRole::kCompute, true>};
constexpr FormatView kOperators{"operators", "one row per operator or call on the host",
                                hasLane<LaneRole::kHost, false>};
constexpr FormatView kPhases{"phases", "one row per phase of a layer and step",
                             hasLane<LaneRole::kCompute, false>};
constexpr FormatView kCollectives{"collectives", "one row per collective and rank, with arrivals",
                                  hasAny<&EventCounts::collectives>};
constexpr FormatView kMemory{"memory_events", "one row per allocation and free, with its owner",
                             hasAny<&EventCounts::memory>};
constexpr FormatView kSteps{"steps", "one row per optimizer step and rank", hasSteps};
constexpr FormatView kFlows{"flows", "one row per end of an arrow between events",
                            hasAny<&EventCounts::flows>};
constexpr FormatView kInstants{"instants", "one row per moment that was marked",
                               hasAny<&EventCounts::instants>};
constexpr FormatView kCounters{"counters", "one row per sample of a counter",
                               hasAny<&EventCounts::counters>};

// A double as text of SQLite has 15 digits; an id or a blob says nothing in a spreadsheet.
constexpr View kViews[] = {
    {kKernels, "start_ns", "end_ns", "", "NULL"},
    {kOperators, "start_ns", "end_ns", "", "NULL"},
    {kPhases, "start_ns", "end_ns", "", "NULL"},
    {kCollectives, "start_ns", "end_ns", "arrivals", "hex(arrivals)"},
    {kMemory, "time_ns", "time_ns", "", "NULL"},
    {kSteps, "start_ns", "end_ns", "", "NULL"},
    {kFlows, "time_ns", "time_ns", "", "NULL"},
    {kInstants, "time_ns", "time_ns", "", "NULL"},
    {kCounters, "time_ns", "time_ns", "value", "printf('%!.20g', value)"},
};

Result<View> findView(const std::string& name) {
    for (const View& view : kViews)
        if (name == view.format.name) return view;
    return failure(ErrorCode::kUsage,
                   (name.empty() ? "csv needs a view" : "there is no view \"" + name + "\"") +
                       ": choose one of " + csvViews() + " with --view");
}

void appendCell(std::string& line, const std::optional<std::string>& cell) {
    if (!cell) return;
    if (!cell->empty() && cell->find_first_of(",\"\r\n") == std::string::npos) {
        line += *cell;
        return;
    }
    line += '"';
    for (const char c : *cell) {
        if (c == '"') line += '"';
        line += c;
    }
    line += '"';
}

/// The shortest digits that give the same double again.
std::string exactNumber(const std::string& digits) {
    const double value = std::strtod(digits.c_str(), nullptr);
    std::array<char, 40> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end.ptr};
}

/// int64 little-endian in hexadecimal, as numbers with spaces between them.
std::string numbersOf(const std::string& hex) {
    std::string text;
    for (std::size_t at = 0; at + 16 <= hex.size(); at += 16) {
        std::uint64_t value = 0;
        for (std::size_t byte = 8; byte-- > 0;) {
            unsigned part = 0;
            const char* from = hex.data() + at + 2 * byte;
            std::from_chars(from, from + 2, part, 16);
            value = value << 8 | part;
        }
        if (!text.empty()) text += ' ';
        text += std::to_string(static_cast<std::int64_t>(value));
    }
    return text;
}

class CsvExport {
public:
    CsvExport(ExportScope& scope, ExportWriter& writer, const View& view)
        : m_scope(scope), m_writer(writer), m_view(view) {}

    Result<void> rank(RankId rank) {
        const std::string of =
            " FROM " + std::string(m_view.format.name) + " WHERE " + condition(rank);
        auto extent = m_scope.reader().query("SELECT count(*), min(" + time() + "), max(" + time() +
                                             ")" + of);
        if (!extent) return failure(extent);
        if (m_rows == 0 && !m_headed) {
            if (auto headed = header(); !headed) return headed;
        }
        const auto& row = extent->rows.front();
        const std::uint64_t count = std::stoull(row[0].value_or("0"));
        if (count == 0) return {};
        const std::int64_t from = std::stoll(*row[1]), to = std::stoll(*row[2]);
        const auto parts = static_cast<std::int64_t>(1 + count / (kMostRows / 2));
        const std::int64_t width = (to - from) / parts + 1;
        for (std::int64_t at = from; at <= to; at += width)
            if (auto done = window(of, {{at}, {at + width}}); !done) return done;
        return {};
    }
    [[nodiscard]] std::uint64_t rows() const { return m_rows; }

private:
    static constexpr std::size_t kMostRows = 60'000;  ///< in memory at a time

    [[nodiscard]] std::string time() const { return m_view.start; }

    [[nodiscard]] std::string condition(RankId rank) const {
        const TimeRange range = m_scope.range(rank);
        const std::string begin = std::to_string(range.begin.ns);
        const std::string end = m_view.end;
        // Looser first: that is what the virtual table skips chunks by.
        return "rank=" + std::to_string(rank.value) + " AND " + end + ">=" + begin + " AND (" +
               end + ">" + begin + " OR " + time() + ">=" + begin + ") AND " + time() + "<" +
               std::to_string(range.end.ns);
    }
    Result<void> header() {
        auto table =
            m_scope.reader().query(select(" FROM " + std::string(m_view.format.name)) + " LIMIT 0");
        if (!table) return failure(table);
        std::string line;
        for (std::size_t i = 0; i + 1 < table->columns.size(); ++i) {
            if (i > 0) line += ',';
            appendCell(line, table->columns[i]);
        }
        m_writer.write(line + "\r\n");
        m_headed = true;
        return {};
    }
    [[nodiscard]] std::string select(const std::string& of) const {
        return "SELECT *, " + std::string(m_view.by) + of;
    }
    Result<void> window(const std::string& of, TimeRange part) {
        const bool divisible = part.duration().ns > 1;
        auto table = m_scope.reader().query(
            select(of) + " AND " + time() + ">=" + std::to_string(part.begin.ns) + " AND " +
            time() + "<" + std::to_string(part.end.ns) + " ORDER BY " + time() +
            (divisible ? " LIMIT " + std::to_string(kMostRows + 1) : ""));
        if (!table) return failure(table);
        if (divisible && table->rows.size() > kMostRows) {
            *table = {};
            const Timestamp middle{part.begin.ns + part.duration().ns / 2};
            if (auto done = window(of, {part.begin, middle}); !done) return done;
            return window(of, {middle, part.end});
        }
        write(*table);
        return m_scope.advance(table->rows.size());
    }
    void write(TableResult& table) {
        const std::string_view replaced = m_view.replace;
        std::string line;
        for (auto& row : table.rows) {
            line.clear();
            for (std::size_t i = 0; i + 1 < row.size(); ++i) {
                if (i > 0) line += ',';
                if (!replaced.empty() && table.columns[i] == replaced && row.back())
                    row[i] =
                        replaced == "value" ? exactNumber(*row.back()) : numbersOf(*row.back());
                appendCell(line, row[i]);
            }
            line += "\r\n";
            m_writer.write(line);
        }
        m_rows += table.rows.size();
    }

    ExportScope& m_scope;
    ExportWriter& m_writer;
    View m_view;
    bool m_headed = false;
    std::uint64_t m_rows = 0;
};

}  // namespace

std::vector<FormatView> csvViewList() {
    std::vector<FormatView> views;
    for (const View& view : kViews) views.push_back(view.format);
    return views;
}

std::string csvViews() {
    std::string names;
    for (const View& view : kViews)
        names.append(names.empty() ? "" : ", ").append(view.format.name);
    return names;
}

Result<ExportAccount> exportCsv(storage::RecordingReader& reader, const ExportOptions& options) {
    auto view = findView(options.view);
    if (!view) return failure(view);
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    auto writer = ExportWriter::open(outputOf(options, kCsvFile));
    if (!writer) return failure(writer);
    CsvExport csv(*scope, *writer, *view);
    for (const RankId rank : scope->ranks())
        if (auto done = csv.rank(rank); !done) return failure(done, "exporting csv");
    if (auto done = writer->finish(); !done) return failure(done);
    return ExportAccount{csv.rows(), {options.output}, {}};
}

Format csvFormat() {
    return {.name = "csv",
            .file = "comma-separated values",
            .writes = "rows of a view",
            .option = "--view",
            .ending = ".csv",
            .views = csvViewList(),
            .write = exportCsv};
}

}  // namespace shardscope::interchange

#include "app/desktop/pages/operators/operators_model.h"

#include "app/desktop/models/format.h"
#include "storage/model/rank_facts.h"

#include <QObject>
#include <algorithm>
#include <cmath>
#include <string_view>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using questions::StackKind;
using questions::Table;

constexpr qsizetype kHeadlineName = 56;
constexpr double kGiga = 1e9;

QString shortName(const QString& name) {
    if (name.size() <= kHeadlineName) return name;
    const qsizetype half = kHeadlineName / 2;
    return name.left(half) + QChar(0x2026) + name.right(half - 1);
}

const Table* mostDetailed(const WorkFrame& frame) {
    const Table* kernels = findTable(frame.work, "kernels");
    return kernels != nullptr ? kernels : findTable(frame.work, "operators");
}

std::int64_t whole(const Table& table, std::size_t row, const char* column) {
    const auto* value = table.rows[row][table.columnAt(column)].integer();
    return value != nullptr ? *value : 0;
}

double number(const questions::Cell& cell) {
    if (const auto* real = cell.real()) return *real;
    const auto* integer = cell.integer();
    return integer != nullptr ? static_cast<double>(*integer) : 0;
}

std::int64_t sumOf(const Table& table, const char* column) {
    std::int64_t sum = 0;
    for (std::size_t row = 0; row < table.rows.size(); ++row) sum += whole(table, row, column);
    return sum;
}

struct KernelTime {
    std::int64_t copies = 0, all = 0;  ///< ns; kernels and copies of all streams
};
/// As the flame graph of kernels and copies counts it.
KernelTime kernelTime(const WorkFrame& frame) {
    KernelTime time;
    const Table* types = findTable(frame.work, "types");
    for (std::size_t row = 0; types != nullptr && row < types->rows.size(); ++row) {
        const std::int64_t total = whole(*types, row, "total_ns");
        const std::string* type = types->rows[row][types->columnAt("type")].text();
        if (type != nullptr && *type == "copies") time.copies += total;
        time.all += total;
    }
    return time;
}

const char* wordOf(const Table& table) {
    return std::string_view(table.key) == "kernels" ? "kernels" : "operators";
}

struct Shown {
    const char* key;
    bool ofLaunches;
    std::vector<StackKind> kinds;
};

const std::vector<Shown>& shownTables() {
    static const std::vector<Shown> kShown{
        {"kernels", false, {StackKind::kKernels}},
        {"operators", false, {StackKind::kOperators, StackKind::kPython}},
        {"types", false, {}},
        {"layers", false, {}},
        {"parts", false, {}},
        {"collectives", false, {}},
        {"products", false, {}},
        {"roofline", false, {}},
        {"idle", true, {}},
        {"calls", true, {}},
        {"queues", true, {}}};
    return kShown;
}

const questions::Figure* figureOf(const questions::Answer& answer, std::string_view key) {
    for (const questions::Figure& figure : answer.figures)
        if (key == figure.what.key) return &figure;
    return nullptr;
}

std::optional<double> valueOf(const questions::Answer& answer, std::string_view key) {
    const questions::Figure* figure = figureOf(answer, key);
    return figure == nullptr ? std::nullopt : std::optional(number(figure->value));
}

void addProducts(const Table& table, Roofline& roofline) {
    LineSeries products{QObject::tr("matrix products"), {}, Meaning::kCompute, true, false};
    const std::size_t intensity = table.columnAt("intensity"),
                      achieved = table.columnAt("flops_per_s");
    for (const auto& row : table.rows)
        if (!row[intensity].isNone())
            products.points.append({number(row[intensity]), number(row[achieved]) / kGiga});
    std::sort(products.points.begin(), products.points.end(),
              [](QPointF a, QPointF b) { return a.x() < b.x(); });
    roofline.lines.push_back(std::move(products));
}

void addRoofs(std::optional<double> peak, std::optional<double> bandwidth, Roofline& roofline) {
    const QVector<QPointF>& points = roofline.lines.front().points;
    roofline.low = points.front().x() / 2;
    roofline.high = points.back().x() * 2;
    const bool hasRidge = peak && bandwidth;
    const double ridge = hasRidge ? *peak / *bandwidth : 0;
    if (hasRidge) {
        roofline.low = std::min(roofline.low, ridge / 4);
        roofline.high = std::max(roofline.high, ridge * 4);
    }
    const auto roof = [&](const QString& name, double from, double to, const auto& height) {
        LineSeries line{name, {{from, height(from)}, {to, height(to)}}, Meaning::kTheory};
        line.dashed = true;
        roofline.lines.push_back(std::move(line));
    };
    if (bandwidth)
        roof(QObject::tr("memory bandwidth"), roofline.low, hasRidge ? ridge : roofline.high,
             [&](double x) { return x * *bandwidth / kGiga; });
    if (peak)
        roof(QObject::tr("peak"), hasRidge ? ridge : roofline.low, roofline.high,
             [&](double) { return *peak / kGiga; });
}

}  // namespace

bool hasWork(const WorkFrame& frame) {
    return mostDetailed(frame) != nullptr;
}

QString workHeadline(const WorkFrame& frame) {
    const Table* table = mostDetailed(frame);
    if (!frame.part->refusal.isEmpty()) return frame.part->refusal;
    if (table == nullptr) return QObject::tr("Neither operators nor kernels were recorded");
    const bool kernels = wordOf(*table) == std::string_view("kernels");
    const KernelTime time = kernelTime(frame);
    const std::int64_t self = whole(*table, 0, "self_ns");
    const std::int64_t all = kernels && time.copies > 0 ? time.all : sumOf(*table, "self_ns");
    const QString name =
        shortName(wholeName(fromUtf8(*table->rows[0][table->columnAt("name")].text())));
    const QString ofWhat = !kernels          ? QObject::tr("the operators' self time")
                           : time.copies > 0 ? QObject::tr("the time of kernels and copies")
                                             : QObject::tr("all kernels' time");
    if (all <= 0) return QObject::tr("%1 is first of %2").arg(name, ofWhat);
    if (kernels && time.copies > self)
        return QObject::tr("Copies take %1 of %2: %3 of %4; the first of the kernels is %5 with %6")
            .arg(formatPercent(static_cast<double>(time.copies) / static_cast<double>(all)), ofWhat,
                 formatDuration({time.copies}), formatDuration({all}), name,
                 formatDuration({self}));
    return QObject::tr("%1 takes %2 of %3: %4 of %5")
        .arg(name, formatPercent(static_cast<double>(self) / static_cast<double>(all)), ofWhat,
             formatDuration({self}), formatDuration({all}));
}

QString workSubline(const WorkFrame& frame) {
    QStringList parts;
    for (const char* key : {"kernels", "operators"}) {
        const Table* table = findTable(frame.work, key);
        if (table == nullptr) {
            parts << QObject::tr("no %1 recorded").arg(QLatin1StringView(key));
            continue;
        }
        const auto names = std::ssize(table->rows);
        parts << QObject::tr("%1 %2 of %3, %4 in all")
                     .arg(formatCount(sumOf(*table, "count")), QLatin1StringView(key),
                          names == 1 ? QObject::tr("one name")
                                     : QObject::tr("%1 names").arg(formatCount(names)),
                          formatDuration({sumOf(*table, "self_ns")}));
    }
    const auto ranks = std::ssize(frame.part->summary->ranks);
    parts << (ranks == 1 ? QObject::tr("1 rank")
                         : QObject::tr("%1 ranks together").arg(formatCount(ranks)));
    return parts.join(u" · "_s);
}

namespace {

/// Of kernels and of operators; the rest follows from these.
constexpr std::size_t kWhyNoWork = 2;
constexpr std::size_t kMostUnknown = 4;

}  // namespace

QString unknownText(const questions::Answer& answer) {
    const QString text = unknownSentences(answer, kMostUnknown);
    const auto others = std::ssize(answer.unknown) - static_cast<std::ptrdiff_t>(kMostUnknown);
    return others <= 0 ? text
                       : text + QObject::tr(" And %1 more of the kind.").arg(formatCount(others));
}

QString notesText(const questions::Answer& answer) {
    QStringList notes;
    for (const std::string& sentence : answer.sentences) notes << fromUtf8(sentence);
    if (!answer.unknown.empty()) notes << unknownText(answer);
    return notes.join(u' ');
}

QString noWorkText(const WorkFrame& frame) {
    return unknownSentences(frame.work, kWhyNoWork);
}

std::vector<WorkTable> workTables(const WorkFrame& frame) {
    std::vector<WorkTable> tables;
    for (const Shown& shown : shownTables()) {
        const Table* table = findTable(shown.ofLaunches ? frame.launches : frame.work, shown.key);
        if (table == nullptr || table->rows.empty()) continue;
        WorkTable made{shown.key, answerTable(*table), shown.kinds, {}};
        if (!shown.kinds.empty())
            for (const auto& row : table->rows)
                made.names << fromUtf8(*row[table->columnAt("name")].text());
        tables.push_back(std::move(made));
    }
    return tables;
}

std::vector<TableColumn> edgeColumns(const QString& title) {
    return {{title, {}, false, true, false, 160},
            {QObject::tr("time"), QObject::tr("With what ran within."), true, false, false, 88},
            {QObject::tr("of total"), QObject::tr("Time / the total of the selection above."), true,
             false, false, 80},
            {QObject::tr("count"), QObject::tr("Spans."), true, false, false, 80}};
}

namespace {

std::vector<TableCell> edgeRow(const QString& name, Duration time, Duration all,
                               std::int64_t count) {
    const double share =
        all.ns > 0 ? static_cast<double>(time.ns) / static_cast<double>(all.ns) : 0;
    return {TableCell::ofText(name), TableCell::of(time), TableCell::of(Share{share}),
            TableCell::ofCount(count)};
}

}  // namespace

TableRows edgeRows(const analysis::CallTree& tree, const analysis::CallsOf& calls,
                   const std::vector<analysis::CallEdge>& edges) {
    TableRows rows;
    for (const analysis::CallEdge& edge : edges)
        rows.push_back(
            edgeRow(edge.name == 0 ? QObject::tr("(outermost)") : fromUtf8(tree.names()[edge.name]),
                    edge.total, calls.total, edge.count));
    return rows;
}

std::vector<TableCell> ownRow(const analysis::CallsOf& calls) {
    return edgeRow(QObject::tr("(itself)"), calls.self, calls.total, calls.count);
}

std::vector<LineSeries> queueLines(const std::vector<questions::StreamQueue>& queues) {
    static constexpr Meaning kLineMeanings[] = {Meaning::kCompute,         Meaning::kGather,
                                                Meaning::kReduction,       Meaning::kCopy,
                                                Meaning::kOtherCollective, Meaning::kHost};
    std::vector<LineSeries> lines;
    for (const questions::StreamQueue& queue : queues) {
        LineSeries line{
            QObject::tr("rank %1, %2").arg(queue.rank.value).arg(fromUtf8(queue.stream)),
            {},
            kLineMeanings[lines.size() % std::size(kLineMeanings)]};
        double before = 0;
        for (const analysis::QueueSample& sample : queue.samples) {
            const double time = sample.time.seconds();
            line.points.append({time, before});
            before = static_cast<double>(sample.length);
            line.points.append({time, before});
        }
        line.points = decimated(line.points, kChartPointLimit);
        lines.push_back(std::move(line));
    }
    return lines;
}

std::optional<Roofline> rooflineOf(const questions::Answer& work) {
    const Table* table = findTable(work, "roofline");
    if (table == nullptr) return std::nullopt;
    Roofline roofline;
    addProducts(*table, roofline);
    if (roofline.lines.front().points.isEmpty()) return std::nullopt;
    const auto peak = valueOf(work, "roof_flops"), bandwidth = valueOf(work, "roof_bandwidth");
    addRoofs(peak, bandwidth, roofline);
    roofline.note = QObject::tr(
        "FLOPs and least bytes from shapes: the intensity is estimated, "
        "an upper bound.");
    if (peak) {
        roofline.note += QObject::tr(" Peak %1").arg(formatSi(*peak, u"FLOP/s"_s));
        const questions::Figure* source = figureOf(work, "roof_flops_source");
        if (source != nullptr) roofline.note += u" ("_s + fromUtf8(*source->value.text()) + u')';
        roofline.note += u'.';
    } else {
        roofline.note += QObject::tr(" No peak was measured: its roof is not drawn.");
    }
    roofline.note +=
        bandwidth
            ? QObject::tr(" Memory bandwidth %1, data sheet.").arg(formatSi(*bandwidth, u"B/s"_s))
            : QObject::tr(" The memory bandwidth is not known: its roof is not drawn.");
    return roofline;
}

}  // namespace shardscope::desktop

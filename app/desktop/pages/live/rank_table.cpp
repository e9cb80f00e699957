#include "app/desktop/pages/live/rank_table.h"

#include "app/desktop/models/format.h"

#include <QObject>
#include <QStringList>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Shorter ones are how training goes.
constexpr double kLongPhaseSeconds = 1;

bool isRunning(const LiveRank& rank) {
    return rank.state == u"running"_s || rank.state == u"starting"_s;
}

QString why(const LiveRank& rank) {
    if (rank.state == u"starting"_s) return u"The rank is starting."_s;
    if (rank.figures) return u"The rank has not reported it yet."_s;
    return u"The rank has not reported it yet; recorders of earlier versions do not report "
           u"it."_s;
}

TableCell stateCell(const LiveRank& rank) {
    const QString mark = rank.state == u"failed"_s || rank.state == u"killed"_s ? u"■ "_s
                         : rank.state == u"finished"_s                          ? u"✓ "_s
                         : rank.state == u"running"_s                           ? u"● "_s
                                                                                : u"○ "_s;
    TableCell cell = TableCell::ofText(mark + rank.state);
    cell.alarms = rank.state == u"failed"_s || rank.state == u"killed"_s;
    return cell;
}

TableCell stepCell(const LiveRank& rank) {
    if (!rank.figures || !rank.figures->step) return TableCell::unknown(why(rank));
    return TableCell::ofCount(*rank.figures->step);
}

TableCell speedCell(const LiveRank& rank) {
    if (!rank.figures || !rank.figures->tokensPerSecond) return TableCell::unknown(why(rank));
    TableCell cell = TableCell::ofText(formatNumber(*rank.figures->tokensPerSecond));
    cell.sortKey = *rank.figures->tokensPerSecond;
    cell.exact = *rank.figures->tokensPerSecond;
    cell.tip = u"%1 tokens/s of this rank, over its last %2 steps"_s.arg(
        formatNumber(*rank.figures->tokensPerSecond, 6), formatCount(rank.figures->stepsCounted));
    return cell;
}

TableCell memoryCell(const LiveRank& rank, std::optional<Bytes> memory) {
    if (!isRunning(rank)) return TableCell::unknown(u"The process has ended."_s);
    return memory ? TableCell::of(*memory) : TableCell::unknown(why(rank));
}

/// What a phase does, for a sentence about a rank.
QString verb(Phase phase, const QString& word) {
    switch (phase) {
        case Phase::kWaitGather:
            return u"waits for gather"_s;
        case Phase::kWaitReduction:
            return u"waits for reduction"_s;
        case Phase::kWaitOther:
            return u"waits in a collective"_s;
        case Phase::kEvaluation:
            return u"validation"_s;
        case Phase::kSample:
            return u"writes a sample"_s;
        case Phase::kData:
            return u"builds the batch"_s;
        case Phase::kClip:
            return u"clips gradients"_s;
        case Phase::kCheckpoint:
            return u"writes a checkpoint"_s;
        default:
            return word;
    }
}

QString phaseText(const run::RankFigures& figures) {
    if (figures.phase.empty()) return figures.step ? u"between phases"_s : u"prepares"_s;
    const auto phase = fromWord<Phase>(figures.phase).value_or(Phase::kNone);
    QString text = verb(phase, fromUtf8(figures.phase));
    if (figures.queues && !figures.waits) text = u"queues "_s + text;
    if (figures.layer) text += u", "_s + formatLayer({static_cast<std::int16_t>(*figures.layer)});
    if (figures.phaseSeconds && *figures.phaseSeconds >= kLongPhaseSeconds)
        text +=
            u", for "_s + formatDuration({static_cast<std::int64_t>(*figures.phaseSeconds * 1e9)});
    return text;
}

TableCell rankCell(int number, const LiveRank& rank) {
    TableCell cell = TableCell::ofCount(number);
    cell.tip = rank.pid > 0 ? u"rank %1, process %2"_s.arg(number).arg(rank.pid)
                            : u"rank %1, no process yet"_s.arg(number);
    return cell;
}

TableCell processCell(const LiveRank& rank) {
    if (rank.pid <= 0) return TableCell::unknown(u"Its process has not started."_s);
    TableCell cell = TableCell::ofText(QString::number(rank.pid));
    cell.sortKey = static_cast<double>(rank.pid);
    return cell;
}

std::vector<TableColumn> columnsOf(bool narrow) {
    std::vector<TableColumn> columns{
        {QObject::tr("rank"), QObject::tr("Rank; its process on hover."), true, false, false, 46},
        {QObject::tr("state"), QObject::tr("As the recorder sees its process."), false, false,
         false, 92},
        {QObject::tr("step"),
         QObject::tr("The step in hand, or the last one, counted from 0 as in the charts."), true,
         false, false, narrow ? 56 : 72},
        {QObject::tr("tok/s"),
         QObject::tr(
             "Tokens that this rank trained on, by the time of its last steps, ten at most."),
         true, false, false, narrow ? 60 : 72},
        {QObject::tr("tensors"),
         QObject::tr(
             "Bytes in live blocks of the rank's tensor allocator (of its device, on a GPU) and in "
             "communication buffers, at that moment."),
         true, false, false, narrow ? 80 : 84}};
    if (!narrow) {
        columns.push_back(
            {QObject::tr("resident"),
             QObject::tr("Resident set of the rank's process on its host, at that moment."), true,
             false, false, 84});
        columns.push_back({QObject::tr("process"), QObject::tr("Process id on its host."), true,
                           false, true, 80});
    }
    columns.push_back(
        {QObject::tr("now"),
         QObject::tr("Activity of its step thread, sampled about once per second. On a GPU: what "
                     "the host queues; the device lags behind it."),
         false, false, false, narrow ? 120 : 200});
    return columns;
}

}  // namespace

TableCell phaseCell(const LiveRank& rank, std::int64_t nowMs) {
    if (rank.state == u"finished"_s) return TableCell::unknown(u"The rank has finished."_s);
    if (!rank.figures) return TableCell::unknown(why(rank));
    const QString last = phaseText(*rank.figures);
    if (!isRunning(rank)) {
        TableCell cell = TableCell::ofText(u"last: "_s + last);
        cell.tip = u"Last reported activity: %1"_s.arg(last);
        return cell;
    }
    if (nowMs - rank.heardMs > kSilentMs) {
        const QString silence = formatDuration({(nowMs - rank.heardMs) / 1000 * 1'000'000'000});
        TableCell cell = TableCell::ofText(u"silent for %1"_s.arg(silence));
        cell.alarms = true;
        cell.tip =
            u"It reports its activity every second, but has not done so for %1. Last: %2"_s.arg(
                silence, last);
        return cell;
    }
    const auto phase = fromWord<Phase>(rank.figures->phase);
    TableCell cell = TableCell::ofText(last, phase ? meaningOf(*phase) : Meaning::kNone);
    cell.tip = last;
    return cell;
}

RankTable rankTable(const std::map<int, LiveRank>& ranks, std::int64_t nowMs, bool narrow) {
    RankTable table{columnsOf(narrow), {}};
    for (const auto& [number, rank] : ranks) {
        const auto figures = rank.figures.value_or(run::RankFigures{});
        std::vector<TableCell> row{rankCell(number, rank), stateCell(rank), stepCell(rank),
                                   speedCell(rank), memoryCell(rank, figures.tensors)};
        if (!narrow) {
            row.push_back(memoryCell(rank, figures.residentSet));
            row.push_back(processCell(rank));
        } else if (figures.residentSet && isRunning(rank)) {
            row.back().tip = u"%1 in tensors, %2 resident"_s.arg(row.back().text,
                                                                 formatBytes(*figures.residentSet));
        }
        row.push_back(phaseCell(rank, nowMs));
        table.rows.push_back(std::move(row));
    }
    return table;
}

namespace {

/// Of a program's rank, which says nothing but its steps; the rest is its process's.
TableCell knownCell(const LiveRank& rank, std::optional<double> value, const QString& text,
                    const QString& why) {
    if (!value) return TableCell::unknown(why);
    TableCell cell = TableCell::ofText(text);
    cell.sortKey = *value;
    cell.exact = *value;
    if (!isRunning(rank)) cell.tip = u"The last that was known."_s;
    return cell;
}

TableCell stepTimeCell(const LiveRank& rank) {
    const auto seconds = rank.figures ? rank.figures->stepSeconds : std::nullopt;
    TableCell cell = knownCell(
        rank, seconds, formatDuration({static_cast<std::int64_t>(seconds.value_or(0) * 1e9)}),
        u"No step of it has ended yet."_s);
    if (seconds && cell.tip.isEmpty())
        cell.tip = u"mean of its last %1 steps"_s.arg(formatCount(rank.figures->stepsCounted));
    return cell;
}

TableCell coresCell(const LiveRank& rank) {
    if (!isRunning(rank)) return TableCell::unknown(u"The process has ended."_s);
    const auto cores = rank.figures ? rank.figures->cores : std::nullopt;
    return knownCell(rank, cores, formatNumber(cores.value_or(0)),
                     u"It has not been looked at twice yet."_s);
}

std::vector<TableColumn> programColumns(bool narrow) {
    std::vector<TableColumn> columns{
        {QObject::tr("rank"), QObject::tr("As the program numbers it."), true, false, false, 46},
        {QObject::tr("step"), QObject::tr("The last that has ended, counted from 0."), true, false,
         false, narrow ? 56 : 72},
        {QObject::tr("step time"), QObject::tr("Mean of its last steps, ten at most."), true, false,
         false, 84},
        {QObject::tr("resident"), QObject::tr("Resident set of its process, at that moment."), true,
         false, false, 84},
        {QObject::tr("cores"),
         QObject::tr("Processor time of its process per time, over the last second."), true, false,
         false, 64}};
    if (!narrow)
        columns.push_back(
            {QObject::tr("process"), QObject::tr("Process id."), true, false, true, 80});
    columns.push_back({QObject::tr("state"), QObject::tr("As the recorder sees its process."),
                       false, false, false, 92});
    return columns;
}

}  // namespace

RankTable programRankTable(const std::map<int, LiveRank>& ranks, bool narrow) {
    RankTable table{programColumns(narrow), {}};
    for (const auto& [number, rank] : ranks) {
        const bool stepped = rank.figures && rank.figures->step;
        std::vector<TableCell> row{
            rankCell(number, rank),
            stepped ? stepCell(rank) : TableCell::unknown(u"No step of it has ended yet."_s),
            stepTimeCell(rank),
            memoryCell(rank, rank.figures ? rank.figures->residentSet : std::nullopt),
            coresCell(rank)};
        if (!narrow) row.push_back(processCell(rank));
        row.push_back(stateCell(rank));
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace shardscope::desktop

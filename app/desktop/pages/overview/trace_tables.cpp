#include "app/desktop/pages/overview/trace_tables.h"

#include "app/desktop/loading/part_loader.h"
#include "profiler/questions/question.h"
#include "storage/model/rank_facts.h"

#include <QObject>
#include <algorithm>
#include <string_view>

namespace shardscope::desktop {
namespace {

constexpr std::size_t kMostRows = 12;

struct Asking {
    const char* question;
    std::vector<const char*> tables;   ///< by key; none: all
    std::vector<const char*> columns;  ///< of those tables that have a name, by key; none: all
};

const std::vector<Asking>& askings(TraceTables wanted) {
    static const std::vector<Asking> kCopies{{"work", {"copies"}, {}}};
    if (wanted == TraceTables::kCopies) return kCopies;
    static const std::vector<Asking> kAsked{
        {"breakdown", {}, {}},
        {"work",
         {"copies", "kernels", "operators", "collectives", "products", "parts"},
         {"name", "count", "bytes", "total_ns", "self_ns", "share_pct", "bytes_per_s", "mean_ns",
          "longest_ns"}},
        {"launches", {"idle"}, {}},
        {"memory", {"owners"}, {}}};
    return kAsked;
}

bool isWanted(const Asking& asking, const questions::Table& table) {
    return !table.rows.empty() &&
           (asking.tables.empty() ||
            std::any_of(asking.tables.begin(), asking.tables.end(),
                        [&](std::string_view key) { return key == table.key; }));
}

/// Tables that are not of names have their own columns.
std::vector<const char*> columnsOf(const Asking& asking, const questions::Table& table) {
    const bool named = std::string_view(table.columns.front().key) == "name";
    return named ? asking.columns : std::vector<const char*>();
}

using namespace Qt::StringLiterals;
using analysis::DeviceUse;

TableCell cell(const QString& text, const QString& tip = {}, double key = 0,
               Meaning swatch = Meaning::kNone) {
    return {text, tip, key, swatch};
}

TableCell peakCell(const std::optional<double>& peak, const std::string& source) {
    return cell(peak ? formatSi(*peak, u"FLOP/s"_s) : u"n/a"_s, fromUtf8(source),
                peak.value_or(-1));
}

/// A time with its share of the training time that `use` is about.
TableCell timeCell(const DeviceUse& use, Duration part, const QString& why) {
    if (!use.traced) return cell(unknownText(), why, -1);
    const Duration whole = use.whole();
    const double share =
        whole.ns > 0 ? static_cast<double>(part.ns) / static_cast<double>(whole.ns) : 0;
    return cell(formatPercent(share),
                u"%1 of %2"_s.arg(formatDuration(part), formatDuration(whole)), share);
}

TableCell energyCell(const std::optional<double>& joules) {
    if (!joules) {
        return cell(unknownText(),
                    u"the driver's energy counter was not recorded over a whole step"_s, -1);
    }
    return cell(formatSi(*joules, u"J"_s), u"%1 J"_s.arg(formatNumber(*joules, 6)), *joules);
}

TableCell overlapCell(const DeviceUse& use, const QString& why) {
    if (!use.traced) return cell(unknownText(), why, -1);
    const auto overlap = use.overlap();
    if (!overlap) return cell(unknownText(), u"no communication kernel ran"_s, -1);
    return cell(formatPercent(*overlap),
                u"%1 of %2 behind compute kernels"_s.arg(formatDuration(use.hidden),
                                                         formatDuration(use.communication)),
                *overlap);
}

TableCell memoryCell(Bytes memory) {
    if (memory.count == 0) return cell(unknownText(), u"the recording does not say it"_s, -1);
    return cell(formatBytes(memory), u"%1 B"_s.arg(formatCount(memory.count)),
                static_cast<double>(memory.count));
}

QString whyNone(const DeviceUse& use) {
    const QString tracing = fromUtf8(use.device.tracing);
    if (tracing.isEmpty()) return u"kernels were not traced"_s;
    return tracing.startsWith(u"not traced"_s)
               ? tracing
               : u"no kernel was recorded, although traced by %1"_s.arg(tracing);
}

}  // namespace

Result<std::vector<AnswerTable>> readTraceTables(storage::RecordingReader& reader,
                                                 const SelectedPart& part, TraceTables wanted) {
    std::vector<AnswerTable> shown;
    if (!part.refusal.isEmpty()) return shown;
    const questions::Selection selection = askedSelection(part.selection);
    for (const Asking& asking : askings(wanted)) {
        questions::Asked asked{reader, *part.summary, selection};
        const questions::Question* question = questions::findQuestion(asking.question);
        if (question == nullptr) continue;
        const auto answer = questions::answerTo(*question, asked);
        if (!answer) return failure(answer);
        for (const questions::Table& table : answer->tables)
            if (isWanted(asking, table))
                shown.push_back(answerTable(table, kMostRows, columnsOf(asking, table)));
    }
    return shown;
}

QString untracedText(const SelectedPart& part) {
    for (const DeviceUse& use : part.report->devices) {
        if (!use.traced) return whyNone(use);
    }
    return {};
}

std::vector<TableColumn> deviceColumns() {
    return {
        {QObject::tr("rank"), {}, false, false, false, 48},
        {QObject::tr("device"), QObject::tr("with how many ranks of the run share it"), false, true,
         false, 176},
        {QObject::tr("memory"), {}, true, false, false, 80},
        {QObject::tr("driver"), {}, true, false, false, 92},
        {QObject::tr("data sheet"),
         QObject::tr(
             "dense peak at the run's precision, as the vendor states it; what MFU divides by"),
         true, false, false, 104},
        {QObject::tr("measured"),
         QObject::tr("what matrix products of the run's own shapes reached before the first step"),
         true, false, false, 104}};
}

std::vector<std::vector<TableCell>> deviceRows(const SelectedPart& part) {
    std::vector<std::vector<TableCell>> rows;
    for (const DeviceFacts& device : part.summary->devices) {
        QString name = device.name.empty() ? u"not named"_s : fromUtf8(device.name);
        if (device.sharedBy > 1) name += u" · shared by %1"_s.arg(device.sharedBy);
        if (device.mig) name += u" · MIG slice"_s;
        const QString tip = u"%1\n%2 at %3\nattention by %4\ntracing: %5"_s.arg(
            name, fromUtf8(device.uuid), fromUtf8(device.pciBusId), fromUtf8(device.attention),
            fromUtf8(device.tracing));
        rows.push_back({cell(QString::number(device.rank.value), {}, device.rank.value),
                        cell(name, tip), memoryCell(device.memory),
                        cell(device.driver.empty() ? unknownText() : fromUtf8(device.driver),
                             device.driver.empty() ? u"NVML did not say"_s : QString()),
                        peakCell(device.vendorPeak, device.vendorPeakSource),
                        peakCell(device.measuredPeak, device.measuredPeakSource)});
    }
    return rows;
}

std::vector<TableColumn> deviceTimeColumns() {
    return {
        {QObject::tr("rank"), {}, false, false, false, 44},
        {QObject::tr("compute"),
         QObject::tr("a compute kernel runs, of training time; kernels that run at the same time "
                     "count once"),
         true, false, false, 76},
        {QObject::tr("communication"),
         QObject::tr("a communication kernel runs, including waiting for peers inside it"), true,
         false, false, 108},
        {QObject::tr("overlap"),
         QObject::tr(
             "time of communication kernels hidden behind compute kernels, divided by all time of "
             "communication kernels "
             "(HTA's definition: hta/analyzers/communication_analysis.py)"),
         true, false, false, 72},
        {QObject::tr("copies"),
         QObject::tr("memory is copied or set with no kernel beside it, of training time"), true,
         false, false, 72},
        {QObject::tr("idle"), QObject::tr("neither a kernel nor a copy, of training time"), true,
         false, false, 60},
        {QObject::tr("energy per step"),
         QObject::tr("of the whole device, from the driver's sampled counter"), true, false, false,
         116},
        {QObject::tr("energy per token"),
         QObject::tr("energy of the device divided by this rank's tokens"), true, false, false,
         124},
        {QObject::tr("kernels"), QObject::tr("of the whole recording"), false, false, true, 64}};
}

std::vector<std::vector<TableCell>> deviceTimeRows(const SelectedPart& part) {
    std::vector<std::vector<TableCell>> rows;
    for (const DeviceUse& use : part.report->devices) {
        const QString why = whyNone(use);
        rows.push_back({cell(QString::number(use.device.rank.value), {}, use.device.rank.value),
                        timeCell(use, use.compute, why), timeCell(use, use.communication, why),
                        overlapCell(use, why), timeCell(use, use.copies, why),
                        timeCell(use, use.unused(), why), energyCell(use.joulesPerStep),
                        energyCell(use.joulesPerToken),
                        cell(formatCount(use.kernels), {}, static_cast<double>(use.kernels))});
    }
    return rows;
}

QString deviceTimeNote(const SelectedPart& part) {
    const auto& devices = part.report->devices;
    if (devices.empty()) return {};
    if (const QString why = untracedText(part); !why.isEmpty())
        return u"No kernel times: %1."_s.arg(why);
    QString note =
        u"Traced by %1. Overlap as HTA defines it: time of communication kernels hidden "
        u"behind compute kernels, divided by all time of communication kernels."_s.arg(
            fromUtf8(devices.front().device.tracing));
    if (std::none_of(devices.begin(), devices.end(),
                     [](const DeviceUse& use) { return use.joulesPerStep.has_value(); }))
        note += u" Energy unknown: the driver's counter was not recorded over a whole step."_s;
    return note;
}

}  // namespace shardscope::desktop

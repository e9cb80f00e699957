#include "app/desktop/pages/memory/memory_model.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <QObject>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr std::size_t kFewRanks = 4;
constexpr std::size_t kMostBars = 16;
constexpr std::ptrdiff_t kTheoryColumn = 2;  ///< the difference from it comes next

const QString kOutsideTheory =
    u"theory does not include the CUDA context, NCCL's buffers and libraries"_s;

std::size_t at(MemoryCategory category) {
    return static_cast<std::size_t>(category);
}

QString word(MemoryCategory category) {
    return QString::fromLatin1(toWord(category));
}

MemoryCategory largestCategory(const analysis::RankMemory& memory) {
    MemoryCategory largest = MemoryCategory::kOther;
    for (MemoryCategory category : stackOrder()) {
        if (memory.byCategory[at(category)] > memory.byCategory[at(largest)]) largest = category;
    }
    return largest;
}

Bytes outsideOf(const analysis::RankMemory& memory) {
    return memory.byCategory[at(MemoryCategory::kOutside)];
}

QString againstTheory(const analysis::RankMemory& memory) {
    if (memory.theory.count == 0) return u"no theory recorded"_s;
    const double ratio =
        static_cast<double>(memory.managed().count) / static_cast<double>(memory.theory.count) - 1;
    if (std::abs(ratio) < 0.0005) return u"as theory says"_s;
    return u"%1 %2 theory"_s.arg(formatPercent(std::abs(ratio)),
                                 ratio > 0 ? u"above"_s : u"below"_s);
}

}  // namespace

const LaneFacts* findReservedLane(const RecordingSummary& summary, std::optional<RankId> rank) {
    for (const LaneFacts& lane : summary.lanes) {
        const bool wanted = !rank || lane.rank == *rank;
        if (wanted && lane.lane == lanes::kDeviceReserved.id) return &lane;
    }
    return nullptr;
}

const analysis::RankMemory* worstRank(const SelectedPart& part) {
    return part.report->worstMemory();
}

QString noMemoryText(const SelectedPart& part) {
    if (part.recording->isImporting())
        return u"Memory events come at the end of the import, since they go by time."_s;
    if (part.recording->isTrace())
        return u"This trace holds no memory events. They are in traces of torch.profiler with "
               u"profile_memory=True, of nsys with --cuda-memory-usage=true, and in memory "
               u"snapshots of torch.cuda.memory."_s;
    if (part.recording->program() && part.recording->summary.events.memory == 0)
        return u"Unknown: %1. What all processes use together is in the Timeline."_s.arg(
            lackText(*part.recording, analysis::Lack::kMemory));
    if (wasSalvaged(*part.recording))
        return u"Memory events were lost with the part of the file that was damaged."_s;
    if (part.recording->isRunning())
        return u"No memory event is in the file yet; more comes while the run goes on."_s;
    return u"Memory events are recorded at capture level full; this run was recorded at "
           u"less, or none of them lies in the selection."_s;
}

std::vector<RankId> ranksByPeak(const SelectedPart& part) {
    std::vector<const analysis::RankMemory*> known;
    for (const auto& memory : part.report->memory)
        if (memory.known) known.push_back(&memory);
    // few are shown as they are numbered, of many the highest
    if (known.size() > kFewRanks)
        std::stable_sort(known.begin(), known.end(),
                         [](const auto* a, const auto* b) { return a->peak > b->peak; });
    std::vector<RankId> ranks;
    for (const auto* memory : known) ranks.push_back(memory->rank);
    return ranks;
}

TimeRange memoryRange(const SelectedPart& part) {
    const OpenRecording& recording = *part.recording;
    const TimeRange selected = recording.timeOf(part.selection);
    const auto& steps = recording.summary.steps;
    if (part.selection.cutsTime() || steps.empty()) return selected;
    // What measures the machine before the first step is not part of the run.
    const auto first = std::min_element(
        steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    const Duration margin{
        std::min((selected.end - first->start).ns / 50, first->range().duration().ns)};
    return TimeRange{first->start - margin, selected.end}.intersection(selected);
}

QString memoryHeadline(const SelectedPart& part) {
    const auto* worst = worstRank(part);
    if (worst == nullptr)
        return part.recording->isImporting() ? u"Memory events are not read yet."_s
                                             : u"This recording holds no memory events."_s;
    const MemoryCategory largest = largestCategory(*worst);
    const double share = worst->peak.count > 0
                             ? static_cast<double>(worst->byCategory[at(largest)].count) /
                                   static_cast<double>(worst->peak.count)
                             : 0;
    if (outsideOf(*worst).count > 0) {
        return u"Peak is %1 on rank %2: %3 outside the allocator, the rest %4; %5 of the peak is %6."_s
            .arg(formatBytes(worst->peak))
            .arg(worst->rank.value)
            .arg(formatBytes(outsideOf(*worst)), againstTheory(*worst), formatPercent(share),
                 word(largest));
    }
    if (worst->theory.count == 0) {
        const QString peak =
            u"Peak is %1 on rank %2"_s.arg(formatBytes(worst->peak)).arg(worst->rank.value);
        // a snapshot does not say what its blocks are for
        return largest == MemoryCategory::kOther && share > 0.999
                   ? peak + u"; what it is for is not recorded."_s
                   : peak + u"; %1 of it is %2."_s.arg(formatPercent(share), word(largest));
    }
    return u"Peak is %1 on rank %2, %3; %4 of it is %5."_s.arg(formatBytes(worst->peak))
        .arg(worst->rank.value)
        .arg(againstTheory(*worst), formatPercent(share), word(largest));
}

QString memorySubline(const SelectedPart& part, const QString& moment) {
    const auto* worst = worstRank(part);
    if (worst == nullptr) return noMemoryText(part);
    // a snapshot may be over in microseconds
    const Duration span{
        std::clamp<std::int64_t>(part.recording->bounds().duration().ns / 1000, 1, 1'000'000)};
    QString text = u"At %1"_s.arg(formatInstant(worst->peakTime, span));
    if (!moment.isEmpty()) text += u", "_s + moment;
    text += u'.';
    const Bytes gathered = worst->byCategory[at(MemoryCategory::kGatheredParameter)];
    if (worst->theory.count > 0)
        text += u" Gathered parameters at that moment: %1 (theory %2)."_s.arg(
            formatBytes(gathered),
            formatBytes(worst->theoryByCategory[at(MemoryCategory::kGatheredParameter)]));
    for (const DeviceFacts& device : part.summary->devices) {
        if (device.rank == worst->rank && device.memory.count > 0)
            text += u" The device has %1."_s.arg(formatBytes(device.memory));
    }
    if (outsideOf(*worst).count > 0) {
        text +=
            u" Outside the allocator are the CUDA context, NCCL and libraries; theory does not "
            u"include them."_s;
    }
    return text;
}

std::vector<StackedBar> memoryBars(const SelectedPart& part) {
    std::vector<StackedBar> bars;
    for (const RankId rank : ranksByPeak(part)) {
        if (bars.size() == kMostBars) break;
        const auto& memory = *std::find_if(part.report->memory.begin(), part.report->memory.end(),
                                           [rank](const auto& each) { return each.rank == rank; });
        StackedBar bar;
        bar.label = u"rank %1"_s.arg(memory.rank.value);
        bar.total = formatBytes(memory.peak);
        bar.mark = static_cast<double>(memory.theory.count);
        for (MemoryCategory category : stackOrder()) {
            const Bytes size = memory.byCategory[at(category)];
            if (size.count == 0) continue;
            bar.segments.push_back({static_cast<double>(size.count), meaningOf(category),
                                    word(category), formatBytes(size)});
        }
        bars.push_back(std::move(bar));
    }
    return bars;
}

std::vector<LegendEntry> memoryLegend(const SelectedPart& part,
                                      const std::vector<MemoryCategory>& drawn) {
    std::vector<LegendEntry> entries;
    for (MemoryCategory category : stackOrder()) {
        const bool used = std::find(drawn.begin(), drawn.end(), category) != drawn.end() ||
                          std::any_of(part.report->memory.begin(), part.report->memory.end(),
                                      [&](const auto& memory) {
                                          return memory.byCategory[at(category)].count > 0 ||
                                                 memory.theoryByCategory[at(category)].count > 0;
                                      });
        if (used) entries.push_back({word(category), meaningOf(category), false});
    }
    const bool outside =
        std::any_of(part.report->memory.begin(), part.report->memory.end(),
                    [](const auto& memory) { return outsideOf(memory).count > 0; });
    const bool theory = std::any_of(part.report->memory.begin(), part.report->memory.end(),
                                    [](const auto& memory) { return memory.theory.count > 0; });
    if (theory)
        entries.push_back({outside ? u"theory: peak within the allocator"_s : u"theory: peak"_s,
                           Meaning::kTheory, true});
    if (findReservedLane(*part.summary) != nullptr)
        entries.push_back({u"reserved by the allocator"_s, Meaning::kReserved, false});
    return entries;
}

std::vector<TableColumn> memoryColumns(bool theory) {
    std::vector<TableColumn> columns{
        {QObject::tr("category"), {}, false, false, false, 168},
        {QObject::tr("at peak"), QObject::tr("bytes alive at the moment of the highest sum"), true,
         false, false, 96},
        {QObject::tr("theory"), QObject::tr("what the configuration implies at the peak"), true,
         false, false, 96},
        {QObject::tr("difference"), QObject::tr("measured − theory"), true, false, false, 104},
        {QObject::tr("share of peak"), {}, true, false, false, 104}};
    if (!theory)
        columns.erase(columns.begin() + kTheoryColumn, columns.begin() + kTheoryColumn + 2);
    return columns;
}

std::vector<std::vector<TableCell>> memoryRows(const analysis::RankMemory& memory) {
    std::vector<std::vector<TableCell>> rows;
    for (MemoryCategory category : stackOrder()) {
        const Bytes measured = memory.byCategory[at(category)];
        const Bytes theory = memory.theoryByCategory[at(category)];
        if (measured.count == 0 && theory.count == 0) continue;
        const bool unknown = category == MemoryCategory::kOutside;
        const Bytes difference = measured - theory;
        const double share = memory.peak.count > 0 ? static_cast<double>(measured.count) /
                                                         static_cast<double>(memory.peak.count)
                                                   : 0;
        TableCell signedCell = TableCell::of(difference);
        signedCell.text = difference.count == 0  ? u"0"_s
                          : difference.count > 0 ? u"+"_s + signedCell.text
                                                 : signedCell.text;
        rows.push_back({TableCell::ofText(word(category), meaningOf(category)),
                        TableCell::of(measured),
                        unknown ? TableCell::unknown(kOutsideTheory) : TableCell::of(theory),
                        unknown ? TableCell::unknown(kOutsideTheory) : signedCell,
                        TableCell::of(Share{share})});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a[1].sortKey > b[1].sortKey; });
    if (memory.theory.count == 0)
        for (auto& row : rows)
            row.erase(row.begin() + kTheoryColumn, row.begin() + kTheoryColumn + 2);
    return rows;
}

QString momentText(const RecordingSummary& summary, RankId rank, Timestamp time,
                   const std::vector<SpanEvent>& phases) {
    const SpanEvent* inside = nullptr;
    for (const SpanEvent& phase : phases)
        if (phase.range().contains(time)) inside = &phase;
    QStringList words;
    for (const StepFacts& step : summary.steps)
        if (step.rank == rank && step.range().contains(time))
            words << u"step %1"_s.arg(step.step.value);
    if (words.isEmpty()) words << u"outside of any step"_s;
    if (inside == nullptr) return words.front();
    QString doing = QString::fromLatin1(toWord(inside->phase));
    if (inside->layer != kNoLayer) doing += u" of "_s + formatLayer(inside->layer);
    words << doing;
    return words.join(u", "_s);
}

}  // namespace shardscope::desktop

#include "app/desktop/pages/memory/memory_model.h"

#include "app/desktop/models/format.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

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

const analysis::RankMemory* worstRank(const OpenRecording& recording, const Selection& selection) {
    return recording.report.worstMemory(
        [&selection](RankId rank) { return selection.includes(rank); });
}

QString memoryHeadline(const OpenRecording& recording, const Selection& selection) {
    const auto* worst = worstRank(recording, selection);
    if (worst == nullptr) return u"This recording holds no memory events."_s;
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
    return u"Peak is %1 on rank %2, %3; %4 of it is %5."_s.arg(formatBytes(worst->peak))
        .arg(worst->rank.value)
        .arg(againstTheory(*worst), formatPercent(share), word(largest));
}

QString memorySubline(const OpenRecording& recording, const Selection& selection) {
    const auto* worst = worstRank(recording, selection);
    if (worst == nullptr) return u"Record with capture level full to see them."_s;
    QString text = u"At %1, %2. Gathered parameters at that moment: %3 (theory %4)."_s.arg(
        formatInstant(worst->peakTime, {1'000'000}),
        peakMoment(recording, worst->rank, worst->peakTime),
        formatBytes(worst->byCategory[at(MemoryCategory::kGatheredParameter)]),
        formatBytes(worst->theoryByCategory[at(MemoryCategory::kGatheredParameter)]));
    for (const DeviceFacts& device : recording.summary.devices) {
        if (device.rank == worst->rank)
            text += u" The device has %1."_s.arg(formatBytes(device.memory));
    }
    if (outsideOf(*worst).count > 0) {
        text +=
            u" Outside the allocator are the CUDA context, NCCL and libraries; theory does not "
            u"include them."_s;
    }
    return text;
}

std::vector<StackedBar> memoryBars(const OpenRecording& recording, const Selection& selection) {
    std::vector<StackedBar> bars;
    for (const auto& memory : recording.report.memory) {
        if (!memory.known) continue;
        StackedBar bar;
        bar.label = u"rank %1"_s.arg(memory.rank.value);
        bar.total = formatBytes(memory.peak);
        bar.mark = static_cast<double>(memory.theory.count);
        bar.emphasised = selection.includes(memory.rank);
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

std::vector<LegendEntry> memoryLegend(const OpenRecording& recording) {
    std::vector<LegendEntry> entries;
    for (MemoryCategory category : stackOrder()) {
        const bool used = std::any_of(recording.report.memory.begin(),
                                      recording.report.memory.end(), [&](const auto& memory) {
                                          return memory.byCategory[at(category)].count > 0 ||
                                                 memory.theoryByCategory[at(category)].count > 0;
                                      });
        if (used) entries.push_back({word(category), meaningOf(category), false});
    }
    const bool outside =
        std::any_of(recording.report.memory.begin(), recording.report.memory.end(),
                    [](const auto& memory) { return outsideOf(memory).count > 0; });
    entries.push_back({outside ? u"theory: peak within the allocator"_s : u"theory: peak"_s,
                       Meaning::kTheory, true});
    if (findReservedLane(recording.summary) != nullptr)
        entries.push_back({u"reserved by the allocator"_s, Meaning::kReserved, false});
    return entries;
}

std::vector<TableColumn> memoryColumns() {
    return {
        {u"category"_s, {}, false, false, false, 184},
        {u"at peak"_s, u"bytes alive at the moment of the highest sum"_s, true, false, false, 104},
        {u"theory"_s, u"what the configuration implies at the peak"_s, true, false, false, 104},
        {u"difference"_s, u"measured − theory"_s, true, false, false, 112},
        {u"share of peak"_s, {}, true, false, false, 104}};
}

std::vector<std::vector<TableCell>> memoryRows(const analysis::RankMemory& memory) {
    std::vector<std::vector<TableCell>> rows;
    for (MemoryCategory category : stackOrder()) {
        const Bytes measured = memory.byCategory[at(category)];
        const Bytes theory = memory.theoryByCategory[at(category)];
        if (measured.count == 0 && theory.count == 0) continue;
        const bool outside = category == MemoryCategory::kOutside;
        const Bytes difference = measured - theory;
        const double share = memory.peak.count > 0 ? static_cast<double>(measured.count) /
                                                         static_cast<double>(memory.peak.count)
                                                   : 0;
        const auto exact = [](Bytes bytes) { return u"%1 B"_s.arg(formatCount(bytes.count)); };
        QString sign = difference.count > 0 ? u"+"_s : QString();
        rows.push_back(
            {{word(category), {}, 0, meaningOf(category)},
             {formatBytes(measured), exact(measured), static_cast<double>(measured.count),
              Meaning::kNone},
             outside ? TableCell{unknownText(), kOutsideTheory, -1, Meaning::kNone}
                     : TableCell{formatBytes(theory), exact(theory),
                                 static_cast<double>(theory.count), Meaning::kNone},
             outside ? TableCell{unknownText(), kOutsideTheory, 0, Meaning::kNone}
                     : TableCell{difference.count == 0 ? u"0"_s : sign + formatBytes(difference),
                                 exact(difference), static_cast<double>(difference.count),
                                 Meaning::kNone},
             {formatPercent(share), {}, share, Meaning::kNone}});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a[1].sortKey > b[1].sortKey; });
    return rows;
}

QString peakMoment(const OpenRecording& recording, RankId rank, Timestamp time) {
    const RankEvents* events = recording.rank(rank);
    if (events == nullptr) return unknownText();
    const auto after = std::upper_bound(
        events->phases.begin(), events->phases.end(), time,
        [](Timestamp value, const SpanEvent& phase) { return value < phase.start; });
    if (after == events->phases.begin()) return u"before the first step"_s;
    const SpanEvent& phase = *(after - 1);
    QStringList words;
    if (phase.step != kNoStep) words << u"step %1"_s.arg(phase.step.value);
    QString doing = QString::fromLatin1(toWord(phase.phase));
    if (phase.layer != kNoLayer) doing += u" of "_s + formatLayer(phase.layer);
    words << doing;
    return words.join(u", "_s);
}

}  // namespace shardscope::desktop

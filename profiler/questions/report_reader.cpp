#include "profiler/questions/report_reader.h"

#include "profiler/analysis/part.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/read_growth.h"
#include "profiler/questions/read_surroundings.h"

#include <algorithm>
#include <utility>

namespace shardscope::questions {

Result<ReportReader> ReportReader::of(const RecordingSummary& whole, Selection selection) {
    auto summary = selection.of(whole);
    if (!summary) return failure(summary);
    return ReportReader(std::move(selection), std::move(*summary));
}

Result<RankEvents> ReportReader::readRank(storage::RecordingReader& reader, RankId rank) {
    const TimeRange whole{m_summary.bounds.begin, {m_summary.bounds.end.ns + 1}};
    if (!m_selection.cutsTime()) return reader.rankEvents(rank, whole);
    auto events = reader.rankEvents(rank, m_selection.timeOf(m_summary, rank));
    if (!events) return events;
    if (events->computeKernels.empty()) return m_selection.of(m_summary, std::move(*events));
    // Idle time of a device can be for work behind the selection: its ledger needs everything.
    auto all = reader.rankEvents(rank, whole);
    if (!all) return all;
    const auto rows = deviceRows(reader, m_summary, {std::move(*all)});
    if (!rows) return failure(rows);
    m_deviceRows.insert(m_deviceRows.end(), rows->begin(), rows->end());
    return m_selection.of(m_summary, std::move(*events));
}

Result<bool> ReportReader::addNextRank(storage::RecordingReader& reader) {
    if (m_ranks.size() == m_summary.ranks.size()) return false;
    const RankId next = m_summary.ranks[m_ranks.size()].rank;
    auto events = readRank(reader, next);
    if (!events) return failure(events);
    m_ranks.push_back(std::move(*events));
    if (auto added = addSurroundings(reader, m_summary, m_selection, next, m_around); !added)
        return failure(added);
    if (m_ranks.size() < m_summary.ranks.size()) return true;
    noteLostCollectives();
    // Of all ranks together: only the likeliest of many are read.
    const auto growths = memoryGrowths(reader, m_summary, m_ranks);
    if (!growths) return failure(growths);
    m_growths = *growths;
    if (m_selection.cutsTime()) return true;
    const auto rows = deviceRows(reader, m_summary, m_ranks);
    if (!rows) return failure(rows);
    m_deviceRows = *rows;
    return true;
}

/// Nobody counts the rows of a long run's collectives when it is opened; here all have been read.
void ReportReader::noteLostCollectives() {
    if (!m_summary.complete || m_selection.cutsTime() || !m_selection.ranks.empty()) return;
    std::uint64_t found = 0;
    for (const RankEvents& events : m_ranks) found += events.collectives.size();
    const std::uint64_t written = m_summary.events.collectives;
    auto& lost = m_summary.lostRows;
    const bool told = std::any_of(lost.begin(), lost.end(),
                                  [](const LostRows& each) { return each.table == "collectives"; });
    if (found < written && !told) lost.push_back({"collectives", written, found});
}

analysis::Report ReportReader::conclude() const {
    return analysis::analyse(m_summary, m_ranks, m_deviceRows, m_growths, m_around);
}

Result<analysis::Report> readReport(storage::RecordingReader& reader, const RecordingSummary& whole,
                                    const Selection& selection) {
    auto report = ReportReader::of(whole, selection);
    if (!report) return failure(report);
    while (true) {
        const auto more = report->addNextRank(reader);
        if (!more) return failure(more);
        if (!*more) return report->conclude();
    }
}

}  // namespace shardscope::questions

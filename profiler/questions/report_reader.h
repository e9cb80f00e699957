// Reads what a report stands on, a rank at a time, and draws its conclusions: of a whole recording
// or of what is selected of one. One thread, that of the reader.
#pragma once

#include "profiler/analysis/report.h"
#include "profiler/questions/selection.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <vector>

namespace shardscope::questions {

class ReportReader {
public:
    /// `whole`: the recording's rows. kUsage: the selection leaves nothing, and why.
    [[nodiscard]] static Result<ReportReader> of(const RecordingSummary& whole,
                                                 Selection selection = {});

    /// Reads one more rank; false: all have been read.
    [[nodiscard]] Result<bool> addNextRank(storage::RecordingReader& reader);
    /// After the last rank. Without HTA's numbers. Of a selection that leaves out time,
    /// certificate, drops and what was noted while recording are not judged: they are the whole
    /// recording's.
    [[nodiscard]] analysis::Report conclude() const;

    /// The rows of what is selected.
    [[nodiscard]] const RecordingSummary& summary() const { return m_summary; }
    /// What was read of its ranks, those read so far.
    [[nodiscard]] std::vector<RankEvents>& ranks() { return m_ranks; }

private:
    ReportReader(Selection selection, RecordingSummary summary)
        : m_selection(std::move(selection)), m_summary(std::move(summary)) {}

    Result<RankEvents> readRank(storage::RecordingReader& reader, RankId rank);
    void noteLostCollectives();

    Selection m_selection;
    RecordingSummary m_summary;
    std::vector<RankEvents> m_ranks;
    std::vector<analysis::LedgerRow> m_deviceRows;
    std::vector<analysis::RankGrowth> m_growths;
    analysis::Surroundings m_around;
};

/// The whole of it at once.
[[nodiscard]] Result<analysis::Report> readReport(storage::RecordingReader& reader,
                                                  const RecordingSummary& whole,
                                                  const Selection& selection = {});

}  // namespace shardscope::questions

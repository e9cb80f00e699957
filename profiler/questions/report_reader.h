// Reads what a report stands on, a rank at a time, and draws its conclusions: of a whole recording
// or of what is selected of one. Of a long run no more than the events of some ranks are in memory
// at once. One thread, that of the reader, and one of its own.
#pragma once

#include "profiler/analysis/memory/memory_steps.h"
#include "profiler/analysis/report/report.h"
#include "profiler/questions/selection.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shardscope::questions {

class ReportReader {
public:
    /// Of ranks that are to be read twice these many bytes of events are kept instead, about.
    static constexpr Bytes kMostKept{std::int64_t{64} << 20};

    /// `whole`: the recording's rows. kUsage: the selection leaves nothing, and why.
    [[nodiscard]] static Result<ReportReader> of(const RecordingSummary& whole,
                                                 Selection selection = {}, Bytes keep = kMostKept);
    ReportReader(ReportReader&&) noexcept;
    ReportReader& operator=(ReportReader&&) noexcept;
    ~ReportReader();

    /// Reads one more rank, some of them a second time; false: all have been read.
    [[nodiscard]] Result<bool> addNextRank(storage::RecordingReader& reader);
    [[nodiscard]] bool hasBegun() const;
    /// After the last rank, once. Without HTA's numbers. Of a selection that leaves out time,
    /// certificate, drops and what was noted while recording are not judged: they are the whole
    /// recording's.
    [[nodiscard]] analysis::Report conclude();

    /// The rows of what is selected.
    [[nodiscard]] const RecordingSummary& summary() const;

private:
    class State;
    explicit ReportReader(std::unique_ptr<State> state);

    std::unique_ptr<State> m_state;
};

/// The whole of it at once.
[[nodiscard]] Result<analysis::Report> readReport(storage::RecordingReader& reader,
                                                  const RecordingSummary& whole,
                                                  const Selection& selection = {},
                                                  Bytes keep = ReportReader::kMostKept);

/// Thinned steps hold no memory events, and show what lives on as allocated later.
[[nodiscard]] std::vector<StepFacts> stepsWithMemory(const RecordingSummary& summary, RankId rank);

/// Of more ranks that may grow, those with the highest peaks are read: what one of hundreds leaks
/// they all do, or it stands out.
inline constexpr std::size_t kMostGrowthRanks = 16;

/// Of those of `ranks` whose memory may grow (analysis::mayGrow), by their steps with memory
/// events; one rank in memory at a time. `ranks` cover the whole run.
[[nodiscard]] Result<std::vector<analysis::RankGrowth>> memoryGrowths(
    storage::RecordingReader& reader, const RecordingSummary& summary,
    const std::vector<RankEvents>& ranks);

}  // namespace shardscope::questions

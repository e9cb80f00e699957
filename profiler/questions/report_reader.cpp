#include "profiler/questions/report_reader.h"

#include "profiler/analysis/part.h"
#include "profiler/analysis/report/report_draft.h"
#include "profiler/questions/communication.h"
#include "profiler/questions/flops/read_flops.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/read_pieces.h"
#include "profiler/questions/read_surroundings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cstdint>
#include <future>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

/// A rank of more is looked through before the next one is read, so that one is in memory at a
/// time; one of less is not worth a thread.
constexpr Bytes kMostBeside{std::int64_t{48} << 20}, kLeastBeside{std::int64_t{256} << 10};

std::vector<RankId> ranksOf(const RecordingSummary& summary) {
    std::vector<RankId> ranks;
    for (const RankFacts& rank : summary.ranks) ranks.push_back(rank.rank);
    return ranks;
}

/// In memory, about; without arrivals that are in memory with the rank `before` it anyway.
Bytes sizeOf(const RankEvents& events, const RankEvents* before) {
    std::size_t size =
        events.phases.size() * sizeof(SpanEvent) +
        (events.computeKernels.size() + events.communicationKernels.size()) * sizeof(TimeRange) +
        events.energy.size() * sizeof(CounterEvent);
    for (std::size_t i = 0; i < events.collectives.size(); ++i) {
        const CollectiveEvent& event = events.collectives[i];
        const bool shared = before != nullptr && i < before->collectives.size() &&
                            event.arrivals.sharesWith(before->collectives[i].arrivals);
        size += sizeof event + (shared ? 0 : event.arrivals.size() * sizeof(Timestamp));
    }
    return {static_cast<std::int64_t>(size)};
}

/// What was allocated before the first step counts as well.
constexpr Timestamp kBeginning{-(std::int64_t{1} << 61)};

std::vector<const RankEvents*> mostLikely(const RecordingSummary& summary,
                                          const std::vector<RankEvents>& ranks) {
    std::vector<const RankEvents*> likely;
    for (const RankEvents& events : ranks)
        if (analysis::mayGrow(events, summary.steps)) likely.push_back(&events);
    std::stable_sort(likely.begin(), likely.end(), [](const RankEvents* a, const RankEvents* b) {
        return a->peakMemory > b->peakMemory;
    });
    likely.resize(std::min(likely.size(), kMostGrowthRanks));
    return likely;
}

}  // namespace

class ReportReader::State {
public:
    State(Selection selection, RecordingSummary summary, Bytes keep)
        : m_selection(std::move(selection)),
          m_summary(std::move(summary)),
          m_keep(keep),
          m_draft(m_summary, ranksOf(m_summary)),
          m_kept(m_summary.ranks.size()) {}

    Result<bool> addNextRank(storage::RecordingReader& reader) {
        if (m_next < m_summary.ranks.size()) {
            if (auto added = addFirst(reader, m_next); !added) return failure(added);
            ++m_next;
            if (m_next < m_summary.ranks.size()) return true;
            if (auto done = finishFirst(reader); !done) return failure(done);
            return true;
        }
        for (; m_again < m_summary.ranks.size(); ++m_again) {
            if (!m_draft.wantsAgain(m_again)) continue;
            if (auto added = addAgain(reader, m_again); !added) return failure(added);
            ++m_again;
            return true;
        }
        return false;
    }
    [[nodiscard]] bool hasBegun() const { return m_next > 0; }
    [[nodiscard]] const RecordingSummary& summary() const { return m_summary; }
    analysis::Report conclude() {
        finishLooking();
        analysis::Report report = m_draft.conclude(m_growths, m_around);
        report.marked = m_marked;
        return report;
    }

private:
    /// A rank's, and where they are cut its whole collectives.
    struct Looked {
        RankEvents events;
        std::optional<std::vector<CollectiveEvent>> whole;
        [[nodiscard]] analysis::ShownRank shown() const {
            return {events, whole ? &*whole : nullptr};
        }
    };
    using Events = std::shared_ptr<const Looked>;

    [[nodiscard]] TimeRange whole() const {
        return {m_summary.bounds.begin, {m_summary.bounds.end.ns + 1}};
    }

    [[nodiscard]] TimeRange timeOf(RankId rank) const {
        return m_selection.cutsTime() ? m_selection.timeOf(m_summary, rank) : whole();
    }

    /// What touches its time; looked() leaves what lies in it.
    Result<RankEvents> read(storage::RecordingReader& reader, RankId rank) const {
        return readRank(reader, m_summary, rank, timeOf(rank));
    }
    Result<Events> looked(storage::RecordingReader& reader, RankEvents events) const {
        const RankId rank = events.rank;
        auto looked =
            std::make_shared<Looked>(Looked{m_selection.of(m_summary, std::move(events)), {}});
        if (!m_selection.cutsTime()) return looked;
        auto around = readWhole(reader, m_summary, m_selection, rank);
        if (!around) return failure(around);
        looked->whole = std::move(around->collectives);
        return looked;
    }

    /// Those of the rank.
    Result<std::vector<analysis::LedgerRow>> readDeviceRows(storage::RecordingReader& reader,
                                                            const RankEvents& events) const {
        if (!analysis::ranKernels(events) || !m_selection.cutsTime())
            return deviceRowsOf(reader, m_summary, events);
        // Idle time of a device can be for work behind the selection: its ledger needs everything.
        const auto all = readRank(reader, m_summary, events.rank, whole());
        if (!all) return failure(all);
        return deviceRowsOf(reader, m_summary, *all);
    }

    Result<void> addFirst(storage::RecordingReader& reader, std::size_t place) {
        const RankId rank = m_summary.ranks[place].rank;
        auto events = read(reader, rank);
        if (!events) return failure(events);
        auto rows = readDeviceRows(reader, *events);
        if (!rows) return failure(rows);
        auto copies = copiesOf(reader, m_summary, rank, timeOf(rank));
        if (!copies) return failure(copies);
        auto marked = addMarkedCollectives(reader, m_summary, *events, timeOf(rank), m_marked);
        if (!marked) return failure(marked);
        auto added = addSurroundings(reader, m_summary, m_selection, rank, m_around);
        if (!added) return failure(added);
        finishLooking();
        auto now = looked(reader, std::move(*events));
        if (!now) return failure(now);
        m_looked = std::move(*now);
        const Looked* before = place > 0 ? m_kept[place - 1].get() : nullptr;
        const Bytes size = m_lookedSize =
            sizeOf(m_looked->events, before != nullptr ? &before->events : nullptr);
        const bool beside = kLeastBeside <= size && size <= kMostBeside;
        m_share = std::async(
            beside ? std::launch::async : std::launch::deferred,
            [this, place, looked = m_looked, rows = std::move(*rows), copies = std::move(*copies)] {
                return m_draft.share(place, looked->shown(), rows, copies);
            });
        if (!beside) finishLooking();
        return {};
    }

    /// Adds the rank that is being looked through.
    void finishLooking() {
        if (!m_share.valid()) return;
        m_draft.add(m_share.get(), m_looked->events);
        const std::size_t place = m_draft.outlines().size() - 1;
        if (m_lookedSize <= m_keep) {
            m_keep -= m_lookedSize;
            m_kept[place] = std::move(m_looked);
        }
        m_looked.reset();
    }

    Result<void> finishFirst(storage::RecordingReader& reader) {
        finishLooking();
        noteLostCollectives();
        // Of all ranks together: only the likeliest of many are read.
        auto growths = memoryGrowths(reader, m_summary, m_draft.outlines());
        if (!growths) return failure(growths);
        m_growths = std::move(*growths);
        auto counted =
            readFlops(reader, m_summary, analysis::steadySteps(m_summary, m_draft.outlines()));
        if (!counted) return failure(counted);
        m_draft.takeFlops(std::move(*counted));
        return {};
    }

    Result<void> addAgain(storage::RecordingReader& reader, std::size_t place) {
        if (const Events kept = std::move(m_kept[place])) {
            m_draft.addAgain(place, kept->shown());
            return {};
        }
        auto events = read(reader, m_summary.ranks[place].rank);
        if (!events) return failure(events);
        const auto again = looked(reader, std::move(*events));
        if (!again) return failure(again);
        m_draft.addAgain(place, (*again)->shown());
        return {};
    }

    /// Opening a long run does not count the rows of its collectives; here all have been read.
    void noteLostCollectives() {
        if (!m_summary.complete || m_selection.cutsTime() || !m_selection.ranks.empty()) return;
        const std::uint64_t written = m_summary.events.collectives, found = m_draft.collectives();
        auto& lost = m_summary.lostRows;
        const bool noted = std::any_of(lost.begin(), lost.end(), [](const LostRows& each) {
            return each.table == "collectives";
        });
        if (found < written && !noted) lost.push_back({"collectives", written, found});
    }

    Selection m_selection;
    RecordingSummary m_summary;
    Bytes m_keep;  ///< that may be kept still
    analysis::ReportDraft m_draft;
    std::vector<Events> m_kept;  ///< by place; null: not kept
    std::size_t m_next = 0, m_again = 0;
    std::vector<analysis::RankGrowth> m_growths;
    analysis::Surroundings m_around;
    std::vector<analysis::MarkedCollective> m_marked;
    Events m_looked;
    Bytes m_lookedSize;
    std::future<analysis::RankShare> m_share;  ///< of it; last, since it waits for its thread
};

ReportReader::ReportReader(std::unique_ptr<State> state) : m_state(std::move(state)) {}
ReportReader::ReportReader(ReportReader&&) noexcept = default;
ReportReader& ReportReader::operator=(ReportReader&&) noexcept = default;
ReportReader::~ReportReader() = default;

Result<ReportReader> ReportReader::of(const RecordingSummary& whole, Selection selection,
                                      Bytes keep) {
    auto summary = selection.of(whole);
    if (!summary) return failure(summary);
    return ReportReader(std::make_unique<State>(std::move(selection), std::move(*summary), keep));
}

Result<bool> ReportReader::addNextRank(storage::RecordingReader& reader) {
    return m_state->addNextRank(reader);
}

bool ReportReader::hasBegun() const {
    return m_state->hasBegun();
}

const RecordingSummary& ReportReader::summary() const {
    return m_state->summary();
}

analysis::Report ReportReader::conclude() {
    return m_state->conclude();
}

Result<analysis::Report> readReport(storage::RecordingReader& reader, const RecordingSummary& whole,
                                    const Selection& selection, Bytes keep) {
    auto report = ReportReader::of(whole, selection, keep);
    if (!report) return failure(report);
    while (true) {
        const auto more = report->addNextRank(reader);
        if (!more) return failure(more);
        if (!*more) return report->conclude();
    }
}

std::vector<StepFacts> stepsWithMemory(const RecordingSummary& summary, RankId rank) {
    const StepDetail detail(summary.detail);
    std::vector<StepFacts> steps;
    for (const StepFacts& step : summary.steps)
        if (step.rank == rank && detail.of(rank, step.step) == CaptureLevel::kFull)
            steps.push_back(step);
    return steps;
}

Result<std::vector<analysis::RankGrowth>> memoryGrowths(storage::RecordingReader& reader,
                                                        const RecordingSummary& summary,
                                                        const std::vector<RankEvents>& ranks) {
    std::vector<analysis::RankGrowth> growths;
    for (const RankEvents* events : mostLikely(summary, ranks)) {
        const auto read =
            reader.memoryEvents(events->rank, {kBeginning, {summary.bounds.end.ns + 1}});
        if (!read) return failure(read);
        const auto steps = analysis::stepMemory(*read, stepsWithMemory(summary, events->rank));
        if (const auto growth = analysis::growthOf(steps))
            growths.push_back({events->rank, *growth});
    }
    return growths;
}

}  // namespace shardscope::questions

#include "profiler/questions/question.h"

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/intervals.h"
#include "profiler/questions/questions.h"
#include "profiler/questions/read_pieces.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace shardscope::questions {
namespace {

constexpr std::array kQuestions{kSteps,    kBreakdown, kOverlap,    kCollectives, kLate,
                                kBounds,   kWhatIf,    kEfficiency, kMemory,      kWork,
                                kLaunches, kFlame,     kTraining,   kTrust};

}  // namespace

Result<Answer> answerTo(const Question& question, const Asked& asked) {
    auto answer = question.ask(asked);
    if (!answer) return answer;
    answer->question = question.key;
    if (answer->saysNothing())
        answer->unknown.emplace_back(asked.summary.ranks.empty()
                                         ? "no data: no rank of the run is in the recording"
                                         : "no data: this recording lacks the events it needs");
    return answer;
}

std::span<const Question> allQuestions() {
    return kQuestions;
}

const Question* findQuestion(std::string_view key) {
    const auto found = std::find_if(kQuestions.begin(), kQuestions.end(),
                                    [&](const Question& each) { return key == each.key; });
    return found == kQuestions.end() ? nullptr : &*found;
}

Result<RankEvents> Asked::events(RankId rank) const {
    auto events = readRank(reader, summary, rank, selection.timeOf(summary, rank));
    if (!events) return events;
    return selection.of(summary, std::move(*events));
}

Result<RankEvents> readWhole(storage::RecordingReader& reader, const RecordingSummary& selected,
                             const Selection& selection, RankId rank) {
    Duration longest;
    for (const StepFacts& step : selected.steps)
        longest = std::max(longest, step.range().duration());
    const Duration around{2 * longest.ns};
    const TimeRange time = selection.timeOf(selected, rank);
    auto events = readRank(reader, selected, rank, {time.begin - around, time.end + around});
    if (!events) return events;
    return selection.wholeOf(selected, std::move(*events));
}

/// A rank at a time: those of a long run need not be in memory together.
Result<Asked::WholeGroups> Asked::wholeGroups() const {
    if (selection.ranks.empty()) {
        WholeGroups whole;
        analysis::HostPassages passages(summary);
        analysis::TransferTally tally;
        for (const RankFacts& rank : summary.ranks) {
            const auto events = selection.cutsTime()
                                    ? readWhole(reader, summary, selection, rank.rank)
                                    : this->events(rank.rank);
            if (!events) return failure(events);
            RankEvents& outline = whole.ranks.emplace_back(analysis::outlineOf(*events));
            if (!events->communicationKernels.empty())
                outline.communicationKernels.push_back(events->communicationKernels.front());
            passages.add(*events);
            tally.add(*events);
        }
        whole.transfers = tally.transfers(passages.clocks(summary));
        return whole;
    }
    Selection everyone = selection;
    everyone.ranks.clear();
    const auto recording = reader.summary();
    if (!recording) return failure(recording);
    const auto all = everyone.of(*recording);
    if (!all) return failure(all);
    auto whole = Asked{reader, *all, everyone}.wholeGroups();
    if (!whole) return whole;
    const analysis::Groups groups(whole->ranks);
    std::erase_if(whole->transfers, [&](const analysis::Transfer& transfer) {
        const auto& members = groups.of(transfer.group);
        return !members.empty() && std::none_of(members.begin(), members.end(),
                                                [&](RankId rank) { return selection.takes(rank); });
    });
    return whole;
}

analysis::DetailedPart Asked::detailed(Answer& answer) const {
    analysis::DetailedPart part = analysis::detailedPart(summary);
    if (!part.basis.whole())
        answer.sentences.push_back(fmt::format(
            "{} of {} steps have detail; the others are left out: {}.", part.basis.detailed,
            part.basis.steps, fmt::join(part.basis.leftOut, "; ")));
    return part;
}

Result<std::vector<RankEvents>> Asked::events() const {
    std::vector<RankEvents> all;
    for (const RankFacts& rank : summary.ranks) {
        auto events = this->events(rank.rank);
        if (!events) return failure(events);
        all.push_back(std::move(*events));
    }
    return all;
}

}  // namespace shardscope::questions

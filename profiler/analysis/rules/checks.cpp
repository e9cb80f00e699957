#include "profiler/analysis/rules/checks.h"

#include "profiler/analysis/report/lacks.h"
#include "storage/model/detail.h"
#include "storage/model/event_account.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/repaired.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace shardscope::analysis {
namespace {

const Diagnostic* findCode(const RecordingSummary& summary, std::string_view code) {
    const auto found = std::find_if(summary.diagnostics.begin(), summary.diagnostics.end(),
                                    [&](const Diagnostic& each) { return each.code == code; });
    return found == summary.diagnostics.end() ? nullptr : &*found;
}

std::string firstOf(const std::vector<std::string>& sentences) {
    constexpr std::string_view kUnknown = "unknown: ";
    if (sentences.empty()) return {};
    std::string first = sentences.front();
    if (first.starts_with(kUnknown)) first.erase(0, kUnknown.size());
    if (sentences.size() > 1) first += fmt::format("; and {} more", sentences.size() - 1);
    return first;
}

Check certificate(const Completeness& completeness) {
    Check check{"certificate", "events of each step", CheckState::kUnknown, {}};
    if (!completeness.known) {
        check.found = completeness.missing.empty() ? "nothing says how many a step must have"
                                                   : firstOf(completeness.missing);
        return check;
    }
    check.state = completeness.complete ? CheckState::kFine : CheckState::kProblem;
    check.found = fmt::format(
        "{} of {} numbers of collectives and phases are as the strategy requires",
        countText(completeness.compared - completeness.different),
        countText(completeness.compared));
    if (!completeness.complete && completeness.different == 0)
        check.found += "; " + firstOf(completeness.missing);
    return check;
}

Check dropped(const RecordingSummary& summary) {
    const EventAccount account = eventAccount(summary);
    Check check{"dropped", "events dropped or lost", CheckState::kUnknown, {}};
    if (account.emitted == 0) {
        check.found = "no rank counted the events that it saw";
        return check;
    }
    // Of a recording that is being written some are on their way.
    const bool lost = account.lost > 0 && summary.complete;
    check.state = account.dropped > 0 || lost ? CheckState::kProblem : CheckState::kFine;
    // Of a rank that was killed more is stored than it had counted last; as report and window
    // count.
    check.found =
        fmt::format("{} of {} that are recorded or were dropped", countText(account.dropped),
                    countText(account.stored + account.dropped));
    if (account.lost > 0)
        check.found += fmt::format(
            "; {} of {} that ranks counted {}", countText(account.lost), countText(account.emitted),
            summary.complete ? "were lost on their way into the file" : "are not in the file");
    return check;
}

/// How ranks that did not end well ended: "rank 1 was ended by signal 9".
std::string badEnds(const RecordingSummary& summary) {
    constexpr std::size_t kMost = 4;
    std::vector<std::string> ends;
    for (const RankFacts& rank : summary.ranks) {
        if (rank.exitSignal)
            ends.push_back(
                fmt::format("rank {} was ended by signal {}", rank.rank.value, *rank.exitSignal));
        else if (rank.exitCode && *rank.exitCode != 0)
            ends.push_back(
                fmt::format("rank {} ended with status {}", rank.rank.value, *rank.exitCode));
    }
    const std::size_t more = ends.size() > kMost ? ends.size() - kMost : 0;
    if (more > 0) ends.resize(kMost);
    std::string text = fmt::format("{}", fmt::join(ends, ", "));
    return more > 0 ? text + fmt::format(" and {} more", more) : text;
}

Check ranks(const RecordingSummary& summary) {
    std::set<RankId> here;
    for (const RankFacts& rank : summary.ranks) here.insert(rank.rank);
    const auto all = static_cast<std::size_t>(std::max(summary.run.worldSize, 0));
    const bool whole = here.size() >= all;
    Check check{"ranks", "ranks of the run", whole ? CheckState::kFine : CheckState::kUnknown, {}};
    if (hasNoRank(summary.run, summary.processes))
        check.found = "there is none: no process was one";
    else
        check.found = whole ? fmt::format("{} {} here", countText(here.size()),
                                          here.size() == 1 ? "is" : "are")
                            : fmt::format("{} of {} are here; what the others did is not known",
                                          countText(here.size()), countText(all));
    if (const std::string bad = badEnds(summary); !bad.empty()) {
        check.state = CheckState::kProblem;
        check.found += "; " + bad;
    }
    return check;
}

Check rows(const RecordingSummary& summary) {
    Check check{"rows", "rows of the file", CheckState::kFine, "as many as it was finalised with"};
    if (!summary.complete) {
        check.state = CheckState::kUnknown;
        check.found =
            "it was not finalised: its writer is at work or died, and what came last may be "
            "missing";
    }
    if (!summary.lostRows.empty()) {
        const LostRows& lost = summary.lostRows.front();
        check.state = CheckState::kProblem;
        check.found = fmt::format("table {} has {} of {}", lost.table, lost.found, lost.written);
    }
    return check;
}

Check detail(const RecordingSummary& summary) {
    const auto phrases = detailPhrases(summary.detail);
    Check check{"detail", "detail of the steps", CheckState::kFine, {}};
    check.found = phrases.empty() ? "nothing was thinned or left out"
                                  : fmt::format("left out as asked: {}", fmt::join(phrases, "; "));
    return check;
}

Check repairs(const RecordingSummary& summary) {
    const Diagnostic* repaired = findCode(summary, kRepairedCode);
    if (repaired == nullptr)
        return {"repairs", "repairs", CheckState::kFine, "the file was not repaired with loss"};
    return {"repairs", "repairs", CheckState::kProblem, repaired->message};
}

Check clocksCheck(const RecordingSummary& summary, const HostClocks& clocks) {
    Check check{"clocks", "clocks of the hosts", CheckState::kFine, "one clock for all ranks"};
    if (summary.hosts.size() < 2) return check;
    check.state = CheckState::kUnknown;
    check.found = "the clocks of its hosts were not compared";
    if (!clocks.several()) return check;
    if (const std::int64_t apart = clocks.contradictions(); apart > 0) {
        check.found = fmt::format(
            "in {} windows of 10 s collectives contradict the clocks: nothing that two hosts "
            "stamped there is compared",
            apart);
        return check;
    }
    Duration residual;
    for (const HostClock& host : clocks.hosts()) residual = std::max(residual, host.worstResidual);
    check.state = CheckState::kFine;
    check.found = fmt::format("{} hosts, right within {} at worst", clocks.hosts().size(),
                              durationText(residual));
    return check;
}

Check observer(const RunFacts& run, const std::vector<ObserverEffect>& effects) {
    Check check{"observer", "what recording cost", CheckState::kUnknown, {}};
    for (const ObserverEffect& effect : effects) {
        const Difference& difference = effect.difference;
        if (!difference.change || !difference.low || !difference.high) continue;
        check.state = CheckState::kFine;
        if (!check.found.empty()) check.found += "; ";
        check.found +=
            fmt::format("level {} {:+.2f} % per step against {} (between {:+.2f} and {:+.2f} %)",
                        toWord(effect.level), 100 * *difference.change, toWord(effect.against),
                        100 * *difference.low, 100 * *difference.high);
    }
    if (check.state == CheckState::kUnknown)
        check.found = effects.empty()
                          ? sameLevelText(run)
                          : fmt::format("it takes {} steady steps of each level", kLeastSamples);
    return check;
}

Check imported(const RecordingSummary& summary) {
    Check check{"import", "import", CheckState::kUnknown, "what was left out is not noted"};
    if (const Diagnostic* note = findCode(summary, "imported"))
        check.state = CheckState::kFine, check.found = note->message;
    if (const Diagnostic* rejected = findCode(summary, "events-rejected"))
        check.state = CheckState::kProblem, check.found = rejected->message;
    return check;
}

}  // namespace

std::vector<Check> checksOf(const RecordingSummary& summary, const Completeness& completeness,
                            const HostClocks& clocks, const std::vector<ObserverEffect>& effects) {
    std::vector<Check> checks{certificate(completeness),
                              dropped(summary),
                              ranks(summary),
                              rows(summary),
                              detail(summary),
                              repairs(summary),
                              clocksCheck(summary, clocks),
                              observer(summary.run, effects)};
    if (sourceOf(summary.run) == RecordingSource::kImport) checks.push_back(imported(summary));
    return checks;
}

}  // namespace shardscope::analysis

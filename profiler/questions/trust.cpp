#include "profiler/analysis/findings.h"
#include "profiler/analysis/host_clocks.h"
#include "profiler/questions/cells.h"
#include "profiler/questions/questions.h"
#include "storage/model/detail.h"

#include <fmt/format.h>

namespace shardscope::questions {
namespace {

void addCertificate(const analysis::Completeness& told, Answer& answer) {
    if (!told.known) {
        std::string why;
        for (const std::string& sentence : told.missing) why += "; " + sentence;
        answer.untold.push_back(
            "could not tell whether every event is there: nothing says how many a step must have" +
            why);
        return;
    }
    answer.sentences.push_back(
        told.complete ? "Complete: every event that a step must have is there." : "Not complete:");
    for (const std::string& sentence : told.missing) answer.sentences.push_back(sentence);
}

Table rankTable(const RecordingSummary& summary) {
    Table table{"ranks",
                "Events by rank",
                {{"rank", "rank"},
                 {"emitted", "seen", Unit::kCount, "Events that the rank saw."},
                 {"dropped", "dropped", Unit::kCount, "Of these, lost to full queues."}},
                {}};
    for (const RankFacts& rank : summary.ranks)
        table.rows.push_back({std::int64_t{rank.rank.value},
                              static_cast<std::int64_t>(rank.emitted),
                              static_cast<std::int64_t>(rank.dropped)});
    return table;
}

Table clockTable(const analysis::HostClocks& clocks) {
    Table table{"clocks",
                "Clocks of the hosts",
                {{"host", "host"},
                 {"residual_ns", "right within", Unit::kNanoseconds,
                  "Median bound on what its times are off by, tightened by collectives."},
                 {"worst_residual_ns", "at worst", Unit::kNanoseconds},
                 {"drift_ppb", "drift (ppb)", Unit::kNone, "By which it gains on the recorder's."},
                 {"comparisons", "compared", Unit::kCount},
                 {"steps", "set", Unit::kCount, "Times that somebody set it."}},
                {}};
    for (const analysis::HostClock& host : clocks.hosts())
        table.rows.push_back({host.name, host.residual.ns, host.worstResidual.ns, host.driftPpb,
                              host.comparisons, host.steps});
    return table;
}

Table diagnosticTable(const RecordingSummary& summary) {
    Table table{"diagnostics",
                "What was noticed while recording",
                {{"severity", "severity"},
                 {"rank", "rank"},
                 {"count", "count", Unit::kCount},
                 {"message", "what"},
                 {"remedy", "what to do"}},
                {}};
    for (const Diagnostic& each : summary.diagnostics)
        table.rows.push_back({toWord(each.severity),
                              each.rank ? Cell(std::int64_t{each.rank->value}) : Cell(), each.count,
                              each.message, each.remedy});
    return table;
}

}  // namespace

Result<Answer> askTrust(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    const RecordingSummary& summary = asked.summary;
    Answer answer;
    if (asked.selection.cutsTime())
        answer.untold.emplace_back(
            "could not tell whether a part is complete: the certificate is of a whole recording");
    else
        addCertificate(analysis::certify(summary, *ranks), answer);
    if (!summary.complete)
        answer.sentences.emplace_back(
            "It was not finalised: its writer is at work or died, and what came last may be "
            "missing.");
    for (const std::string& phrase : detailPhrases(summary.detail))
        answer.sentences.push_back("Left out on purpose: " + phrase + ".");
    answer.tables.push_back(rankTable(summary));
    const analysis::HostClocks clocks(summary, *ranks);
    if (clocks.several()) {
        answer.tables.push_back(clockTable(clocks));
        if (const std::int64_t apart = clocks.contradictions(); apart > 0)
            answer.sentences.push_back(fmt::format(
                "In {} windows of 10 s collectives contradict the clocks: nothing that two hosts "
                "stamped there is compared.",
                apart));
    } else if (summary.hosts.size() > 1) {
        answer.untold.emplace_back(
            "could not tell how far times of different hosts can be compared: nobody compared "
            "their clocks");
    }
    if (!summary.diagnostics.empty()) answer.tables.push_back(diagnosticTable(summary));
    answer.untold.emplace_back(
        "could not tell what recording itself cost this run: that takes one without it");
    return answer;
}

}  // namespace shardscope::questions

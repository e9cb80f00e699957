#include "profiler/analysis/communication/exposure.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/calibrated_limit.h"
#include "profiler/questions/communication.h"
#include "profiler/questions/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::Exposure;
using analysis::ExposureReason;
using analysis::ExposureSum;
using analysis::Overlap;

Table rankTable(const std::vector<RankEvents>& events, const std::vector<Overlap>& ranks) {
    Table table{"ranks",
                "By rank",
                {{"rank", "rank"},
                 {"communication_ns", "communication", Unit::kNanoseconds,
                  "Union of collectives within the steps."},
                 {"hidden_ns", "hidden", Unit::kNanoseconds, "Of it, behind compute."},
                 {"exposed_ns", "exposed", Unit::kNanoseconds, "Communication - hidden."},
                 {"waiting_ns", "waiting", Unit::kNanoseconds,
                  "Of communication, before the last arrived."},
                 {"hidden_pct", "hidden", Unit::kPercent, "Hidden / communication."},
                 {"limit_pct", "most", Unit::kPercent,
                  "What the schedule could hide if neither step thread nor link ever paused."},
                 {"reached_pct", "of most", Unit::kOfPeak, "Hidden of moving alone / most."}},
                {}};
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const bool known = ranks[i].computeKnown;
        table.rows.push_back(
            {std::int64_t{events[i].rank.value}, ranks[i].communication.ns,
             known ? Cell(ranks[i].hidden.ns) : Cell(), known ? Cell(ranks[i].exposed.ns) : Cell(),
             ranks[i].waitingKnown ? Cell(ranks[i].waiting.ns) : Cell(), percent(ranks[i].ratio()),
             percent(ranks[i].limit()), percent(ranks[i].reachedOfLimit())});
    }
    return table;
}

std::vector<Column> sumColumns() {
    return {{"count", "count", Unit::kCount, "Each counts on every rank."},
            {"time_ns", "time", Unit::kNanoseconds, "From start to end, within the steps."},
            {"hidden_ns", "hidden", Unit::kNanoseconds, "Behind compute."},
            {"waiting_ns", "waiting", Unit::kNanoseconds, "Exposed, before the last rank arrived."},
            {"moving_ns", "moving", Unit::kNanoseconds,
             "Exposed, while data moved; where waiting is not known, all that is exposed."},
            {"hidden_pct", "hidden", Unit::kPercent, "Hidden / time."}};
}

void addSum(const ExposureSum& sum, std::vector<Cell>& row) {
    row.insert(row.end(), {sum.count, sum.whole.ns, sum.hidden.ns,
                           sum.waitingKnown ? Cell(sum.waiting.ns) : Cell(), sum.moving.ns,
                           share(sum.hidden, sum.whole)});
}

Table kindTable(const std::vector<Exposure>& exposures) {
    std::map<std::pair<CollectiveOp, Cause>, ExposureSum> sums;
    for (const Exposure& each : exposures) sums[{each.operation, each.cause}].add(each);
    Table table{"operations",
                "By operation and cause",
                {{"operation", "operation"}, {"cause", "cause"}},
                {}};
    for (const Column& column : sumColumns()) table.columns.push_back(column);
    for (const auto& [key, sum] : sums) {
        std::vector<Cell> row{toWord(key.first), toWord(key.second)};
        addSum(sum, row);
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table layerTable(const analysis::ExposureSums& sums) {
    Table table{
        "layers",
        "By layer",
        {{"layer", "layer", Unit::kNone, "-2: embeddings and head."}, {"operation", "operation"}},
        {}};
    for (const Column& column : sumColumns()) table.columns.push_back(column);
    for (const auto& [key, sum] : sums.byLayer()) {
        if (key.first == kNoLayer) continue;
        std::vector<Cell> row{std::int64_t{key.first.value}, toWord(key.second)};
        addSum(sum, row);
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table exposedTable(std::vector<Exposure> exposures) {
    std::erase_if(exposures,
                  [](const Exposure& each) { return each.reason == ExposureReason::kNone; });
    std::stable_sort(exposures.begin(), exposures.end(), [](const Exposure& a, const Exposure& b) {
        return a.exposed() > b.exposed();
    });
    Table table{
        "exposed",
        "Exposed collectives, most exposed first",
        {{"rank", "rank"},
         {"step", "step"},
         {"layer", "layer"},
         {"operation", "operation"},
         {"cause", "cause"},
         {"sequence", "sequence"},
         {"start_ns", "start", Unit::kNanoseconds},
         {"exposed_ns", "exposed", Unit::kNanoseconds},
         {"waiting_ns", "waiting", Unit::kNanoseconds, "Of it, before the last rank arrived."},
         {"why", "why", Unit::kNone,
          "Waited for a rank; queued behind the collective before; issued late, when it was "
          "needed; too long for the compute there was."},
         {"late_rank", "for rank"}},
        {}};
    for (const Exposure& each : exposures)
        table.rows.push_back({std::int64_t{each.rank.value}, stepCell(each.step),
                              layerCell(each.layer), toWord(each.operation), toWord(each.cause),
                              static_cast<std::int64_t>(each.sequence), each.range.begin.ns,
                              each.exposed().ns, each.waitingKnown ? Cell(each.waiting.ns) : Cell(),
                              toWord(each.reason),
                              each.late ? Cell(std::int64_t{each.late->value}) : Cell()});
    return table;
}

Table stepTable(const analysis::StepOverlaps& steps) {
    Table table{"steps",
                "By step, all ranks together",
                {{"step", "step"},
                 {"communication_ns", "communication", Unit::kNanoseconds},
                 {"hidden_ns", "hidden", Unit::kNanoseconds},
                 {"hidden_pct", "hidden", Unit::kPercent, "Hidden / communication."}},
                {}};
    for (const auto& [step, sum] : steps)
        table.rows.push_back({stepCell(step), sum.communication.ns,
                              sum.computeKnown ? Cell(sum.hidden.ns) : Cell(),
                              sum.computeKnown ? share(sum.hidden, sum.communication) : Cell()});
    return table;
}

/// Only where this machine was calibrated: no question of the recording alone.
void addCalibrated(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
                   Answer& answer) {
    const auto calibration = calibrationFor(summary);
    const auto limit = calibration ? calibratedLimit(summary, ranks, *calibration) : std::nullopt;
    if (!limit) return;
    answer.figures.push_back(
        {{"calibrated_limit_pct", "The same over the link as calibrated", Unit::kPercent,
          "Collectives take alpha + beta x size as `shardscope calibrate` measured it with nothing "
          "beside them; estimated."},
         percent(limit->share)});
    answer.sentences.push_back(
        fmt::format("Calibrated {} ago{}; of {} collectives {} are calibrated.",
                    planning::ageText(limit->oldest->unixS, std::time(nullptr)),
                    limit->estimated ? ", in part with other numbers of ranks" : "",
                    limit->collectives + limit->kept, limit->collectives));
}

}  // namespace

Result<Answer> askOverlap(const Asked& asked) {
    const auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    Answer answer;
    const analysis::DetailedPart part = asked.detailed(answer);
    const RecordingSummary& summary = part.of(asked.summary);
    const analysis::HostClocks clocks(summary, *ranks);
    analysis::StepOverlaps steps;
    std::vector<Overlap> overlaps;
    std::vector<Exposure> exposures;
    analysis::ExposureSums sums;
    for (const RankEvents& events : *ranks) {
        overlaps.push_back(analysis::rankOverlap(summary, events, steps));
        const analysis::Intervals within = analysis::trainingTime(summary, events);
        analysis::forExposures(events, *ranks, clocks, &within, [&](const Exposure& each) {
            sums.add(each);
            exposures.push_back(each);
        });
    }
    const Overlap all = analysis::sumOf(overlaps);
    answer.figures.push_back({{"hidden_pct", "Hidden", Unit::kPercent,
                               "Communication behind compute / communication, all ranks."},
                              percent(all.ratio())});
    answer.figures.push_back(
        {{"limit_pct", "The most of moving data that the schedule can hide", Unit::kPercent,
          "If neither step thread nor link ever paused (pipeline model). Without waiting for the "
          "last rank, which \"Hidden\" counts too."},
         percent(all.limit())});
    answer.figures.push_back({{"reached_pct", "Of that reached", Unit::kOfPeak,
                               "Share of moving data that is hidden / the most of it."},
                              percent(all.reachedOfLimit())});
    addCalibrated(summary, *ranks, answer);
    const bool communicated = all.communication.ns > 0;
    if (!communicated)
        if (auto done = addNoCommunication(
                asked, *ranks,
                analysis::withHow(
                    "what is hidden is unknown: no communication was recorded in the selection",
                    asked.summary, analysis::Lack::kCollectives),
                answer);
            !done)
            return failure(done);
    if (communicated && !all.computeKnown)
        answer.unknown.push_back(
            analysis::withHow("what is hidden and exposed is unknown: phases were not recorded",
                              asked.summary, analysis::Lack::kPhases));
    if (all.ratio() && !all.limit())
        answer.unknown.emplace_back(
            "what could be hidden is unknown: phases and the times at which collectives "
            "were issued are needed");
    if (!communicated && sourceOf(asked.summary.run) == RecordingSource::kProgram) return answer;
    answer.tables.push_back(rankTable(*ranks, overlaps));
    if (asked.perStep) answer.tables.push_back(stepTable(steps));
    if (communicated && !all.computeKnown) return answer;
    answer.tables.push_back(kindTable(exposures));
    answer.tables.push_back(layerTable(sums));
    answer.tables.push_back(exposedTable(std::move(exposures)));
    return answer;
}

}  // namespace shardscope::questions

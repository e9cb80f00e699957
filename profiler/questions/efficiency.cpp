#include "profiler/analysis/device/efficiency.h"

#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/flops/program_efficiency.h"
#include "profiler/questions/questions.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::Goodput;
using analysis::PartOfRanks;
using analysis::PartSpeed;
using analysis::UtilisationBy;

/// What the figures are based on; an MFU must not be printed without it.
void addBasis(const Asked& asked, const analysis::Throughput& throughput,
              const run::RunConfig& config, const analysis::Mfu& mfu, Answer& answer) {
    answer.sentences.push_back(fmt::format(
        "{} with {} parameters, context {}, {} rank{}, {}; {} warm-up steps left out, wall "
        "time with the optimizer.",
        asked.summary.run.model, countText(theory::parameterCount(config.model)),
        config.model.context, asked.summary.run.worldSize,
        asked.summary.run.worldSize == 1 ? "" : "s", toWord(config.precision),
        throughput.warmupStepsLeftOut));
    if (mfu.peakFlops)
        answer.sentences.push_back(fmt::format(
            "Peak of all ranks: {} ({}).",
            quantityText(*mfu.peakFlops, Unit::kFlops, Digits::kScreen).joined(), mfu.peakSource));
}

Table variantTable(const std::vector<UtilisationBy>& variants) {
    Table table{"variants",
                "MFU by every way to count",
                {{"variant", "variant"},
                 {"flops_per_token", "FLOPs/token", Unit::kFlop,
                  "Forward and backward, as the variant counts them."},
                 {"flops_per_s", "FLOP/s", Unit::kFlops, "Of all ranks together."},
                 {"mfu_pct", "MFU", Unit::kOfPeak, "FLOP/s / the peak of all ranks."}},
                {}};
    for (const UtilisationBy& each : variants)
        table.rows.push_back({toWord(each.variant), each.flopsPerToken, each.flopsPerSecond,
                              percent(each.utilisation)});
    return table;
}

Table goodputTable(const Goodput& goodput) {
    Table table{"time",
                "Where the time of all ranks went",
                {{"item", "item"},
                 {"time_ns", "time", Unit::kNanoseconds},
                 {"share_pct", "of wall time", Unit::kPercent, "Of the wall time of all ranks."},
                 {"what", "what it is"}},
                {}};
    const auto share = [&](Duration time) {
        return 100 * static_cast<double>(time.ns) / static_cast<double>(goodput.wall.ns);
    };
    table.rows.push_back(
        {"goodput", goodput.productive.ns, share(goodput.productive), "Steps that train."});
    for (const Goodput::Item& item : goodput.badput)
        table.rows.push_back({item.key, item.time.ns, share(item.time), item.what});
    return table;
}

std::optional<double> peakOf(const RecordingSummary& summary, RankId rank) {
    for (const RankFacts& each : summary.ranks)
        if (each.rank == rank) return each.peakFlops;
    return std::nullopt;
}

Table partTable() {
    return {"parts",
            "The same by rank",
            {{"rank", "rank"},
             {"phase", "phase", Unit::kNone, "The head's holds its forward and its backward."},
             {"layer", "layer", Unit::kNone, "None: of all blocks together, or of no block."},
             {"steps", "steps", Unit::kCount},
             {"time_ns", "time", Unit::kNanoseconds, "Of these phases in these steps."},
             {"flops_per_s", "FLOP/s", Unit::kFlops,
              "Matrix products, attention counted to the key, / time."},
             {"peak_pct", "of peak", Unit::kOfPeak, "FLOP/s / the peak of the rank."}},
            {}};
}

void addParts(const std::vector<PartSpeed>& parts, std::optional<double> peak, Table& table) {
    for (const PartSpeed& part : parts) {
        const auto speed = part.flopsPerSecond();
        const bool known = speed && peak && *peak > 0;
        table.rows.push_back({std::int64_t{part.rank.value}, toWord(part.phase),
                              layerCell(part.layer), part.steps, part.time.ns, cell(speed),
                              known ? Cell(100 * *speed / *peak) : Cell()});
    }
}

/// Mean of those that partake; nothing where one is not known.
std::optional<double> meanPeak(const RecordingSummary& summary,
                               const std::vector<PartSpeed>& parts) {
    if (parts.empty()) return std::nullopt;
    double sum = 0;
    for (const PartSpeed& part : parts) {
        const auto peak = peakOf(summary, part.rank);
        if (!peak || *peak <= 0) return std::nullopt;
        sum += *peak;
    }
    return sum / static_cast<double>(parts.size());
}

Table allPartsTable(const std::vector<PartOfRanks>& parts, std::optional<double> peak) {
    Table table{
        "all_parts",
        "Matrix products by phase, then by layer",
        {{"phase", "phase", Unit::kNone, "The head's holds its forward and its backward."},
         {"layer", "layer", Unit::kNone, "None: of all blocks together, or of no block."},
         {"ranks", "ranks", Unit::kCount},
         {"time_ns", "time", Unit::kNanoseconds, "Of these phases, all ranks together."},
         {"flops_per_s", "FLOP/s per rank", Unit::kFlops,
          "Matrix products, attention counted to the key, / time, per rank: the mean over ranks."},
         {"peak_pct", "of peak", Unit::kOfPeak, "FLOP/s per rank / the peak per rank, both means."},
         {"slowest_flops_per_s", "slowest rank", Unit::kFlops},
         {"fastest_flops_per_s", "fastest rank", Unit::kFlops}},
        {}};
    for (const PartOfRanks& part : parts) {
        const auto speed = part.flopsPerSecond();
        table.rows.push_back({toWord(part.phase), layerCell(part.layer), part.ranks, part.time.ns,
                              cell(speed), speed && peak ? Cell(100 * *speed / *peak) : Cell(),
                              cell(part.slowest), cell(part.fastest)});
    }
    return table;
}

/// In a device's own time: kernels of a rank's steps are not in its phases.
bool isOnDevice(const RankEvents& events) {
    return !events.computeKernels.empty();
}

/// What is asked of a rank's events, which need not stay in memory behind it.
struct ReadRanks {
    std::vector<RankEvents> outlines;
    std::vector<std::vector<PartSpeed>> parts;  ///< of each rank
    std::vector<analysis::DeviceUse> uses;
    std::optional<analysis::Goodput> goodput;
};

Result<ReadRanks> readRanks(const Asked& asked) {
    const auto config = run::parseRunConfigJson(asked.summary.run.configJson);
    ReadRanks read;
    analysis::GoodputTally goodput(asked.summary);
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto events = asked.events(rank.rank);
        if (!events) return failure(events);
        read.outlines.push_back(analysis::outlineOf(*events));
        if (config && !isOnDevice(*events))
            read.parts.push_back(analysis::partSpeeds(asked.summary, config->model, *events));
        if (auto use = analysis::deviceUse(asked.summary, *events))
            read.uses.push_back(std::move(*use));
        goodput.add(*events);
    }
    read.goodput = goodput.goodput();
    return read;
}

void addSpeedOfParts(const Asked& asked, const std::vector<std::vector<PartSpeed>>& ranks,
                     Answer& answer) {
    Table byRank = partTable();
    std::vector<PartSpeed> all;
    for (const std::vector<PartSpeed>& parts : ranks) {
        if (!parts.empty()) addParts(parts, peakOf(asked.summary, parts.front().rank), byRank);
        all.insert(all.end(), parts.begin(), parts.end());
    }
    if (all.empty())
        answer.unknown.emplace_back(
            "speed of phases and layers unknown: no phases of CPU "
            "ranks were recorded");
    answer.tables.push_back(allPartsTable(analysis::overRanks(all), meanPeak(asked.summary, all)));
    answer.tables.push_back(std::move(byRank));
}

std::string whyNoThroughput(const Asked& asked, const analysis::Throughput& throughput) {
    if (throughput.stepSecondsMedian)
        return analysis::withHow("its steps do not say how many tokens they have", asked.summary,
                                 analysis::Lack::kTokens);
    return asked.selection.cutsTime() ? "no whole step of all ranks lies in the selection"
                                      : analysis::withHow("no step was finished by all ranks",
                                                          asked.summary, analysis::Lack::kSteps);
}

/// Of a run of our own, whose model is known.
void addModelSpeed(const Asked& asked, const ReadRanks& ranks,
                   const analysis::Throughput& throughput, Answer& answer) {
    const auto mfu = analysis::modelFlopsUtilisation(asked.summary, throughput.tokensPerSecond);
    const auto config = run::parseRunConfigJson(asked.summary.run.configJson);
    answer.figures.push_back({{"mfu_pct", "MFU (palm)", Unit::kOfPeak,
                               "Tokens/s x (6 N + 12 L C T) / peak of all ranks."},
                              percent(mfu.value)});
    if (!mfu.value) answer.unknown.push_back("MFU unknown: " + mfu.reason);
    if (mfu.peakFlops)
        answer.figures.push_back({{"peak_unsure", "Peak", Unit::kNone,
                                   "Unsure: its measurements do not agree, and shares of it are "
                                   "not to be relied on."},
                                  mfu.unsure ? "unsure" : "sure"});
    if (!config || !throughput.tokensPerSecond) {
        answer.unknown.push_back(fmt::format(
            "FLOPs unknown: {}",
            config ? std::string("throughput is not known")
                   : analysis::withHow("the recording does not say which model was trained",
                                       asked.summary, analysis::Lack::kModel)));
        return;
    }
    addBasis(asked, throughput, *config, mfu, answer);
    if (mfu.peakFlops && *mfu.peakFlops > 0)
        answer.figures.push_back(
            {{"hfu_pct", "HFU", Unit::kOfPeak,
              "As MFU, with what is really executed: recomputed blocks, attention's scores twice."},
             100 * analysis::hardwareUtilisation(*config, *throughput.tokensPerSecond,
                                                 *mfu.peakFlops)});
    answer.figures.push_back(
        {{"measured_peak_pct", "Of the measured peak", Unit::kOfPeak,
          "As MFU, over what matrix products reached before the first step."},
         percent(analysis::measuredPeakUse(asked.summary, throughput.tokensPerSecond))});
    answer.tables.push_back(variantTable(
        analysis::utilisationBy(config->model, *throughput.tokensPerSecond, mfu.peakFlops)));
    addSpeedOfParts(asked, ranks.parts, answer);
}

Result<void> addSpeed(const Asked& asked, const ReadRanks& ranks, Answer& answer) {
    const auto throughput = analysis::measureThroughput(asked.summary, ranks.outlines);
    answer.figures.push_back({{"tokens_per_s", "Throughput", Unit::kTokensPerSecond,
                               "Tokens of all ranks / time of a step, median over the steps."},
                              cell(throughput.tokensPerSecond)});
    answer.figures.push_back(
        {{"whole_run_tokens_per_s", "Over the whole run", Unit::kTokensPerSecond,
          "Tokens of all steps, warm-up and validation too, over the time from the first one's "
          "beginning to the last one's end."},
         cell(throughput.wholeTokensPerSecond)});
    if (!throughput.tokensPerSecond)
        answer.unknown.push_back("throughput unknown: " + whyNoThroughput(asked, throughput));
    if (sourceOf(asked.summary.run) != RecordingSource::kOwnRun)
        return addProgramRates(asked, ranks.outlines, throughput, answer);
    addModelSpeed(asked, ranks, throughput, answer);
    return {};
}

Table peakTable() {
    return {"peaks",
            "Peaks of matrix products",
            {{"rank", "rank"},
             {"device", "device"},
             {"precision", "type", Unit::kNone, "Of the numbers that the run multiplies."},
             {"peak_flops", "peak", Unit::kFlops, "That shares of peaks are of."},
             {"peak_source", "peak from"},
             {"vendor_flops", "vendor", Unit::kFlops, "Dense, at the run's precision."},
             {"vendor_source", "vendor's from"},
             {"measured_flops", "measured", Unit::kFlops,
              "Reached by matrix products of the run's shapes before the first step."},
             {"measured_of_vendor_pct", "of vendor", Unit::kOfPeak, "Measured / vendor."}},
            {}};
}

const DeviceFacts* deviceOf(const RecordingSummary& summary, RankId rank) {
    for (const DeviceFacts& device : summary.devices)
        if (device.rank == rank) return &device;
    return nullptr;
}

Cell shareOf(std::optional<double> part, std::optional<double> whole) {
    return part && whole && *whole > 0 ? Cell(100 * *part / *whole) : Cell();
}

std::string whyNoPeak(const RecordingSummary& summary) {
    if (analysis::hasNoRank(summary.run, summary.processes))
        return analysis::howToGet(summary, analysis::Lack::kOperators);
    const std::string why = sourceOf(summary.run) == RecordingSource::kProgram
                                ? analysis::peakOfRanks(summary).reason
                                : std::string();
    return why.empty() ? "none was measured or is known" : why;
}

/// Measured beside the vendor's, of ranks of which either is known.
void addPeaks(const RecordingSummary& summary, Answer& answer) {
    Table table = peakTable();
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    const Cell precision = config ? Cell(toWord(config->precision)) : Cell();
    for (const RankFacts& rank : summary.ranks) {
        const DeviceFacts none;
        const DeviceFacts* found = deviceOf(summary, rank.rank);
        const DeviceFacts& device = found != nullptr ? *found : none;
        if (!rank.peakFlops && !device.vendorPeak && !device.measuredPeak) continue;
        table.rows.push_back({std::int64_t{rank.rank.value},
                              found != nullptr ? device.name : rank.device, precision,
                              cell(rank.peakFlops), rank.peakSource, cell(device.vendorPeak),
                              device.vendorPeakSource, cell(device.measuredPeak),
                              shareOf(device.measuredPeak, device.vendorPeak)});
    }
    if (!table.rows.empty()) {
        answer.tables.push_back(std::move(table));
        return;
    }
    const std::string why = whyNoPeak(summary);
    const bool said = std::any_of(answer.unknown.begin(), answer.unknown.end(),
                                  [&](const std::string& each) { return each.ends_with(why); });
    if (!said) answer.unknown.push_back("peak unknown: " + why);
}

/// Joules of all devices together, and of each.
void addEnergy(const RecordingSummary& summary, const std::vector<analysis::DeviceUse>& uses,
               Answer& answer) {
    const analysis::RunEnergy energy = analysis::runEnergy(uses, summary.ranks.size());
    if (!energy.missing.empty())
        answer.unknown.push_back("joules per token unknown: " +
                                 (summary.steps.empty() ? "no steps are here" : energy.missing));
    answer.figures.push_back({{"joules_per_step", "Energy per step", Unit::kJoules,
                               "Drawn by all devices per step, by their counters."},
                              cell(energy.joulesPerStep)});
    answer.figures.push_back({{"joules_per_token", "Energy per token", Unit::kJoules,
                               "The same / tokens of all ranks per step."},
                              cell(energy.joulesPerToken)});
    Table table{"energy",
                "Energy of each rank's device",
                {{"rank", "rank"},
                 {"device", "device"},
                 {"shared_by", "ranks on it", Unit::kCount},
                 {"joules_per_step", "per step", Unit::kJoules, "Of the whole device."},
                 {"joules_per_token", "per token", Unit::kJoules,
                  "Of the whole device / tokens of this rank."}},
                {}};
    for (const analysis::DeviceUse& use : uses)
        if (use.joulesPerStep)
            table.rows.push_back({std::int64_t{use.device.rank.value}, use.device.name,
                                  std::int64_t{use.device.sharedBy}, cell(use.joulesPerStep),
                                  cell(use.joulesPerToken)});
    if (!table.rows.empty()) answer.tables.push_back(std::move(table));
}

}  // namespace

Result<Answer> askEfficiency(const Asked& asked) {
    const auto ranks = readRanks(asked);
    if (!ranks) return failure(ranks);
    Answer answer;
    if (auto added = addSpeed(asked, *ranks, answer); !added) return failure(added);
    addPeaks(asked.summary, answer);
    addEnergy(asked.summary, ranks->uses, answer);
    if (asked.selection.cutsTime()) {
        answer.unknown.emplace_back("goodput unknown: it is of a whole run");
        return answer;
    }
    if (!ranks->goodput) {
        answer.unknown.push_back(analysis::withHow(
            "goodput unknown: without phases it is not known what is around steps", asked.summary,
            analysis::Lack::kPhases));
        return answer;
    }
    answer.figures.push_back({{"goodput_pct", "Goodput", Unit::kPercent,
                               "Time of steps that train / wall time of all ranks."},
                              percent(ranks->goodput->ratio())});
    answer.tables.push_back(goodputTable(*ranks->goodput));
    return answer;
}

}  // namespace shardscope::questions

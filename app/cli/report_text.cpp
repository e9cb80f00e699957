#include "app/cli/report_text.h"

#include "app/cli/console.h"
#include "app/cli/report_devices.h"
#include "app/cli/report_findings.h"
#include "app/cli/report_lines.h"
#include "app/cli/report_many.h"
#include "app/cli/report_table.h"
#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_settings.h"
#include "profiler/analysis/notices.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using analysis::kLedgerPartCount;
using analysis::LedgerPart;
using analysis::Report;

constexpr const char* kIndent = "  ";
constexpr const char* kRunning = "preliminary: the run is still recording";

/// Of a run that trains nothing.
std::optional<run::RunConfig> measuringConfig(const Report& report) {
    auto config = run::parseRunConfigJson(report.run.configJson);
    if (!config || config->work != run::Work::kMeasuring) return std::nullopt;
    return std::move(*config);
}

void addStatus(const RunFacts& run, ReportLines& lines) {
    lines.add("status",
              fmt::format("{}, {} recorded", toWord(run.status), durationText({run.ended.ns})));
}

std::string measured(const Report& report, const run::RunConfig& config) {
    ReportLines lines;
    for (const run::Setting& setting : run::settingsOf(config))
        if (std::string_view(setting.name) == "work") lines.add(setting.name, setting.text);
    if (!config.measureOperations.empty())
        lines.add("collectives",
                  fmt::format("{} of {}", config.measureOperations, config.measureSizes));
    if (config.measureMachine) lines.add("machine", run::kMachineFigures);
    if (!config.measureNorms.empty()) lines.add("norms", config.measureNorms);
    lines.add("ranks", std::to_string(report.run.worldSize));
    addStatus(report.run, lines);
    return "Configuration\n" + lines.text();
}

std::string configuration(const Report& report, bool brief) {
    const RunFacts& run = report.run;
    ReportLines lines;
    const bool imported = run.model.empty();
    lines.add("model",
              imported ? "not known: an imported trace does not say it"
                       : fmt::format("{}, {} parameters", run.model, countText(run.parameters)));
    lines.add("strategy", fmt::format("{} on {} rank{}", imported ? "not known," : run.strategy,
                                      run.worldSize, run.worldSize == 1 ? "" : "s"));
    if (const auto config = run::parseRunConfigJson(run.configJson)) {
        for (const run::Setting& setting : run::settingsOf(*config))
            lines.add(setting.name, setting.text);
        lines.add("steps", fmt::format("{} recorded, {} asked for", grouped(report.basis.steps),
                                       grouped(config->steps)));
    }
    addStatus(run, lines);
    if (brief) {
        lines.join("strategy", "model");
        lines.join("precision", "batch");
        lines.join("seed", "batch");
        lines.join("threads", "batch");
        lines.join("steps", "data");
        lines.join("capture", "data");
        lines.join("status", "data");
    }
    return "Configuration\n" + lines.text();
}

std::string training(const Report& report, bool brief) {
    const auto number = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.4f}", *value) : std::string("not recorded");
    };
    ReportLines lines;
    lines.add("loss, first to last",
              report.lossFirst ? number(report.lossFirst) + " to " + number(report.lossLast)
                               : "not recorded");
    if (report.validationLossLast)
        lines.add("validation loss", number(report.validationLossLast) + " (last)");
    if (report.tokensPerSecond)
        lines.add("throughput",
                  fmt::format("{:.0f} tokens/s over all ranks", *report.tokensPerSecond));
    if (report.stepSecondsMedian)
        lines.add("step, median",
                  fmt::format("{} ({} warm-up steps and steps with evaluation left out)",
                              durationText({std::llround(*report.stepSecondsMedian * 1e9)}),
                              report.warmupStepsLeftOut));
    const analysis::Mfu& mfu = report.mfu;
    lines.add("MFU", mfu.value ? fmt::format("{:.1f} % ({}; peak {:.1f} GFLOP/s over all ranks{})",
                                             *mfu.value * 100, mfu.variant, *mfu.peakFlops * 1e-9,
                                             brief ? "" : ", " + mfu.peakSource)
                               : "n/a: " + mfu.reason);
    if (report.measuredPeakUse)
        lines.add("of measured peak",
                  fmt::format("{:.1f} %{}", *report.measuredPeakUse * 100,
                              brief ? "" : " of what matrix products reached on these devices"));
    if (brief) {
        lines.join("validation loss", "loss, first to last");
        lines.join("step, median", "throughput");
        lines.join("of measured peak", "MFU");
    }
    return "\nTraining\n" + lines.text();
}

/// What of a rank's time is counted.
const char* countedTime(const Report& report) {
    if (!report.basis.whole()) return "within steps that have detail, validation left out";
    return report.withinSteps ? "within steps, validation left out"
                              : "from the first kernel to the last: no steps are recorded";
}

/// Who was waited for most comes first; in brief those that matter beside the first.
std::span<const analysis::WaitingForRank> namedLate(const Report& report, bool brief) {
    const std::span<const analysis::WaitingForRank> all = report.waiting;
    if (!brief) return all;
    const auto few = all.first(std::min(all.size(), kWorstRanks));
    const auto end = std::find_if(few.begin(), few.end(), [&](const auto& each) {
        return each.waited.ns < few.front().waited.ns / 10;
    });
    return few.first(static_cast<std::size_t>(end - few.begin()));
}

struct OverlapPart {
    const char* name;
    Duration time;
};

/// What communication consists of, in two ways.
std::vector<std::vector<OverlapPart>> overlapParts(const analysis::Overlap& all,
                                                   bool waitingKnown) {
    std::vector<std::vector<OverlapPart>> ways{
        {{"hidden by compute", all.hidden}, {"exposed: not under compute", all.exposed}}};
    if (waitingKnown)
        ways.push_back({{"waiting for the last rank", all.waiting}, {"moving data", all.moving}});
    return ways;
}

std::string ofCommunication(Duration part, const analysis::Overlap& all) {
    return shareText(static_cast<double>(part.ns), static_cast<double>(all.communication.ns));
}

std::string overlapTable(const analysis::Overlap& all, bool waitingKnown) {
    TextTable table({"", "time", "of communication"});
    const auto add = [&](const OverlapPart& part) {
        table.add({part.name, durationText(part.time), ofCommunication(part.time, all)});
    };
    add({"communication", all.communication});
    for (const auto& way : overlapParts(all, waitingKnown))
        for (const OverlapPart& part : way) add(part);
    return table.text(kIndent);
}

/// The same, a line each way.
std::string overlapLines(const analysis::Overlap& all, bool waitingKnown) {
    std::string name = "communication", text;
    for (const auto& way : overlapParts(all, waitingKnown)) {
        std::vector<std::string> parts;
        for (const OverlapPart& part : way)
            parts.push_back(fmt::format("{} {} ({})", part.name, durationText(part.time),
                                        ofCommunication(part.time, all)));
        const std::string sum =
            name.empty() ? "" : durationText(all.communication) + " over all ranks: ";
        text += reportLine(name, fmt::format("{}{}", sum, fmt::join(parts, ", ")));
        name.clear();
    }
    return text;
}

std::string overlap(const Report& report, bool brief) {
    const analysis::Overlap& all = report.overlap;
    std::string text = fmt::format("\nCommunication (all ranks, {})\n", countedTime(report));
    if (all.communication.ns == 0) return text + "  none recorded\n";
    text += brief ? overlapLines(all, report.waitingKnown) : overlapTable(all, report.waitingKnown);
    if (const auto reached = all.reachedOfLimit())
        text += fmt::format(
            "  this schedule can hide at most {:.1f} % of moving data: {:.3f} of that is reached\n",
            100 * *all.limit(), *reached);
    if (!report.waitingKnown)
        text += "waiting and transfer time cannot be separated: the other ranks are not recorded\n";
    for (const analysis::WaitingForRank& waiting : namedLate(report, brief))
        text +=
            fmt::format("  rank {} arrived last in {} collectives; the others waited {} for it\n",
                        waiting.late.value, waiting.collectives, durationText(waiting.waited));
    if (report.unknown.collectives > 0)
        text += fmt::format(
            "  in {} collectives the last rank to arrive is unknown{}; the ranks waited {}\n",
            report.unknown.collectives,
            brief ? ", for doubt in the clocks of the hosts"
                  : ": it was late by less than the clocks of the hosts are in doubt",
            durationText(report.unknown.waited));
    return text;
}

/// Of many hosts the least sure clock says what times of two hosts are worth.
std::string hostClocks(const std::vector<analysis::HostClock>& hosts, bool brief) {
    std::string text;
    if (brief && hosts.size() > kWorstRanks) {
        const auto& worst = *std::max_element(
            hosts.begin(), hosts.end(),
            [](const auto& a, const auto& b) { return a.worstResidual < b.worstResidual; });
        return reportLine("clocks", fmt::format("of {} hosts, least sure {}: {}", hosts.size(),
                                                worst.name, analysis::clockText(worst)));
    }
    for (const analysis::HostClock& host : hosts)
        text += reportLine(host.name, analysis::clockText(host));
    return "\nClocks of the hosts\n" + text;
}

std::string clocks(const Report& report, bool brief) {
    if (!report.clocks.several()) return {};
    std::string text = hostClocks(report.clocks.hosts(), brief);
    for (const analysis::ClockProof& proof : report.clocks.proofs())
        text += fmt::format(
            "  collectives prove times of host {} ahead of those of host {} by {} at least, from "
            "{:.0f} s to {:.0f} s\n",
            proof.first, proof.second, durationText(proof.ahead), proof.window.begin.seconds(),
            proof.window.end.seconds());
    if (const std::int64_t count = report.clocks.contradictions(); count > 0)
        text += fmt::format(
            "  in {} stretches of 10 s collectives contradict these: times of two hosts cannot be "
            "compared there\n",
            count);
    return text;
}

/// Why there is nothing to show.
const char* absence(const Report& report) {
    if (!report.basis.whole()) return "are not in the file any more, or never were: see Recording";
    if (report.running) return "are not in the file yet: the run is being recorded";
    return report.finalised ? "were not recorded at this capture level"
                            : "are not in the file: the recording was not finalised";
}

/// Sums over all recorded steps of each rank.
std::string ledger(const Report& report, bool brief) {
    const analysis::StepBasis& basis = report.basis;
    const std::string which = basis.whole()
                                  ? "recorded steps"
                                  : fmt::format("the {} of {} steps that have detail",
                                                countText(basis.detailed), countText(basis.steps));
    std::string text = fmt::format(
        "\nStep ledger (sum over {}; {})\n", which,
        brief ? "parts of 1 % and more of some rank's wall time" : "parts add up to wall time");
    std::set<RankId> ranks;
    for (const analysis::LedgerRow& row : report.ledger) ranks.insert(row.rank);
    if (ranks.empty()) return text + fmt::format("  phases {}\n", absence(report));
    if (brief) return text + ledgerOfMany(report);
    std::vector<std::string> header{""};
    for (const RankId rank : ranks) {
        header.push_back(fmt::format("rank {}", rank.value));
        header.emplace_back("of wall");
    }
    std::vector<std::vector<std::string>> rows(kLedgerPartCount + 1);
    for (int part = 0; part < kLedgerPartCount; ++part)
        rows[static_cast<std::size_t>(part)].emplace_back(toWord(static_cast<LedgerPart>(part)));
    rows.back().emplace_back("wall time");
    for (const RankId rank : ranks) {
        Duration wall;
        std::array<Duration, kLedgerPartCount> parts{};
        for (const analysis::LedgerRow& row : report.ledger) {
            if (row.rank != rank) continue;
            wall += row.wall;
            for (std::size_t part = 0; part < parts.size(); ++part) parts[part] += row.parts[part];
        }
        const auto whole = static_cast<double>(wall.ns);
        for (std::size_t part = 0; part < parts.size(); ++part) {
            rows[part].push_back(durationText(parts[part]));
            rows[part].push_back(shareText(static_cast<double>(parts[part].ns), whole));
        }
        rows.back().push_back(durationText(wall));
        rows.back().push_back(shareText(whole, whole));
    }
    TextTable table(header);
    const auto sums = sumOfParts(report.ledger);
    for (std::size_t part = 0; part < rows.size(); ++part)
        if (part >= sums.size() || sums[part].ns != 0) table.add(std::move(rows[part]));
    return text + table.text(kIndent);
}

std::string memory(const Report& report, bool brief) {
    std::string text = "\nMemory at each rank's peak, against theory\n";
    if (brief) return text + memoryOfMany(report);
    for (const analysis::RankMemory& rank : report.memory) {
        if (!rank.known) {
            text += fmt::format("  rank {}: memory events {}\n", rank.rank.value, absence(report));
            continue;
        }
        text += fmt::format("  rank {}: {} at {}\n", rank.rank.value, bytesText(rank.peak),
                            durationText({rank.peakTime.ns}));
        TextTable table({"category", "bytes", "theory", "of theory"});
        for (std::size_t category = 0; category < rank.byCategory.size(); ++category) {
            const std::int64_t held = rank.byCategory[category].count;
            const std::int64_t theory = rank.theoryByCategory[category].count;
            if (held == 0 && theory == 0) continue;
            table.add({toWord(static_cast<MemoryCategory>(category)), bytesText({held}),
                       theory == 0 ? "–" : bytesText({theory}),
                       shareText(static_cast<double>(held), static_cast<double>(theory))});
        }
        const bool outside = rank.managed() != rank.peak;
        table.add({outside ? "total within the allocator" : "total", bytesText(rank.managed()),
                   rank.theory.count == 0 ? "–" : bytesText(rank.theory),
                   shareText(static_cast<double>(rank.managed().count),
                             static_cast<double>(rank.theory.count))});
        text += table.text("    ");
    }
    return text;
}

std::string recording(const Report& report, bool brief) {
    std::string text = "\nRecording\n";
    const analysis::Completeness& certificate = report.completeness;
    text += reportLine("completeness",
                       report.running          ? kRunning
                       : !certificate.known    ? "unknown"
                       : !certificate.complete ? "incomplete"
                       : report.basis.whole()
                           ? "complete: every gather, reduction and phase of every step "
                             "is there"
                           : fmt::format("complete: every gather, reduction and phase of "
                                         "the {} of {} steps that have detail is there",
                                         report.basis.detailed, report.basis.steps));
    for (const std::string& phrase : report.basis.leftOut)
        text += fmt::format("  {:<22}{}\n", "", phrase);
    // What is not there may still come.
    for (const std::string& sentence :
         report.running ? std::vector<std::string>() : certificate.missing)
        text += fmt::format("  {:<22}{}\n", "", sentence);
    ReportLines lines;
    lines.add("dropped events", countText(report.dropped));
    lines.add("events", countText(report.events));
    std::string file = bytesText(report.fileSize);
    if (report.events > 0)
        file += fmt::format(
            ", {:.1f} bytes per event with everything in it",
            static_cast<double>(report.fileSize.count) / static_cast<double>(report.events));
    lines.add("file", file);
    if (brief) {
        lines.join("dropped events", "events");
        lines.join("file", "events");
    }
    text += lines.text();
    for (const Diagnostic& diagnostic : report.diagnostics)
        text +=
            quotedLines(fmt::format(
                "  {}: {}{}{}", toWord(diagnostic.severity), analysis::sentence(diagnostic.message),
                diagnostic.remedy.empty() ? "" : " ", analysis::sentence(diagnostic.remedy))) +
            '\n';
    return text;
}

}  // namespace

std::string reportText(const Report& report, const std::string& path, bool everyRank) {
    const std::size_t ranks = std::max(report.memory.size(), report.devices.size());
    const bool brief = !everyRank && ranks > kFewRanks;
    const std::string which =
        brief ? fmt::format(", the spread over {} ranks; --all shows each of them", ranks) : "";
    const std::string head =
        fmt::format("Report of {}{}\n\n", path, which) + findingsText(report, everyRank);
    if (const auto config = measuringConfig(report))
        return head + measured(report, *config) + clocks(report, brief) + recording(report, brief);
    return head + configuration(report, brief) + training(report, brief) +
           devicesText(report, countedTime(report), brief) + htaText(report, brief) +
           overlap(report, brief) + clocks(report, brief) + ledger(report, brief) +
           memory(report, brief) + recording(report, brief);
}

}  // namespace shardscope::cli

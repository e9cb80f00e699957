#include "app/cli/report_text.h"

#include "app/cli/report_findings.h"
#include "app/cli/report_many.h"
#include "app/cli/report_table.h"
#include "engine/run/config/modelled_link.h"
#include "engine/run/config/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

namespace shardscope::cli {
namespace {

using analysis::kLedgerPartCount;
using analysis::LedgerPart;
using analysis::Report;

constexpr const char* kIndent = "  ";
constexpr const char* kRunning =
    "not to be told yet: the run is being recorded, and all of this is of what is there now";

std::string line(std::string_view name, const std::string& value) {
    return fmt::format("  {:<22}{}\n", name, value);
}

std::string percent(double part, double whole) {
    return whole == 0 ? "–" : fmt::format("{:.1f} %", 100 * part / whole);
}

std::string configuration(const Report& report) {
    const RunFacts& run = report.run;
    std::string text = "Configuration\n";
    const bool imported = run.model.empty();
    if (imported)
        text += line("model", "not known: an imported trace does not say it");
    else
        text += line("model", fmt::format("{}, {} parameters", run.model,
                                          countText(static_cast<std::uint64_t>(run.parameters))));
    text += line("strategy", fmt::format("{} on {} rank{}", imported ? "not known," : run.strategy,
                                         run.worldSize, run.worldSize == 1 ? "" : "s"));
    if (const auto config = run::parseRunConfigJson(run.configJson)) {
        text +=
            line("batch", fmt::format("{} sequences x {} tokens per rank, {} micro-step{} per step",
                                      config->batch, config->model.context, config->accumulate,
                                      config->accumulate == 1 ? "" : "s"));
        text += line("precision", toWord(config->precision));
        text += line("data", config->data.empty() ? "the project's own source tree" : config->data);
        text += line("capture", toWord(config->capture));
        if (const std::string link = run::modelledLink(*config); !link.empty())
            text += line("link", link + "; times of collectives are the model's");
    }
    text += line("status",
                 fmt::format("{}, {} recorded", toWord(run.status), durationText(run.ended.ns)));
    return text;
}

std::string training(const Report& report) {
    const auto number = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.4f}", *value) : std::string("not recorded");
    };
    std::string text = "\nTraining\n";
    text += line("loss, first to last",
                 report.lossFirst ? number(report.lossFirst) + " to " + number(report.lossLast)
                                  : "not recorded");
    if (report.validationLossLast)
        text += line("validation loss", number(report.validationLossLast) + " (last)");
    if (report.tokensPerSecond)
        text += line("throughput",
                     fmt::format("{:.0f} tokens/s over all ranks", *report.tokensPerSecond));
    if (report.stepSecondsMedian)
        text += line("step, median",
                     fmt::format("{:.1f} ms ({} warm-up steps and steps with "
                                 "evaluation left out)",
                                 *report.stepSecondsMedian * 1e3, report.warmupStepsLeftOut));
    const analysis::Mfu& mfu = report.mfu;
    if (mfu.value)
        text += line("MFU", fmt::format("{:.1f} % ({}; peak {:.1f} GFLOP/s over all ranks, {})",
                                        *mfu.value * 100, mfu.variant, *mfu.peakFlops * 1e-9,
                                        mfu.peakSource));
    else
        text += line("MFU", "n/a: " + mfu.reason);
    if (report.measuredPeakUse)
        text += line("of measured peak",
                     fmt::format("{:.1f} % of what matrix products reached on these devices",
                                 *report.measuredPeakUse * 100));
    return text;
}

std::string deviceText(const analysis::DeviceUse& use) {
    const DeviceFacts& device = use.device;
    std::string text = line(fmt::format("rank {}", device.rank.value),
                            fmt::format("{}{}, {}, driver {}", device.name,
                                        device.pciBusId.empty() ? "" : " (" + device.pciBusId + ")",
                                        bytesText(device.memory.count),
                                        device.driver.empty() ? "not known" : device.driver));
    if (device.sharedBy > 1)
        text += line("", fmt::format("shared device of {} ranks: its times say nothing of speed",
                                     device.sharedBy));
    if (device.measuredPeak)
        text += line("", fmt::format("{:.1f} TFLOP/s, {}", *device.measuredPeak * 1e-12,
                                     device.measuredPeakSource));
    const std::string attention =
        device.attention.empty() ? "" : fmt::format("attention by {}; ", device.attention);
    text += line("", fmt::format("{}traced by {}", attention, device.tracing));
    if (use.joulesPerStep)
        text += line("", fmt::format("{:.1f} J per step{}", *use.joulesPerStep,
                                     use.joulesPerToken ? fmt::format(", {:.3f} mJ per token",
                                                                      *use.joulesPerToken * 1e3)
                                                        : ""));
    return text;
}

/// What of a rank's time is counted.
const char* countedTime(const Report& report) {
    if (!report.basis.whole()) return "within steps that have detail, validation left out";
    return report.withinSteps ? "within steps, validation left out"
                              : "from the first kernel to the last: no steps are recorded";
}

/// Those that are shown: all, or of many those that idled longest.
std::vector<analysis::DeviceUse> shownDevices(const Report& report, bool everyRank) {
    std::vector<analysis::DeviceUse> shown = report.devices;
    if (everyRank || shown.size() <= kFewRanks) return shown;
    std::stable_sort(shown.begin(), shown.end(),
                     [](const auto& a, const auto& b) { return a.idle > b.idle; });
    shown.resize(kWorstRanks);
    return shown;
}

std::string devices(const Report& report, bool everyRank) {
    if (report.devices.empty()) return {};
    const std::vector<analysis::DeviceUse> shown = shownDevices(report, everyRank);
    std::string text = fmt::format("\nDevices (kernels {})\n", countedTime(report));
    TextTable table({"rank", "kernels", "compute", "communication", "hidden", "overlap", "idle"});
    bool traced = false;
    if (shown.size() < report.devices.size())
        text += fmt::format("  The {} of {} that idled longest:\n", shown.size(),
                            report.devices.size());
    for (const analysis::DeviceUse& use : shown) {
        text += deviceText(use);
        if (use.kernels == 0) continue;
        traced = true;
        table.add({std::to_string(use.device.rank.value),
                   countText(static_cast<std::uint64_t>(use.kernels)), durationText(use.compute.ns),
                   durationText(use.communication.ns), durationText(use.hidden.ns),
                   use.overlap() ? fmt::format("{:.3f}", *use.overlap()) : "none",
                   durationText(use.idle.ns)});
    }
    return traced ? text + table.text(kIndent) : text;
}

/// What HTA says of the exported traces by itself.
std::string hta(const Report& report) {
    if (report.hta.empty()) return {};
    std::string text =
        "\nHTA-compatible (as HolisticTraceAnalysis counts: by kernel names, launched kernels "
        "only,\n"
        "without the trace's last step; the exact numbers are above)\n";
    TextTable table({"rank", "kernel time", "idle", "compute", "non-compute", "overlap"});
    TextTable streams({"rank", "stream", "host wait", "kernel wait", "other"});
    for (const analysis::HtaNumbers& numbers : report.hta) {
        if (numbers.options.wholeMicroseconds || numbers.options.keepLastStep) continue;
        const std::string rank = std::to_string(numbers.rank.value);
        const auto share = [&](std::int64_t ns) {
            return fmt::format(
                "{} ({})", durationText(ns),
                percent(static_cast<double>(ns), static_cast<double>(numbers.kernelNs)));
        };
        table.add(
            {rank, durationText(numbers.kernelNs), share(numbers.idleNs), share(numbers.computeNs),
             share(numbers.nonComputeNs),
             numbers.overlapPercent ? fmt::format("{:.2f} %", *numbers.overlapPercent) : "none"});
        for (const analysis::HtaIdle& idle : numbers.idle)
            streams.add({rank, std::to_string(idle.stream), durationText(idle.hostWaitNs),
                         durationText(idle.kernelWaitNs), durationText(idle.otherNs)});
    }
    return text + table.text(kIndent) + "  Idle between kernels of a stream\n" +
           streams.text(kIndent);
}

std::string overlap(const Report& report, bool everyRank) {
    const analysis::Overlap& all = report.overlap;
    std::string text = fmt::format("\nCommunication (all ranks, {})\n", countedTime(report));
    if (all.communication.ns == 0) return text + "  none recorded\n";
    const auto whole = static_cast<double>(all.communication.ns);
    TextTable table({"", "time", "of communication"});
    const auto add = [&](const char* name, Duration duration) {
        table.add(
            {name, durationText(duration.ns), percent(static_cast<double>(duration.ns), whole)});
    };
    add("communication", all.communication);
    add("hidden by compute", all.hidden);
    add("exposed: not under compute", all.exposed);
    if (report.waitingKnown) {
        add("waiting for the last rank", all.waiting);
        add("moving data", all.moving);
    }
    text += table.text(kIndent);
    if (const auto reached = all.reachedOfLimit())
        text += fmt::format(
            "  this schedule can hide at most {:.1f} % of moving data: {:.3f} of that is reached\n",
            100 * *all.limit(), *reached);
    if (!report.waitingKnown)
        text += "  waiting and moving cannot be told apart: the other ranks are not recorded\n";
    // Who is waited for most comes first.
    const std::size_t named =
        everyRank ? report.waiting.size() : std::min(report.waiting.size(), kWorstRanks);
    for (const analysis::WaitingForRank& waiting : std::span(report.waiting).first(named))
        text +=
            fmt::format("  rank {} arrived last in {} collectives; the others waited {} for it\n",
                        waiting.late.value, waiting.collectives, durationText(waiting.waited.ns));
    if (report.untold.collectives > 0)
        text += fmt::format(
            "  in {} collectives the last to arrive cannot be told: it was late by less than the "
            "clocks of the hosts are in doubt; the ranks waited {}\n",
            report.untold.collectives, durationText(report.untold.waited.ns));
    return text;
}

std::string clocks(const Report& report) {
    if (!report.clocks.several()) return {};
    std::string text = "\nClocks of the hosts\n";
    for (const analysis::HostClock& host : report.clocks.hosts())
        text += line(host.name, analysis::clockText(host));
    for (const analysis::ClockProof& proof : report.clocks.proofs())
        text += fmt::format(
            "  collectives prove times of host {} ahead of those of host {} by {} at least, from "
            "{:.0f} s to {:.0f} s\n",
            proof.first, proof.second, durationText(proof.ahead.ns), proof.window.begin.seconds(),
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
std::string ledger(const Report& report, bool everyRank) {
    const analysis::StepBasis& basis = report.basis;
    const std::string which =
        basis.whole() ? "recorded steps"
                      : fmt::format("the {} of {} steps that have detail",
                                    countText(static_cast<std::uint64_t>(basis.detailed)),
                                    countText(static_cast<std::uint64_t>(basis.steps)));
    std::string text =
        fmt::format("\nStep ledger (sum over {}; parts add up to wall time)\n", which);
    std::set<RankId> ranks;
    for (const analysis::LedgerRow& row : report.ledger) ranks.insert(row.rank);
    if (ranks.empty()) return text + fmt::format("  phases {}\n", absence(report));
    if (!everyRank && ranks.size() > kFewRanks) return text + ledgerOfMany(report);
    std::vector<std::string> header{""};
    for (const RankId rank : ranks) {
        header.push_back(fmt::format("rank {}", rank.value));
        header.emplace_back("share");
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
            rows[part].push_back(durationText(parts[part].ns));
            rows[part].push_back(percent(static_cast<double>(parts[part].ns), whole));
        }
        rows.back().push_back(durationText(wall.ns));
        rows.back().push_back(percent(whole, whole));
    }
    TextTable table(header);
    const auto sums = sumOfParts(report.ledger);
    for (std::size_t part = 0; part < rows.size(); ++part)
        if (part >= sums.size() || sums[part].ns != 0) table.add(std::move(rows[part]));
    return text + table.text(kIndent);
}

std::string memory(const Report& report, bool everyRank) {
    std::string text = "\nMemory at each rank's peak, against theory\n";
    if (!everyRank && report.memory.size() > kFewRanks) return text + memoryOfMany(report);
    for (const analysis::RankMemory& rank : report.memory) {
        if (!rank.known) {
            text += fmt::format("  rank {}: memory events {}\n", rank.rank.value, absence(report));
            continue;
        }
        text += fmt::format("  rank {}: {} at {}\n", rank.rank.value, bytesText(rank.peak.count),
                            durationText(rank.peakTime.ns));
        TextTable table({"category", "bytes", "theory", "of theory"});
        for (std::size_t category = 0; category < rank.byCategory.size(); ++category) {
            const std::int64_t held = rank.byCategory[category].count;
            const std::int64_t theory = rank.theoryByCategory[category].count;
            if (held == 0 && theory == 0) continue;
            table.add({toWord(static_cast<MemoryCategory>(category)), bytesText(held),
                       theory == 0 ? "–" : bytesText(theory),
                       percent(static_cast<double>(held), static_cast<double>(theory))});
        }
        const bool outside = rank.managed() != rank.peak;
        table.add({outside ? "total within the allocator" : "total",
                   bytesText(rank.managed().count), bytesText(rank.theory.count),
                   percent(static_cast<double>(rank.managed().count),
                           static_cast<double>(rank.theory.count))});
        text += table.text("    ");
    }
    return text;
}

std::string recording(const Report& report) {
    std::string text = "\nRecording\n";
    const analysis::Completeness& certificate = report.completeness;
    text += line("completeness", report.running          ? kRunning
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
    text += line("dropped events", countText(report.dropped));
    text += line("events", countText(report.events));
    const double perEvent = report.events == 0 ? 0
                                               : static_cast<double>(report.fileSize.count) /
                                                     static_cast<double>(report.events);
    text += line("file", fmt::format("{}, {:.1f} bytes per event with everything in it",
                                     bytesText(report.fileSize.count), perEvent));
    for (const Diagnostic& diagnostic : report.diagnostics)
        text += fmt::format("  {}: {}{}{}\n", toWord(diagnostic.severity), diagnostic.message,
                            diagnostic.remedy.empty() ? "" : "; ", diagnostic.remedy);
    return text;
}

}  // namespace

std::string reportText(const Report& report, const std::string& path, bool everyRank) {
    std::string text = fmt::format("Report of {}\n\n", path) + findingsText(report, everyRank) +
                       configuration(report) + training(report) + devices(report, everyRank) +
                       hta(report) + overlap(report, everyRank) + clocks(report) +
                       ledger(report, everyRank) + memory(report, everyRank) + recording(report);
    if (!everyRank && report.memory.size() > kFewRanks)
        text += fmt::format("\nOf {} ranks; --all shows each of them.\n", report.memory.size());
    return text;
}

}  // namespace shardscope::cli

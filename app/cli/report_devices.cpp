#include "app/cli/report_devices.h"

#include "app/cli/report_lines.h"
#include "app/cli/report_spread.h"
#include "storage/model/quantity_text.h"

#include <algorithm>
#include <map>
#include <vector>

namespace shardscope::cli {
namespace {

using analysis::DeviceUse;
using analysis::HtaNumbers;
using analysis::Report;

constexpr const char* kIndent = "  ";

/// One device or, `place` left out, several of a kind.
std::string kindText(const DeviceFacts& device, const std::string& place) {
    return fmt::format("{}{}, {}, driver {}",
                       device.name.empty() ? "device not named" : device.name, place,
                       device.memory.count > 0 ? bytesText(device.memory) : "memory not known",
                       device.driver.empty() ? "not known" : device.driver);
}

std::string tracingText(const DeviceFacts& device) {
    const std::string attention =
        device.attention.empty() ? "" : fmt::format("attention by {}; ", device.attention);
    const bool why = device.tracing.starts_with("not traced");
    return attention + (why ? device.tracing : "traced by " + device.tracing);
}

std::string sharingText(const DeviceFacts& device) {
    return fmt::format("shared device of {} ranks: its times say nothing of speed",
                       device.sharedBy);
}

std::string energyText(const DeviceUse& use) {
    return fmt::format(
        "{:.1f} J per step{}", *use.joulesPerStep,
        use.joulesPerToken ? fmt::format(", {:.3f} mJ per token", *use.joulesPerToken * 1e3) : "");
}

std::string deviceText(const DeviceUse& use) {
    const DeviceFacts& device = use.device;
    std::string text =
        reportLine(fmt::format("rank {}", device.rank.value),
                   kindText(device, device.pciBusId.empty() ? "" : " (" + device.pciBusId + ")"));
    if (device.sharedBy > 1) text += reportLine("", sharingText(device));
    if (device.measuredPeak)
        text += reportLine("", fmt::format("{:.1f} TFLOP/s, {}", *device.measuredPeak * 1e-12,
                                           device.measuredPeakSource));
    text += reportLine("", tracingText(device));
    if (use.joulesPerStep) text += reportLine("", energyText(use));
    return text;
}

std::string devicesOfFew(const Report& report) {
    std::string text;
    TextTable table(
        {"rank", "kernels", "compute", "communication", "hidden", "overlap", "no kernel"});
    bool traced = false;
    for (const DeviceUse& use : report.devices) {
        text += deviceText(use);
        if (!use.traced) continue;
        traced = true;
        table.add({std::to_string(use.device.rank.value), countText(use.kernels),
                   durationText(use.compute), durationText(use.communication),
                   durationText(use.hidden),
                   use.overlap() ? fmt::format("{:.3f}", *use.overlap()) : "none",
                   durationText(use.idle)});
    }
    return traced ? text + table.text(kIndent) : text;
}

/// A traced device's time, by rank.
struct DeviceTime {
    RankId rank;
    const DeviceUse* use = nullptr;
};

std::string devicesOfMany(const Report& report) {
    std::map<std::string, std::size_t> kinds;
    std::vector<DeviceTime> traced;
    for (const DeviceUse& use : report.devices) {
        const std::string shared =
            use.device.sharedBy > 1 ? "; " + sharingText(use.device) : std::string();
        ++kinds[kindText(use.device, "") + "; " + tracingText(use.device) + shared];
        if (use.traced) traced.push_back({use.device.rank, &use});
    }
    std::string text;
    for (const auto& [kind, count] : kinds)
        text += reportLine(fmt::format("{} rank{}", count, count == 1 ? "" : "s"), kind);
    if (traced.empty()) return text;
    TextTable table = spreadTable();
    const auto add = [&](const char* name, Duration DeviceUse::*time) {
        table.add(spread(
            name, traced, [time](const DeviceTime& each) { return each.use->*time; },
            [](Duration duration) { return durationText(duration); }));
    };
    add("compute", &DeviceUse::compute);
    add("communication", &DeviceUse::communication);
    add("no kernel", &DeviceUse::idle);
    return text + table.text(kIndent);
}

/// As HTA counts unless asked otherwise.
std::vector<HtaNumbers> usual(const Report& report) {
    std::vector<HtaNumbers> numbers;
    for (const HtaNumbers& each : report.hta)
        if (!each.options.wholeMicroseconds && !each.options.keepLastStep) numbers.push_back(each);
    return numbers;
}

std::string htaOfFew(const std::vector<HtaNumbers>& all) {
    TextTable table({"rank", "kernel time", "idle", "compute", "non-compute", "overlap"});
    TextTable streams({"rank", "stream", "host wait", "kernel wait", "other"});
    for (const HtaNumbers& numbers : all) {
        const std::string rank = std::to_string(numbers.rank.value);
        const auto share = [&](std::int64_t ns) {
            return fmt::format(
                "{} ({})", durationText({ns}),
                shareText(static_cast<double>(ns), static_cast<double>(numbers.kernelNs)));
        };
        table.add(
            {rank, durationText({numbers.kernelNs}), share(numbers.idleNs),
             share(numbers.computeNs), share(numbers.nonComputeNs),
             numbers.overlapPercent ? fmt::format("{:.2f} %", *numbers.overlapPercent) : "none"});
        for (const analysis::HtaIdle& idle : numbers.idle)
            streams.add({rank, std::to_string(idle.stream), durationText({idle.hostWaitNs}),
                         durationText({idle.kernelWaitNs}), durationText({idle.otherNs})});
    }
    const bool overlapping = std::any_of(all.begin(), all.end(), [](const HtaNumbers& each) {
        return std::any_of(each.idle.begin(), each.idle.end(), [](const analysis::HtaIdle& idle) {
            return idle.hostWaitNs < 0 || idle.kernelWaitNs < 0 || idle.otherNs < 0;
        });
    });
    return table.text(kIndent) + "  Idle between kernels of a stream\n" + streams.text(kIndent) +
           (overlapping ? "  less than zero where work of a stream overlaps, which HTA subtracts; "
                          "analyze launches does not\n"
                        : "");
}

std::string htaOfMany(const std::vector<HtaNumbers>& all) {
    const auto median = [&](std::int64_t HtaNumbers::*time) {
        std::vector<std::int64_t> values;
        for (const HtaNumbers& each : all) values.push_back(each.*time);
        std::sort(values.begin(), values.end());
        return durationText({values[values.size() / 2]});
    };
    std::vector<double> overlaps;
    for (const HtaNumbers& each : all)
        if (each.overlapPercent) overlaps.push_back(*each.overlapPercent);
    std::sort(overlaps.begin(), overlaps.end());
    return reportLine(
        "as HTA counts",
        fmt::format(
            "medians: idle {}, compute {}, non-compute {}, overlap {}; each: analyze breakdown "
            "--mode hta",
            median(&HtaNumbers::idleNs), median(&HtaNumbers::computeNs),
            median(&HtaNumbers::nonComputeNs),
            overlaps.empty() ? "none" : fmt::format("{:.2f} %", overlaps[overlaps.size() / 2])));
}

}  // namespace

std::string devicesText(const Report& report, const char* counted, bool brief) {
    if (report.devices.empty()) return {};
    return fmt::format("\nDevices (kernels {})\n", counted) +
           (brief ? devicesOfMany(report) : devicesOfFew(report));
}

std::string htaText(const Report& report, bool brief) {
    const std::vector<HtaNumbers> numbers = usual(report);
    if (numbers.empty()) return {};
    if (brief) return htaOfMany(numbers);
    return "\nHTA-compatible (as HolisticTraceAnalysis counts: by kernel names, launched kernels "
           "only,\nwithout the trace's last step, and copies as work; the exact numbers are "
           "above)\n" +
           htaOfFew(numbers);
}

}  // namespace shardscope::cli

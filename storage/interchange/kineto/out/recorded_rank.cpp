#include "storage/interchange/kineto/out/recorded_rank.h"

#include "storage/interchange/kineto/out/device_names.h"
#include "storage/model/flow_words.h"

namespace shardscope::interchange::kineto_out {
namespace {

/// Process ids up to here are devices'.
constexpr std::int64_t kMostDevices = 1024;
constexpr std::int64_t kHostPid = 1'000'000;

}  // namespace

RecordedRank::RecordedRank(ExportScope& exported, const WalkSetting& setting,
                           TraceEventSink& events)
    : scope(exported),
      sink(events),
      rank(setting.rank),
      clockNs(setting.clockNs),
      lanes(exported.lanes(setting.rank)) {
    for (const LaneFacts& lane : lanes) device = device || isStreamLane(lane.lane);
    choosePids();
}

void RecordedRank::choosePids() {
    const RecordingSummary& summary = scope.summary();
    std::int64_t pid = kHostPid + rank.value;
    deviceId = rank.value;
    for (const RankFacts& facts : summary.ranks)
        if (facts.rank == rank && facts.pid > kMostDevices) pid = facts.pid;
    for (const DeviceFacts& facts : summary.devices)
        if (facts.rank == rank && facts.sharedBy > 1) deviceId = 0;
    hostPid = std::to_string(pid);
    devicePid = std::to_string(deviceId);
}

void RecordedRank::nameProcesses(RowTable& rows) const {
    constexpr std::int64_t kDevicesBelow = 5'000'000;
    const std::string title = rankTitle(scope.summary(), rank);
    rows.nameProcess(hostPid, title, "CPU", rank.value);
    const std::string label = "GPU " + std::to_string(deviceId);
    rows.nameProcess(devicePid, title, device ? label : "work and collectives as kernels",
                     kDevicesBelow + deviceId);
}

void RecordedRank::addDevice(RecordedArguments& arguments, std::int64_t stream) const {
    const auto add = [&](const char* key, std::int64_t otherwise) {
        arguments.add(key, arguments.ownInteger(key).value_or(otherwise));
    };
    add("device", deviceId);
    add("context", 1);
    add("stream", stream);
}

void RecordedRank::flow(char phase, const TraceEvent& of, std::uint64_t id) const {
    TraceEvent event;
    event.phase = phase;
    event.category = event.name = flow_words::kLaunch;
    event.row = of.row;
    event.startNs = of.startNs;
    event.flow = id;
    sink.add(event);
}

}  // namespace shardscope::interchange::kineto_out

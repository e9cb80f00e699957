#include "app/desktop/pages/timeline/tables/range_kind.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/lanes/lane_identity.h"
#include "engine/run/config/run_config.h"
#include "storage/model/events.h"
#include "storage/model/lanes.h"

#include <QObject>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Threads and lanes on which tracing tools write what they themselves did.
bool isOfTheProfiler(const LaneFacts& lane) {
    return isOverheadLane(lane.lane, lane.name) || isOfInventedThread(fromUtf8(lane.name));
}

RangeKind hostKind(const LaneFacts& lane) {
    const bool python = lane.name.find("python_function") != std::string::npos;
    return python ? RangeKind::kPython : RangeKind::kOperators;
}

}  // namespace

std::optional<RangeKind> rangeKind(const LaneFacts& lane) {
    if (lane.role == LaneRole::kCounter) return std::nullopt;
    if (isOfTheProfiler(lane)) return RangeKind::kApart;
    const bool stream = isStreamLane(lane.lane);
    switch (lane.role) {
        case LaneRole::kCompute:
            return stream ? RangeKind::kKernels : RangeKind::kPhases;
        case LaneRole::kCommunication:
            return stream ? RangeKind::kKernels : RangeKind::kCollectives;
        case LaneRole::kCopy:
            return RangeKind::kCopies;
        case LaneRole::kRuntime:
            return RangeKind::kCalls;
        case LaneRole::kSync:
            return RangeKind::kWaits;
        case LaneRole::kRange:
            return RangeKind::kAnnotations;
        default:
            return hostKind(lane);
    }
}

RangeKind rangeKind(RangeKind kind, const SpanEvent& span) {
    return isApart(span) ? RangeKind::kApart : kind;
}

bool mayHold(const LaneFacts& lane, RangeKind kind) {
    const auto own = rangeKind(lane);
    // calibration lies among the phases and operators of the engine's own thread
    return own == kind || (own && kind == RangeKind::kApart && isOfStepThread(lane.lane));
}

std::vector<RangeKind> rangeKinds(const RecordingSummary& summary) {
    std::set<RangeKind> kinds;
    for (const LaneFacts& lane : summary.lanes)
        if (const auto kind = rangeKind(lane)) kinds.insert(*kind);
    // the engine measures the host before its first step
    if (kinds.contains(RangeKind::kPhases)) kinds.insert(RangeKind::kApart);
    return {kinds.begin(), kinds.end()};
}

QString rangeKindName(RangeKind kind) {
    switch (kind) {
        case RangeKind::kKernels:
            return QObject::tr("Kernels");
        case RangeKind::kOperators:
            return QObject::tr("Operators");
        case RangeKind::kCollectives:
            return QObject::tr("Collectives");
        case RangeKind::kCopies:
            return QObject::tr("Copies");
        case RangeKind::kCalls:
            return QObject::tr("CUDA calls");
        case RangeKind::kWaits:
            return QObject::tr("Waits");
        case RangeKind::kPhases:
            return QObject::tr("Phases");
        case RangeKind::kAnnotations:
            return QObject::tr("Annotations");
        case RangeKind::kPython:
            return QObject::tr("Python");
        case RangeKind::kApart:
            break;
    }
    return QObject::tr("Calibration, profiler");
}

bool isBelow(const OpenRecording& recording, CaptureLevel least) {
    const auto config = run::parseRunConfigJson(recording.summary.run.configJson);
    return config && config->capture < least;
}

CaptureLevel rangeKindLevel(RangeKind kind) {
    switch (kind) {
        case RangeKind::kOperators:
        case RangeKind::kCalls:
        case RangeKind::kWaits:
        case RangeKind::kPython:
            return CaptureLevel::kFull;
        default:
            return CaptureLevel::kLight;
    }
}

QString rangeKindLane(RangeKind kind) {
    switch (kind) {
        case RangeKind::kKernels:
        case RangeKind::kCopies:
            return u"stream"_s;
        case RangeKind::kOperators:
        case RangeKind::kCalls:
        case RangeKind::kPython:
            return u"thread"_s;
        default:
            return u"lane"_s;
    }
}

}  // namespace shardscope::desktop

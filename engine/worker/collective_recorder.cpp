#include "engine/worker/collective_recorder.h"

#include "storage/model/collective_key.h"
#include "storage/model/lanes.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::worker {

void CollectiveRecorder::report(const control::CollectiveReport& report) {
    if (auto* precision = m_precision.load()) precision->collective(report);
    if (!m_level.takesCollective(report.step)) return;
    const CollectiveEvent event = eventOf(report);
    if (m_taker) {
        m_taker(event, report.captured);
    } else {
        store(event);
        if (m_level.takes(CaptureLevel::kFull)) drawLevels(report, event);
    }
}

/// Beneath the collective, on its lane and with its number.
void CollectiveRecorder::drawLevels(const control::CollectiveReport& report,
                                    const CollectiveEvent& event) {
    for (const control::LevelReport& level : report.levels) {
        SpanEvent drawn = spanOf(event);
        drawn.start = m_session.at(level.startNs);
        drawn.duration = m_session.at(level.endNs) - drawn.start;
        drawn.name = m_names.of(level.level);
        drawn.arguments = kEmptyString;
        drawn.depth = 1;
        m_session.threadQueue().push(drawn);
    }
}

CollectiveEvent CollectiveRecorder::eventOf(const control::CollectiveReport& report) {
    CollectiveEvent event;
    event.operation = report.operation;
    event.dtype = report.dtype;
    event.cause = report.cause;
    event.layer = report.layer;
    event.step = {report.step};
    event.group = report.group;
    event.sequence = report.sequence;
    event.size = {report.sizeBytes};
    event.algorithm = m_session.intern(report.algorithm);
    event.protocol = m_session.intern(report.protocol);
    event.issue = m_session.at(report.issueNs);
    event.start = m_session.at(report.startNs);
    event.end = m_session.at(report.endNs);
    event.arrivals = {report.arrivalsNs.size(),
                      [&](std::size_t place) { return m_session.at(report.arrivalsNs[place]); }};
    return event;
}

/// Communicators of groups work beside each other, so each has a lane.
LaneId CollectiveRecorder::laneOf(std::uint32_t group) {
    if (group == 0) return lanes::kCommunication.id;
    const MutexLock lock(m_mutex);
    const auto found = std::find(m_groups.begin(), m_groups.end(), group);
    const auto index = static_cast<std::size_t>(found - m_groups.begin());
    if (found != m_groups.end()) return lanes::kGroups.at(index);
    if (index == lanes::kGroups.size())  // more than any strategy has
        return lanes::kCommunication.id;
    m_groups.push_back(group);
    m_session.declareLane(lanes::kGroups.at(index), lanes::kCommunication.role,
                          fmt::format("{} in group {}", lanes::kCommunication.name, group), {},
                          lanes::kFirstGroupOrder + static_cast<std::int32_t>(index));
    return lanes::kGroups.at(index);
}

void CollectiveRecorder::store(const CollectiveEvent& event) {
    m_session.push(event);
    m_session.threadQueue().push(spanOf(event));
}

SpanEvent CollectiveRecorder::spanOf(const CollectiveEvent& event) {
    SpanEvent drawn;
    drawn.start = event.start;
    drawn.duration = event.end - event.start;
    drawn.lane = laneOf(event.group);
    drawn.name = m_names.of(event.operation);
    drawn.arguments = m_names.arguments(event.cause);
    drawn.correlation = CollectiveKey::of(event).correlation();
    drawn.step = event.step;
    drawn.layer = event.layer;
    return drawn;
}

}  // namespace shardscope::worker

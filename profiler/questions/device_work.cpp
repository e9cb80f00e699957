#include "profiler/questions/device_work.h"

#include "storage/model/rank_facts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::LaunchCall;
using analysis::StreamWork;

bool isWork(const LaneFacts& lane) {
    return isStreamLane(lane.lane) &&
           (lane.role == LaneRole::kCompute || lane.role == LaneRole::kCommunication ||
            lane.role == LaneRole::kCopy);
}

/// On lanes of collectives of our own recordings, which have phases, the number is a collective's
/// sequence.
bool correlates(const Asked& asked, const LaneFacts& lane) {
    return lane.role != LaneRole::kCommunication ||
           std::none_of(asked.summary.lanes.begin(), asked.summary.lanes.end(),
                        [&](const LaneFacts& each) {
                            return each.rank == lane.rank && each.lane == lanes::kPhases.id &&
                                   each.role == lanes::kPhases.role;
                        });
}

Result<std::vector<StreamWork>> workOf(const Asked& asked, const LaneFacts& lane) {
    const bool joins = correlates(asked, lane);
    const TimeRange time = asked.selection.timeOf(asked.summary, lane.rank);
    const auto spans = asked.reader.spans(lane.rank, lane.lane, time);
    if (!spans) return failure(spans);
    std::vector<StreamWork> work;
    for (const SpanEvent& span : *spans) {
        if (!time.contains(span.start)) continue;
        if (span.step != kNoStep && !asked.selection.takesStep(span.step)) continue;
        work.push_back({span.range(), joins ? span.correlation : 0});
    }
    return work;
}

class CallReader {
public:
    CallReader(const Asked& asked, std::vector<std::string>& names)
        : m_asked(asked), m_names(names) {}

    Result<void> lane(const LaneFacts& lane, std::vector<LaunchCall>& calls) {
        const TimeRange whole{m_asked.summary.bounds.begin, {m_asked.summary.bounds.end.ns + 1}};
        const auto spans = m_asked.reader.spans(lane.rank, lane.lane, whole);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans)
            if (span.correlation != 0)
                calls.push_back({span.range(), span.correlation, numberOf(lane.rank, span.name)});
        return {};
    }

private:
    std::uint32_t numberOf(RankId rank, StringId name) {
        const auto [at, fresh] =
            m_numbers.try_emplace({rank, name.value}, static_cast<std::uint32_t>(m_names.size()));
        if (fresh) m_names.emplace_back(m_asked.reader.text(rank, name));
        return at->second;
    }
    const Asked& m_asked;
    std::vector<std::string>& m_names;
    std::map<std::pair<RankId, std::uint32_t>, std::uint32_t> m_numbers;
};

}  // namespace

bool launchesFor(const RecordingSummary& summary, RankId caller, RankId rank) {
    if (caller == rank) return true;
    const auto factsOf = [&](RankId id) {
        return std::find_if(summary.ranks.begin(), summary.ranks.end(),
                            [id](const RankFacts& facts) { return facts.rank == id; });
    };
    const auto own = factsOf(rank), other = factsOf(caller);
    return own != summary.ranks.end() && other != summary.ranks.end() && own->pid > 0 &&
           own->pid == other->pid && own->host == other->host;
}

Result<DeviceLaunches> readLaunches(const Asked& asked, RankId rank) {
    DeviceLaunches device;
    std::map<std::string, std::vector<StreamWork>> streams;
    std::vector<StreamWork> all;
    std::vector<LaunchCall> calls;
    CallReader reader(asked, device.callNames);
    for (const LaneFacts& lane : asked.summary.lanes) {
        if (lane.role == LaneRole::kRuntime && launchesFor(asked.summary, lane.rank, rank)) {
            if (auto done = reader.lane(lane, calls); !done) return failure(done);
        } else if (lane.rank == rank && isWork(lane)) {
            const auto work = workOf(asked, lane);
            if (!work) return failure(work);
            auto& stream = streams[std::string(withoutUse(lane.name))];
            stream.insert(stream.end(), work->begin(), work->end());
            all.insert(all.end(), work->begin(), work->end());
        }
    }
    device.all = analysis::joinLaunches(all, calls);
    for (const auto& [name, work] : streams)
        if (!work.empty()) device.streams.emplace(name, analysis::joinLaunches(work, calls));
    return device;
}

}  // namespace shardscope::questions

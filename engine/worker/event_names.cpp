#include "engine/worker/event_names.h"

#include <fmt/format.h>

namespace shardscope::worker {

template <Worded Enum>
EventNames::Names<Enum> EventNames::intern(capture::CaptureSession& session) {
    Names<Enum> names{};
    for (const auto& entry : kWords<Enum>)
        names[static_cast<std::size_t>(entry.value)] = session.intern(entry.word);
    return names;
}

EventNames::EventNames(capture::CaptureSession& session)
    : m_phases(intern<Phase>(session)),
      m_operations(intern<CollectiveOp>(session)),
      m_stretches(intern<Stretch>(session)),
      m_levels(intern<control::Level>(session)),
      m_step(session.intern("step")) {
    for (const auto& [cause, word] : kWords<Cause>)
        if (cause != Cause::kNone)
            m_causes[static_cast<std::size_t>(cause)] =
                session.intern(fmt::format(R"({{"cause":"{}"}})", word));
}

Stretch stretchOf(Phase phase, Stretch current) {
    switch (phase) {
        case Phase::kForward:
            return Stretch::kForward;
        case Phase::kHead:
            return Stretch::kHead;
        case Phase::kBackward:
            return Stretch::kBackward;
        case Phase::kClip:
        case Phase::kOptimizer:
            return Stretch::kOptimizer;
        default:
            return current;  // waits belong to where they happen
    }
}

}  // namespace shardscope::worker

#include "storage/model/recording.h"

namespace shardscope {

const char* toWord(RunStatus status) {
    switch (status) {
        case RunStatus::kRecording:
            return "incomplete";
        case RunStatus::kFinished:
            return "finished";
        case RunStatus::kStopped:
            return "stopped";
        case RunStatus::kFailed:
            return "failed";
        case RunStatus::kKilled:
            return "killed";
    }
    return "unknown";
}

const char* toWord(Severity severity) {
    switch (severity) {
        case Severity::kNote:
            return "note";
        case Severity::kWarning:
            return "warning";
        case Severity::kProblem:
            return "problem";
    }
    return "unknown";
}

std::uint64_t& EventCounts::of(EventKind kind) {
    switch (kind) {
        case EventKind::kMemory:
            return memory;
        case EventKind::kCounter:
            return counters;
        case EventKind::kCollective:
            return collectives;
        case EventKind::kFlow:
            return flows;
        case EventKind::kInstant:
            return instants;
        case EventKind::kSpan:
            break;
    }
    return spans;
}

}  // namespace shardscope

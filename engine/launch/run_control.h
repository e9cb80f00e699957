// What a run that goes on can be asked for, whatever is run: our own ranks, or another program.
// On the thread of its loop, from sink and watch callbacks.
#pragma once

#include "storage/model/capture_schedule.h"
#include "storage/model/result.h"

#include <functional>

namespace shardscope::launch {

class RunControl {
public:
    virtual ~RunControl() = default;

    /// Calls `readable` when `fd` is; it returns false to be forgotten. Before the run.
    virtual void watch(int fd, std::function<bool()> readable) = 0;
    virtual void requestStop() = 0;  ///< in order: after the current step, or as SIGTERM does
    /// What requestStop() does, as an answer to who asked for it.
    [[nodiscard]] virtual const char* stopWords() const { return "stopping after this step"; }
    virtual void requestKill() = 0;  ///< at once
    /// What is captured from some step on, alike on all ranks.
    virtual void requestCapture(const CaptureChange& change) = 0;
    /// What a flight recorder holds is written; false: the run is recorded as a whole.
    virtual bool requestKeep() = 0;
    /// Stops and reports `error` as the reason, e.g. when the recording cannot be written.
    virtual void abandon(const Error& error) = 0;
};

}  // namespace shardscope::launch

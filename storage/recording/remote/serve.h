// The side that has the recording: answers a RemoteReader (remote_reader.h) over a stream.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <functional>
#include <string>

namespace shardscope::storage::remote {

struct ServeOptions {
    /// Threads that decode; 0: as many as the hardware has.
    std::size_t threads = 0;
    /// Called once the other side has gone, from another thread than serve()'s: what is being
    /// answered then may take its time.
    std::function<void()> onHangUp = [] {};
    /// Whether some process writes the recording at this path. Asked while serve() has none open.
    std::function<bool(const std::string&)> isBeingWritten = [](const std::string&) {
        return false;
    };
};

/// Answers what is asked over `in` and `out`, which it takes over, until the other side goes:
/// calls one after the other, on this thread. Reads what this user may read and writes nothing.
/// kUnreadable: what came are no calls. SIGPIPE must be ignored by the process.
Result<void> serve(int in, int out, const ServeOptions& options = {});

}  // namespace shardscope::storage::remote

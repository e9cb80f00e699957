// How a person or the desktop asks a running recorder to stop: signals, and lines on standard
// input. Descriptors to poll; nothing happens behind the loop's back.
#pragma once

#include "engine/launch/run_control.h"
#include "storage/model/capture_schedule.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <functional>
#include <string>

namespace shardscope::cli {

/// From now on SIGINT, SIGTERM and SIGHUP arrive on a descriptor: the first of the former two asks
/// to stop after the step, the second kills; a hangup (the terminal was closed) is for the caller.
/// Blocks the signals for the process.
class SignalRequests {
public:
    static Result<SignalRequests> open();
    /// Before a run is there to be stopped: SIGINT or SIGTERM has come.
    [[nodiscard]] bool askedToStop() { return timesAsked() > 0; }
    /// How often one of them has.
    [[nodiscard]] int timesAsked();
    void attach(launch::RunControl& run, std::function<void(const std::string&)> say,
                std::function<void()> hangup);

private:
    explicit SignalRequests(FileDescriptor descriptor);
    FileDescriptor m_descriptor;
    int m_asked = 0;        ///< before a run was attached
    bool m_hungUp = false;  ///< the same
};

/// From now on a hangup waits until SignalRequests takes it: a terminal that is closed while a run
/// is prepared does not end it.
void holdHangups();

/// Lines of commands on standard input (docs/control_protocol.md); its end means stop, unless
/// `detach` came before it.
void attachControlInput(launch::RunControl& run, const CaptureWish& capture,
                        std::function<void(const std::string&)> say);

/// The same commands from `shardscope control` of `recording` (control_socket.h), until the run
/// ends. What stands in the way is said, and the run goes on without.
void attachControlSocket(launch::RunControl& run, const std::string& recording,
                         const CaptureWish& capture,
                         const std::function<void(const std::string&)>& say);

}  // namespace shardscope::cli

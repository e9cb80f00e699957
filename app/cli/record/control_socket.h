// How `shardscope control` reaches the recorder of a run on the same machine: a socket file in a
// folder of the user's only, named after the recording. A line is a command, the answer to it a
// line too: {"ok":true,"message":"stopping after this step"}.
#pragma once

#include "engine/launch/run_control.h"
#include "storage/model/capture_schedule.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::cli {

/// What a run that is going on can be asked for, as JSON objects (docs/control_protocol.md), by a
/// program on standard input or by `shardscope control`.
class ControlCommands {
public:
    /// `run` outlives it. `detach`: what the command of that name does; empty: it is refused.
    ControlCommands(launch::RunControl& run, CaptureWish capture, std::function<void()> detach = {})
        : m_run(run), m_capture(std::move(capture)), m_detach(std::move(detach)) {}

    /// Does what the line asks for; says what that comes to, or why it changes nothing (kUsage).
    Result<std::string> apply(std::string_view line) const;

private:
    launch::RunControl& m_run;
    const CaptureWish m_capture;
    const std::function<void()> m_detach;
};

/// The recorder's end. One poll loop; never waits.
class ControlSocket {
public:
    /// For the run that writes `recording`, an absolute path. A file that an ended run has left is
    /// replaced.
    static Result<ControlSocket> open(const std::string& recording);
    ControlSocket(ControlSocket&&) noexcept = default;
    ControlSocket& operator=(ControlSocket&&) = delete;
    ~ControlSocket();

    /// Becomes readable when there is something to do.
    [[nodiscard]] int fd() const { return m_events.get(); }
    void turn(const ControlCommands& commands);

private:
    struct Guest {
        FileDescriptor fd;
        std::string heard;
    };

    ControlSocket(std::string path, FileDescriptor listener, FileDescriptor events)
        : m_path(std::move(path)), m_listener(std::move(listener)), m_events(std::move(events)) {}
    void accept();

    std::string m_path;
    FileDescriptor m_listener;
    FileDescriptor m_events;  ///< of the listener and all guests
    std::list<Guest> m_guests;
};

/// Sends a command to the run that writes `recording` and returns its answer. kLaunch when no run
/// on this machine writes it; what the run refuses is its kUsage.
Result<std::string> askRun(const std::string& recording, const std::string& line);

}  // namespace shardscope::cli

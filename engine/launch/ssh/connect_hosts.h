// Reaches hosts, looks at them, puts the program there and starts an agent on each.
#pragma once

#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/payload.h"
#include "engine/launch/ssh/ssh_agent.h"
#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

enum class ConnectState {
    kWaiting,  ///< for its turn, or for another try
    kConnecting,
    kLooking,
    kSending,
    kFetching,  ///< LibTorch, by a program that runs there
    kStarting,
    kReady,
    kFailed,
};

/// Where one host is.
struct ConnectProgress {
    ConnectState state = ConnectState::kWaiting;
    std::string detail;  ///< what is sent or fetched, why it waits or failed; may be empty
    Bytes sent{};        ///< of what is sent or fetched now
    Bytes all{};         ///< 0: not known
    friend bool operator==(const ConnectProgress&, const ConnectProgress&) = default;
};

/// Called from within connectHosts() and lookAtHosts().
class ConnectObserver {
public:
    virtual ~ConnectObserver() = default;
    /// At each change. `host` counts from 0.
    virtual void progress(std::size_t host, const ConnectProgress& progress) = 0;
    /// At least five times a second; false: all is given up, and nothing left behind.
    virtual bool goOn() = 0;
};

/// What came of a host: an error, or else what was asked for.
struct HostConnection {
    HostLook look;  ///< as far as it was found out
    std::optional<SshAgent> agent;
    std::optional<Error> failure;
    std::string unknownKey;  ///< its fingerprint, "SHA256:...", where that is why it failed
};

/// An agent on each host, in their order. Eight at a time, so that no server or jump host is
/// stormed; a connection that a server dropped at its limits is tried again. What cannot be had is
/// a sentence (kLaunch; kInterrupted where it was given up) beside the others' agents. From the
/// process's main thread (see spawn()), with SIGPIPE ignored.
std::vector<HostConnection> connectHosts(const std::vector<SshHost>& hosts,
                                         const SshOptions& options, const Payload& payload,
                                         ConnectObserver& observer);

/// The same without sending or starting anything.
std::vector<HostConnection> lookAtHosts(const std::vector<SshHost>& hosts,
                                        const SshOptions& options, const Payload& payload,
                                        ConnectObserver& observer);

}  // namespace shardscope::launch

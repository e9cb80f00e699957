// Connections to other hosts, one for each, kept for as long as they hold. Loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/recording/remote/remote_session.h"

#include <QString>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace shardscope::desktop {

class RemoteHosts {
public:
    using Notice = std::function<void(const std::string& progress)>;

    /// Connected already, or now. All calls of it end soon after `wanted` is superseded. Errors as
    /// of storage::remote::startServing().
    Result<std::shared_ptr<storage::remote::RemoteSession>> session(
        const storage::remote::ChildOptions& access, const std::string& target,
        const storage::Generation& wanted, const Notice& notice);

private:
    std::map<std::string, std::shared_ptr<storage::remote::RemoteSession>> m_sessions;
};

// What the user opened, as it can be opened again from any folder. Any thread.

/// A path, an address on another host, or paths a line.
[[nodiscard]] QString lastingAddress(const OpenRecording& recording);

}  // namespace shardscope::desktop

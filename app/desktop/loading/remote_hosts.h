// Connections to other hosts, one for each, kept for as long as they hold. Loader thread.
#pragma once

#include "storage/recording/remote/remote_session.h"

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

}  // namespace shardscope::desktop

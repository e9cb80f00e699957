#include "app/desktop/loading/remote_hosts.h"

#include "storage/recording/remote/remote_address.h"

#include <QFileInfo>

namespace shardscope::desktop {

Result<std::shared_ptr<storage::remote::RemoteSession>> RemoteHosts::session(
    const storage::remote::ChildOptions& access, const std::string& target,
    const storage::Generation& wanted, const Notice& notice) {
    const auto known = m_sessions.find(target);
    if (known != m_sessions.end() && !known->second->isLost()) {
        known->second->whileWanted(wanted);
        return known->second;
    }
    m_sessions.erase(target);
    auto begun = storage::remote::startServing(access, target, wanted, notice);
    if (!begun) return failure(begun);
    return m_sessions[target] = std::move(*begun);
}

QString lastingAddress(const OpenRecording& recording) {
    const QString& address = recording.address();
    const bool asItIs =
        storage::remote::isRemote(recording.path.toStdString()) || address.contains(u'\n');
    return asItIs ? address : QFileInfo(address).absoluteFilePath();
}

}  // namespace shardscope::desktop

// The hosts that the user's ssh configuration names (ssh_config(5)): what can be chosen from. Reads
// files; any thread.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace shardscope::desktop {

/// Names of one `Host` line without patterns; several of them are a group.
using HostGroup = QStringList;

/// In the order of the file, with what it includes; none where there is no such file. Names that
/// stand twice are taken once.
[[nodiscard]] std::vector<HostGroup> hostsOfSshConfig(const QString& path);

/// ~/.ssh/config, or the file that `-F` names among the words of an ssh command.
[[nodiscard]] QString sshConfigPath(const QString& sshCommand);

}  // namespace shardscope::desktop

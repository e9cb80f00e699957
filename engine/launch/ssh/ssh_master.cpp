#include "engine/launch/ssh/ssh_master.h"

#include "engine/launch/ssh/ssh_command.h"

#include <csignal>

namespace shardscope::launch {
namespace {

/// ssh removes its socket and says good-bye to the server within that.
constexpr std::chrono::milliseconds kGrace{1000};
constexpr std::size_t kMostWords = 64 * 1024;

}  // namespace

Result<SshMaster> SshMaster::start(const SshOptions& options, const SshHost& host) {
    auto folder = ControlFolder::make();
    if (!folder) return failure(folder);
    auto child = ChildProcess::start(masterWords(options, host, folder->socket()));
    if (!child)
        return failure(child,
                       "other hosts are reached with ssh; install openssh-client, or name "
                       "it (--ssh-command)");
    child->input.reset();
    return SshMaster(std::move(*folder), std::move(*child));
}

SshMaster::~SshMaster() {
    close();
}

void SshMaster::addPolls(std::vector<pollfd>& polls) const {
    for (const FileDescriptor* each : {&m_child.output, &m_child.errors})
        if (each->valid()) polls.push_back({each->get(), POLLIN, 0});
}

void SshMaster::turn() {
    readAvailable(m_child.output, m_output, kMostWords);
    readAvailable(m_child.errors, m_words, kMostWords);
    if (m_words.size() > kMostWords) m_words.erase(0, m_words.size() - kMostWords);
    if (m_output.size() > kMostWords) m_output = "\n";
}

void SshMaster::close() {
    m_child.stop(SIGTERM, kGrace);
}

}  // namespace shardscope::launch

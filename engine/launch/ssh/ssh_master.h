// The connection to one host, which all its sessions go through: an ssh of ours.
//
// Used from one poll loop; nothing here waits but close().
#pragma once

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/control_folder.h"
#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/result.h"

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

class SshMaster {
public:
    static Result<SshMaster> start(const SshOptions& options, const SshHost& host);
    SshMaster(SshMaster&&) noexcept = default;
    SshMaster& operator=(SshMaster&&) = delete;
    ~SshMaster();

    void addPolls(std::vector<pollfd>& polls) const;
    /// Takes in what it says.
    void turn();

    [[nodiscard]] bool isConnected() const { return m_output.find('\n') != std::string::npos; }
    [[nodiscard]] bool hasEnded() { return m_child.end().has_value(); }
    /// Its standard error so far, the last part of it.
    [[nodiscard]] const std::string& words() const { return m_words; }
    [[nodiscard]] std::string socket() const { return m_folder.socket(); }

    /// Ends the connection and waits until its process has gone.
    void close();

private:
    SshMaster(ControlFolder folder, ChildProcess child)
        : m_folder(std::move(folder)), m_child(std::move(child)) {}

    ControlFolder m_folder;  ///< goes after the process that made the socket in it
    ChildProcess m_child;
    std::string m_output;
    std::string m_words;
};

}  // namespace shardscope::launch

// The connection to one host, which all its sessions go through: an ssh of ours.
//
// Used from one poll loop; nothing here waits but close().
#pragma once

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/result.h"

#include <poll.h>

#include <string>
#include <vector>

namespace shardscope::launch {

// A folder of this user's only, for the socket of one ssh master; removed with what is in it. One
// that was left by a process that was killed is removed when the next is made.

class ControlFolder {
public:
    static Result<ControlFolder> make();
    ControlFolder(ControlFolder&& other) noexcept;
    ControlFolder& operator=(ControlFolder&&) = delete;
    ~ControlFolder();

    /// Short enough for the name of a socket, and for what ssh adds while it makes it.
    [[nodiscard]] std::string socket() const { return m_path + "/s"; }

private:
    explicit ControlFolder(std::string path) : m_path(std::move(path)) {}

    std::string m_path;
};

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

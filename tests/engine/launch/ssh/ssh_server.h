// An ssh server of a test's own on 127.0.0.1, with keys, configuration and home of its own. The
// user's and the system's are not looked at.
#pragma once

#include "engine/launch/ssh/child_process.h"
#include "tests/support/temporary_folder.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

class SshServer {
public:
    /// Why there can be none here; empty: there can.
    static std::string missing();

    /// With these lines in its configuration besides.
    explicit SshServer(const std::string& configuration = "");
    ~SshServer();
    SshServer(const SshServer&) = delete;
    SshServer& operator=(const SshServer&) = delete;

    /// Names that ssh -F knows the server by; "unknown", "changed" and "wrong" as such keys.
    [[nodiscard]] std::string clientConfiguration() const { return m_folder.file("client"); }
    [[nodiscard]] std::string home() const { return m_folder.file("home"); }
    [[nodiscard]] std::string file(const std::string& name) const { return m_folder.file(name); }
    [[nodiscard]] int port() const { return m_port; }
    /// SHA256:... of its key.
    [[nodiscard]] std::string fingerprint() const;
    /// What the server has logged.
    [[nodiscard]] std::string log() const;

    /// This signal to the server and to those of it that serve connections.
    void signalAll(int signal);

    /// What a login runs, in sh; "$SSH_ORIGINAL_COMMAND" is what was asked for. HOME is home().
    void setLogin(const std::string& script) const;
    /// The login shell is this one.
    void setShell(const std::string& shell) const;

private:
    /// Those of it that serve connections.
    [[nodiscard]] std::vector<pid_t> children() const;
    void makeKeys() const;
    void writeClientConfiguration() const;
    bool start(const std::string& configuration);

    test::TemporaryFolder m_folder;
    int m_port = 0;
    std::optional<ChildProcess> m_server;
};

}  // namespace shardscope::launch

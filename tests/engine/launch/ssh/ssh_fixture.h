// Tests against a real ssh server: skipped, and saying so, where there is none.
#pragma once

#include "engine/launch/ssh/connect_hosts.h"
#include "tests/engine/launch/ssh/ssh_server.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

/// Notes all it is told; goes on as long as it is allowed to.
class NotingObserver final : public ConnectObserver {
public:
    void progress(std::size_t host, const ConnectProgress& progress) override;
    bool goOn() override { return !wantsEnd || !wantsEnd(); }

    /// Whether a host came to this state.
    [[nodiscard]] bool saw(std::size_t host, ConnectState state) const;

    struct Note {
        std::size_t host;
        ConnectProgress progress;
    };
    std::vector<Note> notes;
    std::function<bool()> wantsEnd;
};

class SshTest : public testing::Test {
protected:
    void SetUp() override;

    /// A server with these lines in its configuration instead of the plain one.
    void restart(const std::string& configuration);

    /// The fake agent and a library of random bytes.
    [[nodiscard]] Payload payload(std::size_t libraryBytes = 10'000);
    [[nodiscard]] SshOptions options() const;
    /// node1 to nodeN with one folder for all.
    [[nodiscard]] std::vector<SshHost> nodes(std::size_t count) const;
    /// node1 alone, all as usual.
    HostConnection connect(const Payload& what);
    HostConnection connect() { return connect(payload()); }
    std::optional<Error> failureAt(const std::string& target);

    [[nodiscard]] std::string folder() const { return m_files.file("there"); }
    /// What lies in the folder where packages are put.
    [[nodiscard]] std::vector<std::string> packagesThere() const;

    std::unique_ptr<SshServer> m_server;
    test::TemporaryFolder m_files;
    NotingObserver m_observer;
};

/// The agent's first message, or a failure of the test.
run::AgentHello helloOf(SshAgent& agent);
void ask(SshAgent& agent, const std::string& what);
/// Handles what comes until `done`, or for a minute.
bool pumpUntil(SshAgent& agent, const std::function<bool(const run::Frame&)>& done);
/// Until its stream ends.
bool awaitEnd(SshAgent& agent);
[[nodiscard]] bool isAlive(std::int64_t pid);
/// Waits for it for a while.
[[nodiscard]] bool isGone(std::int64_t pid);

}  // namespace shardscope::launch

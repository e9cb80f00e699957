// From the agents' greetings to the moment when the ranks of all hosts may start: addresses are
// chosen, every host has reached every other one and has the same data, and all clocks are known.
// Recorder's loop.
#pragma once

#include "engine/launch/agent_link.h"
#include "engine/network/keyed_hash.h"
#include "engine/run/config/host_list.h"
#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::launch {

class HostsStart {
public:
    /// `links` outlive it; their places do not change. `data` is what is trained on where a host
    /// has none of its own; empty: nothing that hosts could have copies of.
    HostsStart(std::vector<AgentLink>& links, std::string data);

    /// Asks for what is next, as far as answers are there. After each message of an agent.
    Result<void> advance();
    [[nodiscard]] bool ready() const;
    /// Of ranks on several hosts, as `link` is sent it; when ready.
    [[nodiscard]] run::MeetingPoint meeting(const AgentLink& link) const;

private:
    [[nodiscard]] bool several() const { return m_links.size() > 1; }
    Result<void> prepare();
    Result<void> checkPeers();
    Result<void> checkData();
    void askToPrepare(AgentLink& link, const std::string& towards) const;
    [[nodiscard]] std::string somebodyElse() const;
    [[nodiscard]] const std::string& dataOf(const AgentLink& link) const;

    std::vector<AgentLink>& m_links;
    std::string m_data;
    std::string m_token;
    network::Key m_key;  ///< of the ranks' connections
};

}  // namespace shardscope::launch

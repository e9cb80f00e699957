// Agents on the hosts of a run that are reached through ssh.
#pragma once

#include "app/cli/record/run_progress.h"
#include "app/cli/record/run_requests.h"
#include "engine/launch/agent_transport.h"
#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/ssh_options.h"
#include "engine/run/config/host_list.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

/// Of `--ssh-command`; empty: ssh.
[[nodiscard]] launch::SshOptions sshOptions(const std::string& sshCommand);

using AgentStart = std::function<Result<std::unique_ptr<launch::AgentTransport>>()>;

struct ReadyAgent {
    AgentStart start;  ///< gives the agent once; one that is not taken ends with this
    std::string data;  ///< where the run's data was sent to there; empty: it was not
};

/// What agents are there for.
enum class AgentWork { kRanks, kProgram };

/// By host, in their order; nothing for those that are this machine.
Result<std::vector<ReadyAgent>> connectAgents(const std::vector<run::HostConfig>& hosts,
                                              const run::RunConfig& config, SignalRequests& signals,
                                              RunProgress& progress,
                                              AgentWork work = AgentWork::kRanks);

/// What was found out of a host, and why it cannot run ranks; nothing: it can.
struct LookedAt {
    std::string name;
    launch::HostLook look;
    std::optional<Error> failure;
    std::string unknownKey;     ///< fingerprint, where that is why
    bool fetchesTorch = false;  ///< a run would try to fetch LibTorch there
};

/// All hosts but this one; starts and leaves nothing there. A host whose key is not known is asked
/// for with `acceptKey` (SshOptions). kInterrupted when `signals` ask to stop.
Result<std::vector<LookedAt>> lookAtAll(const std::vector<run::HostConfig>& hosts,
                                        const std::string& sshCommand, const std::string& acceptKey,
                                        SignalRequests& signals);

}  // namespace shardscope::cli

#include "app/cli/hosts/ssh_hosts.h"

#include "app/cli/record/data_path.h"
#include "engine/launch/process.h"
#include "engine/launch/ssh/connect_hosts.h"
#include "engine/launch/ssh/host_checks.h"
#include "engine/run/config/run_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

namespace shardscope::cli {
namespace {

using launch::ConnectState;

class SshTransport final : public launch::AgentTransport {
public:
    explicit SshTransport(launch::SshAgent agent) : m_agent(std::move(agent)) {}

    launch::FrameChannel takeChannel() override { return std::move(m_agent.channel()); }
    void addPolls(std::vector<pollfd>& polls) const override { m_agent.addPolls(polls); }
    std::vector<std::string> takeErrorLines() override {
        m_agent.turn();
        launch::readAvailable(m_agent.errors(), m_partial, kLongestLine);
        std::vector<std::string> lines;
        for (std::size_t end; (end = m_partial.find('\n')) != std::string::npos;) {
            lines.push_back(m_partial.substr(0, end));
            m_partial.erase(0, end + 1);
        }
        if (m_partial.size() >= kLongestLine) {
            lines.push_back(std::move(m_partial));
            m_partial.clear();
        }
        return lines;
    }
    std::string endText() override { return m_agent.endText(); }
    bool kill(std::int64_t pid) override { return m_agent.kill(pid); }
    void end() override { m_agent.close(); }

private:
    static constexpr std::size_t kLongestLine = 1 << 16;

    launch::SshAgent m_agent;
    std::string m_partial;
};

const char* wordOf(ConnectState state) {
    switch (state) {
        case ConnectState::kWaiting:
            return "waiting";
        case ConnectState::kConnecting:
            return "connecting";
        case ConnectState::kLooking:
            return "looking";
        case ConnectState::kSending:
            return "sending";
        case ConnectState::kFetching:
            return "fetching";
        case ConnectState::kStarting:
            return "starting";
        case ConnectState::kReady:
            return "ready";
        case ConnectState::kFailed:
            break;
    }
    return "failed";
}

/// Reports how far each host is; `numbers`: which hosts of the run they are.
class ConnectReporter final : public launch::ConnectObserver {
public:
    ConnectReporter(const std::vector<run::HostConfig>& hosts, std::vector<std::size_t> numbers,
                    SignalRequests& signals, RunProgress& progress)
        : m_hosts(hosts), m_numbers(std::move(numbers)), m_signals(signals), m_progress(progress) {}

    void progress(std::size_t host, const launch::ConnectProgress& now) override {
        const std::size_t number = m_numbers[host];
        m_progress.host({static_cast<std::int32_t>(number), m_hosts[number].name, wordOf(now.state),
                         now.detail, now.sent, now.all});
    }
    bool goOn() override { return !m_signals.askedToStop(); }

private:
    const std::vector<run::HostConfig>& m_hosts;
    std::vector<std::size_t> m_numbers;
    SignalRequests& m_signals;
    RunProgress& m_progress;
};

class Silence final : public launch::ConnectObserver {
public:
    explicit Silence(SignalRequests& signals) : m_signals(signals) {}
    void progress(std::size_t, const launch::ConnectProgress&) override {}
    bool goOn() override { return !m_signals.askedToStop(); }

private:
    SignalRequests& m_signals;
};

std::optional<Error> lackOf(const launch::SshOptions& options, const launch::SshHost& host,
                            const launch::HostLook& look, const launch::Payload& payload) {
    if (auto able = launch::checkHost(options, host, look, payload); !able) return able.error();
    const launch::LibTorchWay way = launch::libTorchWay(options, look, payload);
    if (way == launch::LibTorchWay::kThere) return std::nullopt;
    const bool fetched = way == launch::LibTorchWay::kFetched;
    return launch::noLibTorch(
        options, host, look, payload,
        fetched ? "a run fetches it there if that host reaches a package index" : "");
}

/// All that is amiss, so that it can be mended at once.
Result<void> firstFailures(const std::vector<launch::HostConnection>& connections) {
    std::string text;
    ErrorCode code = ErrorCode::kLaunch;
    for (const launch::HostConnection& each : connections) {
        if (!each.failure) continue;
        text += (text.empty() ? "" : "\n") + each.failure->message;
        code = each.failure->code;
    }
    if (text.empty()) return {};
    return failure(code, text);
}

launch::LibTorchPart partToSend(const run::RunConfig& config) {
    using Part = launch::LibTorchPart;
    if (!config.deployLibTorch) return Part::kNone;
    return config.device == run::Device::kCuda ? Part::kCuda : Part::kCpu;
}

Result<void> addData(const run::RunConfig& config, launch::Payload& payload) {
    if (!config.sendData || config.data == run::kSyntheticData) return {};
    auto data = dataPackage(config.data);
    if (!data) return failure(data);
    payload.data = std::move(*data);
    return {};
}

/// Where it was sent to.
std::string dataThere(const run::RunConfig& config, const launch::SshHost& host,
                      const launch::HostLook& look, const launch::Payload& payload) {
    if (!payload.data || !host.takesData) return {};
    return fmt::format("{}/shardscope/{}/{}", look.folder, payload.data->folder,
                       placeInPackage(config.data));
}

AgentStart givesOnce(launch::SshAgent agent) {
    auto transport = std::make_shared<std::unique_ptr<launch::AgentTransport>>(
        std::make_unique<SshTransport>(std::move(agent)));
    return [transport]() -> Result<std::unique_ptr<launch::AgentTransport>> {
        return std::move(*transport);
    };
}

}  // namespace

launch::SshOptions sshOptions(const std::string& sshCommand) {
    launch::SshOptions options;
    // Nothing said is ssh itself; what is not to be understood is tried as it stands.
    if (!sshCommand.empty())
        options.command =
            run::commandWords(sshCommand).value_or(std::vector<std::string>{sshCommand});
    return options;
}

Result<std::vector<ReadyAgent>> connectAgents(const std::vector<run::HostConfig>& hosts,
                                              const run::RunConfig& config, SignalRequests& signals,
                                              RunProgress& progress, AgentWork work) {
    std::vector<launch::SshHost> far;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (hosts[i].isLocal()) continue;
        far.push_back({hosts[i].name, hosts[i].folder, hosts[i].data.empty()});
        numbers.push_back(i);
    }
    std::vector<ReadyAgent> ready(hosts.size());
    if (far.empty()) return ready;
    const std::string folder = std::filesystem::path(launch::ownProgram()).parent_path().string();
    const bool ranks = work == AgentWork::kRanks;
    auto payload = ranks ? launch::findPayload(folder, partToSend(config))
                         : launch::findProgramPayload(folder);
    if (!payload) return failure(payload);
    auto added = ranks ? addData(config, *payload) : Result<void>();
    if (!added) return failure(added);
    ConnectReporter observer(hosts, numbers, signals, progress);
    launch::SshOptions options = sshOptions(config.sshCommand);
    options.deployLibTorch = config.deployLibTorch;
    options.wantsGpus = config.device == run::Device::kCuda && payload->hasGpuPart();
    options.lease = std::chrono::seconds(config.hostLease);
    auto connections = launch::connectHosts(far, options, *payload, observer);
    if (signals.askedToStop())
        return failure(ErrorCode::kInterrupted, "interrupted; no rank was started");
    if (auto failed = firstFailures(connections); !failed) return failure(failed);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        ready[numbers[i]] = {givesOnce(std::move(*connections[i].agent)),
                             dataThere(config, far[i], connections[i].look, *payload)};
    return ready;
}

Result<std::vector<LookedAt>> lookAtAll(const std::vector<run::HostConfig>& hosts,
                                        const std::string& sshCommand, const std::string& acceptKey,
                                        SignalRequests& signals) {
    std::vector<launch::SshHost> far;
    for (const run::HostConfig& host : hosts)
        if (!host.isLocal()) far.push_back({host.name, host.folder});
    const std::string folder = std::filesystem::path(launch::ownProgram()).parent_path().string();
    const auto payload = launch::findPayload(folder, launch::LibTorchPart::kNone);
    if (!payload) return failure(payload);
    Silence silence(signals);
    launch::SshOptions options = sshOptions(sshCommand);
    options.acceptKey = acceptKey;
    const auto connections = launch::lookAtHosts(far, options, *payload, silence);
    if (signals.askedToStop()) return failure(ErrorCode::kInterrupted, "interrupted");
    std::vector<LookedAt> looked;
    for (std::size_t i = 0; i < far.size(); ++i) {
        LookedAt each{far[i].target, connections[i].look, connections[i].failure,
                      connections[i].unknownKey, false};
        if (!each.failure) {
            each.fetchesTorch =
                launch::libTorchWay(options, each.look, *payload) == launch::LibTorchWay::kFetched;
            each.failure = lackOf(options, far[i], each.look, *payload);
        }
        looked.push_back(std::move(each));
    }
    return looked;
}

}  // namespace shardscope::cli

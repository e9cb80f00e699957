// A program whose processes and clock are made up, and ask as PyTorch's profiler does.
#pragma once

#include "engine/launch/kineto/session.h"
#include "tests/engine/launch/kineto/kineto_requests.h"

#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::launch::kineto::test {

class MadeUpEyes : public ProcessEyes {
public:
    [[nodiscard]] ProcessLook look(pid_t pid) const override {
        const auto found = processes.find(pid);
        return found == processes.end() ? ProcessLook{} : found->second;
    }
    [[nodiscard]] bool isAlive(pid_t pid, std::uint64_t startTicks) const override {
        return startTicks != 0 && look(pid).startTicks == startTicks;
    }
    [[nodiscard]] bool hasTorch(pid_t pid) const override { return torch.contains(pid); }
    [[nodiscard]] std::vector<pid_t> descendants(pid_t) const override {
        std::vector<pid_t> all;
        for (const auto& [pid, process] : processes) all.push_back(pid);
        return all;
    }
    [[nodiscard]] TraceLook trace(const std::string& path) const override {
        const auto found = traces.find(path);
        return found == traces.end() ? TraceLook{} : found->second;
    }
    [[nodiscard]] std::string keep(const std::string& path) const override { return path; }
    std::map<pid_t, ProcessLook> processes;
    std::map<std::string, TraceLook> traces;
    std::set<pid_t> torch;
};

class MadeUpProgram {
public:
    explicit MadeUpProgram(SessionRequest asked = {}) {
        asked.folder = "/t";
        asked.interval = Milliseconds{1000};
        m_session = std::make_unique<Session>(std::move(asked), m_eyes);
    }

    /// A process that is started; with a rank of `ranks` on this host where `rank` is not negative.
    void start(pid_t pid, int rank = -1, int ranks = 0, const std::string& command = "python t.py",
               std::vector<pid_t> ancestors = {1}) {
        ProcessLook look;
        look.startTicks = static_cast<std::uint64_t>(100 + m_eyes->processes.size());
        look.command = command;
        look.ancestors = std::move(ancestors);
        look.readable = look.wantsDaemon = true;
        if (rank >= 0) look.rank = RankWord{"RANK", rank};
        look.localRank = ranks > 0 ? rank : -1;
        look.localRanks = look.ranks = ranks;
        m_eyes->processes[pid] = look;
    }
    void end(pid_t pid) { m_eyes->processes.erase(pid); }

    /// The configuration that it gets, if any.
    std::string ask(pid_t pid, bool idle = true) {
        const auto answer =
            m_session->hear(request({pid, 1}, idle ? 3 : 1), pid, ::geteuid(), m_ms);
        return answer ? contentOf(*answer) : "no answer";
    }
    /// Time goes by, in which those that live ask once a second; what each got, by process.
    std::map<pid_t, std::string> pass(int seconds, const std::vector<pid_t>& asking) {
        std::map<pid_t, std::string> got;
        for (int i = 0; i < seconds; ++i) {
            m_ms += 1000;
            for (const pid_t pid : asking)
                if (std::string text = ask(pid); !text.empty()) got[pid] = std::move(text);
            m_session->tick(m_ms);
        }
        return got;
    }
    /// It has written what `configuration` asks for.
    void write(pid_t pid, const std::string& configuration, TraceLook trace) {
        m_eyes->traces[fileOf(pid, configuration)] = trace;
    }
    static std::string fileOf(pid_t pid, const std::string& configuration) {
        const std::string key = "ACTIVITIES_LOG_FILE=";
        const std::size_t from = configuration.find(key);
        const std::size_t end = configuration.find(".json\n", from);
        if (from == std::string::npos || end == std::string::npos) return {};
        return configuration.substr(from + key.size(), end - from - key.size()) + "_" +
               std::to_string(pid) + ".json";
    }

    Session& session() { return *m_session; }
    MadeUpEyes& eyes() { return *m_eyes; }
    [[nodiscard]] std::int64_t now() const { return m_ms; }

private:
    std::shared_ptr<MadeUpEyes> m_eyes = std::make_shared<MadeUpEyes>();
    std::unique_ptr<Session> m_session;
    std::int64_t m_ms = 1'700'000'000'000;
};

inline TraceLook wholeTrace(std::int64_t steps = 0, std::int64_t firstStepNs = 0) {
    return {true, true, true, steps, firstStepNs, firstStepNs + (steps - 1) * 1'000'000};
}

/// The number behind a key of a configuration; -1: none.
inline std::int64_t numberIn(const std::string& configuration, const std::string& key) {
    const std::size_t at = configuration.find(key + "=");
    return at == std::string::npos ? -1 : std::stoll(configuration.substr(at + key.size() + 1));
}

}  // namespace shardscope::launch::kineto::test

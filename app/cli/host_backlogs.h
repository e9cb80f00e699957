// What other hosts still hold of their ranks' events: told while it happens, and what of it was
// lost.
//
// Lives on the recorder's only thread.
#pragma once

#include "app/cli/run_progress.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

class HostBacklogs {
public:
    explicit HostBacklogs(RunProgress& progress) : m_progress(progress) {}

    void name(std::int32_t host, const std::string& name) { m_hosts[host].name = name; }
    /// `fetching`: all ranks have ended.
    void note(std::int32_t host, const run::Backlog& held, bool fetching);
    /// A diagnostic for each host of which events were given up.
    [[nodiscard]] std::vector<Diagnostic> lost(Timestamp now) const;

private:
    struct Host {
        std::string name;
        bool saidSlow = false;
        std::optional<std::int64_t> toFetch;  ///< bytes held when fetching began
        run::Backlog last{};
    };

    RunProgress& m_progress;
    std::map<std::int32_t, Host> m_hosts;
};

}  // namespace shardscope::cli

#include "app/cli/host_backlogs.h"

#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

/// Less than that is on its way on any link.
constexpr std::int64_t kWorthTelling = 4 << 20;

}  // namespace

void HostBacklogs::note(std::int32_t number, const run::Backlog& held, bool fetching) {
    Host& host = m_hosts[number];
    host.last = held;
    if (held.bytes >= kWorthTelling && !std::exchange(host.saidSlow, true))
        m_progress.log("info",
                       fmt::format("{}: its link is slower than events come; they wait there, and "
                                   "are fetched after the last step",
                                   host.name));
    if (!fetching || (held.bytes == 0 && !host.toFetch)) return;
    if (!host.toFetch) host.toFetch = held.bytes;
    host.toFetch = std::max(*host.toFetch, held.bytes);
    const bool done = held.bytes == 0;
    m_progress.host({number, host.name, done ? "ready" : "fetching", done ? "" : "events",
                     Bytes{*host.toFetch - held.bytes}, Bytes{*host.toFetch}});
}

std::vector<Diagnostic> HostBacklogs::lost(Timestamp now) const {
    std::vector<Diagnostic> all;
    for (const auto& [number, host] : m_hosts) {
        if (host.last.givenUp == 0) continue;
        all.push_back({Severity::kWarning, "events-not-fetched",
                       fmt::format("{} of events of the ranks on {} were given up before they "
                                   "were fetched: the recording lacks them",
                                   sizeText(Bytes{host.last.givenUp}), host.name),
                       "Let the run end by itself, or record with --capture light.", std::nullopt,
                       now, 1});
    }
    return all;
}

}  // namespace shardscope::cli

// Why a run failed: the rank, host or network that its failures go back to.
#include "engine/launch/process.h"
#include "engine/launch/run_supervisor.h"
#include "storage/model/host_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace shardscope::launch {
namespace {

std::string exitText(const run::RankExited& exit, const std::string& when) {
    if (exit.left != run::ProcessHold::kNone)
        return fmt::format("could not be ended {}: the kernel still holds its process, which is {}",
                           when, toWord(exit.left));
    std::string text = exit.signal ? "was ended by " + signalText(*exit.signal)
                       : exit.code == 0
                           ? "ended without finishing"
                           : fmt::format("ended with status {}", exit.code.value_or(-1));
    text += ' ' + when;
    if (!exit.cause.empty()) text += ": " + exit.cause;
    if (const std::string words = lastLineOf(exit.lastWords); !words.empty()) {
        text += fmt::format("; its last words: {}", words);
    }
    return text;
}

std::string placeText(const run::RankFailed& failed) {
    std::string place;
    if (failed.step >= 0) place += fmt::format(" at step {}", failed.step);
    if (!failed.phase.empty()) place += fmt::format(" in {}", failed.phase);
    if (failed.layer >= 0) place += fmt::format(" of layer {}", failed.layer);
    return place;
}

}  // namespace

Error RunSupervisor::rankError(RankId rank) const {
    const RankState& state = m_ranks[rank.value];
    const auto host = m_request.launch.places.hostOf(static_cast<std::int32_t>(rank.value));
    const std::string place = m_agents[static_cast<std::size_t>(host)].name();
    if (state.failed) {
        const std::string& word = state.failed->code;
        const ErrorCode code = word == "data"     ? ErrorCode::kUnreadable
                               : word == "launch" ? ErrorCode::kLaunch
                                                  : ErrorCode::kRank;
        return {code, fmt::format("rank {} on {} failed{}: {}", rank.value, place,
                                  placeText(*state.failed), state.failed->message)};
    }
    const std::string when = state.lastStep >= 0 ? fmt::format("after step {}", state.lastStep)
                                                 : "before its first step";
    return {ErrorCode::kRank,
            fmt::format("rank {} on {} {}", rank.value, place,
                        state.exit ? exitText(*state.exit, when) : "vanished " + when)};
}

bool RunSupervisor::waitedInVain(RankId rank) const {
    const auto& failed = m_ranks[rank.value].failed;
    return failed && (failed->code == "peer-lost" || failed->code == "peer-late");
}

bool RunSupervisor::lostItsPeer(RankId rank) const {
    return waitedInVain(rank) && m_ranks[rank.value].failed->code == "peer-lost";
}

std::vector<RankEvidence> RunSupervisor::evidence() const {
    std::vector<RankEvidence> evidence;
    for (std::uint32_t i = 0; i < m_ranks.size(); ++i) {
        RankEvidence& each = evidence.emplace_back(m_rankWatch.evidence(RankId{i}));
        const auto& failed = m_ranks[i].failed;
        each.gaveUp = failed.has_value();
        each.hearsay = lostItsPeer(RankId{i});
        if (failed && failed->waitedFor >= 0)
            each.waitedFor = static_cast<std::size_t>(failed->waitedFor);
    }
    return evidence;
}

/// Of ranks that waited for another one in vain, the one that they waited for in the end.
std::optional<RankId> RunSupervisor::culprit() const {
    if (m_heldUp) return m_heldUp;
    if (!m_firstFailed || !waitedInVain(*m_firstFailed)) return std::nullopt;
    const auto found = findCulprit(evidence(), m_firstFailed->value);
    if (!found || *found >= m_ranks.size()) return std::nullopt;
    return RankId{static_cast<std::uint32_t>(*found)};
}

/// Of hosts that the recorder reaches and that do not reach each other; no rank is at fault.
std::optional<Error> RunSupervisor::severedError() const {
    if (!m_firstFailed || !waitedInVain(*m_firstFailed)) return std::nullopt;
    std::vector<std::size_t> hostOf;
    for (std::int32_t i = 0; i < m_request.launch.places.ranks(); ++i)
        hostOf.push_back(static_cast<std::size_t>(m_request.launch.places.hostOf(i)));
    const auto hosts = findSeveredHosts(evidence(), hostOf, m_firstFailed->value);
    if (hosts.empty()) return std::nullopt;
    const auto waitedAcross = [&](std::size_t rank) {
        const auto& failed = m_ranks[rank].failed;
        return failed && failed->code == "peer-late" && failed->waitedFor >= 0 &&
               hostOf[static_cast<std::size_t>(failed->waitedFor)] != hostOf[rank];
    };
    std::vector<std::string> names, words;
    for (const std::size_t host : hosts) {
        names.push_back(m_agents[host].name());
        for (std::size_t i = 0; i < m_ranks.size() && words.size() < names.size(); ++i)
            if (hostOf[i] == host && waitedAcross(i))
                words.push_back(fmt::format("rank {}: {}", i, m_ranks[i].failed->message));
    }
    return Error{
        ErrorCode::kRank,
        fmt::format("the network between {} is down in at least one direction, although the "
                    "recorder reaches each of them; {}",
                    fmt::join(names, " and "), fmt::join(words, "; "))};
}

/// What it is seen to do, and the first words of a rank that waited for it.
Error RunSupervisor::culpritError(RankId culprit) const {
    const RankState& state = m_ranks[culprit.value];
    const auto host = m_request.launch.places.hostOf(static_cast<std::int32_t>(culprit.value));
    std::string text =
        fmt::format("rank {} on {} {}", culprit.value,
                    m_agents[static_cast<std::size_t>(host)].name(), m_rankWatch.describe(culprit));
    if (m_heldUp) text += "; the run was ended for it";
    if (state.exit && state.exit->left != run::ProcessHold::kNone)
        text += "; it could not be ended: the kernel still holds it";
    const auto witness = this->witness(culprit);
    if (witness) text += fmt::format("; rank {}: {}", *witness, m_ranks[*witness].failed->message);
    return {ErrorCode::kRank, text};
}

/// A rank that waited for it itself, rather than heard of one that did.
std::optional<std::size_t> RunSupervisor::witness(RankId culprit) const {
    for (std::size_t i = 0; i < m_ranks.size(); ++i) {
        const auto& failed = m_ranks[i].failed;
        if (failed && failed->code == "peer-late" &&
            failed->waitedFor == static_cast<std::int32_t>(culprit.value))
            return i;
    }
    return std::nullopt;
}

void RunSupervisor::concludeRanks() {
    for (std::uint32_t i = 0; i < m_ranks.size() && m_launched && !m_firstFailed; ++i) {
        if (!m_ranks[i].finished && !m_outcome.killed && !m_outcome.failure) {
            m_firstFailed = RankId{i};
        }
    }
    // Ranks of other hosts that lost a peer lost it with its host, of which we heard later.
    if (m_firstFailed && !m_outcome.failure && m_hostLost && lostItsPeer(*m_firstFailed))
        m_outcome.failure = m_hostLost;
    if (const auto found = culprit(); found && !m_outcome.failure) {
        m_outcome.failedRank = found;
        m_outcome.failure = culpritError(*found);
    }
    if (!m_outcome.failure) m_outcome.failure = severedError();
    if (m_firstFailed && !m_outcome.failure) {
        m_outcome.failedRank = m_firstFailed;
        m_outcome.failure = rankError(*m_firstFailed);
    }
    if (m_outcome.failure || m_outcome.killed) m_outcome.stopped = false;
}

}  // namespace shardscope::launch

#include "engine/launch/program/program_ranks.h"

#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <variant>

namespace shardscope::launch {
namespace {

/// The hook says so before it sends its last events; nothing to be recorded.
constexpr std::string_view kSaidAll = "said_all";

Severity severityOf(const std::string& level) {
    return level == "info" ? Severity::kNote : Severity::kWarning;
}

/// What shardscope.model() was given; 0: nothing.
std::int64_t tokensPerStep(const std::map<std::string, std::string>& facts) {
    const auto found = facts.find("tokens_per_step");
    std::int64_t tokens = 0;
    if (found != facts.end())
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), tokens);
    return std::max<std::int64_t>(tokens, 0);
}

}  // namespace

ProgramRanks::Peer& ProgramRanks::connect(FileDescriptor socket) {
    m_peers.push_back({ProgramPeer(std::move(socket), m_options.folder), {}});
    return m_peers.back();
}

void ProgramRanks::receive(Peer& peer) {
    const auto done =
        peer.link.receive([&](capture::LinkMessage& message) { take(peer, message); });
    if (!done)
        say(Severity::kWarning, "process-lost",
            fmt::format("process {} is not recorded any more: {}", peer.link.pid(),
                        done.error().message),
            "Use the same build of Shardscope for the library in the program.", peer.link.rank);
}

void ProgramRanks::take(Peer& peer, capture::LinkMessage& message) {
    if (std::holds_alternative<capture::ProcessHello>(message)) {
        if (m_clock) peer.link.tell(*m_clock);
        for (Peer& other : m_peers) {
            if (&other == &peer || other.link.session() != peer.link.session()) continue;
            if (other.link.pid() != peer.link.pid()) continue;
            other.link.continueOn(peer.link);
            return receive(other);  // what came with the greeting
        }
    } else if (const auto* said = std::get_if<capture::ProcessFact>(&message)) {
        fact(peer, *said);
    } else if (const auto* claimed = std::get_if<capture::RankClaim>(&message)) {
        claim(peer, claimed->rank, claimed->source);
    } else if (const auto* ending = std::get_if<capture::ProcessEnding>(&message)) {
        peer.link.ending = *ending;
        if (peer.link.rank) finish(peer, 0);
    } else if (peer.link.rank) {
        pass(peer, message);
    } else {
        if (std::holds_alternative<capture::StepEnded>(message)) ++peer.link.steps;
        peer.link.hold(message);
    }
}

void ProgramRanks::fact(Peer& peer, const capture::ProcessFact& fact) {
    constexpr std::size_t kMostFacts = 1000;
    if (fact.name == kSaidAll) peer.link.saidAll = true;
    if (fact.name == kSaidAll || peer.link.facts.size() >= kMostFacts) return;
    peer.link.facts[fact.name] = fact.value;
    if (fact.name == "shim" && fact.value.starts_with("none") && !std::exchange(m_saidNoShim, true))
        say(Severity::kWarning, "no-shim", "operators, collectives and memory: " + fact.value,
            "Build its shim with packaging/build-shims, or record with --kineto.", std::nullopt);
    if (fact.name == "stacks" && fact.value.starts_with("none") &&
        !std::exchange(m_saidNoStacks, true))
        say(Severity::kWarning, "no-stacks", "Python stacks of operators: " + fact.value,
            "Leave --stacks out, or record a window with --kineto --stacks.", std::nullopt);
    constexpr std::string_view kGroup = "group:";
    if (fact.name.starts_with(kGroup))
        m_stalls.nameGroup(fact.name.substr(kGroup.size()), fact.value);
    if (peer.link.rank) introduce(peer);
}

/// The number that it claims, unless another process that lives has it.
void ProgramRanks::claim(Peer& peer, std::int32_t rank, const std::string& source) {
    if (peer.link.rank) {
        if (peer.link.rank->value != static_cast<std::uint32_t>(rank))
            say(Severity::kWarning, "rank-differs",
                fmt::format("process {} is recorded as rank {}, and says by {} that it is rank {}",
                            peer.link.pid(), peer.link.rank->value, source, rank),
                "", peer.link.rank);
        return;
    }
    RankId number{static_cast<std::uint32_t>(rank)};
    const bool taken = std::any_of(m_peers.begin(), m_peers.end(), [&](const Peer& other) {
        return &other != &peer && other.link.rank == number && !other.link.gone;
    });
    if (rank < 0 || rank >= kMostRanks || taken) {
        number = free();
        say(Severity::kWarning, "rank-taken",
            fmt::format("process {} says by {} that it is rank {}, which another process of the "
                        "program is: it is recorded as rank {}",
                        peer.link.pid(), source, rank, number.value),
            "Record programs that run side by side with a recorder each.", number);
    }
    peer.link.rank = number;
    peer.offsets = m_numbers[number].next();
    m_sink.message(number,
                   run::RankStarted{static_cast<std::int32_t>(number.value), peer.link.pid()});
    if (peer.offsets.attempt > 0) m_stalls.forget(number);
    if (peer.offsets.attempt > 0)
        say(Severity::kWarning, "rank-restarted",
            fmt::format("rank {} was started again, as process {}: its steps from {} on are those "
                        "of attempt {}",
                        number.value, peer.link.pid(), peer.offsets.steps,
                        peer.offsets.attempt + 1),
            "", number);
    introduce(peer);
    peer.link.release([&](capture::LinkMessage& held) { pass(peer, held); });
    if (peer.link.ending) finish(peer, 0);
}

/// What it and the attempts before it recorded, and `more` events of ours.
void ProgramRanks::finish(const Peer& peer, std::uint64_t more) {
    const run::RankFinished finished{peer.offsets.emitted + peer.link.ending->emitted + more,
                                     peer.offsets.dropped + peer.link.ending->dropped, false};
    m_numbers[*peer.link.rank].note(finished.emitted, finished.dropped);
    m_sink.message(*peer.link.rank, finished);
}

void ProgramRanks::introduce(Peer& peer) {
    run::RankHello hello;
    hello.pid = peer.link.pid();
    hello.device = "cpu";
    run::FactsReported reported;
    for (const auto& [name, value] : peer.link.facts) {
        if (name == "torch" || name == "python" || name == "shim")
            hello.libraries[name] = value;
        else
            reported.facts.push_back(
                {name, 0, static_cast<std::int32_t>(peer.link.rank->value), value});
    }
    m_sink.message(*peer.link.rank, hello);
    if (!reported.facts.empty()) m_sink.message(*peer.link.rank, reported);
}

void ProgramRanks::pass(Peer& peer, capture::LinkMessage& message) {
    const RankId rank = *peer.link.rank;
    if (auto* chunk = std::get_if<capture::EventChunk>(&message)) {
        if (peer.offsets.attempt > 0) {
            auto moved = rebased(chunk->bytes, rank, peer.offsets);
            if (moved) chunk->bytes = std::move(*moved);
        } else {
            static_cast<void>(columns::giveTo(rank, chunk->bytes));  // a damaged one stays so
        }
        m_sink.chunk(rank, chunk->bytes);
    } else if (auto* lane = std::get_if<LaneFacts>(&message)) {
        lane->rank = rank;
        if (peer.offsets.attempt == 0 || lane->lane.value >= lanes::kMoreOperators.first)
            m_sink.message(rank, run::LaneDeclared{*lane});
    } else if (auto* strings = std::get_if<capture::NewStrings>(&message)) {
        strings->first.value += peer.offsets.strings;
        m_numbers[rank].note(*strings);
        m_sink.message(rank, run::StringsDeclared{strings->first.value, strings->texts});
    } else if (auto* step = std::get_if<capture::StepEnded>(&message)) {
        passStep(peer, *step);
    } else if (const auto* progress = std::get_if<capture::CollectiveProgress>(&message)) {
        if (!m_sink.collectiveOpen(rank, *progress)) m_stalls.note(rank, *progress);
    } else if (auto* metric = std::get_if<MetricPoint>(&message)) {
        if (metric->step != kNoStep) metric->step.value += peer.offsets.steps;
        // One word for the run: that of the lowest rank here.
        if (m_numbers.begin()->first == rank) m_sink.message(rank, run::MetricReported{*metric});
    } else if (const auto* line = std::get_if<capture::LogText>(&message)) {
        say(severityOf(line->level), "program", line->text, "", rank);
    }
}

void ProgramRanks::passStep(Peer& peer, capture::StepEnded& step) {
    const RankId rank = *peer.link.rank;
    RankNumbers& numbers = m_numbers[rank];
    step.step.rank = rank;
    step.step.step.value += peer.offsets.steps;
    step.step.emitted += peer.offsets.emitted;
    step.step.dropped += peer.offsets.dropped;
    numbers.note(step.step.step);
    numbers.note(step.step.emitted, step.step.dropped);
    ++peer.link.steps;
    step.step.tokens = tokensPerStep(peer.link.facts);
    std::string& sources = peer.link.facts["step_source"];
    if (sources.find(step.source) == std::string::npos) {
        sources += (sources.empty() ? "" : ", then ") + step.source;
        introduce(peer);
    }
    run::StepDone done;
    done.step = step.step;
    done.capture = step.capture;
    done.captureReason = step.reason;
    m_sink.message(rank, done);
}

void ProgramRanks::say(Severity severity, const std::string& code, const std::string& text,
                       const std::string& remedy, std::optional<RankId> rank) {
    m_sink.message(rank.value_or(run::kNoRank),
                   run::DiagnosticRaised{{severity, code, text, remedy, rank,
                                          Timestamp{hostNow() - m_options.originNs}, 1}});
}

RankId ProgramRanks::free() const {
    return RankId{m_numbers.empty() ? static_cast<std::uint32_t>(m_options.part)
                                    : m_numbers.rbegin()->first.value + 1};
}

void ProgramRanks::noteEnd(Peer& peer) {
    // What it sent before it ended is in the socket still; a child of it may keep the other end
    // open.
    while (peer.link.hasInput()) receive(peer);
    peer.link.close();
    peer.link.gone = true;
    if (!peer.link.rank) return;
    const auto end = peer.link.end();
    run::RankExited exited;
    exited.rank = static_cast<std::int32_t>(peer.link.rank->value);
    exited.code = end.code;
    exited.signal = end.signal;
    m_sink.message(*peer.link.rank, exited);
}

/// Those that never said which rank they are: without any rank, what trained or computed is one.
void ProgramRanks::claimTheRest() {
    if (!m_numbers.empty()) return;
    for (Peer& each : m_peers) {
        const auto role = each.link.facts.find("role");
        const bool computes = role == each.link.facts.end() || role->second == "rank";
        if (computes && each.link.heldEvents() > 0)
            claim(each, static_cast<std::int32_t>(free().value), "its events");
        if (each.link.rank && each.link.gone) noteEnd(each);
    }
}

/// One that ends by os._exit(), a signal or exec() cannot hand over what waits to be sent.
void ProgramRanks::sayCutOff() {
    const auto isCutOff = [](const Peer& each) {
        return each.link.rank && each.link.gone && !each.link.ending && !each.link.saidAll;
    };
    const auto first = std::find_if(m_peers.begin(), m_peers.end(), isCutOff);
    if (first == m_peers.end()) return;
    const auto count = std::count_if(m_peers.begin(), m_peers.end(), isCutOff);
    const std::string name =
        fmt::format("rank {} (process {})", first->link.rank->value, first->link.pid());
    say(Severity::kNote, "rank-cut-off",
        fmt::format("{} ended at once, by a signal, os._exit() or exec(): what {} did in the last "
                    "0.1 s before may be missing, steps too",
                    count == 1 ? name : fmt::format("{} processes, such as {},", count, name),
                    count == 1 ? "it" : "they"),
        "A program that returns or calls sys.exit() hands over all of it.",
        count == 1 ? first->link.rank : std::nullopt);
}

bool ProgramRanks::anyLives() const {
    return std::any_of(m_peers.begin(), m_peers.end(), [](const Peer& each) {
        return each.link.rank && !each.link.gone && each.link.isOpen();
    });
}

const ProgramRanks::Peer* ProgramRanks::newestOf(RankId rank) const {
    const Peer* newest = nullptr;
    for (const Peer& each : m_peers)
        if (each.link.rank == rank) newest = &each;
    return newest;
}

void ProgramRanks::correctClock(const ClockLine& line) {
    m_clock = line;
    tell(line);
}

void ProgramRanks::tell(const capture::LinkMessage& message) {
    for (Peer& each : m_peers) each.link.tell(message);
}

void ProgramRanks::close() {
    for (Peer& each : m_peers) each.link.close();
}

std::optional<RankId> ProgramRanks::lowest() const {
    return m_numbers.empty() ? std::nullopt : std::optional(m_numbers.begin()->first);
}

std::int32_t ProgramRanks::highestCount() const {
    return m_numbers.empty() ? 0 : static_cast<std::int32_t>(m_numbers.rbegin()->first.value) + 1;
}

}  // namespace shardscope::launch

#include "engine/comm/host_levels.h"

#include "engine/comm/peer_process.h"

#include <fmt/format.h>

#include <string>
#include <thread>

namespace shardscope::comm {
namespace {

/// A rank that is held up by another host is waited for a quarter longer, and by the ranks of its
/// own host for another quarter: who waits for the culprit itself speaks first.
std::chrono::milliseconds patience(std::chrono::milliseconds timeout) {
    return timeout / 4;
}

/// For the word of one who knows why a peer is gone: the end of a process is seen within 200 ms.
constexpr std::chrono::milliseconds kHearsay{600}, kGlance{20};

RingPlace railOf(const LevelsPlace& place) {
    const auto perHost = place.inside.size();
    const auto own = static_cast<std::size_t>(place.all.own);
    RingPlace rail = place.all;
    rail.own = static_cast<int>(own / perHost);
    rail.meshRanks.clear();
    for (std::size_t p = own % perHost; p < place.all.meshRanks.size(); p += perHost)
        rail.meshRanks.push_back(place.all.meshRanks[p]);
    return rail;
}

}  // namespace

HostLevels::HostLevels(const LevelsSetup& setup, LevelsPlace place)
    : m_segment(setup.segment),
      m_mesh(setup.mesh),
      m_staging(std::move(place.staging)),
      m_inside(setup.segment, place.inside, place.all.own % static_cast<int>(place.inside.size()),
               setup.timeout, setup.mesh),
      m_rail(setup.mesh, railOf(place), setup.timeout + patience(setup.timeout), nullptr),
      m_all(setup.mesh, place.all, setup.timeout + patience(setup.timeout), nullptr),
      m_inputs(place.inside.size()) {}

std::int64_t HostLevels::meetInside(const Call& call) {
    m_call = call;
    const std::int64_t arrived = m_inside.meet(call);
    for (int p = 0; p < perHost(); ++p)
        m_inputs[at(p)] = m_segment->arena(m_inside.place(p)) + m_inside.wanted(p).offset;
    m_clock.begin(arrived);
    return arrived;
}

/// The first rank of this host that asks for something else than this one.
Ring::Other HostLevels::oddNeighbour() const {
    for (int p = 0; p < perHost(); ++p)
        if (!m_call.wanted.matches(m_inside.wanted(p)))
            return {m_inside.worldRank(p), m_inside.wanted(p)};
    return {};
}

void HostLevels::meetAcross(std::span<const double> values) {
    const BetweenHosts between(m_clock);
    m_all.follow(m_call);
    m_rail.meet(m_call, values, oddNeighbour());
}

std::int64_t HostLevels::meet(const Call& call) {
    const std::int64_t arrived = meetInside(call);
    meetAcross({});
    return arrived;
}

void HostLevels::meetAgain() {
    if (perHost() > 1) m_inside.meet(m_call, 2 * patience(m_inside.timeout()));
}

void HostLevels::giveUp(const CommunicationError& error) {
    std::string first = m_segment->blamed();
    const bool hearsay = dynamic_cast<const PeerGone*>(&error) != nullptr;
    for (auto left = kHearsay; hearsay && first.empty() && left.count() > 0; left -= kGlance) {
        std::this_thread::sleep_for(kGlance);
        first = m_segment->blamed();
    }
    const auto* late = dynamic_cast<const PeerLate*>(&error);
    if (first.empty())
        first = m_mesh->blame(error.what(), late == nullptr ? WaitWatch::kNoRank : late->rank());
    m_segment->blame(first);
    m_inside.abort();
    m_mesh->close();
    const auto* peer = dynamic_cast<const PeerError*>(&error);
    if (peer == nullptr) throw CommunicationError(first);
    if (hearsay) throw PeerGone(first, peer->rank());
    throw PeerError(first, peer->rank());
}

void HostLevels::abort() {
    m_segment->blame(m_mesh->blame(fmt::format("rank {} has given up", m_inside.worldRank(place())),
                                   WaitWatch::kNoRank));
    m_inside.abort();
    m_mesh->close();
}

}  // namespace shardscope::comm

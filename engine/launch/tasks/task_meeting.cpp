#include "engine/launch/tasks/task_meeting.h"

#include "engine/launch/host_facts.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <random>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
/// Strangers get no more than this, so that they cannot fill memory or hold descriptors.
constexpr std::chrono::seconds kGuestPatience{10};
constexpr std::size_t kMostStrangers = 64;
constexpr int kMostPerTurn = 64;
/// A wait is reported when it begins to be long.
constexpr std::chrono::seconds kFirstWord{5};
constexpr std::chrono::seconds kAgentPatience{60};
constexpr std::chrono::seconds kEndPatience{5};
constexpr std::size_t kMostNamed = 8;
/// A task that is just coming has said its proof by then.
constexpr int kLastTurns = 4;
constexpr const char* kLoopback = "127.0.0.1";
/// Of strangers, who can say anything, from one network and in all.
constexpr std::size_t kMostSaidOfOne = 4, kMostSaidOfAll = 64;
constexpr std::size_t kLongestStrangeName = 64;

class TaskAgent final : public AgentTransport {
public:
    TaskAgent(FileDescriptor socket, const network::SealPair& seals)
        : m_channel(std::move(socket)) {
        m_channel.seal(seals);
    }
    FrameChannel takeChannel() override { return std::move(m_channel); }
    /// Its launcher knows which, not we.
    std::string endText() override { return "it ended, or the connection was lost"; }
    /// Its task waits for it, and for the end.
    void end() override {}

private:
    FrameChannel m_channel;
};

void addPoll(std::vector<pollfd>& polls, int fd) {
    if (fd >= 0) polls.push_back({fd, POLLIN, 0});
}

/// A name that no other host has: several may be called the same where containers are.
std::string distinct(const std::string& name, const std::vector<TaskHost>& hosts) {
    std::string made = name;
    const auto isTaken = [&] {
        return std::any_of(hosts.begin(), hosts.end(),
                           [&](const TaskHost& each) { return each.name == made; });
    };
    for (int number = 2; isTaken(); ++number) made = fmt::format("{}-{}", name, number);
    return made;
}

/// Of a host, by what names of hosts are made of.
std::string plainName(std::string name) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    name.resize(std::min(name.size(), kLongestStrangeName));
    for (char& c : name)
        if (kLetters.find(c) == kLetters.npos) c = '?';
    return name;
}

}  // namespace

TaskHello helloOf(const TaskPlace& place, const std::string& product, TaskWork work) {
    TaskHello hello;
    hello.rank = place.rank;
    hello.size = place.size;
    hello.host = hostFacts().name;
    hello.node = place.node.empty() ? hello.host : place.node;
    hello.processors = toText(ownProcessors());
    hello.product = product;
    if (work == TaskWork::kProgram) hello.product += ", recording a program";
    return hello;
}

Result<TaskMeeting> TaskMeeting::open(const TaskPlace& place, const std::string& product,
                                      const std::string& interface, TaskWork work) {
    const TaskSecret secret = TaskSecret::of(place);
    auto listeners = listenForTasks(place, secret, interface);
    if (!listeners) return failure(listeners);
    return TaskMeeting(place, secret, helloOf(place, product, work), std::move(*listeners), work);
}

Result<void> TaskMeeting::gather(const GoOn& goOn, const Say& say,
                                 std::chrono::milliseconds patience) {
    const auto all = [this] {
        return m_members.size() + 1 == static_cast<std::size_t>(m_place.size);
    };
    if (auto waited = waitFor(all, goOn, say, patience); !waited) return waited;
    findHosts();
    if (m_work == TaskWork::kRanks) useProcessors(m_hosts.front().processors);
    return {};
}

Result<void> TaskMeeting::startAgents(const GoOn& goOn) {
    for (Member& member : m_members) {
        if (!member.leads) continue;
        member.line.send(fmt::format("lead {}", toText(m_hosts[hostOf(member.hello)].processors)));
    }
    const auto quiet = [](const std::string&) {};
    auto waited = waitFor([this] { return agentsAreThere(); }, goOn, quiet, kAgentPatience);
    m_listeners.close();
    m_guests.clear();
    return waited;
}

Result<void> TaskMeeting::waitFor(const std::function<bool()>& holds, const GoOn& goOn,
                                  const Say& say, std::chrono::milliseconds patience) {
    const auto begun = Clock::now();
    bool said = false;
    while (!holds()) {
        if (!goOn() || m_stopAsked)
            return failure(ErrorCode::kInterrupted, "interrupted; no rank was started");
        const auto waited = Clock::now() - begun;
        if (waited > patience)
            return failure(ErrorCode::kLaunch,
                           fmt::format("{} did not come within {} s; look at what became of them "
                                       "where they were started",
                                       absent(), patience.count() / 1000));
        if (waited > kFirstWord && !std::exchange(said, true))
            say(fmt::format("waiting for {}", absent()));
        turn();
        for (const std::string& refusal : std::exchange(m_unsaid, {})) say(refusal);
        if (auto heard = hearMembers(); !heard) return heard;
    }
    return {};
}

void TaskMeeting::turn() {
    std::vector<pollfd> polls;
    for (const FileDescriptor& each : m_listeners.all()) addPoll(polls, each.get());
    for (const Guest& each : m_guests) addPoll(polls, each.line.fd());
    for (const Member& each : m_members) addPoll(polls, each.line.fd());
    ::poll(polls.data(), polls.size(), static_cast<int>(kTurn.count()));
    acceptGuests();
    const auto now = Clock::now();
    std::erase_if(m_guests, [&](Guest& guest) {
        return !hear(guest) || !guest.line.isOpen() || now > guest.until;
    });
}

/// False: nothing more is expected of it.
bool TaskMeeting::hear(Guest& guest) {
    const auto said = guest.line.take();
    if (!said) return true;
    if (!guest.handshake) return challenge(guest, *said);
    const TaskHello& hello = guest.handshake->hello();
    if (guest.handshake->proves(*said)) {
        if (hello.agent)
            admitAgent(guest);
        else
            admit(guest);
        return false;
    }
    guest.line.send(AdmittingHandshake::kUnproved);
    noteStranger(guest, hello,
                 fmt::format("task {} has another secret than rank 0's task, or only one of both "
                             "has one; give all the same {}",
                             hello.rank, kTaskToken));
    return false;
}

/// One of another run may wait for this one to end, as a restarted one does; it is only said.
bool TaskMeeting::challenge(Guest& guest, std::string_view said) {
    AdmittingHandshake handshake(m_secret);
    const auto challenge = handshake.challenge(said);
    if (!challenge) return false;
    if (!handshake.isOfThisRun()) {
        noteStranger(guest, handshake.hello(),
                     fmt::format("task {} is of another run; give each a MASTER_PORT of its own",
                                 handshake.hello().rank));
        return false;
    }
    guest.line.send(*challenge);
    guest.handshake.emplace(std::move(handshake));
    return true;
}

void TaskMeeting::acceptGuests() {
    const std::size_t most = kMostStrangers + 2 * static_cast<std::size_t>(m_place.size);
    for (const FileDescriptor& listener : m_listeners.all()) {
        for (int i = 0; i < kMostPerTurn; ++i) {
            FileDescriptor fd = acceptTask(listener.get());
            if (!fd.valid()) break;
            if (m_guests.size() == most) makeRoom();
            std::string network = peerNetworkOf(fd.get());
            m_guests.push_back(
                {TaskLine(std::move(fd)), Clock::now() + kGuestPatience, std::move(network)});
        }
    }
}

/// Any of the network that has most guests and no task yet: a flood from a few addresses keeps no
/// task of another out, and who floods from many drops its own. Tasks try again.
void TaskMeeting::makeRoom() {
    std::map<std::string, std::vector<std::size_t>> byNetwork;
    for (std::size_t i = 0; i < m_guests.size(); ++i) byNetwork[m_guests[i].network].push_back(i);
    for (const Member& each : m_members)
        if (byNetwork.size() > 1) byNetwork.erase(each.network);
    std::size_t most = 0;
    for (const auto& [network, guests] : byNetwork) most = std::max(most, guests.size());
    std::vector<std::size_t> choice;
    for (const auto& [network, guests] : byNetwork)
        if (guests.size() == most) choice.insert(choice.end(), guests.begin(), guests.end());
    const std::size_t chosen = choice[std::random_device()() % choice.size()];
    m_guests.erase(m_guests.begin() + static_cast<std::ptrdiff_t>(chosen));
}

std::string TaskMeeting::complaintOf(const TaskHello& hello) const {
    if (hello.product != m_own.product)
        return fmt::format("task {} is {}, and rank 0's is {}; use the same build for all",
                           hello.rank, hello.product, m_own.product);
    if (hello.size != m_own.size)
        return fmt::format("task {} counts {} tasks, and rank 0's {}; start all alike", hello.rank,
                           hello.size, m_own.size);
    if (hello.rank == 0 || hello.rank >= m_own.size)
        return fmt::format("a second task says that it is rank {} of {}", hello.rank, hello.size);
    return {};
}

void TaskMeeting::admit(Guest& guest) {
    const TaskHello& hello = guest.handshake->hello();
    std::string complaint = complaintOf(hello);
    const bool twice = std::any_of(m_members.begin(), m_members.end(), [&](const Member& each) {
        return each.hello.rank == hello.rank;
    });
    if (complaint.empty() && twice)
        complaint = fmt::format(
            "a second task says that it is rank {}; if these are two runs, "
            "give each a MASTER_PORT of its own",
            hello.rank);
    if (!complaint.empty()) {
        noteRefusal(hello, complaint);
        return guest.line.send(guest.handshake->refusal(complaint));
    }
    guest.line.send(guest.handshake->welcome());
    guest.line.seal(guest.handshake->seals());
    m_members.push_back({hello, std::move(guest.line), guest.network});
}

void TaskMeeting::noteRefusal(const TaskHello& hello, const std::string& why) {
    std::string text = fmt::format("refused a task on {}: {}", hello.host, why);
    if (m_refusals.insert(text).second) m_unsaid.push_back(std::move(text));
}

/// What it says of itself may be anything; where it is, it cannot choose.
void TaskMeeting::noteStranger(const Guest& guest, const TaskHello& hello, const std::string& why) {
    const std::string where = guest.network.empty() ? "" : fmt::format(" at {}", guest.network);
    std::string text = fmt::format("refused a task{} that says it is on {}: {}", where,
                                   plainName(hello.host), why);
    if (m_refusals.contains(text) || m_strangersSaid[guest.network] == kMostSaidOfOne) return;
    std::size_t all = 0;
    for (const auto& [network, said] : m_strangersSaid) all += said;
    if (all == kMostSaidOfAll) return;
    ++m_strangersSaid[guest.network];
    m_refusals.insert(text);
    m_unsaid.push_back(std::move(text));
}

/// Only of those that were asked for one.
void TaskMeeting::admitAgent(Guest& guest) {
    const auto member = std::find_if(m_members.begin(), m_members.end(), [&](const Member& each) {
        return each.leads && each.hello.rank == guest.handshake->hello().rank;
    });
    if (member == m_members.end()) return;
    NodeAgent& agent = m_agents[agentOf(member->hello)];
    if (agent.seals) return;
    guest.line.send(guest.handshake->welcome());
    if (m_address.empty()) m_address = ownAddressOf(guest.line.fd());
    if (m_address.empty()) m_address = kLoopback;  // several nodes that meet on this host
    agent = {guest.line.release(), guest.handshake->seals()};
}

Result<void> TaskMeeting::hearMembers() {
    for (Member& member : m_members) {
        while (const auto said = member.line.take()) m_stopAsked = true;
        if (member.line.isOpen()) continue;
        return failure(ErrorCode::kLaunch,
                       fmt::format("task {} on {} was lost before the run began; look at what "
                                   "became of it where it was started",
                                   member.hello.rank, member.hello.host));
    }
    return {};
}

std::string TaskMeeting::absent() const {
    std::set<std::int32_t> ranks;
    for (std::int32_t rank = 1; rank < m_place.size; ++rank) ranks.insert(rank);
    for (const Member& each : m_members) ranks.erase(each.hello.rank);
    if (ranks.empty()) return "the agents of other hosts";
    std::string text;
    std::size_t named = 0;
    for (const std::int32_t rank : ranks) {
        if (++named > kMostNamed) break;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
    }
    if (ranks.size() > kMostNamed) text += fmt::format(" and {} more", ranks.size() - kMostNamed);
    return fmt::format("{} {} of {}", ranks.size() == 1 ? "task" : "tasks", text, m_place.size);
}

bool TaskMeeting::agentsAreThere() const {
    return std::all_of(m_agents.begin() + 1, m_agents.end(),
                       [](const NodeAgent& each) { return each.seals.has_value(); });
}

std::size_t TaskMeeting::hostOf(const TaskHello& hello) const {
    return static_cast<std::size_t>(std::find(m_nodes.begin(), m_nodes.end(), hello.node) -
                                    m_nodes.begin());
}

std::size_t TaskMeeting::agentOf(const TaskHello& hello) const {
    return m_work == TaskWork::kProgram ? static_cast<std::size_t>(hello.rank) : hostOf(hello);
}

/// In the order of their first tasks, which lead them; rank 0's is the first.
void TaskMeeting::findHosts() {
    std::sort(m_members.begin(), m_members.end(),
              [](const Member& a, const Member& b) { return a.hello.rank < b.hello.rank; });
    const auto add = [this](const TaskHello& hello) {
        auto node = std::find(m_nodes.begin(), m_nodes.end(), hello.node);
        const bool first = node == m_nodes.end();
        if (first) {
            m_hosts.push_back({distinct(hello.host, m_hosts), 0, {}});
            node = m_nodes.insert(m_nodes.end(), hello.node);
        }
        TaskHost& host = m_hosts[static_cast<std::size_t>(node - m_nodes.begin())];
        ++host.tasks;
        host.processors.merge(processorsOf(hello.processors));
        return first;
    };
    add(m_own);
    const bool all = m_work == TaskWork::kProgram;
    for (Member& member : m_members) member.leads = add(member.hello) || all;
    m_agents.resize(all ? static_cast<std::size_t>(m_place.size) : m_hosts.size());
}

std::unique_ptr<AgentTransport> TaskMeeting::takeAgent(std::size_t number) {
    NodeAgent& agent = m_agents[number];
    return std::make_unique<TaskAgent>(std::move(agent.socket), *agent.seals);
}

void TaskMeeting::attach(RunSupervisor& run, const Say& say) {
    if (m_stopAsked) run.requestStop();
    for (Member& member : m_members)
        run.watch(member.line.fd(), [this, &member, &run, say] { return hear(member, run, say); });
}

bool TaskMeeting::hear(Member& member, RunSupervisor& run, const Say& say) {
    while (const auto said = member.line.take()) {
        if (*said == "kill") run.requestKill();
        if (*said != "stop" || std::exchange(m_stopAsked, true)) continue;
        say(fmt::format("task {} on {} was asked to stop: stopping after this step",
                        member.hello.rank, member.hello.host));
        run.requestStop();
    }
    if (member.line.isOpen()) return true;
    run.abandon({ErrorCode::kLaunch,
                 fmt::format("task {} on {} was lost: it, or its host, ended without being asked "
                             "to; the run has been ended",
                             member.hello.rank, member.hello.host)});
    return false;
}

void TaskMeeting::end(int status) {
    // Those that are just coming hear of it too.
    for (int i = 0; i < kLastTurns && !m_listeners.all().empty(); ++i) turn();
    for (Member& member : m_members) member.line.send(fmt::format("end {}", status));
    const auto until = Clock::now() + kEndPatience;
    while (Clock::now() < until) {
        std::vector<pollfd> polls;
        for (Member& member : m_members) {
            while (member.line.take()) {
            }
            addPoll(polls, member.line.fd());
        }
        if (polls.empty()) return;
        ::poll(polls.data(), polls.size(), static_cast<int>(kTurn.count()));
    }
}

}  // namespace shardscope::launch

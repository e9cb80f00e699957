#include "profiler/inject/collective_table.h"

#include "storage/model/collective_key.h"
#include "storage/model/lanes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace shardscope::inject {
namespace {

struct Operation {
    std::string_view name;
    CollectiveOp operation;
};
/// Operators of c10d; a gather and a scatter move what a broadcast and a reduction do, to or from
/// one rank.
constexpr Operation kOperations[] = {
    {"allreduce_", CollectiveOp::kAllReduce},
    {"allreduce_coalesced_", CollectiveOp::kAllReduce},
    {"reduce_", CollectiveOp::kAllReduce},
    {"allgather_", CollectiveOp::kAllGather},
    {"_allgather_base_", CollectiveOp::kAllGather},
    {"allgather_coalesced_", CollectiveOp::kAllGather},
    {"allgather_into_tensor_coalesced_", CollectiveOp::kAllGather},
    {"gather_", CollectiveOp::kAllGather},
    {"reduce_scatter_", CollectiveOp::kReduceScatter},
    {"_reduce_scatter_base_", CollectiveOp::kReduceScatter},
    {"reduce_scatter_tensor_coalesced_", CollectiveOp::kReduceScatter},
    {"broadcast_", CollectiveOp::kBroadcast},
    {"scatter_", CollectiveOp::kBroadcast},
    {"barrier", CollectiveOp::kBarrier},
    {"monitored_barrier_", CollectiveOp::kBarrier},
    {"alltoall_", CollectiveOp::kAllToAll},
    {"alltoall_base_", CollectiveOp::kAllToAll},
    {"send", CollectiveOp::kSend},
    {"recv_", CollectiveOp::kReceive},
    {"recv_any_source_", CollectiveOp::kReceive}};

/// c10::ScalarType
DataType dataTypeOf(std::int32_t scalar) {
    switch (scalar) {
        case 0:   // Byte
        case 1:   // Char
        case 11:  // Bool
            return DataType::kByte;
        case 4:
            return DataType::kInt64;
        case 5:
            return DataType::kFloat16;
        case 6:
            return DataType::kFloat32;
        case 7:
            return DataType::kFloat64;
        case 15:
            return DataType::kBFloat16;
        default:
            return DataType::kUnknown;
    }
}

/// FNV-1a
std::uint32_t hashOf(std::string_view text) {
    std::uint32_t hash = 2'166'136'261u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u;
    return hash;
}

constexpr std::uint64_t kMessages = std::uint64_t{1} << 60;

/// Alike for who sends and who receives, and different from that of any other pair and group.
std::uint64_t messageSequence(std::uint32_t group, std::int32_t from, std::int32_t to,
                              std::uint64_t number) {
    constexpr std::uint64_t kNumbers = std::uint64_t{1} << 28;
    const std::string key =
        std::to_string(group) + "/" + std::to_string(from) + "/" + std::to_string(to);
    return kMessages | std::uint64_t{hashOf(key)} * kNumbers | (number % kNumbers);
}

bool isMessage(CollectiveOp operation) {
    const CollectiveWords* words = entryOf(operation);
    return words != nullptr && words->message;
}

}  // namespace

/// Names that PyTorch counts are their number; those that it makes of ranks are hashed. Within 12
/// bits, as CollectiveKey has room for.
std::uint32_t groupNumber(std::string_view name) {
    constexpr std::uint32_t kCounted = 2048;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && end == name.data() + name.size() && number < kCounted)
        return number;
    if (name.empty() || name == "default_pg") return 0;
    return kCounted + hashOf(name) % (kCounted - 1);
}

CollectiveTable::CollectiveTable(capture::CaptureSession& session) : m_session(session) {}

CollectiveTable::Group& CollectiveTable::groupOf(const ShardscopeCollective& collective,
                                                 std::uint32_t number) {
    const auto [at, fresh] = m_groups.try_emplace(number);
    Group& group = at->second;
    if (!fresh) return group;
    group.name = collective.group;
    // PyTorch's Gloo has two threads for each group unless asked for others.
    constexpr int kGlooWorkers = 2;
    group.workers = collective.workers;
    if (group.workers == 0 && std::string_view(collective.backend) == "gloo")
        group.workers = kGlooWorkers;
    if (number == 0) {
        group.lane = lanes::kCommunication.id;
        m_session.declareLane(lanes::kCommunication);
        return group;
    }
    const auto index =
        static_cast<std::size_t>(std::count_if(m_groups.begin(), m_groups.end(),
                                               [](const auto& each) { return each.first != 0; }) -
                                 1);
    group.lane = lanes::kGroups.at(index);
    m_session.declareLane(
        group.lane, lanes::kCommunication.role,
        std::string(lanes::kCommunication.name) +
            (index < lanes::kGroups.size() - 1 ? std::string(" in group ") + collective.group
                                               : " in other groups"),
        {},
        lanes::kFirstGroupOrder +
            static_cast<std::int32_t>(std::min(index, lanes::kGroups.size() - 1)));
    return group;
}

std::uint64_t CollectiveTable::issued(const ShardscopeCollective& collective, std::int64_t nowNs,
                                      StepIndex step) {
    const auto* known =
        std::find_if(std::begin(kOperations), std::end(kOperations),
                     [&](const Operation& each) { return each.name == collective.operation; });
    if (known == std::end(kOperations)) return 0;
    const MutexLock lock(m_mutex);
    Open open;
    open.group = groupNumber(collective.group);
    open.issuedNs = nowNs;
    Group& group = groupOf(collective, open.group);
    CollectiveEvent& event = open.event;
    event.operation = known->operation;
    event.dtype = dataTypeOf(collective.dtype);
    event.size = collective.bytes < 0 ? kUnknownSize : Bytes{collective.bytes};
    event.step = step;
    event.group = open.group;
    event.algorithm = m_session.intern(collective.operation);
    event.protocol = m_session.intern(collective.backend);
    event.issue = m_session.at(nowNs);
    if (isMessage(event.operation)) {
        const bool sends = event.operation == CollectiveOp::kSend;
        const std::pair ends = sends ? std::pair(collective.group_rank, collective.peer)
                                     : std::pair(collective.peer, collective.group_rank);
        event.sequence =
            messageSequence(open.group, ends.first, ends.second, group.messages[ends]++);
        event.group = 0;
    } else {
        event.sequence = group.next++;
    }
    const std::uint64_t number = ++m_last;
    m_open.emplace(number, std::move(open));
    group.queue.push_back(number);
    run(group, nowNs);
    return number;
}

void CollectiveTable::run(Group& group, std::int64_t nowNs) {
    while (!group.queue.empty() && (group.workers == 0 || group.running < group.workers)) {
        Open& next = m_open.at(group.queue.front());
        group.queue.pop_front();
        next.running = true;
        next.startNs = nowNs;
        ++group.running;
    }
}

void CollectiveTable::remove(std::uint64_t number, std::int64_t nowNs, bool whole) {
    const MutexLock lock(m_mutex);
    const auto found = m_open.find(number);
    if (found == m_open.end()) return;
    Open open = std::move(found->second);
    m_open.erase(found);
    Group& group = m_groups.at(open.group);
    if (open.running)
        --group.running;
    else
        std::erase(group.queue, number);
    // It ended while others were thought to hold it up: it ran beside them.
    if (!open.running) open.startNs = nowNs;
    run(group, nowNs);
    if (!whole) return;
    open.event.start = std::max(open.event.issue, m_session.at(open.startNs));
    open.event.end = std::max(open.event.start, m_session.at(nowNs));
    store(open, group);
}

std::vector<capture::CollectiveProgress> CollectiveTable::progress(std::int64_t nowNs) {
    const MutexLock lock(m_mutex);
    std::vector<capture::CollectiveProgress> all;
    for (auto& [number, group] : m_groups) {
        capture::CollectiveProgress progress{group.name, group.next, 0, "", 0};
        std::uint64_t oldest = 0;
        for (const auto& [id, open] : m_open) {
            if (open.group != number || isMessage(open.event.operation)) continue;
            if (oldest != 0 && id > oldest) continue;
            oldest = id;
            progress.sequence = open.event.sequence;
            progress.operation = toWord(open.event.operation);
            progress.openNs = nowNs - open.issuedNs;
        }
        if (oldest != 0 || group.reported != group.next) all.push_back(std::move(progress));
        group.reported = group.next;
    }
    return all;
}

void CollectiveTable::completed(std::uint64_t number, std::int64_t nowNs) {
    remove(number, nowNs, true);
}

void CollectiveTable::failed(std::uint64_t number, std::int64_t nowNs) {
    remove(number, nowNs, false);
}

void CollectiveTable::store(const Open& open, const Group& group) {
    const CollectiveEvent& event = open.event;
    m_session.push(event);
    SpanEvent drawn;
    drawn.start = event.start;
    drawn.duration = event.end - event.start;
    drawn.lane = group.lane;
    drawn.name = m_session.intern(toWord(event.operation));
    drawn.correlation = CollectiveKey::of(event).correlation();
    drawn.step = event.step;
    m_session.threadQueue().push(drawn);
}

}  // namespace shardscope::inject

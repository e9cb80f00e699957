#include "tests/engine/torch/fake_nccl.h"

#include "engine/comm/communicator.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/torch/typed_values.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace shardscope::test {
namespace {

/// A message waits here for its receiver.
struct Mailbox {
    std::mutex mutex;
    std::condition_variable changed;
    const void* message = nullptr;      // guarded by mutex
    std::uint64_t sent = 0, taken = 0;  // guarded by mutex
};

/// Where the ranks of one communicator meet.
struct World {
    explicit World(int size)
        : sends(static_cast<std::size_t>(size)),
          splitting(static_cast<std::size_t>(size)),
          ranks(size) {}

    /// False when aborted.
    bool meet() {
        std::unique_lock lock(mutex);
        const std::uint64_t round = rounds;
        if (++arrived == ranks) {
            arrived = 0;
            ++rounds;
            changed.notify_all();
        }
        changed.wait(lock, [&] { return rounds != round || aborted; });
        return !aborted;
    }

    Mailbox& mailbox(int from, int to) {
        const std::lock_guard lock(mutex);
        return mailboxes[{from, to}];
    }

    std::vector<const void*> sends;
    std::map<std::pair<int, int>, Mailbox> mailboxes;  ///< by sender and receiver
    std::vector<std::pair<int, int>> splitting;        ///< color and rank, of the last split
    const int ranks;
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    std::uint64_t rounds = 0;
    bool aborted = false;
    std::map<std::pair<int, int>, std::shared_ptr<World>> parts;  ///< by number of split and color
};

struct Faults {
    std::atomic<int> hangAfter{-1};
    std::atomic<int> asyncError{0};
};

struct Registry {
    std::mutex mutex;
    std::map<comm::NcclUniqueId, std::shared_ptr<World>> worlds;
    std::map<comm::NcclUniqueId, std::shared_ptr<Faults>> faults;
    std::set<void*> live;  ///< members
    std::uint64_t nextId = 1;

    std::shared_ptr<Faults> faultsOf(const comm::NcclUniqueId& id) {
        const std::lock_guard lock(mutex);
        auto& found = faults[id];
        if (!found) found = std::make_shared<Faults>();
        return found;
    }
};
/// Never destroyed: who gives a communicator up does so in a thread that nobody waits for.
Registry& registry() {
    static auto* all = new Registry();
    return *all;
}

struct Member {
    std::shared_ptr<World> world;
    std::shared_ptr<Faults> faults;
    int rank = 0;
    /// Operations that have run: those of a graph at each launch of it.
    std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
    int splits = 0;
};

/// Operations of a group, put off until its end.
struct Group {
    int depth = 0;
    void* stream = nullptr;
    std::vector<std::function<void()>> sends, receives, completions;
};
thread_local Group t_group;

[[noreturn]] void trap(const char* what) {
    std::fprintf(stderr, "fake NCCL: %s\n", what);
    std::abort();
}

Member& member(comm::NcclHandle handle) {
    if (!FakeDevice::chosenHere()) trap("called on a thread whose device was never set");
    const std::lock_guard lock(registry().mutex);
    if (!registry().live.contains(handle.handle)) trap("called with a freed communicator");
    return *static_cast<Member*>(handle.handle);
}

void* keep(std::unique_ptr<Member> fresh) {
    const std::lock_guard lock(registry().mutex);
    return *registry().live.insert(fresh.release()).first;
}

void freeMember(comm::NcclHandle handle) {
    const std::unique_ptr<Member> gone(&member(handle));
    const std::lock_guard lock(registry().mutex);
    registry().live.erase(handle.handle);
}

int uniqueId(comm::NcclUniqueId* id) {
    const std::lock_guard lock(registry().mutex);
    id->fill(std::byte{0});
    std::memcpy(id->data(), &registry().nextId, sizeof registry().nextId);
    ++registry().nextId;
    return 0;
}

int initialise(comm::NcclHandle* out, int ranks, const comm::NcclUniqueId* id, int rank,
               const char*) {
    auto faults = registry().faultsOf(*id);
    std::shared_ptr<World> world;
    {
        const std::lock_guard lock(registry().mutex);
        auto& found = registry().worlds[*id];
        if (!found) found = std::make_shared<World>(ranks);
        world = found;
    }
    if (world->ranks != ranks || rank >= ranks) return 4;  // ncclInvalidArgument
    out->handle = keep(std::make_unique<Member>(Member{world, faults, rank}));
    return world->meet() ? 0 : 1;
}

int split(comm::NcclHandle handle, int color, int rank, comm::NcclHandle* out, const char*) {
    Member& self = member(handle);
    World& world = *self.world;
    const std::pair<int, int> key{self.splits++, color};
    std::shared_ptr<World> part;
    world.splitting[static_cast<std::size_t>(self.rank)] = {color, rank};
    if (!world.meet()) return 1;
    std::vector<int> members;  // by the rank they asked for
    for (const auto& [theirs, theirRank] : world.splitting) {
        if (theirs == color) members.push_back(theirRank);
    }
    std::sort(members.begin(), members.end());
    {
        const std::lock_guard lock(world.mutex);
        auto& found = world.parts[key];
        if (!found) found = std::make_shared<World>(static_cast<int>(members.size()));
        part = found;
    }
    const auto place = std::find(members.begin(), members.end(), rank) - members.begin();
    out->handle =
        keep(std::make_unique<Member>(Member{part, self.faults, static_cast<int>(place)}));
    return world.meet() ? 0 : 1;  // nobody splits again before all have read
}

using Combine = double (*)(double, double);

/// In fp32 and bf16 each partial sum is rounded to fp32, in rank order.
double combined(const World& world, DataType dtype, std::size_t i, Combine combine) {
    double value = element(world.sends[0], dtype, i);
    for (int p = 1; p < world.ranks; ++p) {
        value = combine(value, element(world.sends[static_cast<std::size_t>(p)], dtype, i));
        if (dtype != DataType::kFloat64) value = static_cast<double>(static_cast<float>(value));
    }
    return value;
}

/// Queues `move` for when all ranks' inputs are there.
template <class Move>
int queued(comm::NcclHandle handle, const void* send, void* stream, Move move) {
    const Member self = member(handle);  // which may be freed before it runs
    FakeDevice::queue(stream, [self, send, move] {
        const auto& [world, faults, rank, calls, splits] = self;
        const int hangs = faults->hangAfter.load();
        if (const int before = (*calls)++; hangs >= 0 && before >= hangs) {
            std::unique_lock lock(world->mutex);
            world->changed.wait(lock, [&] { return world->aborted; });
            return;
        }
        world->sends[static_cast<std::size_t>(rank)] = send;
        if (!world->meet()) return;
        move(*world, rank);
        world->meet();  // nobody rewrites a buffer that a peer still reads
    });
    return 0;
}

int allGather(const void* send, void* receive, std::size_t count, DataType dtype,
              comm::NcclHandle handle, void* stream) {
    return queued(handle, send, stream, [=](World& world, int) {
        const std::size_t bytes = count * comm::elementBytes(dtype);
        for (std::size_t p = 0; p < world.sends.size(); ++p) {
            std::memmove(static_cast<std::byte*>(receive) + p * bytes, world.sends[p], bytes);
        }
    });
}

int reduceScatter(const void* send, void* receive, std::size_t count, DataType dtype,
                  comm::NcclHandle handle, void* stream) {
    return queued(handle, send, stream, [=](World& world, int rank) {
        const std::size_t begin = static_cast<std::size_t>(rank) * count;
        for (std::size_t i = 0; i < count; ++i) {
            store(receive, dtype, i,
                  combined(world, dtype, begin + i, [](double a, double b) { return a + b; }));
        }
    });
}

int allReduce(const void* send, void* receive, std::size_t count, DataType dtype, bool maximum,
              comm::NcclHandle handle, void* stream) {
    return queued(handle, send, stream, [=](World& world, int) {
        std::vector<double> values(count);
        const Combine combine = maximum ? [](double a, double b) { return std::max(a, b); }
                                        : [](double a, double b) { return a + b; };
        for (std::size_t i = 0; i < count; ++i) values[i] = combined(world, dtype, i, combine);
        world.meet();  // in place: everybody has read before anybody writes
        for (std::size_t i = 0; i < count; ++i) store(receive, dtype, i, values[i]);
    });
}

int broadcast(const void* send, void* receive, std::size_t count, DataType dtype, int root,
              comm::NcclHandle handle, void* stream) {
    return queued(handle, send, stream, [=](World& world, int rank) {
        if (rank == root) return;
        std::memcpy(receive, world.sends[static_cast<std::size_t>(root)],
                    count * comm::elementBytes(dtype));
    });
}

/// Queues what was called since groupStart: nobody waits for a receiver before it receives.
int endGroup() {
    for (auto* operations : {&t_group.sends, &t_group.receives, &t_group.completions}) {
        for (auto& operation : *operations) FakeDevice::queue(t_group.stream, std::move(operation));
        operations->clear();
    }
    return 0;
}

/// Leaves the message for its receiver, which reads it where it lies.
int send(const void* from, std::size_t, DataType, int to, comm::NcclHandle handle, void* stream) {
    Mailbox& box = member(handle).world->mailbox(member(handle).rank, to);
    t_group.stream = stream;
    t_group.sends.emplace_back([&box, from] {
        std::unique_lock lock(box.mutex);
        box.changed.wait(lock, [&] { return box.message == nullptr; });
        box.message = from;
        ++box.sent;
        box.changed.notify_all();
    });
    t_group.completions.emplace_back([&box] {
        std::unique_lock lock(box.mutex);
        box.changed.wait(lock, [&] { return box.taken == box.sent; });
    });
    return t_group.depth > 0 ? 0 : endGroup();
}

int receive(void* to, std::size_t count, DataType dtype, int from, comm::NcclHandle handle,
            void* stream) {
    Mailbox& box = member(handle).world->mailbox(from, member(handle).rank);
    t_group.stream = stream;
    t_group.receives.emplace_back([&box, to, bytes = count * comm::elementBytes(dtype)] {
        std::unique_lock lock(box.mutex);
        box.changed.wait(lock, [&] { return box.message != nullptr; });
        std::memcpy(to, box.message, bytes);
        box.message = nullptr;
        ++box.taken;
        box.changed.notify_all();
    });
    return t_group.depth > 0 ? 0 : endGroup();
}

int asyncError(comm::NcclHandle handle, int* error) {
    *error = member(handle).faults->asyncError.load();
    return 0;
}

int abort(comm::NcclHandle handle) {
    const std::shared_ptr<World> world = member(handle).world;
    freeMember(handle);
    {
        const std::lock_guard lock(world->mutex);
        world->aborted = true;
    }
    world->changed.notify_all();
    return 0;
}

int destroy(comm::NcclHandle handle) {
    freeMember(handle);
    return 0;
}

}  // namespace

const comm::NcclApi& fakeNccl() {
    static const comm::NcclApi kApi = {
        .version = [](int* version) { return *version = 22809, 0; },
        .uniqueId = &uniqueId,
        .initialise = &initialise,
        .split = &split,
        .allGather = &allGather,
        .reduceScatter = &reduceScatter,
        .allReduce = &allReduce,
        .broadcast = &broadcast,
        .send = &send,
        .receive = &receive,
        .groupStart = [] { return ++t_group.depth, 0; },
        .groupEnd = [] { return --t_group.depth == 0 ? endGroup() : 0; },
        .asyncError = &asyncError,
        .abort = &abort,
        .destroy = &destroy,
        .errorText = [](int result) { return result == 6 ? "remote process exited" : "failure"; },
        .lastError =
            [](comm::NcclHandle handle) {
                static_cast<void>(member(handle));
                return "";
            },
    };
    return kApi;
}

void hangAfter(const comm::NcclUniqueId& id, int count) {
    registry().faultsOf(id)->hangAfter.store(count);
}

void failAsynchronously(const comm::NcclUniqueId& id, int error) {
    registry().faultsOf(id)->asyncError.store(error);
}

int liveCommunicators() {
    const std::lock_guard lock(registry().mutex);
    return static_cast<int>(registry().live.size());
}

}  // namespace shardscope::test

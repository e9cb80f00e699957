#include "tests/engine/torch/fake_nccl.h"

#include "engine/comm/communicator.h"
#include "tests/engine/torch/fake_device.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::test {
namespace {

/// Where the ranks of one communicator meet.
struct World {
    explicit World(int size) : sends(static_cast<std::size_t>(size)), ranks(size) {}

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

    std::vector<const void*> sends;
    const int ranks;
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    std::uint64_t rounds = 0;
    bool aborted = false;
    int joined = 0;
    int left = 0;
};

struct Faults {
    std::atomic<int> hangAfter{-1};
    std::atomic<int> asyncError{0};
};

struct Registry {
    std::mutex mutex;
    std::map<comm::NcclUniqueId, std::shared_ptr<World>> worlds;
    std::map<comm::NcclUniqueId, std::shared_ptr<Faults>> faults;
    std::uint64_t nextId = 1;

    std::shared_ptr<Faults> faultsOf(const comm::NcclUniqueId& id) {
        const std::lock_guard lock(mutex);
        auto& found = faults[id];
        if (!found) found = std::make_shared<Faults>();
        return found;
    }
};
Registry& registry() {
    static Registry all;
    return all;
}

struct Member {
    std::shared_ptr<World> world;
    std::shared_ptr<Faults> faults;
    int rank = 0;
    int calls = 0;
};
Member& member(comm::NcclHandle handle) {
    return *static_cast<Member*>(handle.handle);
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
    out->handle = new Member{world, faults, rank, 0};
    return world->meet() ? 0 : 1;
}

double element(const void* from, DataType dtype, std::size_t i) {
    switch (dtype) {
        case DataType::kFloat64:
            return static_cast<const double*>(from)[i];
        case DataType::kFloat32:
            return static_cast<double>(static_cast<const float*>(from)[i]);
        default:
            return static_cast<double>(std::bit_cast<float>(
                static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(from)[i]) << 16));
    }
}

void store(void* to, DataType dtype, std::size_t i, double value) {
    switch (dtype) {
        case DataType::kFloat64:
            static_cast<double*>(to)[i] = value;
            return;
        case DataType::kFloat32:
            static_cast<float*>(to)[i] = static_cast<float>(value);
            return;
        default:
            // Rounded to the nearest, as devices do.
            const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
            static_cast<std::uint16_t*>(to)[i] =
                static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
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
    Member& self = member(handle);
    const int hangs = self.faults->hangAfter.load();
    const bool hang = hangs >= 0 && self.calls >= hangs;
    ++self.calls;
    FakeDevice::queue(stream, [world = self.world, rank = self.rank, send, move, hang] {
        if (hang) {
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

int asyncError(comm::NcclHandle handle, int* error) {
    *error = member(handle).faults->asyncError.load();
    return 0;
}

int abort(comm::NcclHandle handle) {
    World& world = *member(handle).world;
    {
        const std::lock_guard lock(world.mutex);
        world.aborted = true;
    }
    world.changed.notify_all();
    return 0;
}

int destroy(comm::NcclHandle handle) {
    delete &member(handle);
    return 0;
}

}  // namespace

const comm::NcclApi& fakeNccl() {
    static const comm::NcclApi kApi = {
        .version = [](int* version) { return *version = 22809, 0; },
        .uniqueId = &uniqueId,
        .initialise = &initialise,
        .allGather = &allGather,
        .reduceScatter = &reduceScatter,
        .allReduce = &allReduce,
        .broadcast = &broadcast,
        .asyncError = &asyncError,
        .abort = &abort,
        .destroy = &destroy,
        .errorText = [](int result) { return result == 6 ? "remote process exited" : "failure"; },
        .lastError = [](comm::NcclHandle) { return ""; },
    };
    return kApi;
}

void hangAfter(const comm::NcclUniqueId& id, int count) {
    registry().faultsOf(id)->hangAfter.store(count);
}

void failAsynchronously(const comm::NcclUniqueId& id, int error) {
    registry().faultsOf(id)->asyncError.store(error);
}

}  // namespace shardscope::test

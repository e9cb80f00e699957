#include "tests/engine/gpu_rank/shared_nccl.h"

#include "engine/comm/communicator.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/torch/typed_values.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::test {
namespace {

constexpr int kMostRanks = 16;
constexpr std::size_t kSlotBytes = std::size_t{4} << 20;  ///< of one rank's input
constexpr int kInvalidArgument = 4;

std::atomic<int> g_calls{0}, g_killBefore{0};

/// In memory that the ranks share; all zero at first.
struct Meeting {
    std::atomic<std::uint32_t> arrived, round;
    std::atomic<int> colors[kMostRanks], asked[kMostRanks];
    alignas(64) std::byte slots[kMostRanks][kSlotBytes];
};

class World {
public:
    World(std::string sharedName, int ownRank, int ofRanks)
        : name(std::move(sharedName)), rank(ownRank), ranks(ofRanks) {
        const int fd = ::shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
        if (fd < 0 || ::ftruncate(fd, sizeof(Meeting)) != 0) std::abort();
        void* memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (memory == MAP_FAILED) std::abort();
        m_meeting = static_cast<Meeting*>(memory);
    }
    ~World() { ::munmap(m_meeting, sizeof(Meeting)); }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// False when this rank has given up. A peer that never comes is waited for without end.
    bool meet() {
        const std::uint32_t round = m_meeting->round.load();
        if (m_meeting->arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(ranks)) {
            m_meeting->arrived = 0;
            ++m_meeting->round;
            return true;
        }
        while (m_meeting->round.load() == round) {
            if (aborted) return false;
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        return true;
    }
    void forgetName() const { ::shm_unlink(name.c_str()); }
    Meeting& meeting() { return *m_meeting; }
    std::byte* slot(int of) { return m_meeting->slots[of]; }

    const std::string name;
    const int rank, ranks;
    std::atomic<bool> aborted{false};
    int splits = 0;

private:
    Meeting* m_meeting = nullptr;
};

/// What a handle points to.
struct Member {
    std::shared_ptr<World> world;
};

/// Never destroyed: who gives a communicator up does so in a thread that nobody waits for.
struct Live {
    std::mutex mutex;
    std::set<void*> members;  // guarded by mutex
};
Live& live() {
    static auto* all = new Live();
    return *all;
}

[[noreturn]] void trap(const char* what) {
    std::fprintf(stderr, "fake NCCL: %s\n", what);
    std::abort();
}

Member& member(comm::NcclHandle handle) {
    if (!FakeDevice::chosenHere()) trap("called on a thread whose device was never set");
    const std::lock_guard lock(live().mutex);
    if (!live().members.contains(handle.handle)) trap("called with a freed communicator");
    return *static_cast<Member*>(handle.handle);
}

int uniqueId(comm::NcclUniqueId* id) {
    static std::atomic<int> number{0};
    id->fill(std::byte{0});
    const std::string name =
        "/shardscope-fake-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    std::memcpy(id->data(), name.data(), name.size());
    return 0;
}

/// All of them have it mapped when this returns.
int join(comm::NcclHandle* out, const std::string& name, int rank, int ranks) {
    if (ranks > kMostRanks || rank >= ranks) return kInvalidArgument;
    auto world = std::make_shared<World>(name, rank, ranks);
    world->meet();
    world->forgetName();
    const std::lock_guard lock(live().mutex);
    out->handle = *live().members.insert(new Member{world}).first;
    return 0;
}

int initialise(comm::NcclHandle* out, int ranks, const comm::NcclUniqueId* id, int rank,
               const char*) {
    return join(out, reinterpret_cast<const char*>(id->data()), rank, ranks);
}

int split(comm::NcclHandle handle, int color, int rank, comm::NcclHandle* out, const char*) {
    World& all = *member(handle).world;
    Meeting& meeting = all.meeting();
    meeting.colors[all.rank] = color;
    meeting.asked[all.rank] = rank;
    if (!all.meet()) return 1;
    std::vector<int> members;
    for (int p = 0; p < all.ranks; ++p)
        if (meeting.colors[p] == color) members.push_back(meeting.asked[p]);
    std::sort(members.begin(), members.end());
    const auto place = std::find(members.begin(), members.end(), rank) - members.begin();
    if (!all.meet()) return 1;  // nobody splits again before all have read
    return join(out, all.name + "." + std::to_string(all.splits++) + "." + std::to_string(color),
                static_cast<int>(place), static_cast<int>(members.size()));
}

double combined(World& world, DataType dtype, std::size_t i, bool maximum) {
    double value = element(world.slot(0), dtype, i);
    for (int p = 1; p < world.ranks; ++p) {
        const double next = element(world.slot(p), dtype, i);
        value = maximum ? std::max(value, next) : value + next;
    }
    return value;
}

/// Queues an operation: everybody's input is laid out, then `take` makes of it what it wants.
template <class Take>
int queued(comm::NcclHandle handle, const void* send, std::size_t bytes, void* stream, Take take) {
    if (++g_calls == g_killBefore.load()) ::raise(SIGKILL);
    if (bytes > kSlotBytes) return kInvalidArgument;
    FakeDevice::queue(stream, [world = member(handle).world, send, bytes, take] {
        std::memcpy(world->slot(world->rank), send, bytes);
        if (!world->meet()) return;
        take(*world);
        world->meet();  // nobody rewrites what a peer still reads
    });
    return 0;
}

int allGather(const void* send, void* receive, std::size_t count, DataType dtype,
              comm::NcclHandle handle, void* stream) {
    const std::size_t bytes = count * comm::elementBytes(dtype);
    return queued(handle, send, bytes, stream, [=](World& world) {
        for (int p = 0; p < world.ranks; ++p)
            std::memcpy(static_cast<std::byte*>(receive) + static_cast<std::size_t>(p) * bytes,
                        world.slot(p), bytes);
    });
}

int reduceScatter(const void* send, void* receive, std::size_t count, DataType dtype,
                  comm::NcclHandle handle, void* stream) {
    const auto ranks = static_cast<std::size_t>(member(handle).world->ranks);
    return queued(handle, send, ranks * count * comm::elementBytes(dtype), stream,
                  [=](World& world) {
                      const std::size_t begin = static_cast<std::size_t>(world.rank) * count;
                      for (std::size_t i = 0; i < count; ++i)
                          store(receive, dtype, i, combined(world, dtype, begin + i, false));
                  });
}

int allReduce(const void* send, void* receive, std::size_t count, DataType dtype, bool maximum,
              comm::NcclHandle handle, void* stream) {
    return queued(handle, send, count * comm::elementBytes(dtype), stream, [=](World& world) {
        for (std::size_t i = 0; i < count; ++i)
            store(receive, dtype, i, combined(world, dtype, i, maximum));
    });
}

int broadcast(const void* send, void* receive, std::size_t count, DataType dtype, int root,
              comm::NcclHandle handle, void* stream) {
    const std::size_t bytes = count * comm::elementBytes(dtype);
    return queued(handle, send, bytes, stream, [=](World& world) {
        if (world.rank != root) std::memcpy(receive, world.slot(root), bytes);
    });
}

/// Frees the communicator; what is queued keeps its memory.
std::shared_ptr<World> release(comm::NcclHandle handle) {
    const std::unique_ptr<Member> gone(&member(handle));
    const std::lock_guard lock(live().mutex);
    live().members.erase(handle.handle);
    return gone->world;
}

int abortWorld(comm::NcclHandle handle) {
    release(handle)->aborted = true;
    return 0;
}

int destroy(comm::NcclHandle handle) {
    release(handle);
    return 0;
}

int asyncError(comm::NcclHandle handle, int* error) {
    static_cast<void>(member(handle));
    *error = 0;
    return 0;
}

const char* lastError(comm::NcclHandle handle) {
    static_cast<void>(member(handle));
    return "";
}

}  // namespace

const comm::NcclApi& sharedNccl() {
    static const comm::NcclApi kApi = {
        .version = [](int* version) { return *version = 22809, 0; },
        .uniqueId = &uniqueId,
        .initialise = &initialise,
        .split = &split,
        .allGather = &allGather,
        .reduceScatter = &reduceScatter,
        .allReduce = &allReduce,
        .broadcast = &broadcast,
        .send = [](const void*, std::size_t, DataType, int, comm::NcclHandle,
                   void*) { return kInvalidArgument; },
        .receive = [](void*, std::size_t, DataType, int, comm::NcclHandle,
                      void*) { return kInvalidArgument; },
        .groupStart = [] { return 0; },
        .groupEnd = [] { return 0; },
        .asyncError = &asyncError,
        .abort = &abortWorld,
        .destroy = &destroy,
        .errorText = [](int) { return "failure"; },
        .lastError = &lastError,
    };
    return kApi;
}

void killBefore(int call) {
    g_killBefore = call;
}

}  // namespace shardscope::test

// communicators_bench [--ranks N] [--megabytes M] [--rounds R] [--threads] [--unpinned]
//
// GB/s of each collective over shared memory and over the ring, against Gloo's own collectives and
// against memcpy, all in one run and in turn, so that what disturbs one disturbs all. A row of S
// bytes of fp32 (S = M MB, as in CollectiveReport::sizeBytes) counts S bytes, whatever is moved:
//   memcpy          every rank copies S bytes of its own at the same time: the copy bandwidth of
//                   as many cores as there are ranks
//   all-gather      every rank ends with S bytes, S/N of them from each rank
//   reduce-scatter  every rank starts with S bytes and ends with the sum of S/N
//   all-reduce, broadcast, all-to-all  of S bytes
// The time of a round is that of the slowest rank; printed are medians of rounds, and medians of
// the ratio within a round. Ranks are processes, or threads with --threads, each on a core of its
// own if there are as many: on a busy machine two would otherwise share one for a whole round.
//
// --unpinned leaves them where the scheduler puts them, as a training run's ranks are: what users
// get. The difference is what moving between cores and sharing them costs, which is the machine's
// and its load's doing; compare communicators, or one before and after a change, pinned.
#include "engine/comm/direct_communicator.h"
#include "engine/comm/gloo/gloo_communicator.h"
#include "storage/model/host_clock.h"
#include "tests/bench/gloo_collectives.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shardscope::bench {
namespace {

struct Options {
    int ranks = 2;
    std::size_t megabytes = 16;
    int rounds = 40;
    bool threads = false;
    bool pinned = true;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Contender {
    std::string name;
    std::function<void()> run;
    std::vector<double> seconds;
};

/// This thread and those it starts. Leaves them alone when there are too few cores.
void keepToCore(int rank, const Options& options) {
    cpu_set_t allowed, own;
    if (!options.pinned) return;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    if (CPU_COUNT(&allowed) < options.ranks) return;
    int core = 0;
    for (int skip = rank; skip > 0 || !CPU_ISSET(core, &allowed); ++core) {
        skip -= CPU_ISSET(core, &allowed) ? 1 : 0;
    }
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    ::sched_setaffinity(0, sizeof own, &own);
}

class Rank {
public:
    Rank(const Options& options, int rank, std::shared_ptr<comm::Segment> control,
         std::shared_ptr<comm::Segment> data)
        : m_options(options),
          m_bytes(options.megabytes * 1'000'000 / 4096 * 4096),
          m_control(comm::makeDirectCommunicator(std::move(control), rank, nullptr, "")),
          m_direct(comm::makeDirectCommunicator(std::move(data), rank, nullptr, "")),
          m_out(m_bytes / sizeof(float)),
          m_from(m_bytes / sizeof(float), 1.0F) {
        if (!comm::hasGloo()) return;
        m_ring = comm::makeGlooCommunicator({.host = m_control.get()});
        m_gloo = std::make_unique<GlooCollectives>(*m_control);
    }

    void run() {
        if (m_control->rank() == 0) {
            fmt::print(
                "{} {}{} of {} MB fp32, {} rounds; GB/s, and median ratios to memcpy and to "
                "Gloo's own\n",
                m_options.ranks, m_options.pinned ? "" : "unpinned ",
                m_options.threads ? "threads" : "processes", m_options.megabytes, m_options.rounds);
        }
        const std::size_t count = m_bytes / sizeof(float);
        const std::size_t part = count / static_cast<std::size_t>(m_options.ranks);
        compare(
            "all-gather",
            [=](comm::Communicator& c, const Buffers& b) {
                c.allGather(b.shard, b.out, {}).wait();
            },
            [=, this] { m_gloo->allGather(m_from.data(), part, m_out.data()); });
        compare(
            "all-gather in place",
            [](comm::Communicator& c, const Buffers& b) { c.allGatherInPlace(b.whole, {}).wait(); },
            {});
        compare(
            "reduce-scatter",
            [](comm::Communicator& c, const Buffers& b) {
                c.waitPeers(c.reduceScatter(b.whole, b.out, comm::Accumulate::kNo, {}));
            },
            [=, this] { m_gloo->reduceScatter(m_from.data(), count, m_out.data()); });
        compare("reduce-scatter, added",
                [](comm::Communicator& c, const Buffers& b) {
                    c.waitPeers(c.reduceScatter(b.whole, b.out, comm::Accumulate::kYes, {}));
                },
                {});
        compare(
            "all-reduce",
            [](comm::Communicator& c, const Buffers& b) { c.allReduce(b.whole, {}).wait(); },
            [=, this] { m_gloo->allReduce(m_from.data(), count); });
        compare(
            "broadcast",
            [](comm::Communicator& c, const Buffers& b) { c.broadcast(b.whole, 0, {}).wait(); },
            [=, this] { m_gloo->broadcast(m_from.data(), count); });
        compare(
            "all-to-all",
            [](comm::Communicator& c, const Buffers& b) { c.allToAll(b.whole, b.out, {}).wait(); },
            [=, this] { m_gloo->allToAll(m_from.data(), count, m_out.data()); });
        m_control->barrier({}).wait();
    }

private:
    struct Buffers {
        comm::SymmetricBuffer shard, whole;
        float* out = nullptr;
    };
    using Operation = std::function<void(comm::Communicator&, const Buffers&)>;

    Buffers buffersOf(comm::Communicator& c) {
        auto& kept = m_buffers[&c];
        if (kept.out == nullptr) {
            const std::size_t count = m_bytes / sizeof(float);
            kept.whole = c.allocate(count, DataType::kFloat32);
            kept.shard = c.allocate(count / static_cast<std::size_t>(c.size()), DataType::kFloat32);
            std::fill_n(static_cast<float*>(kept.whole.local), count, 1e-6F);
            std::fill_n(static_cast<float*>(kept.shard.local), kept.shard.count, 1e-6F);
            kept.out = m_out.data();
        }
        return kept;
    }

    void compare(const char* name, const Operation& operation, const std::function<void()>& gloo) {
        std::vector<Contender> all;
        all.push_back(
            {"memcpy", [this] { std::memcpy(m_out.data(), m_from.data(), m_bytes); }, {}});
        all.push_back({"direct", [&] { operation(*m_direct, buffersOf(*m_direct)); }, {}});
        if (m_ring) all.push_back({"ring", [&] { operation(*m_ring, buffersOf(*m_ring)); }, {}});
        if (m_gloo && gloo) all.push_back({"Gloo", gloo, {}});
        constexpr int kWarmUp = 3;
        for (int round = -kWarmUp; round < m_options.rounds; ++round) {
            for (Contender& each : all) {
                const double seconds = slowest(each.run);
                if (round >= 0) each.seconds.push_back(seconds);
            }
        }
        if (m_control->rank() == 0) print(name, all);
    }

    double slowest(const std::function<void()>& run) {
        m_control->barrier({}).wait();
        const std::int64_t start = hostNow();
        run();
        std::array<double, 1> seconds{static_cast<double>(hostNow() - start) * 1e-9};
        m_control->allReduceSmall(seconds, comm::Reduction::kMax, {}).wait();
        return seconds[0];
    }

    void print(const char* name, const std::vector<Contender>& all) const {
        std::string line = fmt::format("{:<22}", name);
        const auto ratio = [](const Contender& a, const Contender& b) {
            std::vector<double> ratios;
            for (std::size_t i = 0; i < a.seconds.size(); ++i) {
                ratios.push_back(b.seconds[i] / a.seconds[i]);
            }
            return median(ratios);
        };
        const bool peer = all.back().name == "Gloo";
        for (const Contender& each : all) {
            line += fmt::format("  {} {:6.2f}", each.name,
                                static_cast<double>(m_bytes) * 1e-9 / median(each.seconds));
            if (&each == &all.front() || each.name == "Gloo") continue;
            line += fmt::format(" ({:.2f} of memcpy", ratio(each, all.front()));
            if (peer) line += fmt::format(", {:.2f} x Gloo", ratio(each, all.back()));
            line += ")";
        }
        fmt::print("{}\n", line);
        std::fflush(stdout);
    }

    const Options m_options;
    const std::size_t m_bytes;
    const std::unique_ptr<comm::Communicator> m_control, m_direct;
    std::unique_ptr<comm::Communicator> m_ring;
    std::unique_ptr<GlooCollectives> m_gloo;
    std::map<const comm::Communicator*, Buffers> m_buffers;
    std::vector<float> m_out, m_from;
};

constexpr std::size_t kControlBytes = std::size_t{1} << 20;

void runThreads(const Options& options, std::size_t bytes) {
    const auto control = *comm::Segment::anonymous(kControlBytes, options.ranks);
    const auto data = *comm::Segment::anonymous(bytes, options.ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < options.ranks; ++rank) {
        threads.emplace_back([&, rank] {
            keepToCore(rank, options);
            Rank(options, rank, control, data).run();
        });
    }
    for (std::thread& thread : threads) thread.join();
}

int sharedMemory(std::size_t bytes) {
    const int fd = ::memfd_create("bench", 0);
    return fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? fd : -1;
}

int runProcesses(const Options& options, std::size_t bytes) {
    const int control = sharedMemory(kControlBytes), data = sharedMemory(bytes);
    std::vector<pid_t> children;
    for (int rank = 0; rank < options.ranks; ++rank) {
        const pid_t child = ::fork();
        if (child == 0) {
            keepToCore(rank, options);
            Rank(options, rank, *comm::Segment::map(control, kControlBytes, options.ranks),
                 *comm::Segment::map(data, bytes, options.ranks))
                .run();
            std::_Exit(0);
        }
        children.push_back(child);
    }
    int failed = 0;
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        failed += status != 0;
    }
    return failed;
}

int run(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : "0";
        if (word == "--threads") options.threads = true;
        if (word == "--unpinned") options.pinned = false;
        if (word == "--threads" || word == "--unpinned") continue;
        if (word == "--ranks") options.ranks = std::atoi(value);
        if (word == "--megabytes") options.megabytes = static_cast<std::size_t>(std::atoi(value));
        if (word == "--rounds") options.rounds = std::atoi(value);
        ++i;
    }
    if (options.ranks < 1 || options.megabytes < 1 || options.rounds < 1) {
        fmt::print(stderr, "ranks, megabytes and rounds are at least 1\n");
        return 2;
    }
    const std::size_t bytes =
        static_cast<std::size_t>(options.ranks) * (options.megabytes * 2'000'000 + kControlBytes);
    if (!options.threads) return runProcesses(options, bytes);
    runThreads(options, bytes);
    return 0;
}

}  // namespace
}  // namespace shardscope::bench

int main(int argc, char** argv) {
    return shardscope::bench::run(argc, argv);
}

// hosts_bench [--host [NAMESPACE=]ADDRESS]... [--ranks L] [--megabytes M]... [--rounds R]
//
// What rails gain over one ring of all ranks (engine/comm/host_ring_communicator.h): both in one
// run and in turn, so that what disturbs one disturbs the other. Each --host is a host of L ranks
// that listen on ADDRESS, in a network namespace if one is named; two on loopback by default.
// hosts_over_link lays a slow link between two namespaces and runs this.
//
// For rows of M MB of fp32 (CollectiveReport::sizeBytes) the median of rounds, each of which takes
// as long as its slowest rank, and the median over rounds of the ring's time to the rails'. Ranks
// are processes and left where the scheduler puts them.
#include "engine/comm/direct_communicator.h"
#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/host_ring_communicator.h"
#include "engine/comm/ring_communicator.h"
#include "engine/network/network_interface.h"
#include "storage/model/host_clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::bench {
namespace {

struct Host {
    std::string space, address;
};

struct Options {
    std::vector<Host> hosts;
    std::vector<std::size_t> megabytes;
    int ranks = 2;  ///< of each host
    int rounds = 20;
    [[nodiscard]] int world() const { return ranks * static_cast<int>(hosts.size()); }
};

/// Of each of the two meshes; all processes see it.
struct Ports {
    std::array<std::atomic<int>, 2> at{};
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

constexpr std::size_t kControlBytes = std::size_t{1} << 20;

class Rank {
public:
    Rank(const Options& options, int rank, Ports& ports, std::shared_ptr<comm::Segment> control,
         std::shared_ptr<comm::Segment> host)
        : m_options(options),
          m_rank(rank),
          m_control(comm::makeDirectCommunicator(std::move(control), rank, nullptr, "")),
          m_flat(comm::makeRingCommunicator({.mesh = mesh(ports.at[0])})),
          m_rails(comm::makeHostRingCommunicator(
              {.segment = std::move(host), .mesh = mesh(ports.at[1])})) {}

    void run() {
        if (m_rank == 0)
            fmt::print("{} hosts of {} ranks, {} rounds: median ms of one ring and of rails\n",
                       m_options.hosts.size(), m_options.ranks, m_options.rounds);
        for (const std::size_t megabytes : m_options.megabytes) measure(megabytes);
        m_control->barrier({}).wait();
    }

private:
    struct Rows {
        comm::SymmetricBuffer shard, whole;
    };
    using Operation = std::function<void(comm::Communicator&, const Rows&)>;

    std::shared_ptr<comm::Mesh> mesh(std::atomic<int>& port) const {
        const std::string& address =
            m_options.hosts[static_cast<std::size_t>(m_rank / m_options.ranks)].address;
        network::Listener listener;
        if (m_rank == 0) {
            listener = *network::listenOn(address);
            port = listener.port;
        }
        while (port == 0) ::usleep(1000);
        return comm::makeGlooMesh(
            {.interface = address,
             .world = comm::WorldMeeting{m_rank, m_options.world(), m_options.hosts[0].address,
                                         port, listener.fd}});
    }

    static Rows rowsOf(comm::Communicator& c, std::size_t count) {
        const auto ranks = static_cast<std::size_t>(c.size());
        Rows rows{c.allocate(count / ranks, DataType::kFloat32),
                  c.allocate(count, DataType::kFloat32)};
        std::fill_n(static_cast<float*>(rows.shard.local), rows.shard.count, 1e-6F);
        std::fill_n(static_cast<float*>(rows.whole.local), rows.whole.count, 1e-6F);
        return rows;
    }

    void measure(std::size_t megabytes) {
        const auto ranks = static_cast<std::size_t>(m_options.world());
        const std::size_t count = megabytes * 250'000 / ranks * ranks;
        const Rows flat = rowsOf(*m_flat, count), rails = rowsOf(*m_rails, count);
        m_out.resize(count);
        const auto compare = [&](const char* name, const Operation& operation) {
            compareOne(fmt::format("{:>3} MB {:<20}", megabytes, name), operation, flat, rails);
        };
        compare("all-gather", [&](comm::Communicator& c, const Rows& rows) {
            c.allGather(rows.shard, m_out.data(), {}).wait();
        });
        compare("all-gather in place", [](comm::Communicator& c, const Rows& rows) {
            c.allGatherInPlace(rows.whole, {}).wait();
        });
        compare("reduce-scatter", [&](comm::Communicator& c, const Rows& rows) {
            c.waitPeers(c.reduceScatter(rows.whole, m_out.data(), comm::Accumulate::kNo, {}));
        });
        compare("all-reduce", [](comm::Communicator& c, const Rows& rows) {
            c.waitPeers(c.allReduce(rows.whole, {}));
        });
    }

    void compareOne(const std::string& name, const Operation& operation, const Rows& flat,
                    const Rows& rails) {
        std::vector<double> ring, rail, ratios;
        constexpr int kWarmUp = 2;
        for (int round = -kWarmUp; round < m_options.rounds; ++round) {
            const double a = slowest([&] { operation(*m_flat, flat); });
            const double b = slowest([&] { operation(*m_rails, rails); });
            if (round < 0) continue;
            ring.push_back(a);
            rail.push_back(b);
            ratios.push_back(a / b);
        }
        if (m_rank != 0) return;
        fmt::print("{}  ring {:9.2f}  rails {:9.2f}  {:5.2f} x\n", name, 1e3 * median(ring),
                   1e3 * median(rail), median(ratios));
        std::fflush(stdout);
    }

    double slowest(const std::function<void()>& run) {
        m_control->barrier({}).wait();
        const std::int64_t start = hostNow();
        run();
        std::array<double, 1> seconds{static_cast<double>(hostNow() - start) * 1e-9};
        m_control->allReduceSmall(seconds, comm::Reduction::kMax, {}).wait();
        return seconds[0];
    }

    const Options m_options;
    const int m_rank;
    const std::unique_ptr<comm::Communicator> m_control, m_flat, m_rails;
    std::vector<float> m_out;
};

int sharedMemory(std::size_t bytes) {
    const int fd = ::memfd_create("bench", 0);
    return fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? fd : -1;
}

/// Before there is a thread.
void enterSpace(const Host& host) {
    if (host.space.empty()) return;
    const int fd = ::open(("/run/netns/" + host.space).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && ::setns(fd, CLONE_NEWNET) == 0) return;
    fmt::print(stderr, "no network namespace {} can be entered\n", host.space);
    std::_Exit(2);
}

int runRanks(const Options& options) {
    std::size_t rowBytes = 0;
    for (const std::size_t megabytes : options.megabytes) rowBytes += megabytes * 1'300'000;
    const std::size_t hostBytes =
        static_cast<std::size_t>(options.ranks) * (rowBytes + (std::size_t{64} << 20));
    const int control = sharedMemory(kControlBytes);
    auto* ports = new (::mmap(nullptr, sizeof(Ports), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Ports;
    std::vector<pid_t> children;
    int segment = -1;
    for (int rank = 0; rank < options.world(); ++rank) {
        if (rank % options.ranks == 0) segment = sharedMemory(hostBytes);
        const pid_t child = ::fork();
        if (child == 0) {
            enterSpace(options.hosts[static_cast<std::size_t>(rank / options.ranks)]);
            Rank(options, rank, *ports,
                 *comm::Segment::map(control, kControlBytes, options.world()),
                 *comm::Segment::map(segment, hostBytes, options.ranks))
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
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view word = argv[i];
        const std::string value = argv[i + 1];
        const std::size_t cut = value.find('=');
        if (word == "--host" && cut == value.npos) options.hosts.push_back({"", value});
        if (word == "--host" && cut != value.npos)
            options.hosts.push_back({value.substr(0, cut), value.substr(cut + 1)});
        if (word == "--ranks") options.ranks = std::atoi(value.c_str());
        if (word == "--rounds") options.rounds = std::atoi(value.c_str());
        if (word == "--megabytes")
            options.megabytes.push_back(static_cast<std::size_t>(std::atoi(value.c_str())));
    }
    if (options.hosts.empty()) options.hosts = {{"", "127.0.0.1"}, {"", "127.0.0.1"}};
    if (options.megabytes.empty()) options.megabytes = {1, 4, 16, 64};
    if (options.ranks < 1 || options.rounds < 1) {
        fmt::print(stderr, "ranks and rounds are at least 1\n");
        return 2;
    }
    return runRanks(options);
}

}  // namespace
}  // namespace shardscope::bench

int main(int argc, char** argv) {
    return shardscope::bench::run(argc, argv);
}

// How long a recording takes to show that is read from afar, and how much travels.
//
//   remote_bench [EVENTS]                 writes a recording (10 million events) and reads it
//   remote_bench --read RECORDING [VIEWS]
//
// Over links of this program's own (delayed_link.h); who serves is a thread of it.
#include "storage/model/rank_facts.h"
#include "storage/recording/remote/remote_reader.h"
#include "storage/recording/remote/serve.h"
#include "tests/bench/delayed_link.h"
#include "tests/bench/recording_generator.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::bench {
namespace {

namespace remote = storage::remote;

constexpr int kPixels = 1920;

[[noreturn]] void stop(const Error& error) {
    fmt::print(stderr, "{}\n", error.message);
    std::exit(1);
}

template <class T>
T valueOf(Result<T> result) {
    if (!result) stop(result.error());
    return std::move(*result);
}

/// Seconds and bytes of some work.
struct Cost {
    double seconds = 0;
    double kilobytes = 0;
};

class Reading {
public:
    Reading(const LinkFacts& facts, const std::string& path) : m_link(facts) {
        const auto [here, there] = m_link.ends();
        m_server = std::thread([fd = there] {
            if (const auto served = remote::serve(fd, ::dup(fd)); !served) stop(served.error());
        });
        m_session = valueOf(
            remote::RemoteSession::begin(remote::FrameStream(here, here), nullptr, "the link"));
        report("open, and what it is", costOf([&] {
                   m_reader = valueOf(remote::RemoteReader::open(m_session, path));
                   m_summary = valueOf(m_reader->summary());
               }));
        for (const LaneFacts& lane : m_summary.lanes)
            (lane.role == LaneRole::kCounter ? m_counters : m_spans)
                .push_back({lane.rank, lane.lane});
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
        m_reader.reset();
        m_session.reset();
        m_server.join();
    }

    void measure(int views) {
        const TimeRange bounds = m_summary.bounds;
        report(fmt::format("all {} lanes", m_summary.lanes.size()), costOf([&] { show(bounds); }));
        report("what analyses read", costOf([&] {
                   for (const RankFacts& rank : m_summary.ranks)
                       valueOf(m_reader->rankEvents(rank.rank, bounds));
               }));
        std::mt19937_64 random(4);
        std::vector<Cost> jumps, pans;
        for (int i = 0; i < views; ++i) {
            const TimeRange range = randomRange(random, bounds);
            jumps.push_back(costOf([&] { show(range); }));
        }
        for (int i = 0; i < views / 10; ++i) {
            TimeRange range = randomRange(random, bounds);
            const Duration shift{range.duration().ns / 20};
            for (int step = 0; step < 10; ++step) {
                pans.push_back(costOf([&] { show(range); }));
                range = {range.begin + shift, range.end + shift};
            }
        }
        reportAll("zoom, anywhere", jumps);
        reportAll("pan by a twentieth", pans);
    }

private:
    void show(TimeRange range) {
        const storage::View view{
            range, {std::max<std::int64_t>(1, range.duration().ns / kPixels)}, {}};
        const auto slices = valueOf(m_reader->spans(m_spans, view));
        valueOf(m_reader->counters(m_counters, view));
        for (std::size_t lane = 0; lane < m_spans.size(); ++lane)
            for (const storage::LaneSlice& slice : slices[lane])
                m_letters += m_reader->text(m_spans[lane].rank, slice.name).size();
    }

    Cost costOf(const auto& work) {
        const std::uint64_t before = m_session->bytesIn() + m_session->bytesOut();
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        const auto bytes = m_session->bytesIn() + m_session->bytesOut() - before;
        return {took.count(), static_cast<double>(bytes) / 1e3};
    }

    static void report(const std::string& what, const Cost& cost) {
        fmt::print("  {:<22} {:7.0f} ms {:9.1f} kB\n", what, cost.seconds * 1e3, cost.kilobytes);
    }

    static void reportAll(const std::string& what, std::vector<Cost> costs) {
        if (costs.empty()) return;  // fewer views than one such
        std::sort(costs.begin(), costs.end(),
                  [](const Cost& a, const Cost& b) { return a.seconds < b.seconds; });
        double sum = 0;
        for (const Cost& cost : costs) sum += cost.kilobytes;
        const auto at = [&](double part) {
            return costs[static_cast<std::size_t>(part * static_cast<double>(costs.size() - 1))]
                       .seconds *
                   1e3;
        };
        fmt::print("  {:<22} {:7.0f} ms median, {:.0f} p90, {:.0f} most; {:.1f} kB on average\n",
                   what, at(0.5), at(0.9), at(1), sum / static_cast<double>(costs.size()));
    }

    /// Any zoom from all of the recording to 100 us, anywhere.
    static TimeRange randomRange(std::mt19937_64& random, TimeRange bounds) {
        const auto whole = static_cast<double>(bounds.duration().ns);
        const double zoom =
            std::uniform_real_distribution(std::log(100'000.0), std::log(whole))(random);
        const auto width = static_cast<std::int64_t>(std::exp(zoom));
        const std::int64_t begin = std::uniform_int_distribution<std::int64_t>(
            bounds.begin.ns, bounds.end.ns - width)(random);
        return {{begin}, {begin + width}};
    }

    DelayedLink m_link;
    std::thread m_server;
    std::shared_ptr<remote::RemoteSession> m_session;
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingSummary m_summary;
    std::vector<LaneAddress> m_spans, m_counters;
    std::size_t m_letters = 0;
};

int read(const std::string& path, int views) {
    const struct {
        const char* name;
        LinkFacts facts;
    } links[] = {{"no link", {std::chrono::microseconds(0), 1e12}},
                 {"20 ms there and back, 50 Mbit/s", {std::chrono::milliseconds(10), 50e6 / 8}},
                 {"20 ms each way, 50 Mbit/s", {std::chrono::milliseconds(20), 50e6 / 8}}};
    for (const auto& link : links) {
        fmt::print("{}\n", link.name);
        Reading(link.facts, path).measure(views);
    }
    return 0;
}

}  // namespace
}  // namespace shardscope::bench

int main(int argc, char** argv) {
    using namespace shardscope::bench;
    constexpr int kViews = 60;
    if (argc >= 3 && std::strcmp(argv[1], "--read") == 0)
        return read(argv[2], argc > 3 ? std::atoi(argv[3]) : kViews);
    const shardscope::test::TemporaryFolder folder;
    const std::string path = folder.file("generated.sscope");
    const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
    if (const auto made = generateRecording(path, events); !made) {
        fmt::print(stderr, "{}\n", made.error().message);
        return 1;
    }
    return read(path, kViews);
}

// How fast a large recording is written, opened and panned through, and in how much memory.
//
//   reader_bench [EVENTS] [VIEWS]            writes a recording (10 million events), prints figures
//   reader_bench --write RECORDING EVENTS
//   reader_bench --read RECORDING [VIEWS]    reads one that is there
//
// Writing runs in a process of its own, so that the memory shown is the reader's.
#include "profiler/capture/capture_session.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/sqlite/connection.h"
#include "tests/bench/recording_generator.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

namespace shardscope::bench {
namespace {

constexpr int kPixels = 1920;
constexpr std::size_t kLanesOnScreen = 50;

double secondsOf(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peakMegabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

[[noreturn]] void stop(const Error& error) {
    fmt::print(stderr, "{}\n", error.message);
    std::exit(1);
}

int write(const std::string& path, std::uint64_t events) {
    const auto account = generateRecording(path, events);
    if (!account) stop(account.error());
    const auto count = static_cast<double>(account->events);
    const auto rate = [&](double seconds) { return count / seconds / 1e6; };
    fmt::print("written        {:.2f} M events, {:.2f} B/event in the file\n", count / 1e6,
               static_cast<double>(std::filesystem::file_size(path)) / count);
    fmt::print("encode         {:6.1f} M events/s (in the ranks)\n", rate(account->encodeSeconds));
    fmt::print("append         {:6.1f} M events/s (writer, with pyramids)\n",
               rate(account->appendSeconds));
    fmt::print("with finalise  {:6.1f} M events/s (finalise {:.2f} s)\n",
               rate(account->appendSeconds + account->finaliseSeconds), account->finaliseSeconds);
    fmt::print("writer memory  {:6.0f} MB\n", peakMegabytes());
    return 0;
}

/// The lanes that fit on a screen.
struct Screen {
    std::vector<LaneAddress> spans;
    std::vector<LaneAddress> counters;
    TimeRange bounds;
};

Screen screenOf(storage::RecordingReader& reader) {
    const auto summary = reader.summary();
    if (!summary) stop(summary.error());
    Screen screen;
    screen.bounds = summary->bounds;
    for (const LaneFacts& lane : summary->lanes) {
        if (screen.spans.size() + screen.counters.size() == kLanesOnScreen) break;
        (lane.role == LaneRole::kCounter ? screen.counters : screen.spans)
            .push_back({lane.rank, lane.lane});
    }
    return screen;
}

void show(storage::RecordingReader& reader, const Screen& screen, TimeRange range) {
    const storage::View view{range, {std::max<std::int64_t>(1, range.duration().ns / kPixels)}, {}};
    const auto slices = reader.spans(screen.spans, view);
    if (!slices) stop(slices.error());
    const auto points = reader.counters(screen.counters, view);
    if (!points) stop(points.error());
}

std::unique_ptr<storage::RecordingReader> open(const std::string& path, std::size_t threads) {
    auto reader = storage::openRecording(path, threads);
    if (!reader) stop(reader.error());
    return std::move(*reader);
}

void measureOpening(const std::string& path) {
    std::unique_ptr<storage::RecordingReader> reader;
    Screen screen;
    const double first = secondsOf([&] {
        reader = open(path, 0);
        screen = screenOf(*reader);
        Screen lane = screen;
        lane.spans.resize(1);
        lane.counters.clear();
        show(*reader, lane, screen.bounds);
    });
    const double all = secondsOf([&] { show(*reader, screen, screen.bounds); });
    fmt::print("open           {:6.1f} ms to the first lane, {:.1f} ms to all {}\n", first * 1e3,
               (first + all) * 1e3, kLanesOnScreen);
    const double events = secondsOf([&] {
        for (std::uint32_t rank = 0; rank < 4; ++rank)
            if (const auto loaded = reader->rankEvents({rank}, screen.bounds); !loaded)
                stop(loaded.error());
    });
    fmt::print("rank events    {:6.1f} ms (what analyses read of all ranks)\n", events * 1e3);
    fmt::print("memory         {:6.0f} MB at most until here\n", peakMegabytes());
}

void report(const char* what, std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const auto at = [&](double part) {
        return 1e3 *
               seconds[static_cast<std::size_t>(part * static_cast<double>(seconds.size() - 1))];
    };
    fmt::print("{:<14} {:6.2f} ms median, {:.2f} p90, {:.2f} p99, {:.2f} most\n", what, at(0.5),
               at(0.9), at(0.99), at(1));
}

/// Any zoom from all of the recording to 100 us, anywhere.
TimeRange randomRange(std::mt19937_64& random, TimeRange bounds) {
    const auto whole = static_cast<double>(bounds.duration().ns);
    const double zoom =
        std::uniform_real_distribution(std::log(100'000.0), std::log(whole))(random);
    const auto width = static_cast<std::int64_t>(std::exp(zoom));
    const std::int64_t begin =
        std::uniform_int_distribution<std::int64_t>(bounds.begin.ns, bounds.end.ns - width)(random);
    return {{begin}, {begin + width}};
}

void measureViews(const std::string& path, std::size_t threads, int views) {
    auto reader = open(path, threads);
    const Screen screen = screenOf(*reader);
    std::mt19937_64 random(4);
    std::vector<double> jumps;
    for (int i = 0; i < views; ++i) {
        const TimeRange range = randomRange(random, screen.bounds);
        jumps.push_back(secondsOf([&] { show(*reader, screen, range); }));
    }
    // A screen's width in twenty steps, at ten zooms.
    std::vector<double> pans;
    for (int i = 0; i < views / 20; ++i) {
        TimeRange range = randomRange(random, screen.bounds);
        const Duration shift{range.duration().ns / 20};
        for (int step = 0; step < 20; ++step) {
            pans.push_back(secondsOf([&] { show(*reader, screen, range); }));
            range = {range.begin + shift, range.end + shift};
        }
    }
    fmt::print("views by {} thread{}\n", threads, threads == 1 ? "" : "s");
    report("  jump", jumps);
    report("  pan", pans);
    fmt::print("memory         {:6.0f} MB at most until here\n", peakMegabytes());
}

void measureDecoding(const std::string& path) {
    auto connection = storage::Connection::open(path, storage::Connection::Mode::kReadOnly);
    if (!connection) stop(connection.error());
    for (const auto& [kind, name] :
         {std::pair{EventKind::kSpan, "spans"}, std::pair{EventKind::kMemory, "memory events"}}) {
        auto select = connection->prepare("SELECT data FROM chunks WHERE kind=?");
        if (!select) stop(select.error());
        select->bind(1, static_cast<std::int64_t>(kind));
        std::size_t events = 0;
        double seconds = 0;
        while (true) {
            auto row = select->step();
            if (!row) stop(row.error());
            if (!*row) break;
            seconds += secondsOf([&, kind = kind] {
                if (kind == EventKind::kSpan)
                    events += columns::decodeSpans(select->blob(0)).value().size();
                else
                    events += columns::decodeMemory(select->blob(0)).value().size();
            });
        }
        fmt::print("decode         {:6.1f} M {}/s on one core\n",
                   static_cast<double>(events) / seconds / 1e6, name);
    }
}

/// Takes what a rank sends and drops it.
class NoSink final : public capture::EventSink {
public:
    void strings(StringId, const std::vector<std::string>&) override {}
    void lane(const LaneFacts&) override {}
    void chunk(const columns::ChunkBytes& bytes) override { m_bytes += bytes.size(); }

private:
    std::size_t m_bytes = 0;
};

/// What a producing thread pays for an event: two looks at the clock and the push.
void measureProducer() {
    NoSink sink;
    capture::CaptureSession session({}, sink);
    capture::ThreadQueue& queue = session.threadQueue();
    constexpr int kBatch = 50'000;
    constexpr int kBatches = 40;
    double pushing = 0;
    double clock = 0;
    std::int64_t sum = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
        clock += secondsOf([&] {
            for (int i = 0; i < 2 * kBatch; ++i) sum += hostNow();
        });
        pushing += secondsOf([&] {
            for (int i = 0; i < kBatch; ++i) {
                SpanEvent event;
                event.start = session.at(hostNow());
                event.name = {1 + static_cast<std::uint32_t>(i) % 200};
                event.duration = session.at(hostNow()) - event.start;
                queue.push(event);
            }
        });
        session.drain(0, true);
    }
    constexpr double kEvents = double{kBatch} * kBatches;
    fmt::print("producer       {:6.1f} ns an event, of which two looks at the clock {:.1f}{}\n",
               pushing / kEvents * 1e9, clock / kEvents * 1e9, sum == 0 ? "!" : "");
    if (session.dropped() != 0) fmt::print("producer       dropped {}\n", session.dropped());
}

int read(const std::string& path, int views) {
    measureViews(path, 1, views);
    measureOpening(path);
    if (std::thread::hardware_concurrency() > 1)
        measureViews(path, std::thread::hardware_concurrency(), views);
    measureDecoding(path);
    measureProducer();
    return 0;
}

int writeApart(const std::string& path, std::uint64_t events) {
    const pid_t child = fork();
    if (child == 0) {
        const int status = write(path, events);
        std::fflush(stdout);
        _exit(status);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace shardscope::bench

int main(int argc, char** argv) {
    using namespace shardscope::bench;
    constexpr int kViews = 400;
    if (argc >= 3 && std::strcmp(argv[1], "--read") == 0)
        return read(argv[2], argc > 3 ? std::atoi(argv[3]) : kViews);
    if (argc == 4 && std::strcmp(argv[1], "--write") == 0)
        return write(argv[2], std::strtoull(argv[3], nullptr, 10));
    const shardscope::test::TemporaryFolder folder;
    const std::string path = folder.file("generated.sscope");
    const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
    if (const int status = writeApart(path, events); status != 0) return status;
    return read(path, argc > 2 ? std::atoi(argv[2]) : kViews);
}

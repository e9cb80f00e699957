// A recording as the SQLite database that `nsys export` makes, so that queries written for those
// run: kernels, copies, sets, calls, waits, graphs and overheads as they are, all other spans as
// NVTX ranges.
#include "storage/interchange/export.h"
#include "storage/interchange/formats.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/nsys/span_cells.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/file/output_file.h"

#include <array>
#include <ctime>
#include <set>

namespace shardscope::interchange {

namespace nsys {
namespace {

constexpr std::string_view kSchema[] = {"3.25.0", "3", "25", "0"};

std::string utcText(std::int64_t unixNs) {
    const std::time_t seconds = unixNs / 1'000'000'000;
    std::tm utc{};
    std::array<char, 32> text{};
    if (gmtime_r(&seconds, &utc) == nullptr) return {};
    const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
    return {text.data(), length};
}

class Exporter {
public:
    Exporter(ExportScope& scope, NsysDatabase& database)
        : m_scope(scope),
          m_database(database),
          m_targets(scope.summary(), originsOf(scope.summary().run.configJson)),
          m_cells(database) {}

    Result<void> run() {
        addSession();
        std::set<std::int64_t> processes, gpus;
        for (const RankId rank : m_scope.ranks()) {
            if (processes.insert(m_targets.globalPid(rank)).second) addProcess(rank);
            addDevice(rank, gpus);
            for (const LaneFacts& lane : m_scope.lanes(rank))
                if (auto done = addLane(lane); !done) return done;
            for (const auto& [thread, name] : m_targets.origin(rank).threads)
                addThreadName(thread, name);
        }
        return m_database.state();
    }
    [[nodiscard]] std::uint64_t rows() const { return m_cells.rows(); }
    [[nodiscard]] std::vector<std::string> notes() const {
        std::vector<std::string> notes;
        const EventCounts& events = m_scope.summary().events;
        const auto note = [&](bool when, const char* text) {
            if (when) notes.emplace_back(text);
        };
        note(m_ranges, "operators, phases and steps are NVTX ranges");
        note(events.counters > 0 || events.memory > 0,
             "counters and memory events are left out: nsys has tables only for its own");
        note(events.collectives > 0,
             "collectives are there as spans and kernels only, without arrivals");
        note(m_deviceRanges, "ranges on streams of a device are left out: nsys has none");
        return notes;
    }

private:
    void addSession() {
        const RunFacts& run = m_scope.summary().run;
        if (run.startedUnixNs > 0) {
            const std::string text = utcText(run.startedUnixNs);
            const std::string_view view(text);
            m_database.insert("TARGET_INFO_SESSION_START_TIME",
                              {run.startedUnixNs, view, view, std::int64_t{0}});
        }
        const TimeRange range = m_scope.range();
        m_database.insert("ANALYSIS_DETAILS", {std::int64_t{1} << 48, range.duration().ns,
                                               range.begin.ns, range.end.ns});
        const auto meta = [&](std::string_view name, std::string_view value) {
            m_database.insert("META_DATA_EXPORT", {name, value});
        };
        meta("EXPORT_PRODUCT_NAME", "Shardscope");
        meta("EXPORT_SCHEMA_VERSION", kSchema[0]);
        meta("EXPORT_SCHEMA_VERSION_MAJOR", kSchema[1]);
        meta("EXPORT_SCHEMA_VERSION_MINOR", kSchema[2]);
        meta("EXPORT_SCHEMA_VERSION_MICRO", kSchema[3]);
    }

    void addProcess(RankId rank) {
        const std::int64_t global = m_targets.globalPid(rank);
        const std::string name = "rank " + std::to_string(rank.value);
        m_database.insert("PROCESSES", {global, global >> 24 & 0xFFFFFF, std::string_view(name)});
    }

    void addDevice(RankId rank, std::set<std::int64_t>& gpus) {
        for (const DeviceFacts& device : m_scope.summary().devices) {
            if (device.rank != rank) continue;
            const std::int64_t global = m_targets.globalPid(rank), gpu = m_targets.gpu(rank);
            const auto& numbers = m_targets.origin(rank).device;
            const auto number = [&](const char* key) {
                const auto at = numbers.find(key);
                return at == numbers.end() ? Cell() : Cell(at->second);
            };
            m_database.insert("TARGET_INFO_CUDA_DEVICE",
                              {gpu, m_targets.device(rank), global >> 24 & 0xFFFFFF,
                               std::string_view(device.uuid), number("smCount")});
            if (device.name.empty() || !gpus.insert(gpu).second) continue;
            m_database.insert(
                "TARGET_INFO_GPU",
                {global >> 48, gpu, std::string_view(device.name),
                 std::string_view(device.pciBusId), device.memory.count,
                 std::string_view(device.uuid), m_targets.device(rank),
                 std::string_view(m_targets.origin(rank).chipName), number("l2CacheSize"),
                 number("memoryBandwidth"), number("clockRate"), number("smCount"),
                 number("maxWarpsPerSm"), number("computeMajor"), number("computeMinor"),
                 number("smMajor"), number("smMinor"), number("maxBlocksPerSm")});
        }
    }

    void addThreadName(std::int64_t thread, const std::string& name) {
        if (m_named.insert(thread).second)
            m_database.insert("ThreadNames", {m_database.textId(name), Cell(), thread});
    }

    Result<void> addLane(const LaneFacts& lane) {
        const LaneTarget target = m_targets.of(lane);
        const bool counter = lane.role == LaneRole::kCounter;
        m_deviceRanges = m_deviceRanges || (target.kind == LaneTarget::Kind::kNone && !counter);
        if (target.kind == LaneTarget::Kind::kNone) return {};
        const bool nvtx = target.kind == LaneTarget::Kind::kNvtx;
        bool any = false;
        std::string name, arguments;
        const auto add = [&](const auto& event) {
            // Texts are views that the next one may end.
            name.assign(m_scope.reader().text(lane.rank, event.name));
            arguments.assign(m_scope.reader().text(lane.rank, event.arguments));
            m_cells.add(target, event, name, arguments);
            any = true;
        };
        auto done = m_scope.forEachSpan(lane, add);
        if (done && nvtx) done = m_scope.forEachInstant(lane, add);
        if (!done) return done;
        m_ranges = m_ranges || (nvtx && any && !target.ofExport);
        if (any && !target.ofExport && (nvtx || target.activity == Activity::kRuntime))
            addThreadName(target.globalTid, lane.name);
        return m_database.state();
    }

    ExportScope& m_scope;
    NsysDatabase& m_database;
    LaneTargets m_targets;
    SpanCells m_cells;
    std::set<std::int64_t> m_named;
    bool m_ranges = false;
    bool m_deviceRanges = false;
};

Result<ExportAccount> write(ExportScope& scope, const std::string& path) {
    auto database = NsysDatabase::create(path);
    if (!database) return failure(database);
    Exporter exporter(scope, *database);
    if (auto done = exporter.run(); !done) return failure(done);
    if (auto done = database->finish(); !done) return failure(done);
    return ExportAccount{exporter.rows(), {}, exporter.notes()};
}

}  // namespace
}  // namespace nsys

Result<ExportAccount> exportNsysSqlite(storage::RecordingReader& reader,
                                       const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    auto output = storage::OutputFile::reserve(outputOf(options, kNsysFile));
    if (!output) return failure(output);
    auto account = nsys::write(*scope, output->part());
    if (!account) return failure(account, "exporting for Nsight Systems");
    if (auto done = output->commit(); !done) return failure(done);
    account->files.push_back(options.output);
    return account;
}

Result<ReaderResult> readNsysSqlite(const ReaderRequest& request);

Format nsysFormat() {
    return {.name = "nsys-sqlite",
            .file = "an Nsight Systems SQLite export",
            .reads = "exports of Nsight Systems (nsys export --type sqlite)",
            .endings = {".sqlite"},
            .looksLike =
                [](std::string_view front) {
                    return front.starts_with(std::string_view("SQLite format 3\0", 16));
                },
            .read = readNsysSqlite,
            .writes = "for queries on Nsight Systems exports",
            .ending = ".sqlite",
            .write = exportNsysSqlite};
}

}  // namespace shardscope::interchange

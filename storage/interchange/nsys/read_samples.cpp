// Counters and memory of an export: GPU_METRICS and CUDA_GPU_MEMORY_USAGE_EVENTS.
#include "storage/interchange/nsys/import_state.h"

namespace shardscope::interchange::nsys {
namespace {

constexpr std::int64_t kMostBlock = std::int64_t{1} << 50;
constexpr std::size_t kMostMetrics = 2048;

struct Metric {
    std::string name;
    std::string unit;
};

/// "SM Active [Throughput %]"
std::string unitOf(const std::string& name) {
    const std::size_t at = name.rfind('[');
    if (at == std::string::npos || name.back() != ']') return "1";
    return name.find('%', at) != std::string::npos ? "%"
                                                   : name.substr(at + 1, name.size() - at - 2);
}

std::string gpuName(std::int64_t device) {
    return std::string("GPU ").append(std::to_string(device));
}

class MetricReader {
public:
    explicit MetricReader(ImportState& state) : m_state(state) {}

    Result<void> run() {
        if (!m_state.file.has("GPU_METRICS")) return {};
        if (auto done = readNames(); !done) return done;
        if (auto done = readDevices(); !done) return done;
        auto rows = m_state.file.scan("GPU_METRICS", {"timestamp", "typeId", "metricId", "value"});
        return forEachRow(m_state, rows, [this](QueryRow& row) {
            add(row);
            return Result<void>{};
        });
    }

private:
    Result<void> readNames() {
        auto rows =
            m_state.file.scan("TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"});
        if (!rows) return failure(rows);
        while (*rows && m_names.size() < kMostMetrics) {
            auto more = (*rows)->next();
            if (!more) return failure(more);
            if (!*more) break;
            QueryRow row((*rows)->row());
            const auto type = row.integer(0), id = row.integer(1);
            const auto name = row.text(2);
            if (!type || !id || !name) continue;
            std::string text = soundText(name->substr(0, 256), m_state.changedTexts);
            const std::string unit = unitOf(text);
            m_names[{*type, *id}] = {std::move(text), unit};
        }
        return {};
    }

    /// GPUs are numbered anew in every process that sees only some.
    Result<void> readDevices() {
        auto rows = m_state.file.scan("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"});
        if (!rows) return failure(rows);
        while (*rows) {
            auto more = (*rows)->next();
            if (!more) return failure(more);
            if (!*more) break;
            QueryRow row((*rows)->row());
            const auto pid = row.integer(0), device = row.integer(1), gpu = row.integer(2);
            for (const ProcessRanks::Entry& entry : m_state.survey.ranks.entries())
                if (gpu && device && entry.device == device && pid == pidOf(entry.process))
                    m_ranks.try_emplace(*gpu, entry.rank);
        }
        return {};
    }

    void add(QueryRow& row) {
        const auto time = row.integer(0), type = row.integer(1), id = row.integer(2);
        const auto value = row.real(3);
        const auto place = m_state.place(time, std::nullopt, false);
        if (!place) return;
        if (!type || !id || !value) return m_state.account.reject("a sample without a number");
        const auto metric = m_names.find({*type, *id});
        if (metric == m_names.end())
            return m_state.account.reject("a sample of a metric that has no name");
        // The lowest byte is the GPU's number.
        const std::int64_t gpu = *type & 0xFF;
        const RankId rank = rankOf(gpu);
        const LaneId lane = m_state.lanes.counter(
            rank, gpuName(gpu).append(" ").append(metric->second.name), metric->second.unit);
        m_state.builder().add(rank, CounterEvent{place->first, lane, *value});
        m_state.ended = std::max(m_state.ended, place->first);
        m_state.keep(row.anyWrong());
    }

    [[nodiscard]] RankId rankOf(std::int64_t gpu) const {
        if (const auto at = m_ranks.find(gpu); at != m_ranks.end()) return at->second;
        const auto& entries = m_state.survey.ranks.entries();
        for (const ProcessRanks::Entry& entry : entries)
            if (entry.device == gpu) return entry.rank;
        return entries.front().rank;
    }

    ImportState& m_state;
    std::map<std::pair<std::int64_t, std::int64_t>, Metric> m_names;  ///< by type and metric
    std::map<std::int64_t, RankId> m_ranks;                           ///< by GPU
};

class MemoryReader {
public:
    explicit MemoryReader(ImportState& state) : m_state(state) {}

    Result<void> run() {
        auto rows = m_state.file.scan(
            "CUDA_GPU_MEMORY_USAGE_EVENTS",
            {"start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType",
             "name", "localMemoryPoolUtilizedSize", "localMemoryPoolSize"});
        return forEachRow(m_state, rows, [this](QueryRow& row) {
            add(row);
            return Result<void>{};
        });
    }

private:
    enum Column : int { kStart, kProcess, kDevice, kAddress, kBytes, kKind, kAction, kName, kPool };

    void add(QueryRow& row) {
        const auto place = m_state.place(row.integer(kStart), std::nullopt, false);
        if (!place) return;
        const auto bytes = row.integer(kBytes), action = row.integer(kAction);
        if (!bytes || *bytes < 0 || *bytes > kMostBlock)
            return m_state.account.reject("a memory event without bytes, or too many");
        if (!action || *action < 0 || *action > 1)
            return m_state.account.reject("a memory event that neither takes nor frees");
        const auto global = row.integer(kProcess);
        const std::int64_t device = row.integer(kDevice).value_or(0);
        const ProcessRanks::Entry& owner = m_state.survey.ranks.of(
            global ? processOf(*global) : ProcessRanks::kUnknownProcess, device);
        MemoryEvent event;
        event.time = place->first;
        event.address = static_cast<std::uint64_t>(row.integer(kAddress).value_or(0));
        event.size = {*bytes};
        event.action = *action == 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
        // What the driver gives out, not a tensor.
        event.category = MemoryCategory::kOther;
        event.owner = m_state.builder().intern(owner.rank, ownerName(row, device));
        m_state.builder().add(owner.rank, event);
        addPool(row, owner.rank, device, place->first);
        m_state.ended = std::max(m_state.ended, place->first);
        m_state.keep(row.anyWrong());
    }

    [[nodiscard]] std::string ownerName(QueryRow& row, std::int64_t device) {
        const auto kind = row.integer(kKind);
        const Word* word = kind ? wordOf(enumWords(), *kind) : nullptr;
        std::string text = word == nullptr ? "memory" : std::string(word->word);
        if (word == nullptr || word->word.find("host") == std::string_view::npos)
            text.append(" (").append(gpuName(device)).append(")");
        if (const auto name = row.text(kName); name && !name->empty())
            text.append(" ").append(soundText(name->substr(0, 256), m_state.changedTexts));
        return text;
    }
    static std::span<const Word> enumWords() {
        for (const Field& field : specOf(Activity::kMemset).fields)
            if (field.column == "memKind") return field.words;
        return {};
    }

    void addPool(QueryRow& row, RankId rank, std::int64_t device, Timestamp time) {
        const char* const kNames[] = {"used of the memory pool", "memory pool"};
        for (int i = 0; i < 2; ++i) {
            const auto bytes = row.integer(kPool + i);
            if (!bytes) continue;
            const LaneId lane =
                m_state.lanes.counter(rank, gpuName(device).append(" ").append(kNames[i]), "bytes");
            m_state.builder().add(rank, CounterEvent{time, lane, static_cast<double>(*bytes)});
        }
    }

    ImportState& m_state;
};

}  // namespace

Result<void> readMetrics(ImportState& state) {
    return MetricReader(state).run();
}
Result<void> readMemory(ImportState& state) {
    return MemoryReader(state).run();
}

}  // namespace shardscope::interchange::nsys

// The GPUs of an export's ranks. In cloud containers TARGET_INFO_GPU can be absent: then only
// their numbers are known.
#include "storage/interchange/nsys/import_state.h"
#include "storage/model/rank_facts.h"

#include <array>

namespace shardscope::interchange::nsys {
namespace {

constexpr std::size_t kMostDevices = 1024;
constexpr std::array<std::string_view, 10> kNumbers = {
    "l2CacheSize",  "memoryBandwidth", "clockRate", "smCount", "maxWarpsPerSm",
    "computeMajor", "computeMinor",    "smMajor",   "smMinor", "maxBlocksPerSm"};

struct Gpu {
    std::string name, bus, uuid, chip;
    std::int64_t memory = 0;
    std::optional<std::int64_t> cudaDevice;
    std::string numbersJson;
};

class DeviceReader {
public:
    explicit DeviceReader(ImportState& state) : m_state(state) {}

    Result<std::map<RankId, std::string>> run() {
        if (auto done = readGpus(); !done) return failure(done);
        if (auto done = readCudaDevices(); !done) return failure(done);
        std::map<RankId, std::string> json;
        for (const ProcessRanks::Entry& entry : m_state.survey.ranks.entries())
            json[entry.rank] = put(entry);
        return json;
    }

private:
    Result<void> readGpus() {
        std::vector<std::string> columns = {"id",          "name",     "busLocation", "uuid",
                                            "totalMemory", "chipName", "cuDevice"};
        const int first = static_cast<int>(columns.size());
        columns.insert(columns.end(), kNumbers.begin(), kNumbers.end());
        auto rows = m_state.file.scan("TARGET_INFO_GPU", columns);
        if (!rows) return failure(rows);
        while (*rows && m_gpus.size() < kMostDevices) {
            auto more = (*rows)->next();
            if (!more) return failure(more);
            if (!*more) break;
            QueryRow row((*rows)->row());
            const auto id = row.integer(0);
            if (!id) continue;
            Gpu gpu;
            gpu.name = text(row, 1);
            gpu.bus = text(row, 2);
            gpu.uuid = text(row, 3);
            gpu.memory =
                std::clamp<std::int64_t>(row.integer(4).value_or(0), 0, std::int64_t{1} << 50);
            gpu.chip = text(row, 5);
            gpu.cudaDevice = row.integer(6);
            for (std::size_t i = 0; i < kNumbers.size(); ++i)
                if (const auto value = row.integer(first + static_cast<int>(i)))
                    gpu.numbersJson +=
                        ",\"" + std::string(kNumbers[i]) + "\":" + std::to_string(*value);
            m_gpus[*id] = std::move(gpu);
        }
        return {};
    }

    std::string text(QueryRow& row, int column) {
        const auto value = row.text(column);
        return value ? soundText(value->substr(0, 256), m_state.changedTexts) : std::string();
    }

    /// Which GPU a process calls by which number.
    Result<void> readCudaDevices() {
        auto rows = m_state.file.scan("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"});
        if (!rows) return failure(rows);
        while (*rows && m_cudaDevices.size() < kMostDevices) {
            auto more = (*rows)->next();
            if (!more) return failure(more);
            if (!*more) break;
            QueryRow row((*rows)->row());
            const auto pid = row.integer(0), cuda = row.integer(1), gpu = row.integer(2);
            if (pid && cuda && gpu) m_cudaDevices[{*pid, *cuda}] = *gpu;
        }
        return {};
    }

    [[nodiscard]] const Gpu* gpuOf(const ProcessRanks::Entry& entry) const {
        if (!entry.device) return nullptr;
        if (const auto at = m_cudaDevices.find({pidOf(entry.process), *entry.device});
            at != m_cudaDevices.end())
            if (const auto gpu = m_gpus.find(at->second); gpu != m_gpus.end()) return &gpu->second;
        for (const auto& [id, gpu] : m_gpus)
            if (gpu.cudaDevice == entry.device) return &gpu;
        const auto at = m_gpus.find(*entry.device);
        return at == m_gpus.end() ? nullptr : &at->second;
    }

    /// Stores what is known; the rest as JSON.
    std::string put(const ProcessRanks::Entry& entry) {
        RankFacts rank;
        rank.rank = entry.rank;
        // Files may be of several machines, whose processes may have one number.
        rank.host = static_cast<std::int32_t>(m_state.request.rank.value);
        rank.pid = entry.process == ProcessRanks::kUnknownProcess ? 0 : pidOf(entry.process);
        rank.peakSource = "an imported trace does not say it";
        rank.device = "cpu";
        if (!entry.device) {
            m_state.builder().putRank(rank);
            return "{}";
        }
        const Gpu* gpu = gpuOf(entry);
        const std::string number = "GPU " + std::to_string(*entry.device);
        rank.device =
            gpu == nullptr || gpu->name.empty() ? number : gpu->name + " (" + number + ")";
        m_state.builder().putRank(rank);
        DeviceFacts device;
        device.rank = entry.rank;
        device.tracing = "Nsight Systems";
        device.vendorPeakSource = device.measuredPeakSource = rank.peakSource;
        std::string json = "{\"device\":" + std::to_string(*entry.device);
        if (gpu != nullptr) {
            device.name = gpu->name;
            device.uuid = gpu->uuid;
            device.pciBusId = gpu->bus;
            device.memory = {gpu->memory};
            json += ",\"chipName\":" + jsonString(gpu->chip) + gpu->numbersJson;
        }
        m_state.builder().putDevice(device);
        return json + "}";
    }

    ImportState& m_state;
    std::map<std::int64_t, Gpu> m_gpus;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> m_cudaDevices;
};

}  // namespace

Result<std::map<RankId, std::string>> readDevices(ImportState& state) {
    return DeviceReader(state).run();
}

}  // namespace shardscope::interchange::nsys

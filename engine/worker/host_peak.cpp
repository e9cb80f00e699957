#include "engine/worker/host_peak.h"

#include "engine/kernels/matmul.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/machine_figure.h"
#include "storage/model/new_file.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording.h"

#include <ATen/Version.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace shardscope::worker {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A run's own bursts below this part of the kept figure are worth a word.
constexpr double kFarBelow = 0.9;

Json readStore(const std::string& path) {
    std::ifstream file(path);
    Json json = Json::parse(file, nullptr, false);
    return json.is_object() ? json : Json::object();
}

bool isRecent(std::int64_t keptS, std::int64_t nowS) {
    return keptS <= nowS && nowS - keptS <= kPeakKeptS;
}

/// This processor with the instructions that the run may use.
std::string processor() {
    const std::string held = run::heldInstructions();
    return fmt::format("{}, {}{}{}", launch::hostFacts().cpu, at::get_cpu_capability(),
                       held.empty() ? "" : ", ", held);
}

std::string dayOf(std::int64_t unixS) {
    return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(unixS)));
}

}  // namespace

HostPeak measureHostPeak(const std::function<double()>& burst, const std::function<bool()>& enough,
                         const std::function<bool()>& atMost) {
    HostPeak peak;
    std::vector<double> best;  // descending
    do {
        const double flops = burst();
        best.insert(std::lower_bound(best.begin(), best.end(), flops, std::greater<>()), flops);
        if (best.size() > kAgreeingBursts) best.pop_back();
        peak.flops = best.front();
        peak.stable =
            best.size() == kAgreeingBursts && best.back() >= (1 - kPeakAgreement) * best.front();
    } while (!(enough() && peak.stable) && !atMost());
    peak.unixS = static_cast<std::int64_t>(std::time(nullptr));
    return peak;
}

std::optional<HostPeak> PeakStore::find(const std::string& key, std::int64_t nowS) const {
    if (m_path.empty()) return std::nullopt;
    try {
        const Json store = readStore(m_path);
        const Json& entry = store.at(key);
        const HostPeak peak{entry.at("flops").get<double>(), entry.at("stable").get<bool>(),
                            entry.at("unix_s").get<std::int64_t>()};
        if (peak.flops > 0 && isRecent(peak.unixS, nowS)) return peak;
    } catch (const Json::exception&) {
        // As if it had never been kept.
    }
    return std::nullopt;
}

void PeakStore::keep(const std::string& key, const HostPeak& peak) const {
    write(key, Json{{"flops", peak.flops}, {"stable", peak.stable}, {"unix_s", peak.unixS}}.dump());
}

std::optional<bool> PeakStore::findChoice(const std::string& key, std::int64_t nowS) const {
    if (m_path.empty()) return std::nullopt;
    try {
        const Json store = readStore(m_path);
        const Json& entry = store.at(key);
        if (isRecent(entry.at("unix_s").get<std::int64_t>(), nowS))
            return entry.at("second").get<bool>();
    } catch (const Json::exception&) {
        // As if it had never been kept.
    }
    return std::nullopt;
}

void PeakStore::keepChoice(const std::string& key, bool second, std::int64_t nowS) const {
    write(key, Json{{"second", second}, {"unix_s", nowS}}.dump());
}

void PeakStore::write(const std::string& key, std::string_view entry) const {
    if (m_path.empty()) return;
    std::error_code error;
    fs::create_directories(fs::path(m_path).parent_path(), error);
    Json store = readStore(m_path);
    store[key] = Json::parse(entry);
    // In one step: runs beside this one read it too.
    const std::string text = store.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
    [[maybe_unused]] const int kept = replaceOwnFile(m_path, text);  // else it is measured again
}

bool takesSecond(std::optional<bool> kept, double ratio) {
    if (!kept) return ratio < 1;
    return *kept ? ratio <= 1 / kClearlyFaster : ratio < kClearlyFaster;
}

bool isPlausible(const HostPeak& together, double oneThread, int threads) {
    return together.flops >= kLeastScaling * threads * oneThread;
}

std::string peakStorePath() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/shardscope/peaks.json";
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home == '/') return std::string(home) + "/.cache/shardscope/peaks.json";
    return {};
}

ChosenPeak choosePeak(const std::optional<HostPeak>& kept, const HostPeak& measured,
                      const std::string& what) {
    const bool older = kept && kept->flops >= measured.flops;
    HostPeak best = older ? *kept : measured;
    // Two runs that agree are as good as bursts that do.
    if (kept && std::min(kept->flops, measured.flops) >= (1 - kPeakAgreement) * best.flops)
        best.stable = true;
    ChosenPeak chosen{best, fmt::format("measured: best {}", what)};
    if (older) chosen.source += fmt::format(", kept from {}", dayOf(best.unixS));
    if (older && measured.flops < kFarBelow * best.flops)
        chosen.source += fmt::format("; before this run {:.0f} % of it were reached",
                                     100 * measured.flops / best.flops);
    if (!best.stable)
        chosen.source =
            fmt::format("{}, since the cores were not free for it; {}", kUnsurePeak, chosen.source);
    return chosen;
}

std::string hostPeakKey(run::Precision precision, int threads) {
    // A run that may use less of the processor has another peak.
    return fmt::format("{}, {} {}, {} threads", processor(), toWord(kernels::matmulLibraryInUse()),
                       toWord(precision), threads);
}

std::string choiceKey(std::string_view what, int threads, int localRanks) {
    return fmt::format("{}, {} ranks of {} threads, {}", processor(), localRanks, threads, what);
}

}  // namespace shardscope::worker

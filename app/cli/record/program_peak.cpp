#include "app/cli/record/program_peak.h"

#include "engine/launch/host_facts.h"
#include "engine/run/config/run_words.h"
#include "profiler/planning/calibration_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

namespace shardscope::cli {
namespace {

using planning::Calibration;

std::string wordIn(const std::map<std::string, std::string>& said, const char* name) {
    const auto found = said.find(name);
    return found != said.end() ? found->second : std::string();
}

/// Not known: one for each core that it may have.
std::int64_t threadsIn(const std::map<std::string, std::string>& said, std::int64_t otherwise) {
    const std::string text = wordIn(said, "threads");
    std::int64_t threads = 0;
    std::from_chars(text.data(), text.data() + text.size(), threads);
    return threads > 0 ? threads : otherwise;
}

run::PeakMeasured unknown(std::string why) {
    return {std::nullopt, std::move(why)};
}

}  // namespace

run::PeakMeasured programPeak(const Result<std::optional<Calibration>>& calibration,
                              const std::map<std::string, std::string>& said, std::int32_t ranks,
                              std::int64_t nowS) {
    const std::string device = wordIn(said, "device"), type = wordIn(said, "dtype");
    if (device.empty() || type.empty())
        return unknown("its process ended no optimizer step, so what it computes with is unknown");
    if (device != "cpu")
        return unknown(fmt::format(
            "its parameters are on {}, and peaks are known of CPUs alone for programs", device));
    if (!calibration) return unknown(calibration.error().message);
    if (!*calibration)
        return unknown(
            "this host was not calibrated; run `shardscope calibrate` once, then record again");
    const Calibration& host = **calibration;
    const auto precision = fromWord<run::Precision>(type);
    const auto flops = precision ? planning::matmulFlops(host, *precision) : std::nullopt;
    if (!flops || host.cores <= 0)
        return unknown(fmt::format("`shardscope calibrate` measured no products in {}", type));
    const std::int64_t cores = host.cores, many = std::max(ranks, 1);
    const std::int64_t threads = threadsIn(said, std::max<std::int64_t>(cores / many, 1));
    const double share =
        static_cast<double>(threads) / static_cast<double>(std::max(cores, threads * many));
    return {*flops * share,
            fmt::format("measured: products in {} by `shardscope calibrate` {} ago, {:.3g} of {} "
                        "cores",
                        type, planning::ageText(host.unixS, nowS),
                        share * static_cast<double>(cores), cores)};
}

launch::ProgramPeak programPeaks() {
    const auto calibration = planning::findCalibration(launch::hostFacts().name, run::Device::kCpu);
    return [calibration](const std::map<std::string, std::string>& said, std::int32_t ranks) {
        return programPeak(calibration, said, ranks, std::time(nullptr));
    };
}

}  // namespace shardscope::cli

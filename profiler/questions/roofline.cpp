#include "profiler/analysis/device/roofline.h"

#include "engine/run/config/run_config.h"
#include "engine/run/theory/device_peaks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/read_products.h"
#include "profiler/questions/work_tables.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::Product;
using analysis::ProductType;

/// Of the fastest of the selected ranks.
struct Roofs {
    std::optional<double> peak, bandwidth;
    std::string peakSource, bandwidthSource;
    [[nodiscard]] bool isUnsure() const { return peakSource.starts_with(kUnsurePeak); }

    void take(std::optional<double> flops, const std::string& source) {
        if (!flops || (peak && *peak >= *flops)) return;
        peak = flops;
        peakSource = source;
    }
};

/// What was measured first; of what was not, data sheets.
Roofs roofsOf(const RecordingSummary& summary, const std::string& precision) {
    Roofs roofs;
    for (const DeviceFacts& device : summary.devices)
        roofs.take(device.measuredPeak, device.measuredPeakSource);
    if (!roofs.peak)
        for (const RankFacts& rank : summary.ranks) roofs.take(rank.peakFlops, rank.peakSource);
    for (const DeviceFacts& device : summary.devices) {
        if (!roofs.peak)
            if (const auto sheet = theory::devicePeak(device.name, precision).value)
                roofs.take(sheet->flops, sheet->source);
        const auto memory = theory::memoryBandwidth(device.name).value;
        if (!memory || (roofs.bandwidth && *roofs.bandwidth >= memory->bytesPerSecond)) continue;
        roofs.bandwidth = memory->bytesPerSecond;
        roofs.bandwidthSource = memory->source;
    }
    return roofs;
}

Table emptyTable() {
    return {
        "roofline",
        "Matrix products against the roofs",
        {{"operator", "operator"},
         {"shape", "shape", Unit::kNone, "Batch x (M x K)(K x N)."},
         {"type", "type", Unit::kNone,
          "Of the inputs; of recordings of our own, which do not say it, the run's precision."},
         {"count", "count", Unit::kCount},
         {"time_ns", "time", Unit::kNanoseconds,
          "Of the kernels that they launched; on CPU ranks of the operators."},
         {"flops", "FLOPs", Unit::kFlop, "Of a single one: 2 x batch x M x N x K."},
         {"least_bytes", "least bytes", Unit::kBytes,
          "Estimated: inputs and output of a single one, each moved once."},
         {"intensity", "intensity", Unit::kNone, "FLOPs / least bytes: estimated, an upper bound."},
         {"flops_per_s", "achieved", Unit::kFlops, "FLOPs x count / time."},
         {"roof_pct", "of roof", Unit::kOfPeak,
          "Achieved / the lower of the peak and of intensity x memory bandwidth, where known."}},
        {}};
}

void addRow(const std::string& name, const Product& product, std::int64_t count, Duration time,
            const Roofs& roofs, Table& table) {
    const auto flops = analysis::flopsOf(product);
    if (!flops || count == 0 || time.ns <= 0) return;
    const auto bytes = analysis::bytesOf(product);
    const double achieved = *flops * static_cast<double>(count) / time.seconds();
    Cell ofRoof;
    if (roofs.peak && !roofs.isUnsure() && (bytes || !roofs.bandwidth))
        ofRoof = 100 * achieved /
                 analysis::roofAt(bytes ? *flops / *bytes : 0, *roofs.peak, roofs.bandwidth);
    table.rows.push_back({name, analysis::shapeText(product), toWord(product.type), count, time.ns,
                          *flops, bytes ? Cell(static_cast<std::int64_t>(*bytes)) : Cell(),
                          bytes ? Cell(*flops / *bytes) : Cell(), achieved, ofRoof});
}

/// Our own recordings state shapes and, for the whole run, the type.
ProductType typeOf(const std::string& precision) {
    for (const auto& each : kWords<ProductType>)
        if (precision == each.word) return each.value;
    return ProductType::kUnknown;
}

void addFigures(const Roofs& roofs, Answer& answer) {
    if (roofs.peak)
        answer.figures.push_back({{"roof_flops", "Peak", Unit::kFlops,
                                   "Of matrix products on the fastest selected rank: measured, or "
                                   "of a data sheet."},
                                  *roofs.peak});
    if (!roofs.peakSource.empty())
        answer.figures.push_back({{"roof_flops_source", "Source of the peak"}, roofs.peakSource});
    if (roofs.bandwidth)
        answer.figures.push_back({{"roof_bandwidth", "Memory bandwidth", Unit::kBytesPerSecond,
                                   "Of the device's memory, by its data sheet."},
                                  *roofs.bandwidth});
}

void addUnknown(const Roofs& roofs, Answer& answer) {
    if (!roofs.peak)
        answer.unknown.emplace_back(
            "how near products come to the peak is unknown: none was measured, and no data "
            "sheet is known for the device");
    if (roofs.isUnsure())
        answer.unknown.push_back("how near products come to the peak is unknown, as the peak is " +
                                 roofs.peakSource);
    if (!roofs.bandwidth)
        answer.unknown.emplace_back(
            "which products are limited by memory bandwidth is unknown: it was not measured, and "
            "no data sheet is known for the device");
}

}  // namespace

Result<void> addRoofline(const Asked& asked, Answer& answer) {
    const auto config = run::parseRunConfigJson(asked.summary.run.configJson);
    const std::string precision = config ? toWord(config->precision) : "";
    const Roofs roofs = roofsOf(asked.summary, precision);
    Table table = emptyTable();
    for (const Multiplied where : {Multiplied::kOnDevices, Multiplied::kOnHosts}) {
        const auto sums = readProducts(asked, where);
        if (!sums) return failure(sums);
        for (const auto& [key, sum] : *sums) {
            Product product = key.second;
            if (product.type == ProductType::kUnknown) product.type = typeOf(precision);
            const bool device = where == Multiplied::kOnDevices;
            addRow(key.first, product, device ? sum.linked : sum.count,
                   device ? sum.device : sum.host, roofs, table);
        }
    }
    if (table.rows.empty()) return {};
    const std::size_t time = table.columnAt("time_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return numberOf(a[time]) > numberOf(b[time]);
    });
    addFigures(roofs, answer);
    addUnknown(roofs, answer);
    answer.tables.push_back(std::move(table));
    return {};
}

}  // namespace shardscope::questions

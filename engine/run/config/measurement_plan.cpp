#include "engine/run/config/measurement_plan.h"

#include "engine/run/config/near_miss.h"
#include "storage/model/quantity_text.h"
#include "storage/model/size_limit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace shardscope::run {
namespace {

/// Shared memory is mapped for the largest, whether it fits or not.
constexpr Bytes kMostPayload{1'000'000'000'000};
/// More than 40 doublings are no sizes any more.
constexpr std::size_t kMostSizes = 64;
/// Elements of a norm's input: 4 TB of them in fp32.
constexpr double kMostElements = 1e12;

std::vector<std::string> listed(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        while (part.starts_with(' ')) part.remove_prefix(1);
        while (part.ends_with(' ')) part.remove_suffix(1);
        parts.emplace_back(part);
    }
    return parts;
}

Result<Bytes> sizeFrom(std::string_view text) {
    auto size = parseSize(text);
    if (size && size->count < 1)
        return failure(ErrorCode::kUsage, fmt::format("'{}' is no payload; use 4B or more", text));
    if (size && *size > kMostPayload)
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is more than any rank holds; use {} or less", text,
                                   sizeText(kMostPayload)));
    return size;
}

Result<std::vector<Bytes>> doubled(std::string_view from, std::string_view to) {
    const auto first = sizeFrom(from), last = sizeFrom(to);
    if (!first) return failure(first);
    if (!last) return failure(last);
    if (*last < *first)
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is more than {}; write the smaller size first", from, to));
    std::vector<Bytes> sizes;
    for (Bytes size = *first; size <= *last; size.count *= 2) sizes.push_back(size);
    if (sizes.back() < *last) sizes.push_back(*last);  // both ends are asked for
    return sizes;
}

Result<NormShape> normShapeFrom(std::string_view text) {
    NormShape shape;
    const char* const end = text.data() + text.size();
    const auto [cross, wrong] = std::from_chars(text.data(), end, shape.rows);
    const bool crossed = wrong == std::errc{} && cross != end && *cross == 'x';
    const auto rest = std::from_chars(crossed ? cross + 1 : end, end, shape.width);
    if (!crossed || rest.ec != std::errc{} || rest.ptr != end || shape.rows < 1 || shape.width < 1)
        return failure(
            ErrorCode::kUsage,
            fmt::format("'{}' is no shape of a norm; write rows and width, as 50000x1024", text));
    if (static_cast<double>(shape.rows) * static_cast<double>(shape.width) > kMostElements)
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is more than any rank holds; use a smaller shape", text));
    return shape;
}

bool isMeasurable(const CollectiveWords& words) {
    return words.moves && !words.message;
}

std::vector<std::string> measurable() {
    std::vector<std::string> words;
    for (const CollectiveWords& each : kWords<CollectiveOp>)
        if (isMeasurable(each)) words.emplace_back(each.word);
    return words;
}

}  // namespace

std::string measurableOperations() {
    return fmt::format("{}", fmt::join(measurable(), ","));
}

std::string measuredText(const RunConfig& config) {
    if (config.work == Work::kTraining) return {};
    std::vector<std::string> parts;
    if (config.measureMachine) parts.emplace_back(kMachineFigures);
    if (!config.measureNorms.empty()) parts.push_back("norms of " + config.measureNorms);
    if (!config.measureOperations.empty())
        parts.push_back(fmt::format("{} of {}", config.measureOperations, config.measureSizes));
    return fmt::format("{}", fmt::join(parts, "; "));
}

RunConfig measuring(RunConfig config) {
    config.work = Work::kMeasuring;
    config.data = kSyntheticData;
    config.evaluateEvery = 0;
    config.calibrate = false;
    config.capture = CaptureLevel::kLight;
    if (const auto plan = measurementPlan(config)) config.steps = plan->steps();
    return config;
}

std::int32_t MeasurementPlan::steps() const {
    return static_cast<std::int32_t>((startsWithMachine() ? 1 : 0) +
                                     operations.size() * sizes.size());
}

std::optional<MeasurementPlan::Item> MeasurementPlan::itemOf(std::int32_t step) const {
    const std::int32_t place = step - (startsWithMachine() ? 1 : 0);
    if (place < 0 || step >= steps()) return std::nullopt;
    const auto at = static_cast<std::size_t>(place);
    return Item{operations[at / sizes.size()], sizes[at % sizes.size()]};
}

Bytes payloadOf(Bytes size, std::int32_t ranks) {
    const std::int64_t row = bytesOf(DataType::kFloat32) * ranks;
    return {std::max<std::int64_t>(1, size.count / row) * row};
}

Result<std::vector<Bytes>> parseMeasuredSizes(std::string_view text) {
    std::vector<Bytes> sizes;
    for (const std::string& part : listed(text)) {
        const std::size_t dash = part.find('-');
        const std::string_view whole = part;
        auto some = dash == std::string::npos
                        ? doubled(whole, whole)
                        : doubled(whole.substr(0, dash), whole.substr(dash + 1));
        if (!some) return failure(some);
        sizes.insert(sizes.end(), some->begin(), some->end());
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.empty())
        return failure(ErrorCode::kUsage, "no size is named; write some like 1MB,64MB or 1MB-64MB");
    if (sizes.size() > kMostSizes)
        return failure(ErrorCode::kUsage, fmt::format("these are {} sizes; use {} or fewer",
                                                      sizes.size(), kMostSizes));
    return sizes;
}

Result<std::vector<CollectiveOp>> parseMeasuredOperations(std::string_view text) {
    std::vector<CollectiveOp> operations;
    for (const std::string& word : listed(text)) {
        const auto operation = fromWord<CollectiveOp>(word);
        if (!operation || !isMeasurable(*entryOf(*operation)))
            return failure(ErrorCode::kUsage, fmt::format("'{}' is no operation that can be timed "
                                                          "between all ranks{}",
                                                          word, suggestion(word, measurable())));
        if (std::find(operations.begin(), operations.end(), *operation) == operations.end())
            operations.push_back(*operation);
    }
    return operations;
}

Result<std::vector<NormShape>> parseNormShapes(std::string_view text) {
    std::vector<NormShape> shapes;
    for (const std::string& part : listed(text)) {
        const auto shape = normShapeFrom(part);
        if (!shape) return failure(shape);
        if (std::find(shapes.begin(), shapes.end(), *shape) == shapes.end())
            shapes.push_back(*shape);
    }
    if (shapes.size() > kMostSizes)
        return failure(ErrorCode::kUsage, fmt::format("these are {} shapes; use {} or fewer",
                                                      shapes.size(), kMostSizes));
    return shapes;
}

Result<MeasurementPlan> measurementPlan(const RunConfig& config) {
    MeasurementPlan plan;
    auto operations = parseMeasuredOperations(config.measureOperations);
    if (!operations) return failure(operations, "{measure_operations}");
    auto sizes = parseMeasuredSizes(config.measureSizes);
    if (!sizes) return failure(sizes, "{measure_sizes}");
    auto norms = parseNormShapes(config.measureNorms);
    if (!norms) return failure(norms, "{measure_norms}");
    plan.machine = config.measureMachine;
    plan.norms = std::move(*norms);
    plan.operations = std::move(*operations);
    plan.sizes = std::move(*sizes);
    plan.rounds = config.measureRounds;
    plan.warmup = config.measureWarmup;
    plan.seconds = config.measureSeconds;
    if (plan.steps() == 0)
        return failure(ErrorCode::kUsage,
                       "there is nothing to measure; name {measure_operations} or "
                       "{measure_norms}, or switch {measure_machine} on");
    if (!plan.operations.empty() && config.ranks < 2)
        return failure(ErrorCode::kUsage,
                       "{measure_operations} need two ranks or more; use {ranks} 2, or leave the "
                       "operations empty");
    return plan;
}

}  // namespace shardscope::run

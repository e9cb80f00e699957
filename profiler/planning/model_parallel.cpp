#include "profiler/planning/model_parallel.h"

#include "engine/run/theory/model_theory.h"
#include "engine/run/theory/working_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardscope::planning {
namespace {

/// What a table and head hold besides the layers: of the first or the last stage.
double tableParameters(const KnownModel& model) {
    return static_cast<double>(model.vocabulary * model.hidden);
}

double layerParameters(const DividedRun& run) {
    const KnownModel& model = run.model;
    const double all =
        run.parameters > 0 ? run.parameters : static_cast<double>(parameterCount(model));
    const double tables = (model.tiedHead ? 1 : 2) * tableParameters(model) +
                          (model.positions ? static_cast<double>(model.context * model.hidden) : 0);
    return (all - tables) / static_cast<double>(model.layers);
}

/// N': of the stage with the most.
double ownParameters(const DividedRun& run, const Division& division) {
    const KnownModel& model = run.model;
    const auto t = static_cast<double>(division.tensor);
    const auto p = static_cast<double>(division.pipeline);
    double tables = tableParameters(model);
    if (division.pipeline == 1 && !model.tiedHead) tables *= 2;
    if (model.positions) tables += static_cast<double>(model.context * model.hidden);
    return layerParameters(run) * static_cast<double>(model.layers) / (t * p) + tables / t;
}

double ring(double ranks) {
    return (ranks - 1) / ranks;
}

std::string nameOf(const Division& division) {
    std::vector<std::string> parts;
    if (division.tensor > 1)
        parts.push_back(
            fmt::format("tensor {}{}", division.tensor, division.sequence ? " with sequence" : ""));
    if (division.pipeline > 1) parts.push_back(fmt::format("pipeline {}", division.pipeline));
    if (division.data > 1) parts.push_back(fmt::format("data {}", division.data));
    return parts.empty() ? "one rank" : fmt::format("{}", fmt::join(parts, " x "));
}

/// While it runs backward, one layer is there in full.
double recomputedLayer(DividedRun run) {
    run.kept = Kept::kNoScores;
    return layerActivations(run).all();
}

double activationsOf(const DividedRun& run, const Division& division) {
    const KnownModel& model = run.model;
    const auto t = static_cast<double>(division.tensor);
    const auto p = static_cast<double>(division.pipeline);
    const auto tokens = static_cast<double>(model.context * run.microBatch);
    const auto h = static_cast<double>(model.hidden);
    const double inFlight = std::min(static_cast<double>(run.microBatches), p);
    const LayerActivations layer = layerActivations(run);
    const double each = layer.divided / t + layer.whole / (division.sequence ? t : 1);
    double bytes = each * tokens * static_cast<double>(model.layers) / p * inFlight;
    if (run.kept == Kept::kInput) bytes += recomputedLayer(run) * tokens / t;
    if (division.pipeline == 1)
        bytes +=
            2 * run.elementBytes * tokens * h * (1 + static_cast<double>(model.vocabulary) / h) / t;
    return bytes;
}

constexpr KnownModel gpt(std::string_view name, std::int64_t context, std::int64_t layers,
                         std::int64_t hidden, std::int64_t heads) {
    return {name,  50257,      context, layers, hidden, heads,
            heads, 4 * hidden, false,   true,   true,   true};
}

constexpr KnownModel llama(std::string_view name, std::int64_t context, std::int64_t layers,
                           std::int64_t hidden, std::int64_t heads, std::int64_t keyValueHeads,
                           std::int64_t innerWidth) {
    return {name,          32000,      context, layers, hidden, heads,
            keyValueHeads, innerWidth, true,    false,  false,  false};
}

constexpr std::array kModels{
    gpt("gpt2", 1024, 12, 768, 12),
    gpt("gpt2-medium", 1024, 24, 1024, 16),
    gpt("gpt2-large", 1024, 36, 1280, 20),
    gpt("gpt2-xl", 1024, 48, 1600, 25),
    gpt("gpt3-175b", 2048, 96, 12288, 96),
    llama("llama-7b", 2048, 32, 4096, 32, 32, 11008),
    llama("llama-13b", 2048, 40, 5120, 40, 40, 13824),
    llama("llama2-70b", 4096, 80, 8192, 64, 8, 28672),
};

std::int64_t blockCount(const KnownModel& m) {
    const std::int64_t c = m.hidden, keys = c / m.heads * m.keyValueHeads, f = m.innerWidth;
    const std::int64_t matrices = 2 * c * c + 2 * c * keys + (m.gated ? 3 : 2) * c * f;
    const std::int64_t biases = 2 * c + 2 * keys + f + c;
    const std::int64_t norms = 2 * c * (m.biases ? 2 : 1);
    return matrices + norms + (m.biases ? biases : 0);
}

}  // namespace

DividedRun dividedRun(const run::RunConfig& config) {
    const run::ModelConfig& model = config.model;
    DividedRun divided;
    divided.model = {"",
                     model.vocabulary,
                     model.context,
                     model.layers,
                     model.hidden,
                     model.heads,
                     model.heads,
                     model.innerWidth(),
                     model.ffn == run::FeedForward::kSwiglu,
                     false,
                     model.position == run::Position::kLearned,
                     model.tieHead};
    divided.parameters = static_cast<double>(theory::parameterCount(model));
    divided.microBatch = config.batch;
    divided.microBatches = config.accumulate;
    if (theory::computeBytes(config) == theory::kFloatBytes) {
        divided.state = {4, 4, 8};
        divided.elementBytes = theory::kFloatBytes;
    }
    if (config.recomputeEvery == 1) divided.kept = Kept::kInput;
    return divided;
}

LayerActivations layerActivations(const DividedRun& run) {
    const KnownModel& model = run.model;
    const auto h = static_cast<double>(model.hidden);
    const auto inner = static_cast<double>(model.innerWidth);
    const double keys =
        h * static_cast<double>(model.keyValueHeads) / static_cast<double>(model.heads);
    LayerActivations bytes;
    if (run.kept == Kept::kInput) {
        bytes.whole = run.elementBytes * h;
        return bytes;
    }
    // Queries, keys, values and what goes into the projection; what goes into and comes out of the
    // activation function.
    bytes.divided =
        run.elementBytes * (h + 2 * keys + h) + run.elementBytes * (model.gated ? 3 : 2) * inner;
    // Inputs of two norms, of attention and of the feed-forward part.
    bytes.whole = run.elementBytes * 4 * h;
    if (run.dropout) bytes.whole += 2 * h;
    if (run.kept == Kept::kAll) {
        const auto scores = static_cast<double>(model.heads * model.context);
        bytes.divided += (2 * run.elementBytes + (run.dropout ? 1 : 0)) * scores;
    }
    return bytes;
}

DividedPlan planDivision(const DividedRun& run, const Division& division) {
    const auto t = static_cast<double>(division.tensor);
    const auto p = static_cast<double>(division.pipeline);
    const auto d = static_cast<double>(division.data);
    const auto m = static_cast<double>(run.microBatches);
    const double message = run.elementBytes *
                           static_cast<double>(run.model.context * run.microBatch) *
                           static_cast<double>(run.model.hidden);
    const double parameters = ownParameters(run, division);
    DividedPlan plan;
    plan.division = division;
    plan.name = nameOf(division);
    plan.stateBytes =
        parameters * (run.state.parameters + run.state.gradients + run.state.optimizer / d);
    plan.activationBytes = activationsOf(run, division);
    const double allReduces = run.kept == Kept::kInput ? 6 : 4;
    plan.tensorTraffic =
        allReduces * 2 * ring(t) * message * static_cast<double>(run.model.layers) / p * m;
    // One way between two stages; a middle one of more sends both ways.
    if (division.pipeline > 1)
        plan.pipelineTraffic = (division.pipeline == 2 ? 1 : 2) * message * m;
    plan.dataTraffic = parameters * (run.state.gradients + run.state.parameters) * ring(d);
    plan.bubble = (p - 1) / (m + p - 1);
    return plan;
}

std::string whyIndivisible(const KnownModel& model, const Division& division) {
    if (model.heads % division.tensor != 0)
        return fmt::format("{} heads are not divided by {} tensor parallel ranks; choose a divisor",
                           model.heads, division.tensor);
    if (model.innerWidth % division.tensor != 0)
        return fmt::format(
            "an inner width of {} is not divided by {} tensor parallel ranks; choose "
            "a divisor",
            model.innerWidth, division.tensor);
    if (model.layers % division.pipeline != 0)
        return fmt::format("{} layers are not divided by {} pipeline stages; choose a divisor",
                           model.layers, division.pipeline);
    return {};
}

std::vector<DividedPlan> planDivisions(const DividedRun& run, std::int64_t ranks,
                                       std::int64_t ranksOnHost, std::optional<Bytes> memory) {
    std::vector<DividedPlan> plans;
    const auto possible = [&](const Division& division) {
        return ranks % (division.tensor * division.pipeline) == 0 &&
               whyIndivisible(run.model, division).empty();
    };
    const auto over = [&](std::int64_t t, std::int64_t p, bool sequence) {
        return Division{t, p, ranks / (t * p), sequence};
    };
    const auto add = [&](const Division& division) {
        if (!possible(division) || division.tensor * division.pipeline == 1) return;
        for (const DividedPlan& each : plans)
            if (each.division == division) return;
        plans.push_back(planDivision(run, division));
    };
    std::int64_t most = 1;
    for (std::int64_t t = 2; t <= std::min(ranks, ranksOnHost); t *= 2)
        if (possible(over(t, 1, false))) most = t;
    add(over(most, 1, false));
    add(over(most, 1, true));
    std::int64_t stages = 1;
    for (std::int64_t p = 2; p <= ranks; ++p)
        if (possible(over(1, p, false))) stages = p;
    add(over(1, stages, false));
    if (!memory) return plans;
    // As little as is enough, tensors before stages: those have no bubble.
    for (std::int64_t p = 1; p <= ranks; ++p)
        for (std::int64_t t = 1; t <= most; t *= 2) {
            const Division division = over(t, p, t > 1);
            if (ranks % (t * p) != 0 || !possible(division)) continue;
            if (planDivision(run, division).bytes() > static_cast<double>(memory->count)) continue;
            add(division);
            return plans;
        }
    return plans;
}

std::span<const KnownModel> knownModels() {
    return kModels;
}

const KnownModel* findKnownModel(std::string_view name) {
    const auto* const found = std::find_if(kModels.begin(), kModels.end(),
                                           [&](const KnownModel& m) { return m.name == name; });
    return found == kModels.end() ? nullptr : found;
}

std::int64_t parameterCount(const KnownModel& m) {
    const std::int64_t tables = m.vocabulary * (m.tiedHead ? 1 : 2) + (m.positions ? m.context : 0);
    return tables * m.hidden + m.layers * blockCount(m) + m.hidden * (m.biases ? 2 : 1);
}

}  // namespace shardscope::planning

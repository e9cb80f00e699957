// How long one training step of one rank takes: step_bench [preset] [batch] [steps] [word...]
// with the words rmsnorm, rope, swiglu, untied, bf16, fp16.
#include "engine/comm/direct_communicator.h"
#include "engine/control/observer.h"
#include "engine/kernels/attention.h"
#include "engine/kernels/matmul.h"
#include "engine/training/session.h"
#include "storage/model/host_clock.h"

#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace {

using namespace shardscope;

void apply(run::RunConfig& config, const std::string& word) {
    if (word == "rmsnorm") config.model.norm = run::Norm::kRmsNorm;
    if (word == "rope") config.model.position = run::Position::kRope;
    if (word == "swiglu") config.model.ffn = run::FeedForward::kSwiglu;
    if (word == "untied") config.model.tieHead = false;
    if (word == "bf16") config.precision = run::Precision::kBFloat16;
    if (word == "fp16") config.precision = run::Precision::kFloat16;
}

run::RunConfig configOf(int count, char** words) {
    run::RunConfig config;
    config.strategy = run::Strategy::kSingle;
    config.ranks = 1;
    if (count > 1) config.model = *run::findModelPreset(words[1]);
    if (count > 2) config.batch = std::atoi(words[2]);
    if (count > 3) config.steps = std::atoi(words[3]);
    for (int i = 4; i < count; ++i) apply(config, words[i]);
    return config;
}

/// The faster library and attention, as a rank chooses them.
void chooseKernels(const run::RunConfig& config) {
    const run::ModelConfig& m = config.model;
    const auto library = kernels::oneDnnOverMkl(config.batch * m.context, m.hidden) < 1
                             ? kernels::MatmulLibrary::kOneDnn
                             : kernels::MatmulLibrary::kMkl;
    kernels::useMatmulLibrary(library);
    const auto attention =
        kernels::blockedOverFlash(config.batch, m.context, m.heads, m.hidden / m.heads) < 1
            ? kernels::AttentionKind::kBlocked
            : kernels::AttentionKind::kFlash;
    kernels::useAttention(attention);
    fmt::print("{}, attention {}\n", toWord(library), toWord(attention));
}

void runSteps(const run::RunConfig& config) {
    auto segment = comm::Segment::anonymous(std::size_t{64} << 20, 1);
    const auto communicator = comm::makeDirectCommunicator(*segment, 0, nullptr, "bench");
    gpt::Gpt model(config);
    const auto partitioning = training::makePartitioning(
        config, training::placementOf(config, at::kCPU), model, *communicator, nullptr);
    partitioning->load([&](const kernels::Parameter& p) {
        return gpt::initialValue(p, config.model, config.seed);
    });
    training::BatchSource batches;
    batches.stepTokens = config.batch * config.model.context;
    batches.training = [&](std::int32_t, std::int32_t) {
        const auto tokens = [&](std::vector<std::int64_t> shape) {
            return at::randint(0, config.model.vocabulary, shape, at::kLong);
        };
        return data::Batch{tokens({config.batch, config.model.context}),
                           tokens({batches.stepTokens})};
    };
    training::Trainer trainer(config, at::kCPU, model, *partitioning, *communicator, batches,
                              nullptr);
    std::vector<double> milliseconds;
    for (std::int32_t step = 0; step < config.steps; ++step) {
        const std::int64_t start = hostNow();
        if (const auto result = trainer.step(step, false, training::AfterStep::kAnotherStep);
            !result) {
            fmt::print("{}\n", result.error().message);
            return;
        }
        milliseconds.push_back(static_cast<double>(hostNow() - start) * 1e-6);
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    fmt::print("step: best {:.1f} ms, median {:.1f} ms\n", milliseconds.front(),
               milliseconds[milliseconds.size() / 2]);
}

}  // namespace

int main(int count, char** words) {
    // As in a rank (profiler/collectors/allocator): freed memory is kept, not faulted in again.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    at::set_num_threads(1);
    const run::RunConfig config = configOf(count, words);
    chooseKernels(config);
    runSteps(config);
}

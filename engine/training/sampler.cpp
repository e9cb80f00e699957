#include "engine/training/sampler.h"

#include "engine/control/failure_sentence.h"
#include "engine/control/observer.h"
#include "engine/training/outer_layers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace shardscope::training {
namespace {

/// Of the token after `tokens`, at most a context of them: (V) fp32 in host memory.
at::Tensor nextLogits(gpt::Gpt& model, at::Device device, parallel::Partitioning& partitioning,
                      std::span<const std::int64_t> tokens) {
    const auto length = static_cast<std::int64_t>(tokens.size());
    std::vector<std::int64_t> copy(tokens.begin(), tokens.end());
    const at::Tensor window = at::from_blob(copy.data(), {1, length}, at::kLong).to(device);
    constexpr std::int32_t kAhead = 1;
    OuterLayers outer(model, partitioning, kAhead,
                      [](Phase phase) { return control::PhaseScope(nullptr, phase, kRootLayer); });
    at::Tensor x = outer.embed(window, parallel::After::kEvaluation);
    const std::int64_t layers = model.config().layers;
    for (std::int64_t i = 0; i < layers; ++i) {
        const std::size_t unit = model.firstBlock() + static_cast<std::size_t>(i);
        if (i + 1 < layers) {
            partitioning.fetch(unit + 1, Cause::kPrefetch);
        } else {
            outer.prefetchHead();
        }
        partitioning.fetch(unit, Cause::kDemand);
        partitioning.wait(unit);
        x = model.block(i, x, 1);
        partitioning.release(unit, parallel::After::kEvaluation);
    }
    return outer.logits(x.narrow(0, length - 1, 1)).flatten().cpu();
}

/// Kernels chosen on different hosts may differ in the last bit, and so could ranks' choices.
struct Agreed {
    std::int64_t token;
    bool stop;  ///< some rank was asked to
};
Agreed agree(comm::Communicator& communicator, std::int64_t token, bool stopWanted) {
    std::array<double, 2> choice{communicator.rank() == 0 ? static_cast<double>(token) : 0.0,
                                 stopWanted ? 1.0 : 0.0};
    communicator.allReduceSmall(choice, comm::Reduction::kSum, {Cause::kLoss}).wait();
    return {static_cast<std::int64_t>(choice[0]), choice[1] > 0};
}

Result<void> check(const gpt::Gpt& model, std::span<const std::int64_t> prompt) {
    if (prompt.empty()) {
        return failure(ErrorCode::kUsage,
                       "there is nothing to go on from: the prompt is empty; give --prompt a "
                       "character or more");
    }
    for (const std::int64_t token : prompt) {
        if (token >= 0 && token < model.config().vocabulary) continue;
        return failure(ErrorCode::kUsage,
                       fmt::format("token {} of the prompt is not one of the model's {}; use the "
                                   "tokenizer that it was trained with",
                                   token, model.config().vocabulary));
    }
    return {};
}

/// -1 where a logit is not finite.
std::int64_t choose(const at::Tensor& logits, double temperature, std::mt19937_64& generator) {
    const std::span<const float> values{logits.const_data_ptr<float>(),
                                        static_cast<std::size_t>(logits.numel())};
    const bool finite =
        std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    const double uniform = static_cast<double>(generator() >> 11) * 0x1p-53;
    return finite ? drawToken(values, temperature, uniform) : -1;
}

Result<std::vector<std::int64_t>> write(gpt::Gpt& model, at::Device device,
                                        parallel::Partitioning& partitioning,
                                        comm::Communicator& communicator,
                                        std::span<const std::int64_t> prompt,
                                        const Sampling& sampling) {
    std::vector<std::int64_t> text(prompt.begin(), prompt.end());
    std::mt19937_64 generator(sampling.seed);
    const auto context = static_cast<std::size_t>(model.config().context);
    for (std::int64_t i = 0; i < sampling.tokens; ++i) {
        const std::span<const std::int64_t> all(text);
        const at::Tensor logits =
            nextLogits(model, device, partitioning, all.last(std::min(context, all.size())));
        const auto [token, stop] =
            agree(communicator, choose(logits, sampling.temperature, generator),
                  sampling.stopWanted && sampling.stopWanted());
        if (stop) return failure(ErrorCode::kCancelled, "the sample was stopped");
        if (token < 0) {
            return failure(ErrorCode::kRank,
                           fmt::format("the model's logits after {} tokens are not finite; its "
                                       "weights have diverged: lower --lr or use --clip",
                                       text.size()));
        }
        text.push_back(token);
    }
    return text;
}

}  // namespace

std::int64_t drawToken(std::span<const float> logits, double temperature, double uniform) {
    const auto largest = std::max_element(logits.begin(), logits.end());
    if (temperature == 0) return largest - logits.begin();
    const double most = static_cast<double>(*largest);
    const auto weight = [&](float logit) {
        return std::exp((static_cast<double>(logit) - most) / temperature);
    };
    double total = 0;
    for (const float logit : logits) total += weight(logit);
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        sum += weight(logits[i]);
        if (sum > uniform * total) return static_cast<std::int64_t>(i);
    }
    return largest - logits.begin();  // only where rounding ate the last share
}

Result<std::vector<std::int64_t>> sample(gpt::Gpt& model, at::Device device,
                                         parallel::Partitioning& partitioning,
                                         comm::Communicator& communicator,
                                         std::span<const std::int64_t> prompt,
                                         const Sampling& sampling) {
    if (auto checked = check(model, prompt); !checked) return failure(checked);
    const at::NoGradGuard noGradient;
    const control::MemoryScope memory(MemoryCategory::kTemporary, "sample");
    partitioning.reportPhases(false);
    try {
        partitioning.beginStep(-1);
        auto text = write(model, device, partitioning, communicator, prompt, sampling);
        partitioning.reportPhases(true);
        return text;
    } catch (const std::exception& error) {
        partitioning.reportPhases(true);
        return failure(ErrorCode::kRank, control::sentenceOf(error));
    }
}

}  // namespace shardscope::training

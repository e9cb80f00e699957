#include "engine/worker/training_run.h"

#include "engine/run/config/rank_layout.h"
#include "engine/run/config/run_config.h"
#include "engine/tokens/corpus.h"
#include "engine/tokens/encoder.h"
#include "engine/tokens/tokenizer.h"
#include "engine/training/checkpointing.h"
#include "engine/training/sampler.h"
#include "engine/training/session.h"
#include "engine/worker/failure_sentences.h"
#include "storage/model/host_clock.h"
#include "storage/model/plain_text.h"
#include "storage/model/result.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::worker {
namespace {

/// Text to ids and back, by bytes or by a tokenizer.
class Words {
public:
    static Result<Words> open(const std::string& tokenizer) {
        Words words;
        if (tokenizer == tokens::kBytes) return words;
        auto read = tokens::readTokenizer(tokenizer);
        if (!read) return failure(read);
        words.m_tokenizer = std::move(*read);
        return words;
    }

    [[nodiscard]] std::vector<std::int64_t> ids(const std::string& text) const {
        if (!m_tokenizer) {
            std::vector<std::int64_t> bytes;
            for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
            return bytes;
        }
        std::vector<std::uint32_t> ids;
        tokens::Encoder(*m_tokenizer).encode(text, ids);
        return {ids.begin(), ids.end()};
    }

    /// The model may know more tokens than the tokenizer has.
    [[nodiscard]] std::string text(const std::vector<std::int64_t>& ids) const {
        std::string text;
        for (const std::int64_t id : ids) {
            if (!m_tokenizer) {
                text += id < 256 ? std::string(1, static_cast<char>(id)) : fmt::format("<{}>", id);
                continue;
            }
            const auto one = static_cast<std::uint32_t>(id);
            const auto piece = m_tokenizer->decode(std::span(&one, 1));
            text += piece ? *piece : fmt::format("<{}>", id);
        }
        return text;
    }

private:
    std::optional<tokens::Tokenizer> m_tokenizer;
};

/// A collective. The prompt and what follows it, as text; whatever is no UTF-8 is written \xNN.
/// Errors of the tokenizer's file, of the prompt, and of training::sample().
Result<std::string> sampleText(const run::RunConfig& config, gpt::Gpt& model, at::Device device,
                               parallel::Partitioning& partitioning,
                               comm::Communicator& communicator, std::int32_t step,
                               const std::function<bool()>& stopWanted) {
    const auto words = Words::open(config.tokenizer);
    if (!words) return failure(words);
    training::Sampling sampling;
    sampling.tokens = config.sampleTokens;
    sampling.temperature = config.temperature;
    sampling.seed = config.seed + static_cast<std::uint64_t>(step);
    sampling.stopWanted = stopWanted;
    const auto prompt = words->ids(config.prompt);
    auto written = training::sample(model, device, partitioning, communicator, prompt, sampling);
    if (!written) return failure(written);
    return printable(words->text(*written));
}

}  // namespace

using training::AfterStep;

Result<void> TrainingRun::run() {
    auto dataset = data::Dataset::load(m_config);
    if (!dataset) return m_parts.outbox.fail(dataset.error(), "data");
    const std::int32_t rank = m_parts.start.rank;
    const training::RankGroups groups(m_config, m_parts.device, m_parts.communicator,
                                      &m_parts.observer);
    gpt::Gpt model(m_config, groups.tensor());
    const auto partitioning =
        training::makePartitioning(m_config, training::placementOf(m_config, m_parts.device, rank),
                                   model, groups.data(), &m_parts.observer);
    training::Trainer trainer(m_config, m_parts.device, model, *partitioning, m_parts.communicator,
                              training::textBatches(m_config, *dataset, rank), &m_parts.observer,
                              m_parts.gpu ? &m_parts.gpu->runtime() : nullptr, groups.tensor());
    Engine engine{model, *partitioning, trainer};
    Result<void> done = load(engine);
    if (done) done = loop(engine);
    // While what the communicator writes to is still there.
    if (!done) m_parts.giveUp();
    return done;
}

/// Initial values, weights from a file, or a checkpoint.
Result<void> TrainingRun::load(Engine& engine) {
    const control::MemoryScope memory(MemoryCategory::kTemporary, "initial values");
    if (!m_config.resume.empty()) {
        auto from = checkpoint::Checkpoint::open(m_config.resume);
        if (!from) return m_parts.outbox.fail(from.error(), "data");
        if (const auto wrong = checkpoint::mismatch(from->manifest(), m_config.model))
            return m_parts.outbox.fail(
                {ErrorCode::kUsage, fmt::format("{}: {}", from->path(), *wrong)}, "data");
        auto progress = training::readCheckpoint(*from, engine.partitioning, m_parts.communicator);
        if (!progress) return m_parts.outbox.fail(progress.error(), "data");
        engine.trainer.resume(*progress);
        return {};
    }
    if (m_config.weights.empty()) {
        engine.partitioning.load([&](const kernels::Parameter& p) {
            return gpt::initialValue(p, m_config.model, m_config.seed);
        });
        return {};
    }
    auto weights = checkpoint::Weights::open(m_config.weights, m_config.model);
    if (!weights) return m_parts.outbox.fail(weights.error(), "data");
    Result<void> read;
    engine.partitioning.load([&](const kernels::Parameter& p) {
        auto values = weights->read(p.name, p.wholeShape());
        if (!values && read) read = failure(values);
        at::Tensor tensor = gpt::initialValue(p, m_config.model, m_config.seed);
        if (values) tensor.copy_(at::from_blob(values->data(), p.wholeShape()));
        return tensor;
    });
    if (!read) return m_parts.outbox.fail(read.error(), "data");
    return {};
}

Result<void> TrainingRun::loop(Engine& engine) {
    for (std::int32_t step = engine.trainer.progress().nextStep; step < m_config.steps; ++step) {
        auto stop = this->step(engine, step);
        if (!stop) return failure(stop);
        const bool last = step + 1 == m_config.steps;
        // A request to stop does not wait for a whole evaluation.
        if (!*stop && (evaluatesAfter(step) || (last && m_config.evaluateEvery > 0))) {
            stop = evaluate(engine, step);
            if (!stop) return failure(stop);
        }
        if (savesAfter(step) || ((*stop || last) && !m_config.checkpoint.empty())) {
            if (auto done = save(engine); !done) return done;
        }
        if (*stop) break;
    }
    return {};
}

bool TrainingRun::evaluatesAfter(std::int32_t step) const {
    return m_config.evaluateEvery > 0 && (step + 1) % m_config.evaluateEvery == 0;
}

bool TrainingRun::savesAfter(std::int32_t step) const {
    return !m_config.checkpoint.empty() && m_config.checkpointEvery > 0 &&
           (step + 1) % m_config.checkpointEvery == 0;
}

/// The trainer's step, looked at where a report of its types was asked for.
Result<training::StepResults> TrainingRun::runStep(Engine& engine, std::int32_t step) {
    const bool probes =
        m_config.precisionReport && m_parts.start.rank == 0 && m_precision.rows().empty();
    // What it is asked about is over when the next one is queued.
    const bool pauses = step + 1 == m_config.steps || evaluatesAfter(step) || savesAfter(step) ||
                        (m_config.precisionReport && std::exchange(m_first, false));
    if (probes) m_parts.observer.collectives().listen(&m_precision);
    auto results = [&] {
        const control::PrecisionScope scope(probes ? &m_precision : nullptr);
        return engine.trainer.step(step, m_parts.commands.stopWanted(),
                                   pauses ? AfterStep::kPause : AfterStep::kAnotherStep,
                                   m_parts.commands.captureChangeWaits());
    }();
    m_parts.observer.collectives().listen(nullptr);
    if (results && probes) reportPrecision();
    return results;
}

/// Whether the run is to stop after it.
Result<bool> TrainingRun::step(Engine& engine, std::int32_t step) {
    m_parts.beforeStep(step);
    m_parts.observer.stepBegin(step);
    const std::int64_t start = hostNow();
    if (!engine.trainer.owesResult()) m_knownNs = start;
    const auto results = runStep(engine, step);
    if (!results) return failure(stepFailed(results.error(), engine.trainer));
    if (!results->empty() && results->front().failed())
        return failure(notFinite(results->front(), engine.trainer));
    const std::int64_t tokens = run::tokensOf(m_config, m_parts.start.rank);
    // A step that runs ahead has its update's collectives whether it is skipped or not.
    const bool skipped = !engine.trainer.runsAhead() && results->back().skipped;
    m_parts.observer.stepEnd({step, start, hostNow(), tokens, skipped});
    bool stop = false;
    for (const training::StepResult& result : *results) {
        if (result.failed()) return failure(notFinite(result, engine.trainer));
        report(result);
        if (result.change) m_parts.changeCapture();
        stop = stop || result.stop;
    }
    return stop;
}

/// A step that ran ahead took as long as its result came after the one before.
void TrainingRun::report(const training::StepResult& result) {
    using control::Metric;
    RecordingObserver& observer = m_parts.observer;
    const std::int64_t sinceNs = std::exchange(m_knownNs, result.knownNs);
    const double seconds = static_cast<double>(result.knownNs - sinceNs) * 1e-9;
    const auto tokens = static_cast<double>(m_config.batch * m_config.accumulate) *
                        static_cast<double>(m_config.model.context * run::replicasOf(m_config));
    observer.metric(Metric::kLoss, result.step, result.loss);
    observer.metric(Metric::kLearningRate, result.step, result.learningRate);
    if (result.skipped) {
        noteSkippedStep(result, result.step);
    } else {
        observer.metric(Metric::kGradientNorm, result.step, result.gradientNorm);
    }
    if (m_config.precision == run::Precision::kFloat16)
        observer.metric(Metric::kLossScale, result.step, result.lossScale);
    // Last: with it a step counts as reported.
    observer.metric(Metric::kTokensPerSecond, result.step, tokens / seconds);
}

void TrainingRun::reportPrecision() {
    std::string table = "types of tensors in the first step, as they were";
    for (const training::PrecisionRow& row : m_precision.rows())
        table +=
            fmt::format("\n  {:<20} {:<6} {} ({})", row.what, row.dtype, row.where, row.tensors);
    m_parts.outbox.raise(Severity::kNote, "precision-report", table, "");
}

void TrainingRun::noteSkippedStep(const training::StepResult& result, std::int32_t step) {
    if (m_parts.start.rank != 0) return;
    m_parts.outbox.raise(
        Severity::kNote, "step-skipped",
        fmt::format("step {} was skipped: a gradient overflowed in fp16 at loss scale {}; it is "
                    "halved",
                    step, result.lossScale),
        "A few at the start are usual; if they go on, train in bf16 or fp32.");
}

/// Whether it was cut short, since the run is to stop.
Result<bool> TrainingRun::evaluate(Engine& engine, std::int32_t step) {
    auto loss = engine.trainer.evaluate([this] { return m_parts.commands.stopWanted(); });
    if (!loss && loss.error().code == ErrorCode::kCancelled) return true;
    if (!loss) return failure(stepFailed(loss.error(), engine.trainer));
    m_parts.observer.metric(control::Metric::kValidationLoss, step, *loss);
    m_parts.observer.metric(control::Metric::kValidationPerplexity, step, std::exp(*loss));
    return m_config.sampleTokens > 0 ? sample(engine, step) : Result<bool>(false);
}

/// Like evaluate().
Result<bool> TrainingRun::sample(Engine& engine, std::int32_t step) {
    const control::PhaseScope scope(&m_parts.observer, Phase::kSample, kNoLayer);
    const auto text =
        sampleText(m_config, engine.model, m_parts.device, engine.partitioning,
                   m_parts.communicator, step, [this] { return m_parts.commands.stopWanted(); });
    if (!text && text.error().code == ErrorCode::kCancelled) return true;
    if (!text) return m_parts.outbox.fail(text.error(), "failure");
    if (m_parts.start.rank == 0)
        m_parts.outbox.post(run::SampleWritten{{step}, m_parts.session.at(hostNow()), *text});
    return false;
}

Result<void> TrainingRun::save(Engine& engine) {
    const control::PhaseScope scope(&m_parts.observer, Phase::kCheckpoint, kNoLayer);
    auto path = training::writeCheckpoint(m_config, engine.trainer.progress(), engine.model,
                                          engine.partitioning, m_parts.communicator);
    // What another rank could not write is not this one's failure.
    if (!path)
        return m_parts.outbox.fail(
            path.error(), path.error().code == ErrorCode::kRank ? "peer-lost" : "checkpoint");
    if (m_parts.start.rank == 0)
        m_parts.outbox.post(run::LogLine{"info", fmt::format("checkpoint {}", *path)});
    return {};
}

Result<void> TrainingRun::notFinite(const training::StepResult& result,
                                    training::Trainer& trainer) {
    training::StepPosition place = trainer.place();
    const auto found = trainer.findNonFinite(place.step);
    const bool known = found && found->microStep >= 0;
    if (known) place = *found;
    m_parts.observer.metric(control::Metric::kLoss, result.step, result.loss);
    m_parts.observer.metric(control::Metric::kGradientNorm, result.step, result.gradientNorm);
    run::RankFailed failed;
    failed.code = "non-finite-loss";
    failed.message = notFiniteSentence(result, place, known);
    return post(failed, place);
}

Result<void> TrainingRun::stepFailed(const Error& error, const training::Trainer& trainer) {
    run::RankFailed failed;
    failed.code = trainer.place().waitedFor < 0 ? "failure"
                  : trainer.place().hearsay     ? "peer-lost"
                                                : "peer-late";
    failed.message = error.message;
    if (const auto memory = outOfMemorySentence(m_config, trainer.place())) {
        failed.code = "out-of-memory";
        failed.message = *memory;
    }
    // LibTorch's own words are for its developers; the device often knows better.
    if (const auto known = m_parts.gpu ? m_parts.gpu->diagnose() : std::nullopt) {
        failed.code = known->code;
        failed.message = known->message;
    }
    return post(failed, trainer.place());
}

Result<void> TrainingRun::post(run::RankFailed failed, const training::StepPosition& place) {
    failed.step = place.step;
    failed.phase = toWord(place.phase);
    failed.layer = place.layer.value;
    failed.waitedFor = place.waitedFor;
    m_parts.outbox.post(failed);
    return failure(ErrorCode::kRank, failed.message);
}

}  // namespace shardscope::worker

#include "engine/control/run_fields.h"

#include "engine/control/near_miss.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace shardscope::control {
namespace {

template <class T>
FieldValue toValue(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return std::string(toWord(value));
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> ||
                         std::is_same_v<T, std::string>) {
        return value;
    } else {
        return static_cast<std::int64_t>(value);
    }
}

template <class T>
Result<void> assignInteger(T& target, const FieldValue& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr) return failure(ErrorCode::kUsage, "must be a whole number");
    if (!std::in_range<T>(*number)) {
        return failure(ErrorCode::kUsage, fmt::format("{} is out of range", *number));
    }
    target = static_cast<T>(*number);
    return {};
}

template <class T>
Result<void> assignWord(T& target, const FieldValue& value) {
    const auto* word = std::get_if<std::string>(&value);
    if (word == nullptr) return failure(ErrorCode::kUsage, "must be a word in quotes");
    const auto parsed = fromWord<T>(*word);
    if (!parsed) {
        return failure(ErrorCode::kUsage,
                       fmt::format("'{}' is unknown{}", *word, suggestion(*word, wordVector<T>())));
    }
    target = *parsed;
    return {};
}

template <class T>
Result<void> assign(T& target, const FieldValue& value) {
    if constexpr (std::is_enum_v<T>) {
        return assignWord(target, value);
    } else if constexpr (std::is_same_v<T, bool>) {
        const auto* flag = std::get_if<bool>(&value);
        if (flag == nullptr) return failure(ErrorCode::kUsage, "must be true or false");
        target = *flag;
    } else if constexpr (std::is_same_v<T, std::string>) {
        const auto* text = std::get_if<std::string>(&value);
        if (text == nullptr) return failure(ErrorCode::kUsage, "must be text in quotes");
        target = *text;
    } else if constexpr (std::is_same_v<T, double>) {
        // 1 is as good a number as 1.0
        const auto* whole = std::get_if<std::int64_t>(&value);
        const auto* number = std::get_if<double>(&value);
        if (whole == nullptr && number == nullptr) {
            return failure(ErrorCode::kUsage, "must be a number");
        }
        target = whole != nullptr ? static_cast<double>(*whole) : *number;
    } else {
        return assignInteger(target, value);
    }
    return {};
}

template <auto Member>
constexpr RunField field(const char* key, const char* flag, const char* argument,
                         const char* help) {
    return {
        key,
        flag,
        argument,
        help,
        [](const RunConfig& config) { return toValue(config.*Member); },
        [](RunConfig& config, const FieldValue& value) { return assign(config.*Member, value); }};
}

template <auto Member>
constexpr RunField modelField(const char* key, const char* flag, const char* argument,
                              const char* help) {
    return {key,
            flag,
            argument,
            help,
            [](const RunConfig& config) { return toValue(config.model.*Member); },
            [](RunConfig& config, const FieldValue& value) {
                return assign(config.model.*Member, value);
            }};
}

}  // namespace

const std::vector<RunField>& runFields() {
    using C = RunConfig;
    using M = ModelConfig;
    static const std::vector<RunField> kFields = {
        modelField<&M::name>("model.name", "", "NAME", "name of the model"),
        modelField<&M::vocabulary>("model.vocabulary", "--vocabulary", "N", "token kinds"),
        modelField<&M::context>("model.context", "--context", "N", "tokens of a sequence"),
        modelField<&M::layers>("model.layers", "--layers", "N", "transformer blocks"),
        modelField<&M::heads>("model.heads", "--heads", "N", "attention heads"),
        modelField<&M::hidden>("model.hidden", "--hidden", "N", "width, a multiple of heads"),
        modelField<&M::ffnWidth>("model.ffn_width", "--ffn-width", "N",
                                 "inner width of the feed-forward part; 0: 4 x hidden"),
        modelField<&M::norm>("model.norm", "--norm", "WORD", "layernorm or rmsnorm"),
        modelField<&M::position>("model.position", "--position", "WORD", "learned or rope"),
        modelField<&M::ffn>("model.ffn", "--ffn", "WORD", "gelu or swiglu"),
        modelField<&M::tieHead>("model.tie_head", "--no-tie-head", "",
                                "give the head a matrix of its own"),
        field<&C::strategy>("strategy", "--strategy", "WORD",
                            "single, ddp-naive, ddp-flat, ddp-overlap, ddp-bucket, zero1, zero2, "
                            "zero3 or hsdp"),
        field<&C::ranks>("ranks", "--ranks", "N", "training processes"),
        field<&C::threads>("threads", "--threads", "N",
                           "compute threads per rank; 0: usable cores / ranks"),
        field<&C::device>("device", "--device", "WORD", "cpu or cuda (one GPU a rank)"),
        field<&C::shareDevice>("share_device", "--share-device", "",
                               "let several ranks use one GPU; for trying out, not for timing"),
        field<&C::precision>("precision", "--precision", "WORD",
                             "fp32, tf32 (GPU), bf16 or fp16 (fp32 master weights)"),
        field<&C::reduceIn>("reduce", "--reduce", "WORD",
                            "sum gradients over ranks in fp32 or bf16"),
        field<&C::data>("data", "--data", "PATH",
                        "text file or folder, token file (.bin), or synthetic; default: the "
                        "project's own source tree"),
        field<&C::tokenizer>("tokenizer", "--tokenizer", "PATH",
                             "bytes, or a byte-level BPE: folder, tokenizer.json, vocabulary"),
        field<&C::heldBack>("held_back", "--held-back", "FRACTION",
                            "end of the data kept for validation"),
        field<&C::steps>("steps", "--steps", "N", "training steps"),
        field<&C::batch>("batch", "--batch", "N", "sequences of a rank and micro-step"),
        field<&C::accumulate>("accumulate", "--accumulate", "N", "micro-steps of a step"),
        field<&C::evaluateEvery>("evaluate_every", "--evaluate-every", "N",
                                 "steps between validation passes; 0: never"),
        field<&C::evaluateBatches>("evaluate_batches", "--evaluate-batches", "N",
                                   "batches of a rank in a validation pass"),
        field<&C::learningRate>("learning_rate", "--lr", "X", "largest learning rate"),
        field<&C::minimumLearningRate>("minimum_learning_rate", "--min-lr", "X",
                                       "learning rate at the end of the cosine"),
        field<&C::warmupSteps>("warmup_steps", "--warmup", "N", "steps of linear warm-up"),
        field<&C::schedule>("schedule", "--schedule", "WORD",
                            "learning rate after warm-up: cosine, linear or constant"),
        field<&C::weightDecay>("weight_decay", "--weight-decay", "X", "of matrices and embeddings"),
        field<&C::decayEmbeddings>("decay_embeddings", "--no-decay-embeddings", "",
                                   "no weight decay on embeddings"),
        field<&C::decayVectors>("decay_vectors", "--decay-vectors", "",
                                "weight decay on norms' weights and biases too"),
        field<&C::beta1>("beta1", "", "X", "AdamW's first decay rate"),
        field<&C::beta2>("beta2", "", "X", "AdamW's second decay rate"),
        field<&C::epsilon>("epsilon", "", "X", "AdamW's epsilon"),
        field<&C::clip>("clip", "--clip", "X", "largest gradient norm; 0: no clipping"),
        field<&C::seed>("seed", "--seed", "N", "of weights and batches"),
        field<&C::prefetch>("prefetch", "--prefetch", "N", "zero3, hsdp: blocks gathered ahead"),
        field<&C::reshardAfterForward>("reshard_after_forward", "--no-reshard-after-forward", "",
                                       "zero3, hsdp: keep blocks gathered until backward"),
        field<&C::keepGathered>("keep_gathered", "--keep-gathered", "",
                                "zero3, hsdp: gather once a step, keep over micro-steps"),
        field<&C::keepGradients>("keep_gradients", "--keep-gradients", "",
                                 "zero3, hsdp: reduce gradients in the last micro-step only"),
        field<&C::shardRanks>("shard_ranks", "--shard-ranks", "N",
                              "hsdp: ranks that share one copy of the state"),
        field<&C::vocabularyPieces>("vocabulary_pieces", "--vocabulary-pieces", "N",
                                    "zero3, hsdp: pieces of token table and head; 0: by size"),
        field<&C::offload>("offload", "--offload", "WORD",
                           "to host memory, from a GPU: none, optimizer or gradients (both)"),
        field<&C::bucketMegabytes>("bucket_mb", "--bucket-mb", "N",
                                   "ddp-bucket: megabytes of gradients sent at a time"),
        field<&C::compression>("compress", "--compress", "WORD",
                               "ddp: send gradients as none, bf16 or topk (lossy)"),
        field<&C::keptFraction>("kept_fraction", "--kept-fraction", "FRACTION",
                                "of gradients that --compress topk sends"),
        field<&C::recomputeEvery>("recompute_every", "--recompute-every", "N",
                                  "activation checkpointing of every N-th block; 0: none"),
        field<&C::lossScale>("loss_scale", "--loss-scale", "X", "fp16: at the start"),
        field<&C::precisionReport>("precision_report", "--precision-report", "",
                                   "list the types of tensors as they really were"),
        field<&C::transport>("transport", "--transport", "WORD", "auto, shared-memory or gloo"),
        field<&C::interface>("interface", "--interface", "NAME",
                             "gloo: network interface or address"),
        field<&C::linkLatencyMicroseconds>("link_latency_us", "--link-latency-us", "X",
                                           "latency of a modelled link, with --link-gb-per-s"),
        field<&C::linkGigabytesPerSecond>("link_gb_per_s", "--link-gb-per-s", "X",
                                          "slow collectives down to this link; 0: do not"),
        field<&C::checkpoint>("checkpoint", "--checkpoint", "DIR",
                              "folder to write checkpoints to"),
        field<&C::checkpointEvery>("checkpoint_every", "--checkpoint-every", "N",
                                   "steps between checkpoints; 0: at the end only"),
        field<&C::keepCheckpoints>("keep_checkpoints", "--keep-checkpoints", "N",
                                   "checkpoints kept"),
        field<&C::resume>("resume", "--resume", "DIR", "checkpoint to go on from"),
        field<&C::weights>("weights", "--weights", "FILE", "safetensors file to start from"),
        field<&C::sampleTokens>("sample", "--sample", "N",
                                "tokens the model writes after each validation pass"),
        field<&C::prompt>("prompt", "--prompt", "TEXT", "what its text starts with"),
        field<&C::temperature>("temperature", "--temperature", "X",
                               "of its choice; 0: the likeliest token"),
        field<&C::capture>("capture", "--capture", "WORD", "off, steps, light or full"),
        field<&C::deviceCapture>("device_capture", "--device-capture", "WORD",
                                 "auto, never, idle, kernels, launches or full"),
        field<&C::collectiveTimeout>("collective_timeout", "--collective-timeout", "SECONDS",
                                     "when a running collective counts as hung"),
        field<&C::alternateCapture>("alternate_capture", "--alternate-capture", "",
                                    "trace every other step only, to measure tracing's cost"),
        field<&C::captureSteps>("capture_steps", "--capture-steps", "LIST",
                                "trace only these steps in detail, from 0: 10-20,500-520"),
        field<&C::captureEvery>("capture_every", "--capture-every", "N",
                                "trace only every N-th step in detail; 0: all"),
        field<&C::captureSlow>("capture_slow", "--capture-slow", "X",
                               "keep detail only around steps of X times the median; 0: all"),
        field<&C::maxSize>("max_size", "--max-size", "SIZE",
                           "largest recording, like 2GB: the oldest steps lose detail"),
        field<&C::maxRate>("max_rate", "--max-rate", "RATE", "largest average growth, like 2MB/s"),
        field<&C::calibrate>("calibrate", "--no-calibrate", "",
                             "skip measuring the matrix-multiply peak"),
        field<&C::output>("output", "--output", "FILE", "recording to write"),
        field<&C::reference>("reference", "", "DIR", "reference folder to follow"),
    };
    return kFields;
}

const RunField* findRunField(std::string_view key) {
    for (const RunField& field : runFields()) {
        if (key == field.key) return &field;
    }
    return nullptr;
}

Result<void> setFromText(const RunField& field, RunConfig& config, const std::string& text) {
    const FieldValue current = field.get(config);
    FieldValue value = text;
    const char* end = text.data() + text.size();
    if (std::holds_alternative<std::int64_t>(current)) {
        std::int64_t number = 0;
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc{} && rest == end) value = number;
    } else if (std::holds_alternative<double>(current)) {
        double number = 0;
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc{} && rest == end) value = number;
    }
    if (auto done = field.set(config, value); !done) {
        return failure(ErrorCode::kUsage,
                       fmt::format("{} {}: {}", field.flag, text, done.error().message));
    }
    return {};
}

Result<void> setModelPreset(RunConfig& config, const std::string& name) {
    const auto preset = findModelPreset(name);
    if (!preset) {
        return failure(ErrorCode::kUsage, fmt::format("unknown model '{}'{}", name,
                                                      suggestion(name, modelPresetNames())));
    }
    config.model = *preset;
    return {};
}

std::vector<std::string> modelPresetNames() {
    std::vector<std::string> names;
    for (const ModelConfig& preset : modelPresets()) names.push_back(preset.name);
    return names;
}

}  // namespace shardscope::control

#include "engine/run/config/near_miss.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>

#include <charconv>
#include <type_traits>
#include <utility>

namespace shardscope::run {
namespace {

template <class T>
OptionValue toValue(const T& value) {
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
Result<void> assignInteger(T& target, const OptionValue& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr) return failure(ErrorCode::kUsage, "must be a whole number");
    if (!std::in_range<T>(*number)) {
        return failure(ErrorCode::kUsage, fmt::format("{} is out of range", *number));
    }
    target = static_cast<T>(*number);
    return {};
}

template <class T>
Result<void> assignWord(T& target, const OptionValue& value) {
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
Result<void> assign(T& target, const OptionValue& value) {
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

template <Worded Enum>
std::vector<OptionChoice> choicesOf() {
    std::vector<OptionChoice> choices;
    for (const auto& entry : kWords<Enum>) {
        OptionChoice choice{entry.word, entry.word, ""};
        if constexpr (requires { entry.name; }) choice.name = entry.name;
        if constexpr (requires { entry.note; }) choice.note = entry.note;
        choices.push_back(std::move(choice));
    }
    return choices;
}

/// The model's name is free, and a preset's by choice.
std::vector<OptionChoice> presetChoices() {
    std::vector<OptionChoice> choices;
    for (const std::string& name : modelPresetNames()) choices.push_back({name, name, ""});
    choices.push_back({"custom", "custom", ""});
    return choices;
}

/// An option and how to go on describing it.
struct Entry : RunOption {
    constexpr Entry(const RunOption& option) : RunOption(option) {}
    [[nodiscard]] constexpr Entry withUnit(const char* words) const {
        Entry entry = *this;
        entry.unit = words;
        return entry;
    }
    [[nodiscard]] constexpr Entry withNote(const char* words) const {
        Entry entry = *this;
        entry.note = words;
        return entry;
    }
    [[nodiscard]] constexpr Entry within(double first, double last) const {
        Entry entry = *this;
        entry.least = first;
        entry.most = last;
        return entry;
    }
    [[nodiscard]] constexpr Entry seldom() const {
        Entry entry = *this;
        entry.rare = true;
        return entry;
    }
    [[nodiscard]] constexpr Entry as(OptionText kind) const {
        Entry entry = *this;
        entry.text = kind;
        return entry;
    }
};

template <class Member>
struct MemberOf;
template <class Owner, class T>
struct MemberOf<T Owner::*> {
    using Type = T;
    static constexpr bool ofModel = std::is_same_v<Owner, ModelConfig>;
};

template <auto Member>
auto& memberIn(auto& config) {
    if constexpr (MemberOf<decltype(Member)>::ofModel)
        return config.model.*Member;
    else
        return config.*Member;
}

template <auto Member>
constexpr Entry option(const char* key, const char* flag, const char* argument,
                       OptionSection section, const char* name, const char* help) {
    using T = typename MemberOf<decltype(Member)>::Type;
    RunOption made;
    made.key = key;
    made.flag = flag;
    made.argument = argument;
    made.section = section;
    made.name = name;
    made.help = help;
    made.get = [](const RunConfig& config) { return toValue(memberIn<Member>(config)); };
    made.set = [](RunConfig& config, const OptionValue& value) {
        return assign(memberIn<Member>(config), value);
    };
    if constexpr (std::is_enum_v<T>) made.choices = choicesOf<T>;
    return made;
}

using C = RunConfig;
using M = ModelConfig;
using S = OptionSection;
constexpr double kManySteps = 2e9, kLargeCount = 1 << 20;

std::vector<RunOption> ofModel() {
    RunOption name = option<&M::name>("model.name", "", "NAME", S::kModel, "Model size",
                                      "preset that sets layers, heads, hidden size, context and "
                                      "vocabulary");
    name.choices = presetChoices;
    return {
        name,
        option<&M::layers>("model.layers", "--layers", "N", S::kModel, "Layers",
                           "number of transformer blocks")
            .withNote("transformer blocks")
            .within(1, 32'767),
        option<&M::heads>("model.heads", "--heads", "N", S::kModel, "Heads",
                          "number of attention heads; must divide the hidden size")
            .withNote("of each block")
            .within(1, 1 << 16),
        option<&M::hidden>("model.hidden", "--hidden", "N", S::kModel, "Hidden size",
                           "hidden size (embedding dimension)")
            .withNote("a multiple of heads")
            .within(1, 1 << 20),
        option<&M::context>("model.context", "--context", "N", S::kModel, "Context",
                            "context length: tokens per sequence")
            .withUnit("tokens")
            .within(1, 1 << 20),
        option<&M::vocabulary>("model.vocabulary", "--vocabulary", "N", S::kModel, "Vocabulary",
                               "vocabulary size; at least that of the tokenizer")
            .withUnit("tokens")
            .withNote("256: bytes")
            .within(2, 1 << 24),
        option<&M::norm>("model.norm", "--norm", "WORD", S::kModelParts, "Norm",
                         "layernorm subtracts the mean, divides by the standard deviation and has "
                         "a bias; rmsnorm divides by the root mean square only")
            .seldom(),
        option<&M::position>("model.position", "--position", "WORD", S::kModelParts, "Positions",
                             "learned position embeddings, or rope: rotary embeddings of queries "
                             "and keys")
            .seldom(),
        option<&M::ffn>("model.ffn", "--ffn", "WORD", S::kModelParts, "Feed-forward",
                        "gelu: two projections with GELU between; swiglu: a third one, through "
                        "SiLU, gates the first")
            .seldom(),
        option<&M::ffnWidth>("model.ffn_width", "--ffn-width", "N", S::kModelParts,
                             "Feed-forward size",
                             "inner dimension of the feed-forward layers; 0: 4 x hidden size")
            .withNote("0: 4 × hidden size")
            .within(0, 1 << 24)
            .seldom(),
        option<&M::tieHead>("model.tie_head", "--no-tie-head", "", S::kModelParts,
                            "Tie head to token embedding",
                            "the output head shares the matrix of the token embedding")
            .seldom()};
}

std::vector<RunOption> ofStrategy() {
    return {
        option<&C::strategy>("strategy", "--strategy", "WORD", S::kStrategy, "Strategy",
                             "what each rank keeps whole, and what is communicated when"),
        option<&C::ranks>("ranks", "--ranks", "N", S::kStrategy, "Ranks",
                          "number of ranks (training processes)")
            .within(1, 1024),
        option<&C::threads>("threads", "--threads", "N", S::kStrategy, "Threads per rank",
                            "number of compute threads per rank; 0: usable cores / ranks")
            .withNote("0: usable cores / ranks")
            .within(0, 1024),
        option<&C::batch>("batch", "--batch", "N", S::kStrategy, "Micro-batch",
                          "micro-batch size: sequences per rank and micro-step")
            .withUnit("sequences")
            .within(1, kLargeCount),
        option<&C::accumulate>("accumulate", "--accumulate", "N", S::kStrategy,
                               "Gradient accumulation",
                               "micro-steps whose gradients are accumulated per optimizer step")
            .withUnit("micro-steps")
            .within(1, kLargeCount),
        option<&C::recomputeEvery>("recompute_every", "--recompute-every", "N", S::kStrategy,
                                   "Recompute every",
                                   "activation checkpointing of every N-th block, which runs "
                                   "forward again in backward: less memory, more work; 0: none")
            .withUnit("blocks")
            .withNote("0: keep activations")
            .within(0, 32'767),
        option<&C::prefetch>("prefetch", "--prefetch", "N", S::kStrategy, "Prefetch",
                             "blocks whose parameters are gathered ahead of their use (zero3, "
                             "hsdp)")
            .withUnit("blocks")
            .withNote("gathered ahead")
            .within(0, 32'767),
        option<&C::bucketMegabytes>("bucket_mb", "--bucket-mb", "N", S::kStrategy, "Bucket size",
                                    "bucket size of gradients, which are all-reduced as soon as "
                                    "a bucket is complete (ddp-bucket)")
            .withUnit("MB")
            .withNote("of gradients per all-reduce")
            .within(1e-6, 1 << 20),
        option<&C::shardRanks>("shard_ranks", "--shard-ranks", "N", S::kStrategy, "Ranks per group",
                               "ranks per sharding group, which hold one copy of the state; must "
                               "divide the ranks (hsdp)")
            .withNote("share one copy of the state")
            .within(0, 1024),
        option<&C::tensor>("tensor", "--tensor", "T", S::kStrategy, "Tensor parallel ranks",
                           "ranks that share every layer (tensor parallelism); must divide the "
                           "ranks, the heads and the feed-forward size; 1: layers are whole")
            .withNote("1: layers are whole")
            .within(1, 1024),
        option<&C::sequence>("sequence", "--sequence", "", S::kStrategy, "Sequence parallel",
                             "what lies between layers is divided by rows over the ranks of a "
                             "tensor group: less memory for activations")};
}

std::vector<RunOption> ofHosts() {
    return {
        option<&C::hosts>("hosts", "--hosts", "FILE|LIST", S::kHosts, "Hosts",
                          "hosts of the ranks, reached through ssh: a host file (`host slots=4` a "
                          "line), or a list as node-a:4,node-b:4; localhost is this one")
            .withNote("none: this one"),
        option<&C::sshCommand>("ssh_command", "--ssh-command", "WORDS", S::kHosts, "ssh",
                               "ssh and its first arguments, as 'ssh -F FILE'")
            .seldom(),
        option<&C::deployLibTorch>(
            "deploy_libtorch", "--deploy-libtorch", "", S::kHosts, "Send LibTorch",
            "send LibTorch (its CPU part, 512 MB) to hosts that have none, once")
            .seldom(),
        option<&C::dataRoot>("data_root", "--data-root", "FOLDER", S::kHosts, "Folder of the data",
                             "folder that the data lies in on other hosts, by the same name; a "
                             "host's own `data=` goes before")
            .seldom(),
        option<&C::sendData>("send_data", "--send-data", "", S::kHosts, "Send the data",
                             "send the data to hosts that do not have the same, once")
            .seldom(),
        option<&C::hostLease>("host_lease", "--host-lease", "SECONDS", S::kHosts, "Host lease",
                              "a host that is not heard of for so long counts as lost, and ends "
                              "its ranks by itself")
            .withUnit("s")
            .within(2, 3'600)
            .seldom(),
        option<&C::spill>("spill", "--spill", "SIZE", S::kHosts, "Spill",
                          "events that a host keeps on its disk at most while the link is slower "
                          "than they come")
            .seldom(),
        option<&C::restart>("restart", "--restart", "N", S::kHosts, "Restarts",
                            "times that a run which lost a host goes on, from its last "
                            "checkpoint, on the hosts that are left")
            .within(0, 100)
            .seldom()};
}

std::vector<RunOption> ofCommunication() {
    return {
        option<&C::compression>("compress", "--compress", "WORD", S::kCommunication,
                                "Compress gradients",
                                "lossy compression of gradients with error feedback (ddp-*)")
            .seldom(),
        option<&C::keptFraction>("kept_fraction", "--kept-fraction", "FRACTION", S::kCommunication,
                                 "Kept by top-k",
                                 "fraction of the gradients, the largest, that topk sends")
            .withUnit("fraction")
            .within(1e-6, 1)
            .seldom(),
        option<&C::reshardAfterForward>("reshard_after_forward", "--no-reshard-after-forward", "",
                                        S::kCommunication, "Reshard after forward",
                                        "gathered parameters are freed after forward and gathered "
                                        "again for backward (zero3, hsdp)")
            .seldom(),
        option<&C::keepGathered>("keep_gathered", "--keep-gathered", "", S::kCommunication,
                                 "Keep parameters over micro-steps",
                                 "parameters are gathered once per step and kept until its last "
                                 "micro-step; gradients too (zero3, hsdp)")
            .seldom(),
        option<&C::keepGradients>("keep_gradients", "--keep-gradients", "", S::kCommunication,
                                  "Keep gradients over micro-steps",
                                  "gradients stay whole and are reduced in the last micro-step "
                                  "only (zero3, hsdp)")
            .seldom(),
        option<&C::vocabularyPieces>("vocabulary_pieces", "--vocabulary-pieces", "N",
                                     S::kCommunication, "Pieces of the vocabulary",
                                     "pieces in which token embedding and head are gathered: less "
                                     "peak memory (zero3, hsdp); 0: by their size")
            .withNote("0: by its size")
            .within(0, 1024)
            .seldom(),
        option<&C::transport>("transport", "--transport", "WORD", S::kCommunication, "Transport",
                              "how CPU ranks reach each other")
            .seldom(),
        option<&C::interface>("interface", "--interface", "NAME", S::kCommunication,
                              "Network interface",
                              "network interface, by name or address, of the ranks' connections: "
                              "of Gloo, and on hosts that name none")
            .seldom(),
        option<&C::encrypt>("encrypt", "--encrypt", "", S::kCommunication, "Encrypt",
                            "encrypt what CPU ranks send over a network (AES-256-GCM)")
            .seldom(),
        option<&C::linkGigabytesPerSecond>("link_gb_per_s", "--link-gb-per-s", "X",
                                           S::kCommunication, "Modelled link",
                                           "bandwidth of a modelled link that collectives are "
                                           "slowed down to; 0: none")
            .withUnit("GB/s")
            .withNote("0: none")
            .within(0, 1e6)
            .seldom(),
        option<&C::linkLatencyMicroseconds>("link_latency_us", "--link-latency-us", "X",
                                            S::kCommunication, "Latency of the modelled link",
                                            "latency per message of the modelled link")
            .withUnit("µs")
            .within(0, 1e7)
            .seldom(),
        option<&C::collectiveTimeout>("collective_timeout", "--collective-timeout", "SECONDS",
                                      S::kCommunication, "Collective timeout",
                                      "a collective that runs longer ends the run, naming the "
                                      "rank that is missing; on GPUs one that is late, and may "
                                      "be writing a checkpoint, has ten times as long")
            .withUnit("s")
            .within(1, 86'400)
            .seldom()};
}

std::vector<RunOption> ofDevice() {
    return {
        option<&C::device>("device", "--device", "WORD", S::kDevice, "Device",
                           "what ranks compute on; cuda: one GPU per rank"),
        option<&C::shareDevice>("share_device", "--share-device", "", S::kDevice,
                                "Let ranks share a GPU",
                                "several ranks may use one GPU: for trying out, not for timing")
            .seldom(),
        option<&C::graphs>("graphs", "--graphs", "", S::kDevice, "CUDA graphs",
                           "capture micro-steps into CUDA graphs and launch each as one")
            .seldom(),
        option<&C::offload>("offload", "--offload", "WORD", S::kDevice, "Offload",
                            "state kept in host memory, where the optimizer then runs; gradients: "
                            "both")
            .withNote("to host memory")
            .seldom(),
        option<&C::precision>("precision", "--precision", "WORD", S::kDevice, "Precision",
                              "of parameters, activations and matrix products; bf16 and fp16 keep "
                              "fp32 master weights, fp16 scales the loss"),
        option<&C::reduceIn>("reduce", "--reduce", "WORD", S::kDevice, "Reduce gradients in",
                             "data type in which gradients are reduced over ranks")
            .seldom(),
        option<&C::attention>("attention", "--attention", "WORD", S::kDevice, "Attention kernel",
                              "kernel of causal attention; fix it to compare runs kernel by kernel")
            .seldom(),
        option<&C::products>("products", "--products", "WORD", S::kDevice, "Matrix products by",
                             "library of fp32 matrix products on CPUs; fix it to compare runs")
            .seldom(),
        option<&C::lossScale>("loss_scale", "--loss-scale", "X", S::kDevice, "Initial loss scale",
                              "initial loss scale of fp16; halved on overflow, doubled after "
                              "2,000 steps without")
            .withNote("at the start")
            .within(1, 1e9)
            .seldom(),
        option<&C::precisionReport>("precision_report", "--precision-report", "", S::kDevice,
                                    "List data types",
                                    "list the data types that parameters, activations and "
                                    "gradients really had")
            .seldom()};
}

std::vector<RunOption> ofData() {
    return {
        option<&C::data>("data", "--data", "PATH", S::kData, "Data",
                         "text file or folder, token file (.bin), or the word synthetic for "
                         "random tokens; default: the project's own source tree, and "
                         "random tokens for a vocabulary below 256")
            .as(OptionText::kFileOrFolder),
        option<&C::tokenizer>("tokenizer", "--tokenizer", "PATH", S::kData, "Tokenizer",
                              "the word bytes, or a byte-level BPE: its folder, tokenizer.json or "
                              "vocabulary file")
            .as(OptionText::kFileOrFolder)};
}

std::vector<RunOption> ofTraining() {
    return {option<&C::steps>("steps", "--steps", "N", S::kTraining, "Steps",
                              "number of optimizer steps")
                .within(1, kManySteps),
            option<&C::learningRate>("learning_rate", "--lr", "X", S::kTraining, "Learning rate",
                                     "peak learning rate, reached at the end of the warm-up")
                .withNote("at its peak")
                .within(0, 1e3),
            option<&C::schedule>("schedule", "--schedule", "WORD", S::kTraining, "Schedule",
                                 "learning rate schedule after the warm-up"),
            option<&C::warmupSteps>("warmup_steps", "--warmup", "N", S::kTraining, "Warm-up",
                                    "steps of linear warm-up of the learning rate")
                .withUnit("steps")
                .within(0, kManySteps),
            option<&C::minimumLearningRate>("minimum_learning_rate", "--min-lr", "X", S::kTraining,
                                            "Final learning rate",
                                            "learning rate at the end of the schedule")
                .within(0, 1e3),
            option<&C::seed>("seed", "--seed", "N", S::kTraining, "Seed",
                             "random seed for weights and batch order")
                .within(0, 9.2e18),
            option<&C::clip>("clip", "--clip", "X", S::kTraining, "Gradient clipping",
                             "largest norm of the gradients, which are scaled down to it; 0: no "
                             "clipping")
                .withNote("norm; 0: none")
                .within(0, 1e12),
            option<&C::weightDecay>("weight_decay", "--weight-decay", "X", S::kTraining,
                                    "Weight decay", "decoupled weight decay (AdamW)")
                .within(0, 1e3),
            option<&C::decayEmbeddings>("decay_embeddings", "--no-decay-embeddings", "",
                                        S::kTraining, "Decay embeddings",
                                        "weight decay on token and position embeddings too")
                .seldom(),
            option<&C::decayVectors>("decay_vectors", "--decay-vectors", "", S::kTraining,
                                     "Decay norms and biases",
                                     "weight decay on weights and biases of norms too")
                .seldom(),
            option<&C::beta1>("beta1", "", "X", S::kTraining, "", "AdamW's beta1")
                .within(0, 0.999999999),
            option<&C::beta2>("beta2", "", "X", S::kTraining, "", "AdamW's beta2")
                .within(0, 0.999999999),
            option<&C::epsilon>("epsilon", "", "X", S::kTraining, "", "AdamW's epsilon")
                .within(1e-30, 1)};
}

std::vector<RunOption> ofValidation() {
    return {
        option<&C::evaluateEvery>("evaluate_every", "--evaluate-every", "N", S::kValidation,
                                  "Validate every", "steps between validation passes; 0: never")
            .withUnit("steps")
            .withNote("0: never")
            .within(0, kManySteps),
        option<&C::evaluateBatches>("evaluate_batches", "--evaluate-batches", "N", S::kValidation,
                                    "Validation pass", "batches per rank of a validation pass")
            .withUnit("batches per rank")
            .within(1, kLargeCount)
            .seldom(),
        option<&C::heldBack>("held_back", "--held-back", "FRACTION", S::kValidation, "Held out",
                             "fraction of the data, at its end, held out for validation")
            .withUnit("fraction")
            .withNote("of the data")
            .within(0, 0.9)
            .seldom(),
        option<&C::sampleTokens>("sample", "--sample", "N", S::kValidation, "Sample",
                                 "tokens sampled from the model after each validation pass; 0: "
                                 "none")
            .withUnit("tokens")
            .withNote("0: none")
            .within(0, 1 << 20)
            .seldom(),
        option<&C::prompt>("prompt", "--prompt", "TEXT", S::kValidation, "Prompt",
                           "what the sampled text starts with")
            .withNote("\\n: a new line")
            .as(OptionText::kEscaped)
            .seldom(),
        option<&C::temperature>("temperature", "--temperature", "X", S::kValidation, "Temperature",
                                "sampling temperature; 0 = greedy")
            .withNote("0: greedy")
            .within(0, 100)
            .seldom()};
}

std::vector<RunOption> ofCheckpoints() {
    return {
        option<&C::checkpoint>("checkpoint", "--checkpoint", "DIR", S::kCheckpoints,
                               "Write checkpoints to",
                               "folder to write checkpoints to; they resume at any number of "
                               "ranks")
            .as(OptionText::kFolder),
        option<&C::checkpointEvery>("checkpoint_every", "--checkpoint-every", "N", S::kCheckpoints,
                                    "Checkpoint every",
                                    "steps between checkpoints; 0: at the end only")
            .withUnit("steps")
            .withNote("0: at the end only")
            .within(0, kManySteps),
        option<&C::keepCheckpoints>("keep_checkpoints", "--keep-checkpoints", "N", S::kCheckpoints,
                                    "Keep", "number of checkpoints kept, the newest")
            .withUnit("checkpoints")
            .withNote("the newest")
            .within(1, 1e6)
            .seldom(),
        option<&C::resume>("resume", "--resume", "DIR", S::kCheckpoints, "Resume from",
                           "checkpoint, or folder of checkpoints (its newest), to resume from")
            .as(OptionText::kFolder),
        option<&C::weights>("weights", "--weights", "FILE", S::kCheckpoints, "Start from weights",
                            "safetensors file to start from, with GPT-2's names or ours")
            .as(OptionText::kFile)
            .seldom()};
}

std::vector<RunOption> ofRecording() {
    return {
        option<&C::output>("output", "--output", "FILE", S::kRecording, "Save the recording as",
                           "recording to write: everything of the run goes into this one file")
            .as(OptionText::kOutput),
        option<&C::capture>("capture", "--capture", "WORD", S::kRecording, "Capture",
                            "capture level: what is recorded of each step"),
        option<&C::deviceCapture>("device_capture", "--device-capture", "WORD", S::kRecording,
                                  "Capture on the device", "what is recorded of GPUs")
            .seldom(),
        option<&C::calibrate>("calibrate", "--no-calibrate", "", S::kRecording,
                              "Measure the peak first",
                              "time matrix products before the first step, for MFU")
            .seldom(),
        option<&C::alternateCapture>("alternate_capture", "--alternate-capture", "", S::kRecording,
                                     "Trace every other step",
                                     "trace every other step only, to measure the cost of tracing")
            .seldom(),
        option<&C::maxSize>("max_size", "--max-size", "SIZE", S::kRecording, "Largest recording",
                            "size limit of the recording, like 2GB: the oldest steps lose detail, "
                            "steps and metrics stay")
            .withNote("empty: no limit; or like 2GB"),
        option<&C::maxRate>("max_rate", "--max-rate", "RATE", S::kRecording, "Largest growth",
                            "limit of the recording's average growth, like 2MB/s")
            .withNote("empty: no limit; or like 2MB/s")
            .seldom(),
        option<&C::captureSteps>("capture_steps", "--capture-steps", "LIST", S::kRecording,
                                 "Detail of steps",
                                 "trace only these steps in detail, from 0: 10-20,500-520")
            .withNote("empty: all; or like 10-20,500-520")
            .seldom(),
        option<&C::captureEvery>("capture_every", "--capture-every", "N", S::kRecording,
                                 "Every N-th step in detail",
                                 "trace only every N-th step in detail; 0: all")
            .withNote("0: all")
            .within(0, kManySteps)
            .seldom(),
        option<&C::captureSlow>("capture_slow", "--capture-slow", "X", S::kRecording,
                                "Detail of slow steps: limit",
                                "keep detail only of steps that take X times the median, and "
                                "beside them; 0: all")
            .withUnit("x median")
            .withNote("0: of all steps")
            .seldom(),
        option<&C::reference>("reference", "", "DIR", S::kRecording, "",
                              "reference folder to follow")
            .as(OptionText::kFolder)};
}

/// Of calibrate and bench, which write them into run files.
std::vector<RunOption> ofMeasuring() {
    return {
        option<&C::work>("work", "", "WORD", S::kRecording, "",
                         "what the ranks do: train, or measure the machine and each other"),
        option<&C::measureOperations>("measure_operations", "", "LIST", S::kRecording, "",
                                      "collective operations to time"),
        option<&C::measureSizes>("measure_sizes", "", "LIST", S::kRecording, "",
                                 "payloads to time them at: 1MB,64MB, or by doubling: 1MB-64MB"),
        option<&C::measureRounds>("measure_rounds", "", "N", S::kRecording, "",
                                  "timed rounds of each operation and size")
            .within(1, 10'000),
        option<&C::measureWarmup>("measure_warmup", "", "N", S::kRecording, "",
                                  "rounds before them that do not count")
            .within(0, 10'000),
        option<&C::measureSeconds>("measure_seconds", "", "X", S::kRecording, "",
                                   "seconds after which no further round of a size begins; 0: no "
                                   "limit")
            .within(0, 3'600),
        option<&C::measureMachine>("measure_machine", "", "", S::kRecording, "",
                                   "matrix products, memory and launches are measured too"),
        option<&C::measureNorms>(
            "measure_norms", "", "LIST", S::kRecording, "",
            "inputs (rows x width) at which norms are timed, e.g. 50000x1024")};
}

}  // namespace

const std::vector<RunOption>& runOptions() {
    static const std::vector<RunOption> kOptions = [] {
        std::vector<RunOption> all;
        for (const auto& part :
             {ofModel(), ofStrategy(), ofHosts(), ofCommunication(), ofDevice(), ofData(),
              ofTraining(), ofValidation(), ofCheckpoints(), ofRecording(), ofMeasuring()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return kOptions;
}

const RunOption* findRunOption(std::string_view key) {
    for (const RunOption& option : runOptions()) {
        if (key == option.key) return &option;
    }
    return nullptr;
}

std::string suggestedKey(const std::string& key) {
    std::vector<std::string> keys;
    for (const RunOption& each : runOptions()) keys.emplace_back(each.key);
    const auto near = nearMiss(key, keys);
    return near ? "; did you mean '" + *near + "'?" : "";
}

Result<void> setFromText(const RunOption& option, RunConfig& config, const std::string& text) {
    const OptionValue current = option.get(config);
    OptionValue value = text;
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
    if (auto done = option.set(config, value); !done) {
        return failure(ErrorCode::kUsage,
                       fmt::format("{} {}: {}", option.flag, text, done.error().message));
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

}  // namespace shardscope::run

// Everything that decides a training run. Torch-free; stored whole in the recording.
//
// Sources, later wins: defaults, model preset, TOML run file, command-line flags.
#pragma once

#include "engine/run/config/host_list.h"
#include "engine/run/config/run_words.h"
#include "storage/model/capture_schedule.h"
#include "storage/model/detail.h"
#include "storage/model/result.h"
#include "storage/model/size_limit.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

struct ModelConfig {
    std::string name = "shakespeare";
    std::int64_t vocabulary = 256;
    std::int64_t context = 128;  ///< T, tokens
    std::int64_t layers = 6;     ///< L
    std::int64_t heads = 6;      ///< H
    std::int64_t hidden = 384;   ///< C
    std::int64_t ffnWidth = 0;   ///< F, inner width of the feed-forward part; 0: 4 C
    Norm norm = Norm::kLayerNorm;
    Position position = Position::kLearned;
    FeedForward ffn = FeedForward::kGelu;
    bool tieHead = true;  ///< the head multiplies by the token embedding
    [[nodiscard]] std::int64_t innerWidth() const { return ffnWidth > 0 ? ffnWidth : 4 * hidden; }
    friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Presets by name: tiny shakespeare ref small medium large xl 2.7B (design section 4; the
/// CS336 sizes with context 128 and vocabulary 10,000 are small..2.7B).
[[nodiscard]] const std::vector<ModelConfig>& modelPresets();
[[nodiscard]] std::optional<ModelConfig> findModelPreset(std::string_view name);

/// `--data synthetic`: no data, but tokens drawn at random, as benchmarks use.
inline constexpr const char* kSyntheticData = "synthetic";

struct RunConfig {
    RunConfig();  // not inline: g++ 12 takes an inlined one for uninitialised
    ModelConfig model;
    Strategy strategy = Strategy::kZero3;
    std::int32_t ranks = 2;
    /// Intra-op threads of a rank; 0: the cores of its host divided by its ranks there, which is
    /// settled before the run starts and what the recording holds (engine/launch/host_facts.h).
    std::int32_t threads = 0;
    Device device = Device::kCpu;
    /// More ranks than GPUs: let ranks share one. Works, but says nothing about speed.
    bool shareDevice = false;
    bool graphs = false;  ///< micro-steps are launched as one; GPUs
    Precision precision = Precision::kFloat32;
    GradientType reduceIn = GradientType::kFloat32;
    Attention attention = Attention::kAuto;
    Products products = Products::kAuto;  ///< CPUs

    /// Text file or folder, token file (.bin), or "synthetic": random tokens; empty: the project's
    /// own source tree.
    std::string data;
    /// "bytes", or a folder or file with a byte-level BPE (engine/tokens).
    std::string tokenizer = "bytes";
    double heldBack = 0.1;  ///< fraction at the end of the data used for validation
    std::int32_t steps = 40;
    std::int32_t batch = 8;            ///< sequences a rank and micro-step
    std::int32_t accumulate = 1;       ///< micro-steps a step
    std::int32_t evaluateEvery = 20;   ///< steps; 0: never
    std::int32_t evaluateBatches = 4;  ///< batches a rank of one validation pass

    double learningRate = 6e-4;
    double minimumLearningRate = 6e-5;  ///< end of the cosine
    std::int32_t warmupSteps = 10;
    Schedule schedule = Schedule::kCosine;
    double weightDecay = 0.1;
    bool decayEmbeddings = true;  ///< weight decay on token and position tables too
    bool decayVectors = false;    ///< and on norms' weights and biases
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double clip = 1.0;  ///< largest gradient norm; 0: no clipping
    std::uint64_t seed = 1337;

    std::int32_t prefetch = 1;        ///< blocks gathered ahead; zero3, hsdp
    bool reshardAfterForward = true;  ///< free a block's parameters until backward; zero3, hsdp
    bool keepGathered = false;        ///< nor between micro-steps; implies keepGradients
    bool keepGradients = false;       ///< whole until the last micro-step; zero3, hsdp
    std::int32_t shardRanks = 0;      ///< ranks of a sharding group; hsdp only
    std::int32_t tensor = 1;          ///< T: ranks that share every layer, next to each other
    bool sequence = false;            ///< divide what lies between layers by rows as well
    /// That token table and head are gathered in; 0: by their size (model_tensors.h), 1: whole.
    std::int32_t vocabularyPieces = 0;
    Offload offload = Offload::kNone;
    double bucketMegabytes = 25;  ///< of gradients in a piece, 10^6 bytes; ddp-bucket
    Compression compression = Compression::kNone;
    double keptFraction = 0.01;  ///< of gradients sent by top-k
    /// Activation checkpointing: every N-th block keeps its input only and runs forward again in
    /// backward (Chen et al., arXiv 1604.06174); 0: none, 1: all.
    std::int32_t recomputeEvery = 0;
    double lossScale = 65'536;     ///< fp16: at the start
    bool precisionReport = false;  ///< list the types of tensors as they really were

    /// As parseHosts() takes them, or a file of such lines until the run is settled; empty: this
    /// host.
    std::string hosts;
    std::string sshCommand = "ssh";  ///< words: a program and its first arguments
    bool deployLibTorch = false;     ///< send LibTorch to hosts that have none
    bool sendData = false;           ///< send `data` to hosts that lack it
    std::string dataRoot;            ///< folder that `data` lies in on other hosts; empty: the same
    std::int32_t hostLease = 15;     ///< seconds that a host may be silent before it counts as lost
    std::string spill = "4GB";       ///< of events a host keeps on disk for a slow link, at most
    std::int32_t restart = 0;        ///< times that a run which lost a host goes on without it

    Transport transport = Transport::kAuto;
    /// A network interface's name or address: of Gloo, and of all hosts that name none.
    std::string interface;
    /// What ranks say over TCP; all of them.
    bool encrypt = false;
    /// A link that every collective is slowed down to; no bandwidth: none.
    double linkLatencyMicroseconds = 0;
    double linkGigabytesPerSecond = 0;

    std::string checkpoint;            ///< folder that checkpoints are written to; empty: none
    std::int32_t checkpointEvery = 0;  ///< steps; 0: at the end only
    std::int32_t keepCheckpoints = 2;
    std::string resume;             ///< checkpoint, or folder of them, to go on from
    std::string weights;            ///< safetensors file to start from
    std::int32_t sampleTokens = 0;  ///< tokens written by the model after each validation pass
    std::string prompt = "\n";
    double temperature = 0.8;  ///< 0: the likeliest token always

    CaptureLevel capture = CaptureLevel::kFull;
    DeviceCapture deviceCapture = DeviceCapture::kAuto;
    /// Seconds that a collective may run before it counts as hung and ends the run.
    std::int32_t collectiveTimeout = 60;
    /// Alternate captured (at `capture`) and uncaptured steps, to measure the observer effect.
    bool alternateCapture = false;
    /// Steps captured at `capture`, "10-20,500-520"; others at level steps. Empty: all.
    std::string captureSteps;
    std::int32_t captureEvery = 0;  ///< and every N-th; 0: none besides
    /// Keep detail only around steps that take so many times the median of those before; 0: all.
    double captureSlow = 0;
    /// Of the recording ("2GB", "2MB/s"): detail of the oldest steps is thinned. Empty: no limit.
    std::string maxSize;
    std::string maxRate;
    bool calibrate = true;  ///< measure the matrix-multiply peak before the first step

    /// Of Work::kMeasuring, whose steps are those of measurement_plan.h.
    Work work = Work::kTraining;
    std::string measureOperations = "all-gather,reduce-scatter,all-reduce";  ///< empty: none
    std::string measureSizes = "1MB-64MB";  ///< a list, or from one to another by doubling
    std::int32_t measureRounds = 5;         ///< timed, of each operation and size
    std::int32_t measureWarmup = 1;         ///< rounds before them
    double measureSeconds = 0;    ///< after which no further round of a size begins; 0: none
    bool measureMachine = false;  ///< matrix products, memory and launches too
    std::string measureNorms;     ///< shapes: "50000x1024,50000x8192"; empty: none

    std::string output;  ///< recording to write
    /// `shardscope verify`: a reference folder to follow instead of training on `data`.
    std::string reference;

    friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

/// Which steps are captured in detail.
[[nodiscard]] CaptureWish captureWishOf(const RunConfig& config);

/// What maxSize and maxRate of a valid run say.
[[nodiscard]] SizeLimit sizeLimitOf(const RunConfig& config);

/// The hosts of a valid run; none: this one, without an agent of its own.
[[nodiscard]] std::vector<HostConfig> hostsOf(const RunConfig& config);
/// Where the ranks of a valid run are.
[[nodiscard]] RankPlaces placesOf(const RunConfig& config);
/// What joins the ranks of a valid run.
[[nodiscard]] CommunicatorKind communicatorOf(const RunConfig& config);

/// What kAuto stands for at this capture level.
[[nodiscard]] DeviceCapture effectiveDeviceCapture(const RunConfig& config);

/// Says what is wrong and what to do (kUsage): hidden not divisible by heads, no steps, ...
Result<void> validate(const RunConfig& config);

/// Stable JSON; every field. parse refuses unknown keys and wrong types by name.
std::string toJson(const RunConfig& config);
Result<RunConfig> parseRunConfigJson(std::string_view json);

/// A TOML run file with the keys of toJson, model either a preset name or a [model] table.
/// Errors with file, line and column (kUsage; kUnreadable), also of programs: see run_file.h.
Result<RunConfig> readRunFile(const std::string& path, const RunConfig& defaults);
/// The same configuration as a run file, for "Save as run file".
std::string toToml(const RunConfig& config);

/// The equivalent command line, only flags that differ from the defaults and presets.
std::string toCommandLine(const RunConfig& config);

}  // namespace shardscope::run

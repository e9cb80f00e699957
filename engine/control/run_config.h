// Everything that decides a training run. Torch-free; stored whole in the recording.
//
// Sources, later wins: defaults, model preset, TOML run file, command-line flags.
#pragma once

#include "storage/model/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::control {

struct ModelConfig {
    std::string name = "shakespeare";
    std::int64_t vocabulary = 256;
    std::int64_t context = 128;  ///< T, tokens
    std::int64_t layers = 6;     ///< L
    std::int64_t heads = 6;      ///< H
    std::int64_t hidden = 384;   ///< C
    friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Presets by name: tiny shakespeare ref small medium large xl 2.7B (design section 4; the
/// CS336 sizes with context 128 and vocabulary 10,000 are small..2.7B).
[[nodiscard]] const std::vector<ModelConfig>& modelPresets();
[[nodiscard]] std::optional<ModelConfig> findModelPreset(std::string_view name);

enum class Strategy : std::uint8_t { kSingle = 1, kZero3 = 2 };
enum class Device : std::uint8_t { kCpu = 1, kCuda = 2 };
/// fp32: IEEE throughout; tf32: fp32 tensors, products in TF32 (GPU only); bf16: parameters,
/// activations and products in bf16 with fp32 master weights and moments.
enum class Precision : std::uint8_t { kFloat32 = 1, kTf32 = 2, kBFloat16 = 3 };
/// What gradients are summed over ranks in; this rank's part is always kept in fp32.
enum class GradientType : std::uint8_t { kFloat32 = 1, kBFloat16 = 2 };
/// What is traced on a GPU (profiler/capture/device_sink.h); automatic: by the capture level.
enum class DeviceCapture : std::uint8_t {
    kAuto = 0,
    kNever = 1,
    kIdle = 2,
    kKernels = 3,
    kLaunches = 4,
    kFull = 5
};
/// off: nothing; steps: steps and metrics; light: and phases, collectives; full: and operators,
/// memory events.
enum class CaptureLevel : std::uint8_t { kOff = 0, kSteps = 1, kLight = 2, kFull = 3 };

[[nodiscard]] const char* toWord(Strategy strategy);
[[nodiscard]] const char* toWord(Device device);
[[nodiscard]] const char* toWord(Precision precision);
[[nodiscard]] const char* toWord(GradientType type);
[[nodiscard]] const char* toWord(DeviceCapture capture);
[[nodiscard]] const char* toWord(CaptureLevel level);
[[nodiscard]] std::optional<Strategy> parseStrategy(std::string_view word);
[[nodiscard]] std::optional<Device> parseDevice(std::string_view word);
[[nodiscard]] std::optional<Precision> parsePrecision(std::string_view word);
[[nodiscard]] std::optional<GradientType> parseGradientType(std::string_view word);
[[nodiscard]] std::optional<DeviceCapture> parseDeviceCapture(std::string_view word);
[[nodiscard]] std::optional<CaptureLevel> parseCaptureLevel(std::string_view word);

struct RunConfig {
    ModelConfig model;
    Strategy strategy = Strategy::kZero3;
    std::int32_t ranks = 2;
    std::int32_t threads = 1;  ///< intra-op threads a rank
    Device device = Device::kCpu;
    /// More ranks than GPUs: let ranks share one. Works, but says nothing about speed.
    bool shareDevice = false;
    Precision precision = Precision::kFloat32;
    GradientType reduceIn = GradientType::kFloat32;

    std::string data;       ///< file or folder; empty: the project's own source tree
    double heldBack = 0.1;  ///< fraction at the end of the data used for validation
    std::int32_t steps = 40;
    std::int32_t batch = 8;            ///< sequences a rank and micro-step
    std::int32_t accumulate = 1;       ///< micro-steps a step
    std::int32_t evaluateEvery = 20;   ///< steps; 0: never
    std::int32_t evaluateBatches = 4;  ///< batches a rank of one validation pass

    double learningRate = 6e-4;
    double minimumLearningRate = 6e-5;  ///< end of the cosine
    std::int32_t warmupSteps = 10;
    double weightDecay = 0.1;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double clip = 1.0;  ///< largest gradient norm; 0: no clipping
    std::uint64_t seed = 1337;

    std::int32_t prefetch = 1;  ///< blocks gathered ahead
    CaptureLevel capture = CaptureLevel::kFull;
    DeviceCapture deviceCapture = DeviceCapture::kAuto;
    /// GPU ranks: seconds that a collective may run before it counts as hung and ends the run.
    std::int32_t collectiveTimeout = 60;
    /// Alternate captured (at `capture`) and uncaptured steps, to measure the observer effect.
    bool alternateCapture = false;
    bool calibrate = true;  ///< measure the matrix-multiply peak before the first step

    std::string output;  ///< recording to write
    /// `shardscope verify`: a reference folder to follow instead of training on `data`.
    std::string reference;

    friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

/// What kAuto stands for at this capture level.
[[nodiscard]] DeviceCapture effectiveDeviceCapture(const RunConfig& config);

/// Says what is wrong and what to do (kUsage): hidden not divisible by heads, no steps, ...
Result<void> validate(const RunConfig& config);

/// Stable JSON; every field. parse refuses unknown keys and wrong types by name.
std::string toJson(const RunConfig& config);
Result<RunConfig> parseRunConfigJson(std::string_view json);

/// A TOML run file with the keys of toJson, model either a preset name or a [model] table.
/// Errors carry file, line and column (kUsage; kUnreadable when it cannot be read).
Result<RunConfig> readRunFile(const std::string& path, const RunConfig& defaults);
/// The same configuration as a run file, for "Save as run file".
std::string toToml(const RunConfig& config);

/// The equivalent command line, only flags that differ from the defaults and presets.
std::string toCommandLine(const RunConfig& config);

}  // namespace shardscope::control

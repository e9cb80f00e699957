// What a measuring run (work = "measuring") finds out about a machine beside its collectives, and
// the name that each such figure has among the metrics of a recording.
//
// Sources: the triad is that of STREAM (McCalpin, 1995): a[i] = b[i] + s c[i], of which three
// arrays count, the write's own read not, so that figures compare with published ones. A product of
// (rows x inner) and (inner x columns) is 2 rows inner columns FLOPs.
#pragma once

#include "engine/run/config/run_words.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::run {

enum class MachineFigure : std::uint8_t {
    kMatmul = 1,
    kTriad = 2,
    kCopy = 3,
    kToDevice = 4,
    kFromDevice = 5,
    kLaunch = 6,
    kLayerNorm = 7,
    kLayerNormBackward = 8,
    kRmsNorm = 9,
    kRmsNormBackward = 10,
    kLibraryNorm = 11,
    kLibraryNormBackward = 12,
    kSteppedNorm = 13,
    kSteppedNormBackward = 14,
};
/// What a figure is of beside the machine.
enum class FigureShape : std::uint8_t {
    kNone,
    kProduct,  ///< a type, rows x inner x columns
    kTensor,   ///< a type, rows x columns
};
struct MachineFigureWords {
    MachineFigure value;
    const char* word;
    const char* name;
    const char* unit;   ///< of a sample
    bool moreIsBetter;  ///< else less
    const char* definition;
    FigureShape shape = FigureShape::kNone;
};
constexpr auto wordsOf(MachineFigure) {
    return wordList<MachineFigureWords>(
        {{MachineFigure::kMatmul, "matmul", "matrix product", "FLOP/s", true,
          "2 x rows x inner x columns over the time of one product", FigureShape::kProduct},
         {MachineFigure::kTriad, "triad", "memory triad", "B/s", true,
          "STREAM's a = b + s c: three arrays over the time, larger than the caches"},
         {MachineFigure::kCopy, "copy", "memory copy", "B/s", true,
          "bytes copied within the memory of the device that computes over the time, each once "
          "though it is read and written"},
         {MachineFigure::kToDevice, "to-device", "host to device", "B/s", true,
          "bytes copied from pinned host memory to the GPU over the time"},
         {MachineFigure::kFromDevice, "from-device", "device to host", "B/s", true,
          "bytes copied from the GPU to pinned host memory over the time"},
         {MachineFigure::kLaunch, "launch", "operator launch", "s", false,
          "time of one call of an operator on a single element, of many in a row: what a call "
          "costs beside its work"},
         {MachineFigure::kLayerNorm, "layer-norm", "layer norm", "s", false,
          "forward as a run does it, mean, variance, weight and bias in one pass",
          FigureShape::kTensor},
         {MachineFigure::kLayerNormBackward, "layer-norm-backward", "layer norm, backward", "s",
          false, "gradients of input, weight and bias as a run finds them", FigureShape::kTensor},
         {MachineFigure::kRmsNorm, "rms-norm", "RMS norm", "s", false,
          "forward as a run does it, mean square and weight in one pass", FigureShape::kTensor},
         {MachineFigure::kRmsNormBackward, "rms-norm-backward", "RMS norm, backward", "s", false,
          "gradients of input and weight as a run finds them", FigureShape::kTensor},
         {MachineFigure::kLibraryNorm, "library-layer-norm", "layer norm of LibTorch", "s", false,
          "forward by LibTorch's own operator", FigureShape::kTensor},
         {MachineFigure::kLibraryNormBackward, "library-layer-norm-backward",
          "layer norm of LibTorch, backward", "s", false, "by LibTorch's own operator",
          FigureShape::kTensor},
         {MachineFigure::kSteppedNorm, "stepped-rms-norm", "RMS norm in steps", "s", false,
          "forward by one operator of LibTorch after the other, as an unfused module does",
          FigureShape::kTensor},
         {MachineFigure::kSteppedNormBackward, "stepped-rms-norm-backward",
          "RMS norm in steps, backward", "s", false,
          "by one operator after the other, as automatic differentiation does",
          FigureShape::kTensor}});
}

/// One of them as it was measured.
struct MeasuredFigure {
    std::int32_t host = 0;  ///< of the recording
    MachineFigure figure = MachineFigure::kMatmul;
    Precision precision = Precision::kFloat32;      ///< where it has a shape
    std::int64_t rows = 0, inner = 0, columns = 0;  ///< by its shape; `inner` of a product alone
    std::int32_t threads = 1;                       ///< that worked on it together; 1 on a GPU
    friend bool operator==(const MeasuredFigure&, const MeasuredFigure&) = default;
};

/// "measured/0/matmul/bf16/1024x1024x4096/2", "measured/0/rms-norm/fp32/50000x1024/2"; of those
/// without a shape "measured/0/triad/2". Each sample is a point of this metric, in the figure's
/// unit.
[[nodiscard]] std::string metricName(const MeasuredFigure& figure);
/// Nothing where it is no such name.
[[nodiscard]] std::optional<MeasuredFigure> figureOfMetric(std::string_view name);

// What this process's environment holds the libraries' instructions to: how fast a CPU computes
// goes by it, so that what was measured under it is kept apart.

/// "ONEDNN_MAX_CPU_ISA=AVX2, ATEN_CPU_CAPABILITY=avx2"; empty: nothing is held back. Reads the
/// environment; any thread while no other changes it.
[[nodiscard]] std::string heldInstructions();

}  // namespace shardscope::run

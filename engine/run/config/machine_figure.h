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
};
struct MachineFigureWords {
    MachineFigure value;
    const char* word;
    const char* name;
    const char* unit;   ///< of a sample
    bool moreIsBetter;  ///< else less
    const char* definition;
};
constexpr auto wordsOf(MachineFigure) {
    return wordList<MachineFigureWords>(
        {{MachineFigure::kMatmul, "matmul", "matrix product", "FLOP/s", true,
          "2 x rows x inner x columns over the time of one product"},
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
          "costs beside its work"}});
}

/// One of them as it was measured.
struct MeasuredFigure {
    std::int32_t host = 0;  ///< of the recording
    MachineFigure figure = MachineFigure::kMatmul;
    Precision precision = Precision::kFloat32;      ///< of matrix products
    std::int64_t rows = 0, inner = 0, columns = 0;  ///< likewise
    std::int32_t threads = 1;                       ///< that worked on it together; 1 on a GPU
    friend bool operator==(const MeasuredFigure&, const MeasuredFigure&) = default;
};

/// "measured/0/matmul/bf16/1024x1024x4096/2"; of others "measured/0/triad/2". Each sample is a
/// point of this metric, in the figure's unit.
[[nodiscard]] std::string metricName(const MeasuredFigure& figure);
/// Nothing where it is no such name.
[[nodiscard]] std::optional<MeasuredFigure> figureOfMetric(std::string_view name);

}  // namespace shardscope::run

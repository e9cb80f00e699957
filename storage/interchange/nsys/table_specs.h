// Tables of an Nsight Systems export and what of a span their columns are: one description for
// reading and for writing (../shared/reference/trace_formats.md 3.3, schema 2.9.1 to 3.25.0).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shardscope::interchange::nsys {

/// A number of the export that has a word, and its entry in the ENUM table.
struct Word {
    std::int64_t id = 0;
    std::string_view word;   ///< of an argument: "host to device"
    std::string_view name;   ///< "CUDA_MEMCPY_KIND_HTOD"
    std::string_view label;  ///< "Host-to-Device"
};

enum class Form : std::uint8_t {
    kInteger,
    kReal,
    kText,
    kString,  ///< id in StringIds; the text in the argument
    kTriple,  ///< columns ...X, ...Y, ...Z; a list in the argument
};

struct Field {
    std::string_view column;  ///< of a triple: without its last letter
    std::string_view key;     ///< of the argument
    Form form = Form::kInteger;
    /// NOT NULL in the export. 0 (of texts an empty list) is then left out of the arguments.
    bool required = false;
    std::span<const Word> words = {};
    std::string_view otherKey = {};  ///< what PyTorch's profiler calls it
};

enum class Activity : std::uint8_t {
    kKernel,
    kMemcpy,
    kMemset,
    kGraphTrace,
    kRuntime,
    kSynchronization,
    kCudaEvent,
    kOverhead,
    kProfilerOverhead,
    kGraphEvent,
    kGraphNodeEvent,
    kOsRuntime,
};

struct TableSpec {
    Activity activity = Activity::kKernel;
    std::string_view table;
    std::string_view category;    ///< of lanes, in the recording's configuration
    std::string_view nameColumn;  ///< id in StringIds; empty: named by what it is
    bool ofProcess = false;       ///< has globalPid, device, context and stream; else globalTid
    bool instant = false;         ///< has timestamp instead of start and end
    bool correlated = true;
    std::span<const Field> fields;
};

/// All tables whose rows become spans, NVTX_EVENTS apart.
[[nodiscard]] std::span<const TableSpec> tableSpecs();
[[nodiscard]] const TableSpec& specOf(Activity activity);
[[nodiscard]] const TableSpec* specOfCategory(std::string_view category);

/// Columns of NVTX_EVENTS that become arguments.
[[nodiscard]] std::span<const Field> nvtxFields();
namespace nvtx {
inline constexpr std::int64_t kCategory = 33, kMark = 34, kThread = 39, kPushPop = 59,
                              kStartEnd = 60, kDomainCreate = 75;
}

struct EnumTable {
    std::string_view table;
    std::span<const Word> words;
};
[[nodiscard]] std::span<const EnumTable> enumTables();
[[nodiscard]] std::span<const Word> copyKinds();
[[nodiscard]] std::span<const Word> syncTypes();

[[nodiscard]] const Word* wordOf(std::span<const Word> words, std::int64_t id);
[[nodiscard]] std::optional<std::int64_t> idOf(std::span<const Word> words, std::string_view word);

}  // namespace shardscope::interchange::nsys

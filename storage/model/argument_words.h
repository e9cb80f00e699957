// What arguments of events are called here, and by PyTorch's profiler where its word differs: one
// vocabulary for their readers and writers (storage/schema/FORMAT.md, "Arguments"). An imported
// trace keeps the words of its file, so that it can be written again as it was: they are translated
// when they are read.
#pragma once

#include <string_view>

namespace shardscope {

namespace arguments {
inline constexpr std::string_view kOperator = "operator";  ///< that launched it
inline constexpr std::string_view kKernel = "kernel";      ///< whole name, with its parameters
inline constexpr std::string_view kGrid = "grid";
inline constexpr std::string_view kBlock = "block";
inline constexpr std::string_view kRegisters = "registers";          ///< of a thread
inline constexpr std::string_view kSharedBytes = "shared_bytes";     ///< of a block
inline constexpr std::string_view kOccupancy = "occupancy_percent";  ///< estimated
inline constexpr std::string_view kBlocksPerProcessor = "blocks_per_sm";
inline constexpr std::string_view kWarpsPerProcessor = "warps_per_sm";
inline constexpr std::string_view kDevice = "device";
inline constexpr std::string_view kContext = "context";
inline constexpr std::string_view kStream = "stream";
inline constexpr std::string_view kExternalId = "external_id";  ///< of the operator
inline constexpr std::string_view kBytes = "bytes";
inline constexpr std::string_view kFrom = "from";
inline constexpr std::string_view kTo = "to";
inline constexpr std::string_view kGraph = "graph";
inline constexpr std::string_view kGraphNode = "graph_node";
inline constexpr std::string_view kEvent = "event";
inline constexpr std::string_view kRecordedOnStream = "recorded_on_stream";
inline constexpr std::string_view kError = "error";
}  // namespace arguments

struct ArgumentWords {
    std::string_view ours;
    std::string_view kineto;
};
inline constexpr ArgumentWords kArgumentWords[] = {
    {arguments::kRegisters, "registers per thread"},
    {arguments::kSharedBytes, "shared memory"},
    {arguments::kOccupancy, "est. achieved occupancy %"},
    {arguments::kBlocksPerProcessor, "blocks per SM"},
    {arguments::kWarpsPerProcessor, "warps per SM"},
    {arguments::kExternalId, "External id"},
    {arguments::kExternalId, "external id"},
    {arguments::kGraph, "graph id"},
    {arguments::kGraphNode, "graph node id"},
};

/// Our word for a key of any recording; the key itself where there is none.
[[nodiscard]] constexpr std::string_view ourArgument(std::string_view key) {
    for (const ArgumentWords& words : kArgumentWords)
        if (words.kineto == key) return words.ours;
    return key;
}
/// Kineto's word for one of ours.
[[nodiscard]] constexpr std::string_view kinetoArgument(std::string_view key) {
    for (const ArgumentWords& words : kArgumentWords)
        if (words.ours == key) return words.kineto;
    return key;
}

}  // namespace shardscope

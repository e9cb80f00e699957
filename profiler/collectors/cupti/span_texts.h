// Names and arguments (JSON objects) of the spans made from records.
//
// Nothing that differs from launch to launch goes into the arguments: equal texts are stored
// once, and a training step repeats the last.
#pragma once

#include "profiler/collectors/cupti/kernel_names.h"
#include "profiler/collectors/cupti/record_reader.h"

#include <string>
#include <string_view>

namespace shardscope::collectors::cupti {

[[nodiscard]] std::string copyName(const CopyRecord& copy);  ///< "copy host to device"
[[nodiscard]] std::string callName(const CallRecord& call);
[[nodiscard]] std::string syncName(const SyncRecord& sync);
[[nodiscard]] std::string overheadName(const OverheadRecord& overhead);

/// {"operator":"aten::mm","grid":[8,1,1],"block":[128,1,1],"registers":64,"shared_bytes":1024,
/// "stream":7,"graph_node":12,"kernel":"full name"}; what is not known is left out.
[[nodiscard]] std::string kernelArguments(const KernelRecord& kernel, const KernelName& name,
                                          std::string_view operatorName);
[[nodiscard]] std::string copyArguments(const CopyRecord& copy, std::string_view operatorName);
[[nodiscard]] std::string setArguments(const SetRecord& set, std::string_view operatorName);
[[nodiscard]] std::string graphArguments(const GraphRecord& graph, std::string_view operatorName);
[[nodiscard]] std::string callArguments(const CallRecord& call, std::string_view operatorName);
/// `recorded`: where the event was recorded that was waited for; null: not known.
[[nodiscard]] std::string syncArguments(const SyncRecord& sync, const EventRecord* recorded,
                                        std::string_view operatorName);

}  // namespace shardscope::collectors::cupti

// Categories of flows that mean something to us, as traces of PyTorch name them
// (libkineto/src/output_json.cpp, handleLink()).
#pragma once

namespace shardscope::flow_words {

/// From an operator to what computes its gradient.
inline constexpr const char* kForwardBackward = "fwdbwd";
/// From a call to what it started on a device.
inline constexpr const char* kLaunch = "ac2g";

}  // namespace shardscope::flow_words

// What `shardscope info` says, as JSON documents with stable keys.
#pragma once

#include "storage/model/recording.h"
#include "storage/recording/verify/verify_recording.h"

#include <string>

namespace shardscope::cli {

/// shardscope.info/1; `running`: its writer is at work.
[[nodiscard]] std::string infoJson(const RecordingSummary& summary, bool running);
/// shardscope.verification/1
[[nodiscard]] std::string verificationJson(const storage::Verification& found);

}  // namespace shardscope::cli

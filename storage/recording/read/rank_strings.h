// All strings of a rank, for who looks for one: names of events, and their arguments where those
// are stored whole. Works through any reader.
#pragma once

#include "storage/recording/read/recording_reader.h"

#include <string>
#include <utility>
#include <vector>

namespace shardscope::storage {

struct RankStrings {
    std::vector<std::pair<StringId, std::string>> texts;  ///< by id
    /// Some events have arguments beside these, put together for each (text() of higher ids).
    bool hasArguments = false;
};
Result<RankStrings> readStrings(RecordingReader& reader, RankId rank);

}  // namespace shardscope::storage

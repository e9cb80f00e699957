// What was found out about a recording at some cost, kept in a file beside it
// ("run.sscope-results") so that the same question is answered at once the next time. The recording
// itself is not touched.
//
// A result counts for the recording as it was and the program that made it: once the file has
// another size or was written since, or another program asks, it is as if there were none. Whatever
// is wrong with the file or its folder (not writable, another user's, damaged, held by another
// process), nothing is found or kept: who asks computes it. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::storage {

class KeptResults {
public:
    /// Of all results of a file together; the oldest go first. What is longer is not kept.
    static constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

    /// Of the recording as it is now. `program`: its version, as what it says may change with it.
    KeptResults(std::string recording, std::string program);

    [[nodiscard]] static std::string pathOf(const std::string& recording);

    [[nodiscard]] std::optional<std::string> find(std::string_view question) const;
    /// Nothing is kept of a recording that has changed since this was made.
    void keep(std::string_view question, std::string_view result) const;

private:
    std::string m_recording, m_program;
    std::string m_state;  ///< of the recording; empty: there is none to keep results of
};

}  // namespace shardscope::storage

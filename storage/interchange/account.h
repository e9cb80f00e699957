// What became of a foreign trace's events: every import ends with one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope::interchange {

/// Why the last event of a file that ends too early is rejected.
inline constexpr const char* kCutOff = "cut off: the file ends within it";

/// Why an event is rejected whose text is no JSON.
inline constexpr const char* kMalformed = "malformed JSON";

struct ImportAccount {
    std::uint64_t read = 0;      ///< events found in the input
    std::uint64_t kept = 0;      ///< of these, in the recording, repaired ones included
    std::uint64_t repaired = 0;  ///< kept, but not as they stood ("negative time clamped to 0")
    std::map<std::string, std::uint64_t> repairs;     ///< by reason
    std::map<std::string, std::uint64_t> rejections;  ///< by reason; kept + rejected == read
    std::vector<std::string> notes;                   ///< sentences about the file as a whole
    /// Sentences that begin with a number, which is the sum over all files.
    std::map<std::string, std::uint64_t> countedNotes;

    void note(std::uint64_t count, const std::string& sentence) {
        if (count > 0) countedNotes[sentence] += count;
    }
    /// All sentences, each once.
    [[nodiscard]] std::vector<std::string> sentences() const;
    void repair(const std::string& reason) { ++repaired, ++repairs[reason]; }
    void reject(const std::string& reason) { ++rejections[reason]; }
    [[nodiscard]] std::uint64_t rejected() const {
        std::uint64_t sum = 0;
        for (const auto& [reason, count] : rejections) sum += count;
        return sum;
    }
    void add(const ImportAccount& other);
};

}  // namespace shardscope::interchange

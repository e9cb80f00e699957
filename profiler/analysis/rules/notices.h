// Everything that the user should know about a recording, in one list: what the run and its
// recording noted themselves, what is missing, and what about the run is worth a look. Pure.
#pragma once

#include "profiler/analysis/report/report.h"
#include "storage/model/words.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::analysis {

/// What a notice is about.
enum class NoticeTopic : std::uint8_t { kRun, kMissing, kNoted, kClocks, kRepair, kImport };
constexpr auto wordsOf(NoticeTopic) {
    return wordList<Word<NoticeTopic>>({{NoticeTopic::kRun, "found in the run"},
                                        {NoticeTopic::kMissing, "missing or left out"},
                                        {NoticeTopic::kNoted, "noted while recording"},
                                        {NoticeTopic::kClocks, "clocks"},
                                        {NoticeTopic::kRepair, "repaired"},
                                        {NoticeTopic::kImport, "imported"}});
}

struct Notice : RunFinding {
    NoticeTopic topic = NoticeTopic::kRun;
    /// What follows for who reads the figures, a sentence; empty: what it says itself.
    std::string consequence;
};

/// Most severe first, of notes those that cost time; details are sentences. Many of one kind are
/// one with a count.
[[nodiscard]] std::vector<Notice> notices(const Report& report);

/// The text with a capital and a full stop; empty if it is.
[[nodiscard]] std::string sentence(std::string text);

/// How many of them ask for something to be done: those that are more than a note.
[[nodiscard]] int problemCount(const std::vector<Notice>& notices);

}  // namespace shardscope::analysis

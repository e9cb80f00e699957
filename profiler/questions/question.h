// The questions that can be asked of a recording, each with what it means: one list, from which the
// command line, its help and `--explain` follow.
#pragma once

#include "profiler/analysis/communication/transfers.h"
#include "profiler/analysis/part.h"
#include "profiler/questions/answer/answer.h"
#include "profiler/questions/selection.h"
#include "storage/model/words.h"
#include "storage/recording/read/recording_reader.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::questions {

enum class Mode : std::uint8_t { kExact, kHta };
constexpr auto wordsOf(Mode) {
    return wordList<Word<Mode>>({{Mode::kExact, "exact"}, {Mode::kHta, "hta"}});
}

/// By what long tables can be sorted.
enum class Order : std::uint8_t { kTotal, kSelf, kCount, kVariance };
struct OrderWords {
    Order value;
    const char* word;
    const char* column;  ///< key of the column, where a table has it
};
constexpr auto wordsOf(Order) {
    return wordList<OrderWords>({{Order::kTotal, "total", "total_ns"},
                                 {Order::kSelf, "self", "self_ns"},
                                 {Order::kCount, "count", "count"},
                                 {Order::kVariance, "variance", "deviation_ns"}});
}

/// Something that is to be so many times as fast.
struct SpeedUp {
    std::string what;  ///< "link", "rank 1", or what is called so
    double times = 1;
};

/// What is asked of what. One thread.
struct Asked {
    storage::RecordingReader& reader;
    const RecordingSummary& summary;  ///< of the selection
    const Selection& selection;
    Mode mode = Mode::kExact;
    bool keepLastStep = false;      ///< HTA leaves the last one out
    bool perStep = false;           ///< tables by step as well
    std::optional<Order> by{};      ///< of `work` and `flame`; none: most time first
    std::size_t top = 0;            ///< rows of their tables; 0: all
    bool explain = false;           ///< `breakdown`: how HTA's numbers differ, one by one
    std::vector<SpeedUp> faster{};  ///< `bounds`, `what-if`: all at once, one more scenario

    /// Events of a rank within the selection.
    [[nodiscard]] Result<RankEvents> events(RankId rank) const;
    /// Of all selected ranks.
    [[nodiscard]] Result<std::vector<RankEvents>> events() const;
    /// Collectives in which selected ranks take part, over all ranks of their groups: who came last
    /// and how long data moved takes all of them. By first start.
    struct WholeGroups {
        /// All of the recording, as outlineOf() leaves them, with the first kernel of collectives.
        std::vector<RankEvents> ranks;
        std::vector<analysis::Transfer> transfers;
    };
    [[nodiscard]] Result<WholeGroups> wholeGroups() const;
    /// Of steps that have detail, as reports count; the answer says how many of how many.
    [[nodiscard]] analysis::DetailedPart detailed(Answer& answer) const;
};

/// Those of a rank whose whole collectives Selection::wholeOf() leaves: of steps also where they
/// were asked for in the step before, or end in the next.
[[nodiscard]] Result<RankEvents> readWhole(storage::RecordingReader& reader,
                                           const RecordingSummary& selected,
                                           const Selection& selection, RankId rank);

struct Question {
    const char* key;         ///< "breakdown"
    const char* title;       ///< the question in words
    const char* definition;  ///< what is reported, with formulas and denominators
    const char* source;      ///< of the definition
    Result<Answer> (*ask)(const Asked&);
};

/// The answer under its key. Of a recording without ranks that says nothing it says so.
[[nodiscard]] Result<Answer> answerTo(const Question& question, const Asked& asked);

[[nodiscard]] std::span<const Question> allQuestions();
/// Null: there is none of that name.
[[nodiscard]] const Question* findQuestion(std::string_view key);

}  // namespace shardscope::questions

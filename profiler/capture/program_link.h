// What a process of a recorded program and its recorder say to each other: frames over a local
// stream socket, in which the process's own library (profiler/inject) speaks first.
//
// 8-byte header, little-endian: u32 payload bytes, u16 message, u16 version. The payload is a
// chunk of storage/columns as it is, or a struct as storage/columns/wire.h writes it. Reading never
// trusts its bytes: the program that is recorded may send anything.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/model/capture_schedule.h"
#include "storage/model/detail.h"
#include "storage/model/recording_clock.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/model/step_facts.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope::capture {

inline constexpr std::uint16_t kLinkVersion = 1;
inline constexpr std::size_t kMostLinkPayload = std::size_t{16} << 20;

// Variables that the recorder sets for the program; the library and the start hook read them.
inline constexpr const char* kSocketVariable = "SHARDSCOPE_SOCKET";
/// ProcessCapture as text.
inline constexpr const char* kCaptureVariable = "SHARDSCOPE_CAPTURE";
inline constexpr const char* kInjectVariable = "SHARDSCOPE_INJECT";  ///< path of the library
inline constexpr const char* kShimsVariable = "SHARDSCOPE_SHIMS";    ///< folder of the shims
inline constexpr const char* kStepRangeVariable = "SHARDSCOPE_STEP_RANGE";

/// What a process has to know before it can record.
struct ProcessCapture {
    CaptureWish wish;
    std::int64_t originNs = 0;  ///< host clock at the recording clock's zero
};
/// "full;10-20;0;1764421234000": level, steps, every N-th, origin.
[[nodiscard]] std::string textOf(const ProcessCapture& capture);
/// kUsage when it is no such text.
[[nodiscard]] Result<ProcessCapture> parseProcessCapture(std::string_view text);

/// First word of a process. A process that has closed our connection says it again on a new one,
/// with the same `session`.
struct ProcessHello {
    std::int64_t pid = 0;
    std::uint64_t session = 0;  ///< random
    std::string product;        ///< "shardscope 0.1.0"
};

/// What is known of the process by name (inject_api.h, shardscope_fact()).
struct ProcessFact {
    std::string name;
    std::string value;
};

/// All of this process's events are those of this rank.
struct RankClaim {
    std::int32_t rank = 0;
    std::string source;
};

/// Names that its events use; before the events.
struct NewStrings {
    StringId first;
    std::vector<std::string> texts;
};

struct StepEnded {
    StepFacts step;
    CaptureLevel capture = CaptureLevel::kFull;  ///< at which it was captured
    DetailReason reason = DetailReason::kSchedule;
    std::string source;  ///< what ended it (inject_api.h, shardscope_step())
};

struct LogText {
    std::string level;  ///< "info" "warning" "error"
    std::string text;
};

/// Its last word, in order: exit() was called.
struct ProcessEnding {
    std::int32_t status = 0;
    std::uint64_t emitted = 0;
    std::uint64_t dropped = 0;
};

/// Where the process is in the collectives of a group: every two seconds where that has changed or
/// one is open.
struct CollectiveProgress {
    std::string group;
    std::uint64_t issued = 0;    ///< so many, without messages between two ranks
    std::uint64_t sequence = 0;  ///< of the oldest that is open
    std::string operation;       ///< of the same; empty: none is open
    std::int64_t openNs = 0;     ///< for how long
};

/// Events, as CaptureSession encodes them.
struct EventChunk {
    columns::ChunkBytes bytes;
};

/// ClockLine: to a process of another host than the recorder's, whose clock was compared with ours.
using LinkMessage = std::variant<ProcessHello, ProcessFact, RankClaim, LaneFacts, NewStrings,
                                 StepEnded, MetricPoint, LogText, ProcessEnding, CaptureChange,
                                 EventChunk, CollectiveProgress, ClockLine>;

/// A whole frame.
[[nodiscard]] std::vector<std::byte> encodeLink(const LinkMessage& message);

/// Cuts a stream of bytes into messages. After an error (kUnreadable) the stream is unusable.
class LinkReader {
public:
    void append(std::span<const std::byte> bytes);
    /// nullopt: more bytes are needed.
    Result<std::optional<LinkMessage>> next();

private:
    std::vector<std::byte> m_buffer;
    std::size_t m_begin = 0;
};

}  // namespace shardscope::capture

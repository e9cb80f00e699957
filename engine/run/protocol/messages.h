// JSON messages inside kMessage frames. One struct a message; encode() and decode() are
// inverse. Unknown fields are ignored (a newer peer), missing ones are errors by name.
//
//   recorder -> agent   PrepareRequest, DataRequest, PeersRequest, ClockAsked, LaunchRequest,
//                       ProgramLaunch, Command(stop | kill | discard | capture), ClockCorrection,
//                       Taken, Heartbeat
//   task -> its agent   TaskTerms, once, on a descriptor of its own
//   agent -> rank       RankStart, Command(stop | capture), ClockCorrection
//   agent -> recorder   AgentHello, HostPrepared, DataChecked, PeersChecked, ClockAnswer,
//   RankStarted,
//                       RankLooked, RankExited, Backlog, AgentDone, LogLine, Heartbeat; of a
//                       program all that ranks say, ProcessesSeen, CollectiveOpen, Command(keep),
//                       ProgramEnded
//   rank -> recorder    RankHello, DeviceReported, PeakMeasured, LaneDeclared, StringsDeclared,
//   StepDone, RankActivity, MetricReported, SampleWritten,
//                       TheoryReported, FactsReported, DiagnosticRaised, LogLine, RankFinished,
//                       RankFailed, VerifyResult
#pragma once

#include "engine/run/config/host_list.h"
#include "engine/run/config/run_config.h"
#include "storage/model/capture_schedule.h"
#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope::run {

/// First message from an agent: who it is, so that a mismatch is refused in words.
struct AgentHello {
    std::int32_t protocol = 0;
    std::string product;
    std::int64_t pid = 0;
    HostFacts host;
    std::int64_t nowNs = 0;  ///< host clock when sent
    std::string reachedAt;   ///< this host's address that its ssh server was reached at, or empty
};

/// To each agent of a run on several hosts: choose the address of your ranks' connections, and
/// listen there for the others' agents. Answered by HostPrepared.
struct PrepareRequest {
    std::int32_t host = 0;       ///< from 0; rank 0 is on host 0
    std::string interface;       ///< name or address of a network interface; empty: see `towards`
    std::string towards;         ///< an address of another host: the interface that leads there
    std::string token;           ///< by which agents of the run know each other
    std::int64_t needBytes = 0;  ///< memory that the host's ranks take by theory; 0: not known
};

struct HostPrepared {
    std::string address;
    std::int32_t meetingPort = 0;  ///< of host 0: where rank 0 is going to listen
    std::int32_t checkPort = 0;    ///< where the agent answers the others until ranks start
    std::string failure;           ///< a sentence; not empty: nothing was prepared
    std::int64_t freeBytes = 0;    ///< memory that is free there; 0: not known
};

/// What is the content of the data there? Answered by DataChecked, while other messages pass.
struct DataRequest {
    std::string path;
};

struct DataChecked {
    std::string checksum;  ///< of all of it: names below `path` and contents
    std::int64_t bytes = 0;
    std::string failure;  ///< a sentence; not empty: it cannot be read
};

struct PeerAddress {
    std::string name;  ///< for sentences
    std::string address;
    std::int32_t port = 0;
};

/// Connect to each of these, and be answered. Answered by PeersChecked.
struct PeersRequest {
    std::vector<PeerAddress> peers;  ///< all hosts but the agent's own
};

struct PeersChecked {
    std::vector<std::string> failures;  ///< a sentence for each peer that was not reached
};

/// What time is it there? Answered by ClockAnswer at once.
struct ClockAsked {
    std::int64_t sentNs = 0;  ///< host clock of who asks
};

struct ClockAnswer {
    std::int64_t askedNs = 0;     ///< ClockAsked::sentNs
    std::int64_t receivedNs = 0;  ///< host clock of who answers
    std::int64_t sentNs = 0;      ///< the same, when the answer was sent
};

/// What times of a host's ranks are corrected by from `fromNs` on.
struct ClockCorrection {
    std::int64_t fromNs = 0;    ///< host clock of the ranks
    std::int64_t originNs = 0;  ///< host clock at the recording clock's zero, as of `fromNs`
    std::int64_t driftPpb = 0;  ///< by which the host clock gains on the recording's, ns a second
};

/// How much of the events of its ranks an agent still holds.
struct Backlog {
    std::int64_t bytes = 0;
    std::int64_t onDisk = 0;  ///< of these
    std::int64_t givenUp =
        0;  ///< bytes that were thrown away, as asked for or since the disk is full
};

/// To an agent on another host: what has arrived of its frames of events.
struct Taken {
    std::int64_t bytes = 0;  ///< since the beginning
};

struct LaunchRequest {
    RunConfig config;
    std::int64_t originNs = 0;      ///< host clock at the recording clock's zero
    std::string rankProgram;        ///< path of shardscope-rank; empty: beside the agent
    std::int64_t segmentBytes = 0;  ///< of the ranks' shared memory; sparse, so be generous
    std::map<std::string, std::string> environment;
    RankPlaces places;       ///< of all ranks
    std::int32_t host = 0;   ///< the agent's own
    MeetingPoint meeting{};  ///< as host 0 has prepared it; its key veiled (FrameChannel::veil())
};

/// To an agent of a host, or to a task of a launcher: start the program, and say what it does.
struct ProgramLaunch {
    std::int64_t originNs = 0;  ///< host clock at the recording clock's zero
    std::int32_t part = 0;      ///< of the program: number of its only rank, where it names none
    // Of a task's own program it knows the rest.
    std::vector<std::string> command;  ///< program and arguments
    std::string folder;                ///< that it works in; empty: the agent's
    std::map<std::string, std::string> environment;
    CaptureWish capture;
    std::string stepRange;
};

struct ProcessesSeen {
    std::vector<ProcessFacts> processes;
};

/// A rank in a group's collectives, as its process says it (capture::CollectiveProgress).
struct CollectiveOpen {
    std::string group;
    std::int64_t issued = 0;
    std::int64_t sequence = 0;
    std::string operation;
    std::int64_t openNs = 0;
};

/// How the program ended on that host.
struct ProgramEnded {
    std::optional<std::int32_t> code;
    std::optional<std::int32_t> signal;
    std::int64_t cpuNs = 0;                    ///< of all processes that were seen
    std::map<std::string, std::string> facts;  ///< of its lowest rank
    std::int32_t ranks = 0;                    ///< one more than the highest; 0: none
    std::string notStarted;                    ///< a sentence; empty: it was started
};

/// What the task of a launcher tells the agent that it starts for the recorder on another host: all
/// that the recorder may ask of it.
struct TaskTerms {
    std::string sendKey;     ///< of the tags of the agent's frames, in hexadecimal
    std::string receiveKey;  ///< of the recorder's
    std::string rankProgram;
    RunConfig config;     ///< the run that the task's own command line asks for
    std::string trouble;  ///< why it asks for none; empty: it does
};

/// First message to a rank. The segment is inherited as a file descriptor.
struct RankStart {
    RunConfig config;
    std::int32_t rank = 0;
    std::int64_t originNs = 0;
    std::int32_t segmentFd = -1;  ///< shared-memory segment of all ranks of the host
    std::int64_t segmentBytes = 0;
    RankPlaces places;
    MeetingPoint meeting{};       ///< of ranks on several hosts
    std::int32_t meetingFd = -1;  ///< rank 0's: listens there already
    std::string address;          ///< of this host, where this rank listens for others

    [[nodiscard]] std::int32_t worldSize() const { return places.ranks(); }
    [[nodiscard]] std::int32_t host() const { return places.hostOf(rank); }
    [[nodiscard]] std::int32_t localRank() const { return places.localRank(rank); }
    [[nodiscard]] std::int32_t localSize() const { return places.ranksOf(host()); }
};

struct Command {
    /// "stop": after the current step; "kill": at once; "discard": what is held of events;
    /// "capture": CaptureChange from some step on; "keep": what a flight recorder holds
    std::string verb;
    CaptureChange capture{};  ///< of "capture"
};

struct Heartbeat {};

/// What keeps a process from running, as /proc tells; of several threads the first.
enum class ProcessHold : std::uint8_t {
    kNone = 0,      ///< it runs, or could
    kSleeping = 1,  ///< it waits for something by itself
    kDisk = 2,      ///< in the kernel, where no signal is heard (state D): a disk, a driver
    kStopped = 3,   ///< by a signal
    kTraced = 4,    ///< by a debugger
    kFrozen = 5,    ///< with its cgroup
    kEnded = 6,     ///< it has ended, and another process, a debugger, has yet to hear of it
};
constexpr auto wordsOf(ProcessHold) {
    return wordList<Word<ProcessHold>>({{ProcessHold::kNone, "runs"},
                                        {ProcessHold::kSleeping, "sleeps"},
                                        {ProcessHold::kDisk, "disk"},
                                        {ProcessHold::kStopped, "stopped"},
                                        {ProcessHold::kTraced, "traced"},
                                        {ProcessHold::kFrozen, "frozen"},
                                        {ProcessHold::kEnded, "ended"}});
}

struct RankStarted {
    std::int32_t rank = 0;
    std::int64_t pid = 0;
};

struct RankExited {
    std::int32_t rank = 0;
    std::optional<std::int32_t> code;
    std::optional<std::int32_t> signal;
    std::string lastWords;  ///< tail of its stderr
    /// Not kNone: it did not end after SIGKILL, and was left, since the kernel does this with it.
    ProcessHold left = ProcessHold::kNone;
    std::string cause{};  ///< of `signal`, as far as the system tells; may be empty
};

/// What the agent sees of a rank's process, every two seconds and when a rank fails.
struct RankLooked {
    std::int64_t pid = 0;
    ProcessHold hold = ProcessHold::kNone;
    Duration processor;  ///< processor time of all its threads since it was started
    Duration silent;     ///< since its last word, while the agent listened
};

struct AgentDone {};

struct LogLine {
    std::string level;  ///< "info" "warning" "error"
    std::string text;
};

struct RankHello {
    std::int32_t protocol = 0;
    std::string product;
    std::int64_t pid = 0;
    std::string device;
    std::map<std::string, std::string> libraries;
};

/// Peak of this rank's device, once known (RankFacts::peakFlops, peakSource).
struct PeakMeasured {
    std::optional<double> peakFlops;
    std::string source;
};

/// The rank's accelerator, once it is open; sent again when more is known.
struct DeviceReported {
    DeviceFacts device;
};

struct LaneDeclared {
    LaneFacts lane;
};

struct StringsDeclared {
    std::uint32_t first = 0;
    std::vector<std::string> texts;
};

struct StepDone {
    StepFacts step;
    /// For the live line; not stored. Most tensor memory held during the step.
    Bytes memoryInUse;
    Duration exposedCommunication;
    /// At which it was captured, and why where that is less than the run's.
    CaptureLevel capture = CaptureLevel::kFull;
    DetailReason captureReason = DetailReason::kSchedule;
};

/// What a rank is at, about once a second; for front ends, not stored.
struct RankActivity {
    StepIndex step = kNoStep;  ///< the one in hand, or the last
    Phase phase = Phase::kNone;
    LayerIndex layer = kNoLayer;
    Duration inPhase;     ///< at least: it was seen in this very phase for so long
    bool queues = false;  ///< a GPU's rank: the phase is what its host queues, not what runs
    Bytes tensors;        ///< in live blocks of the allocator and in buffers, now
    Bytes residentSet;    ///< of the process, on its host
    std::optional<double> cores = {};  ///< processor time of the process per time, lately
};

struct MetricReported {
    MetricPoint point;
};

/// Text that the model wrote after a validation pass (--sample); rank 0 only.
struct SampleWritten {
    StepIndex step;
    Timestamp time;
    std::string text;
};

struct TheoryReported {
    std::vector<MemoryTheory> categories;
};

/// How the rank computes; of the first rank of a host also what the host is like. Rank and host are
/// those of who reports.
struct FactsReported {
    std::vector<FactRow> facts;
};

struct DiagnosticRaised {
    Diagnostic diagnostic;
};

struct RankFinished {
    std::uint64_t emitted = 0;
    std::uint64_t dropped = 0;
    bool stopped = false;  ///< by request, before the last step
};

struct RankFailed {
    std::string message;
    /// "non-finite-loss" "out-of-memory" "device-lost" "data" "failure"; "launch": this machine
    /// cannot do what was asked, e.g. has too few GPUs. Of a rank that waited for another one in
    /// vain: "peer-late", and "peer-lost" where it only heard that another gave up or is gone.
    std::string code{};
    std::int32_t step = -1;
    std::string phase{};
    std::int32_t layer = -1;
    std::int32_t waitedFor = -1;  ///< the rank; -1: none, or not known
};

/// Largest relative errors against a reference (rank 0 only).
struct VerifyResult {
    double loss = 0;
    double gradientNorm = 0;
    double weights = 0;
    std::string worstTensor;
    std::int32_t steps = 0;
    std::int64_t stateBytes = 0;        ///< largest over ranks: shards, gradients, moments held
    std::int64_t theoryStateBytes = 0;  ///< theory::stateTheory()
};

using Message = std::variant<
    AgentHello, PrepareRequest, HostPrepared, DataRequest, DataChecked, PeersRequest, PeersChecked,
    ClockAsked, ClockAnswer, ClockCorrection, Backlog, Taken, LaunchRequest, ProgramLaunch,
    TaskTerms, RankStart, Command, Heartbeat, RankStarted, RankExited, RankLooked, AgentDone,
    LogLine, RankHello, PeakMeasured, DeviceReported, LaneDeclared, StringsDeclared, StepDone,
    RankActivity, MetricReported, SampleWritten, TheoryReported, FactsReported, DiagnosticRaised,
    RankFinished, RankFailed, VerifyResult, ProcessesSeen, CollectiveOpen, ProgramEnded>;

std::string encode(const Message& message);
/// What agents and ranks say has no control characters afterwards; newlines and tabs only in last
/// words, strings, samples and diagnostics. Errors: kLaunch.
Result<Message> decode(std::string_view json);

}  // namespace shardscope::run

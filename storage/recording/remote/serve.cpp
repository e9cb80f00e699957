#include "storage/recording/remote/serve.h"

#include "storage/columns/arguments.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/remote/call_queue.h"
#include "storage/recording/remote/frame_stream.h"
#include "storage/recording/remote/named_texts.h"

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shardscope::storage::remote {
namespace {

/// What is made of a call's bytes.
constexpr std::size_t kCallBudget = std::size_t{64} << 20;
/// Of texts in one answer, or in one frame before it; a longer one travels alone.
constexpr std::size_t kTextBytes = kPartBytes;
/// Of arguments before one answer: a screen full of them. More are asked for.
constexpr std::size_t kArgumentBytes = std::size_t{1} << 20;
constexpr std::uint32_t kMostTexts = 4096;

template <std::size_t Index = 0>
bool readCall(std::size_t index, wire::Reader& in, Call& call) {
    if constexpr (Index < std::variant_size_v<Call>) {
        if (index != Index) return readCall<Index + 1>(index, in, call);
        in.get(call.emplace<Index>());
        return in.isWhole();
    } else {
        return false;
    }
}

class Server {
public:
    Server(int in, int out, const ServeOptions& options) : m_stream(in, out), m_options(options) {}

    Result<void> run() {
        wire::Writer hello;
        hello.put(kVersion);
        if (auto sent = send(FrameKind::kHello, 0, hello.take()); !sent) return {};
        std::thread listener([this] { listen(); });
        while (const auto next = m_calls.take()) {
            const bool sent =
                std::visit([&](const auto& asked) { return answer(*next, asked); }, next->call);
            if (!sent) break;
        }
        m_ended = true;
        listener.join();
        return m_broken;
    }

private:
    // On the listening thread.

    void listen() {
        while (!m_ended) {
            auto frame = m_stream.receive(std::chrono::milliseconds(100));
            if (frame && !*frame) continue;
            if (!frame && frame.error().code == ErrorCode::kLaunch) break;
            const auto heard = frame ? hear(**frame) : Result<void>(failure(frame));
            if (heard) continue;
            m_broken = heard;
            break;
        }
        m_ended = true;
        m_calls.close();
        m_options.onHangUp();
    }

    Result<void> hear(const Frame& frame) {
        if (frame.kind == FrameKind::kCancel) {
            m_calls.cancel(frame.number);
            return {};
        }
        const auto refuse = [](const char* how) {
            return failure(ErrorCode::kUnreadable,
                           std::string("the side that reads sends ") + how +
                               ": it is no shardscope, or damaged on its way");
        };
        if (frame.kind != FrameKind::kCall || frame.number != m_heard + 1)
            return refuse("frames that nobody sends to who serves");
        m_heard = frame.number;
        if (frame.payload.empty()) return refuse("an empty call");
        Call call;
        wire::Reader in(std::span(frame.payload).subspan(1), kCallBudget);
        if (!readCall(std::to_integer<std::size_t>(frame.payload[0]), in, call))
            return refuse("a call that cannot be read");
        if (!m_calls.put(frame.number, std::move(call)))
            return refuse("more calls than it waits for");
        return {};
    }

    // On the answering thread.

    /// False: nobody listens any more.
    template <class Asked>
    bool answer(const WaitingCall& waiting, const Asked& asked) {
        m_generation = waiting.generation;
        auto made = guarded([&] { return perform(asked); });
        if (!made) return fail(waiting.number, made.error());
        if (!sendNames(waiting.number, asked, *made)) return false;
        wire::Writer out;
        out.put(*made);
        return sendAnswer(waiting, out.take());
    }

    template <class Work>
    auto guarded(Work work) -> decltype(work()) {
        try {
            return work();
        } catch (const std::bad_alloc&) {
            return failure(ErrorCode::kFailure, "the host has no memory left for that");
        } catch (const std::exception& error) {
            return failure(ErrorCode::kFailure, std::string("reading failed: ") + error.what());
        }
    }

    bool sendAnswer(const WaitingCall& waiting, std::span<const std::byte> bytes) {
        while (bytes.size() > kPartBytes) {
            if (waiting.generation.superseded())
                return fail(waiting.number, {ErrorCode::kCancelled, "cancelled"});
            if (!send(FrameKind::kPart, waiting.number, bytes.first(kPartBytes))) return false;
            bytes = bytes.subspan(kPartBytes);
        }
        return send(FrameKind::kLast, waiting.number, bytes).has_value();
    }

    bool fail(std::uint32_t number, const Error& error) {
        wire::Writer out;
        // What does not fit a frame nobody reads to its end.
        out.put(Said{static_cast<std::int32_t>(error.code), error.message.substr(0, kPartBytes)});
        return send(FrameKind::kFailure, number, out.take()).has_value();
    }

    template <class Asked>
    bool sendNames(std::uint32_t number, const Asked& asked, const typename Asked::Answer& made) {
        std::vector<NamedText> texts;
        std::size_t bytes = 0;
        std::size_t argumentBytes = 0;
        bool sent = true;
        const auto flush = [&] {
            if (texts.empty() || !sent) return;
            wire::Writer out;
            out.put(texts);
            sent = send(FrameKind::kTexts, number, out.take()).has_value();
            texts.clear();
            bytes = 0;
        };
        forEachNameOf(asked, made, [&](RankId rank, StringId id) {
            // Arguments come again with each view, as the other side keeps those of one only.
            const bool isName = !columns::isArguments(id);
            if (!sent || id == kEmptyString) return;
            if (isName ? m_sent[rank].contains(id.value) : argumentBytes > kArgumentBytes) return;
            const std::string_view text = m_reader->text(rank, id);
            // Not there yet, or too long to send unasked. Arguments may well be none.
            if ((isName && text.empty()) || text.size() > kTextBytes) return;
            if (isName)
                m_sent[rank].insert(id.value);
            else
                argumentBytes += text.size();
            if (bytes + text.size() > kTextBytes) flush();
            bytes += text.size() + 16;
            texts.push_back({rank, id, std::string(text)});
        });
        flush();
        return sent;
    }

    Result<void> send(FrameKind kind, std::uint32_t number, std::span<const std::byte> payload) {
        return m_stream.send(kind, number, payload, [this] { return !m_ended; });
    }

    Result<std::uint8_t> perform(const Open& asked) {
        m_reader.reset();
        m_sent.clear();
        const std::string path = withoutTilde(asked.path);
        const bool beingWritten = m_options.isBeingWritten(path);
        auto reader = openRecording(path, m_options.threads);
        if (!reader) return failure(reader);
        m_reader = std::move(*reader);
        return static_cast<std::uint8_t>(beingWritten ? 1 : 0);
    }
    Result<FolderList> perform(const ListFolder& asked) { return listFolder(asked.path); }
    /// All others ask an open recording.
    template <class Asked>
    Result<typename Asked::Answer> perform(const Asked& asked) {
        if (m_reader) return read(asked);
        return failure(ErrorCode::kUsage, "no recording is open on this connection");
    }

    Result<RecordingSummary> read(const Summary&) { return m_reader->summary(); }
    Result<std::vector<std::string>> read(const Texts& asked) {
        std::vector<std::string> texts;
        std::size_t bytes = 0;
        for (std::uint32_t i = 0; i < std::min(asked.count, kMostTexts); ++i) {
            if (m_generation.superseded() || asked.first.value + i < asked.first.value) break;
            texts.emplace_back(m_reader->text(asked.rank, {asked.first.value + i}));
            bytes += texts.back().size();
            if (bytes > kTextBytes) break;
        }
        return texts;
    }
    Result<RankEvents> read(const EventsOfRank& asked) {
        return m_reader->rankEvents(asked.rank, asked.range);
    }
    Result<std::vector<SpanEvent>> read(const SpansOfLane& asked) {
        return m_reader->spans(asked.rank, asked.lane, asked.range);
    }
    Result<std::vector<SpanEvent>> read(const SpansNaming& asked) {
        return m_reader->spansNaming(asked.rank, asked.lane, asked.range, asked.texts);
    }
    Result<std::vector<std::vector<LaneSlice>>> read(const SpansInView& asked) {
        return m_reader->spans(asked.lanes, {asked.range, asked.resolution, m_generation});
    }
    Result<std::vector<std::vector<CounterSlice>>> read(const CountersInView& asked) {
        return m_reader->counters(asked.lanes, {asked.range, asked.resolution, m_generation});
    }
    Result<std::vector<CounterEvent>> read(const SamplesOfLane& asked) {
        return m_reader->samples(asked.rank, asked.lane, asked.range);
    }
    Result<std::vector<MemoryEvent>> read(const MemoryOfRank& asked) {
        return m_reader->memoryEvents(asked.rank, asked.range);
    }
    Result<std::vector<MemoryEvent>> read(const LiveMemory& asked) {
        return m_reader->liveMemory(asked.rank, asked.time);
    }
    Result<std::vector<InstantEvent>> read(const InstantsOfLane& asked) {
        return m_reader->instants(asked.rank, asked.lane, asked.range);
    }
    Result<std::vector<FlowEvent>> read(const FlowsOfLane& asked) {
        return m_reader->flows(asked.rank, asked.lane, asked.range);
    }
    Result<std::vector<FlowArrow>> read(const Arrows& asked) {
        return m_reader->arrowsOf(asked.rank, asked.lane, asked.start, asked.depth);
    }
    Result<TableResult> read(const Query& asked) { return m_reader->query(asked.sql); }

    FrameStream m_stream;
    const ServeOptions& m_options;
    CallQueue m_calls;
    std::atomic<bool> m_ended = false;
    std::uint32_t m_heard = 0;  ///< the listening thread's: number of the last call
    Result<void> m_broken;      ///< the listening thread's, until it has ended
    Generation m_generation;    ///< of the call that is being answered
    std::unique_ptr<RecordingReader> m_reader;
    /// Strings that the other side has.
    std::unordered_map<RankId, std::unordered_set<std::uint32_t>> m_sent;
};

}  // namespace

Result<void> serve(int in, int out, const ServeOptions& options) {
    return Server(in, out, options).run();
}

}  // namespace shardscope::storage::remote

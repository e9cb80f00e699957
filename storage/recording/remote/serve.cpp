#include "storage/recording/remote/serve.h"

#include "storage/columns/arguments.h"
#include "storage/columns/wire.h"
#include "storage/model/mutex.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/remote/calls.h"
#include "storage/recording/remote/frames.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace shardscope::storage::remote {
namespace {

struct WaitingCall {
    std::uint32_t number = 0;
    Call call;
    Generation generation;  ///< superseded when it is cancelled
};

class CallQueue {
public:
    /// False: more wait than an honest client asks.
    [[nodiscard]] bool put(std::uint32_t number, Call call);
    /// Waiting, or being answered.
    void cancel(std::uint32_t number);
    /// Cancels all; no more will come.
    void close();
    /// Waits for the next; nothing: none will come.
    std::optional<WaitingCall> take();

private:
    struct Entry {
        WaitingCall waiting;
        Generations generations;
    };
    static constexpr std::size_t kMostWaiting = 64;

    Mutex m_mutex;
    Condition m_changed;
    std::deque<Entry> m_entries SHARDSCOPE_GUARDED_BY(m_mutex);
    /// Of what was taken last.
    std::unique_ptr<Entry> m_taken SHARDSCOPE_GUARDED_BY(m_mutex);
    bool m_closed SHARDSCOPE_GUARDED_BY(m_mutex) = false;
};

bool CallQueue::put(std::uint32_t number, Call call) {
    const MutexLock lock(m_mutex);
    if (m_entries.size() == kMostWaiting) return false;
    Entry entry;
    entry.waiting = {number, std::move(call), entry.generations.next()};
    m_entries.push_back(std::move(entry));
    m_changed.notifyOne();
    return true;
}

void CallQueue::cancel(std::uint32_t number) {
    const MutexLock lock(m_mutex);
    if (m_taken && m_taken->waiting.number == number) m_taken->generations.supersede();
    for (Entry& entry : m_entries)
        if (entry.waiting.number == number) entry.generations.supersede();
}

void CallQueue::close() {
    const MutexLock lock(m_mutex);
    m_closed = true;
    if (m_taken) m_taken->generations.supersede();
    m_entries.clear();
    m_changed.notifyOne();
}

std::optional<WaitingCall> CallQueue::take() {
    MutexLock lock(m_mutex);
    while (m_entries.empty() && !m_closed) m_changed.wait(lock);
    m_taken.reset();
    if (m_entries.empty()) return std::nullopt;
    m_taken = std::make_unique<Entry>(std::move(m_entries.front()));
    m_entries.pop_front();
    return std::optional(m_taken->waiting);
}

/// What is made of a call's bytes.
constexpr std::size_t kCallBudget = std::size_t{64} << 20;
/// Of texts in one answer, or in one frame before it; a longer one travels alone.
constexpr std::size_t kTextBytes = kPartBytes;
/// Of arguments before one answer: a screen full of them. More are asked for.
constexpr std::size_t kArgumentBytes = std::size_t{1} << 20;
constexpr std::uint32_t kMostTexts = 4096;

class Server {
public:
    Server(int in, int out, const ServeOptions& options) : m_stream(in, out), m_options(options) {}

    Result<void> run() {
        columns::wire::Writer hello;
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
            return refuse("frames that a client does not send");
        m_heard = frame.number;
        if (frame.payload.empty()) return refuse("an empty call");
        auto call = decodeCall(frame.payload, kCallBudget);
        if (!call) return refuse("a call that cannot be read");
        if (!m_calls.put(frame.number, std::move(*call)))
            return refuse("more calls than it waits for");
        return {};
    }

    // On the answering thread.

    /// False: the other side has closed.
    template <class Asked>
    bool answer(const WaitingCall& waiting, const Asked& asked) {
        m_generation = waiting.generation;
        auto made = guarded([&] { return perform(asked); });
        if (!made) return fail(waiting.number, made.error());
        return sendNames(waiting, asked, *made) &&
               sendAnswer(waiting, bytesOf(shapeOfAnswer(waiting.call.index()), &*made));
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
        columns::wire::Writer out;
        // What does not fit a frame is more than a client reads.
        out.put(Said{static_cast<std::int32_t>(error.code), error.message.substr(0, kPartBytes)});
        return send(FrameKind::kFailure, number, out.take()).has_value();
    }

    /// The strings that an answer names, and the arguments of what is in view; others are asked
    /// for.
    template <class Asked>
    bool sendNames(const WaitingCall& waiting, const Asked& asked,
                   const typename Asked::Answer& made) {
        const Shape& shape = shapeOfAnswer(waiting.call.index());
        NamesSent names{waiting.number, std::is_same_v<Asked, SpansInView>};
        if constexpr (std::is_same_v<Asked, SpansInView>) {
            for (std::size_t i = 0; i < made.size() && i < asked.lanes.size(); ++i)
                sendNamesOf(asked.lanes[i].rank, *shape.of, &made[i], names);
        } else if constexpr (requires { asked.rank; }) {
            sendNamesOf(asked.rank, shape, &made, names);
        }
        return flush(names);
    }

    /// On their way before an answer.
    struct NamesSent {
        std::uint32_t number = 0;
        bool withArguments = false;
        std::vector<NamedText> texts{};  ///< not sent yet
        std::size_t bytes = 0;           ///< of these
        std::size_t argumentBytes = 0;
        bool sent = true;  ///< the other side still listens
    };

    bool flush(NamesSent& names) {
        if (names.texts.empty() || !names.sent) return names.sent;
        names.sent = send(FrameKind::kTexts, names.number,
                          bytesOf(kShape<std::vector<NamedText>>, &names.texts))
                         .has_value();
        names.texts.clear();
        names.bytes = 0;
        return names.sent;
    }

    void sendNamesOf(RankId rank, const Shape& shape, const void* made, NamesSent& names) {
        auto& known = m_sent[rank];
        columns::wire::forEachTextOf(shape, made, [&](StringId id) {
            if (id == kEmptyString || !names.sent) return;
            // Arguments come again with each view, as the other side keeps those of one only.
            const bool isName = !columns::isArguments(id);
            if (isName ? known.contains(id.value)
                       : !names.withArguments || names.argumentBytes > kArgumentBytes)
                return;
            const std::string_view text = m_reader->text(rank, id);
            // Not there yet, or too long to send unasked. Arguments may well be none.
            if ((isName && text.empty()) || text.size() > kTextBytes) return;
            if (isName)
                known.insert(id.value);
            else
                names.argumentBytes += text.size();
            if (names.bytes + text.size() > kTextBytes) flush(names);
            names.bytes += text.size() + 16;
            names.texts.push_back({rank, id, std::string(text)});
        });
    }

    static std::vector<std::byte> bytesOf(const Shape& shape, const void* value) {
        columns::wire::Writer out;
        out.putOne(shape, value);
        return out.take();
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
    template <class Asked>
    Result<typename Asked::Answer> read(Asked asked) {
        typename Asked::Answer answer{};
        if constexpr (requires { asked.view; }) asked.view.generation = m_generation;
        const auto done = m_reader->answer(AnyRequest(Request<Asked>{asked, answer}));
        if (!done) return failure(done);
        return answer;
    }

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

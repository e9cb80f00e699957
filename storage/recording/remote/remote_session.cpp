#include "storage/recording/remote/remote_session.h"

#include "storage/columns/arguments.h"
#include "storage/model/plain_text.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace shardscope::storage::remote {
namespace {

/// How often it looks whether its answer is still wanted.
constexpr std::chrono::milliseconds kTurn{20};
/// Of one answer before it is read.
constexpr std::size_t kMostAnswer = std::size_t{1} << 30;
constexpr std::size_t kLeastBudget = std::size_t{256} << 20;
constexpr std::size_t kMostBudget = std::size_t{8} << 30;
constexpr std::size_t kBudgetOfAByte = 256;

std::optional<Said> saidIn(const Frame& frame) {
    Said said;
    wire::Reader in(frame.payload, 2 * kMostPayload);
    in.get(said);
    if (!in.isWhole()) return std::nullopt;
    // It comes onto a terminal.
    said.message = printable(std::move(said.message));
    return said;
}

Error errorOf(const Said& said) {
    switch (static_cast<ErrorCode>(said.code)) {
        case ErrorCode::kUsage:
        case ErrorCode::kUnreadable:
        case ErrorCode::kLaunch:
        case ErrorCode::kRank:
        case ErrorCode::kInterrupted:
        case ErrorCode::kCancelled:
            return {static_cast<ErrorCode>(said.code), said.message};
        default:
            return {ErrorCode::kFailure, said.message};
    }
}

}  // namespace

RemoteSession::RemoteSession(FrameStream stream, std::unique_ptr<Carrier> carrier, std::string name,
                             Generation wanted)
    : m_carrier(std::move(carrier)),
      m_stream(std::move(stream)),
      m_name(std::move(name)),
      m_wanted(std::move(wanted)) {}

Result<std::unique_ptr<RemoteSession>> RemoteSession::begin(
    FrameStream stream, std::unique_ptr<Carrier> carrier, std::string name,
    const Generation& wanted, const std::function<void(const std::string&)>& notice,
    std::string host) {
    std::unique_ptr<RemoteSession> session(
        new RemoteSession(std::move(stream), std::move(carrier), std::move(name), wanted));
    session->m_host = std::move(host);
    if (auto begun = session->awaitHello(notice); !begun) return failure(begun);
    return session;
}

std::size_t RemoteSession::budgetOf(std::size_t bytes) {
    return std::clamp(bytes * kBudgetOfAByte, kLeastBudget, kMostBudget);
}

Result<void> RemoteSession::awaitHello(const std::function<void(const std::string&)>& notice) {
    while (true) {
        const auto frame = nextFrame({});
        if (!frame) return failure(frame);
        if (frame->kind == FrameKind::kHello) {
            std::uint32_t version = 0;
            wire::Reader in(frame->payload, kMostPayload);
            in.get(version);
            if (in.isWhole() && version == kVersion) return {};
            return lose({ErrorCode::kUnreadable, "it serves version " + std::to_string(version) +
                                                     " of the protocol, here is " +
                                                     std::to_string(kVersion) +
                                                     "; bring both to the same release"});
        }
        const auto said = saidIn(*frame);
        if (!said || (frame->kind != FrameKind::kNotice && frame->kind != FrameKind::kFailure))
            return lose({ErrorCode::kUnreadable, "it does not speak as a shardscope that serves"});
        if (frame->kind == FrameKind::kFailure) return tl::unexpected<Error>(errorOf(*said));
        if (notice) notice(said->message);
    }
}

Result<Frame> RemoteSession::nextFrame(const Generation& generation) {
    while (true) {
        if (m_wanted.superseded() || generation.superseded())
            return failure(ErrorCode::kCancelled, "not wanted any more");
        auto frame = m_stream.receive(kTurn);
        if (!frame) return lose(frame.error());
        if (*frame) return std::move(**frame);
    }
}

Result<void> RemoteSession::exchange(const Call& call, void* answer, const Generation& generation) {
    auto bytes = send(call, generation);
    if (!bytes) return failure(bytes);
    wire::Reader in(*bytes, budgetOf(bytes->size()));
    in.getOne(shapeOfAnswer(call.index()), answer);
    if (in.isWhole()) return {};
    return lose({ErrorCode::kUnreadable, "its answer cannot be read"});
}

Result<std::vector<std::byte>> RemoteSession::send(const Call& call, const Generation& generation) {
    if (m_lost) return tl::unexpected<Error>(*m_lost);
    const std::vector<std::byte> payload = encodeCall(call);
    if (payload.size() > kMostPayload)
        return failure(ErrorCode::kUsage,
                       "what is asked is longer than a megabyte: ask for less at once");
    const std::uint32_t number = ++m_number;
    const auto sent =
        m_stream.send(FrameKind::kCall, number, payload, [&] { return !m_wanted.superseded(); });
    // A frame that is cut off takes the rest of the stream with it.
    if (!sent) return lose({ErrorCode::kLaunch, sent.error().message});
    auto answer = collect(number, generation);
    if (answer || answer.error().code != ErrorCode::kCancelled || m_lost) return answer;
    // A few bytes: what does not take them at once has stopped.
    const auto told = m_stream.send(FrameKind::kCancel, number, {}, [] { return false; });
    if (!told) m_lost = lose({ErrorCode::kLaunch, "it takes nothing any more"}).value();
    return answer;
}

Result<std::vector<std::byte>> RemoteSession::collect(std::uint32_t number,
                                                      const Generation& generation) {
    std::vector<std::byte> answer;
    while (true) {
        auto frame = nextFrame(generation);
        if (!frame) return failure(frame);
        if (frame->number > number)
            return lose({ErrorCode::kUnreadable, "it answers what was not asked"});
        // Strings of an answer that was given up are taken: they do not come again.
        if (frame->kind == FrameKind::kTexts) {
            if (auto taken = takeTexts(*frame); !taken) return failure(taken);
            continue;
        }
        if (frame->number < number) continue;
        if (frame->kind == FrameKind::kFailure) {
            const auto said = saidIn(*frame);
            if (!said) return lose({ErrorCode::kUnreadable, "its error cannot be read"});
            Error error = errorOf(*said);
            if (!m_host.empty()) error.message = m_host + ": " + error.message;
            return tl::unexpected<Error>(std::move(error));
        }
        if (frame->kind != FrameKind::kPart && frame->kind != FrameKind::kLast)
            return lose({ErrorCode::kUnreadable, "it answers with something else"});
        if (answer.size() + frame->payload.size() > kMostAnswer)
            return lose({ErrorCode::kUnreadable, "its answer has no end"});
        answer.insert(answer.end(), frame->payload.begin(), frame->payload.end());
        if (frame->kind == FrameKind::kLast) return answer;
    }
}

Result<void> RemoteSession::takeTexts(const Frame& frame) {
    std::vector<NamedText> texts;
    wire::Reader in(frame.payload, budgetOf(frame.payload.size()));
    in.get(texts);
    if (!in.isWhole()) return lose({ErrorCode::kUnreadable, "its strings cannot be read"});
    for (NamedText& each : texts)
        (columns::isArguments(each.id) ? m_arguments : m_names)
            .add(each.rank, each.id, std::move(each.text));
    return {};
}

tl::unexpected<Error> RemoteSession::lose(const Error& why) {
    if (why.code == ErrorCode::kCancelled) return tl::unexpected<Error>(why);
    const std::string words = m_carrier ? printable(m_carrier->lastWords()) : "";
    m_lost =
        Error{ErrorCode::kLaunch,
              m_name + " was lost: " + (words.empty() ? why.message : words) + "; open it again"};
    return tl::unexpected<Error>(*m_lost);
}

}  // namespace shardscope::storage::remote

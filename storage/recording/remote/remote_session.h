// A connection to a side that serves recordings (serve.h): asks, and waits for answers.
//
// One thread; what is not wanted any more may be said from any (Generation).
#pragma once

#include "storage/model/result.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/remote/calls.h"
#include "storage/recording/remote/frames.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::storage::remote {

/// What carries the stream, for as long as the session lives.
class Carrier {
public:
    virtual ~Carrier() = default;
    /// Why the stream has ended, as far as it knows: a sentence's end, or nothing.
    virtual std::string lastWords() = 0;
};

/// Strings of ranks that have come; a text stays where it is.
class KnownTexts {
public:
    /// What is there already stays as it is.
    void add(RankId rank, StringId id, std::string text) {
        m_texts[rank].emplace(id.value, std::move(text));
    }
    [[nodiscard]] const std::string* find(RankId rank, StringId id) const {
        const auto of = m_texts.find(rank);
        if (of == m_texts.end()) return nullptr;
        const auto at = of->second.find(id.value);
        return at == of->second.end() ? nullptr : &at->second;
    }

private:
    std::unordered_map<RankId, std::unordered_map<std::uint32_t, std::string>> m_texts;
};

class RemoteSession {
public:
    /// Waits for the other side's first words; `notice` gets the progress until then. `name`
    /// says in sentences what was lost; what the other side says is wrong begins with `host`,
    /// unless that is empty. Errors are what the other side says instead; kLaunch: it
    /// has gone, or is of another version; kCancelled: `wanted` was superseded.
    static Result<std::unique_ptr<RemoteSession>> begin(
        FrameStream stream, std::unique_ptr<Carrier> carrier, std::string name,
        const Generation& wanted = {}, const std::function<void(const std::string&)>& notice = {},
        std::string host = {});

    RemoteSession(const RemoteSession&) = delete;
    RemoteSession& operator=(const RemoteSession&) = delete;

    /// From now on every call ends with kCancelled soon after this one was superseded.
    void whileWanted(Generation wanted) { m_wanted = std::move(wanted); }

    /// kCancelled soon after the generation was superseded; kLaunch when the connection is lost,
    /// now and ever after.
    template <class Asked>
    Result<typename Asked::Answer> ask(const Asked& asked, const Generation& generation = {}) {
        typename Asked::Answer answer{};
        const auto done = exchange(Call(asked), &answer, generation);
        if (!done) return failure(done);
        return answer;
    }

    /// The connection was lost, and nothing can be asked any more.
    [[nodiscard]] bool isLost() const { return m_lost.has_value(); }
    [[nodiscard]] const std::string& name() const { return m_name; }
    /// Names in all answers, and arguments in that to the last question about a view.
    [[nodiscard]] const KnownTexts& names() const { return m_names; }
    [[nodiscard]] const KnownTexts& arguments() const { return m_arguments; }
    /// Of another recording, or of another view.
    void forgetNames() { m_names = {}; }
    void forgetArguments() { m_arguments = {}; }

    [[nodiscard]] std::uint64_t bytesOut() const { return m_stream.bytesOut(); }
    [[nodiscard]] std::uint64_t bytesIn() const { return m_stream.bytesIn(); }

private:
    RemoteSession(FrameStream stream, std::unique_ptr<Carrier> carrier, std::string name,
                  Generation wanted);

    Result<void> awaitHello(const std::function<void(const std::string&)>& notice);
    /// `answer` is of the call's answer's type.
    Result<void> exchange(const Call& call, void* answer, const Generation& generation);
    Result<std::vector<std::byte>> send(const Call& call, const Generation& generation);
    Result<std::vector<std::byte>> collect(std::uint32_t number, const Generation& generation);
    Result<Frame> nextFrame(const Generation& generation);
    Result<void> takeTexts(const Frame& frame);
    [[nodiscard]] tl::unexpected<Error> lose(const Error& why);
    /// For the memory of what is made of so many bytes.
    [[nodiscard]] static std::size_t budgetOf(std::size_t bytes);

    std::unique_ptr<Carrier> m_carrier;  ///< goes after the stream
    FrameStream m_stream;
    std::string m_name;
    std::string m_host;
    Generation m_wanted;
    std::uint32_t m_number = 0;
    KnownTexts m_names, m_arguments;
    std::optional<Error> m_lost;
};

// A `shardscope serve` that this process starts, and a session over its standard streams: on this
// machine, or through ssh to another one.

struct ChildOptions {
    std::string program;     ///< path of `shardscope`
    std::string sshCommand;  ///< empty: ssh
};

/// `target` as in RemoteAddress; empty: this machine. `notice` gets the progress of the connection.
/// Errors as of RemoteSession::begin(), and kLaunch: the program cannot be started. The child ends
/// with the session. From any thread.
Result<std::unique_ptr<RemoteSession>> startServing(
    const ChildOptions& options, const std::string& target, const Generation& wanted = {},
    const std::function<void(const std::string&)>& notice = {});

}  // namespace shardscope::storage::remote

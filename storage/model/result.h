// Errors as values: every fallible function of Shardscope returns Result<T>.
//
// An Error carries a sentence that says what, where and what to do, and a code that
// decides the process's exit status. tl::expected stands in for C++23's std::expected.
#pragma once

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace shardscope {

/// Values up to 130 are the process exit codes documented in README.
enum class ErrorCode : int {
    kFailure = 1,        ///< anything not named below
    kUsage = 2,          ///< the command line or run file asks for something impossible
    kUnreadable = 3,     ///< an input cannot be read, or is not what it should be
    kLaunch = 4,         ///< an agent or rank could not be started or reached
    kRank = 5,           ///< a training rank failed
    kInterrupted = 130,  ///< stopped by the user
    kCancelled = 1000,   ///< a background job was superseded; callers drop it, users never see it
};

struct Error {
    ErrorCode code = ErrorCode::kFailure;
    std::string message;

    /// The same error with what was being done put in front: "opening run.sscope: ...".
    [[nodiscard]] Error context(std::string_view doing) const {
        return {code, std::string(doing) + ": " + message};
    }
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
public:
    using tl::expected<T, Error>::expected;
};

/// `return failure(ErrorCode::kUsage, "...")` from a function that returns Result<T>.
[[nodiscard]] inline tl::unexpected<Error> failure(ErrorCode code, std::string message) {
    return tl::unexpected<Error>(Error{code, std::move(message)});
}

/// Hands the error of one Result on as that of another.
template <class T>
[[nodiscard]] tl::unexpected<Error> failure(const Result<T>& failed) {
    return tl::unexpected<Error>(failed.error());
}

template <class T>
[[nodiscard]] tl::unexpected<Error> failure(const Result<T>& failed, std::string_view doing) {
    return tl::unexpected<Error>(failed.error().context(doing));
}

/// The exit status a process ends with for this error.
[[nodiscard]] inline int exitStatus(const Error& error) {
    const int code = static_cast<int>(error.code);
    return code <= 130 ? code : 1;
}

}  // namespace shardscope

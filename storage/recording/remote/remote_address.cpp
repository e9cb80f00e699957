#include "storage/recording/remote/remote_address.h"

#include <algorithm>
#include <charconv>

namespace shardscope::storage::remote {
namespace {

constexpr std::string_view kScheme = "ssh://";

/// Nothing that ssh could take for an option, or a shell for more than a word.
bool isName(std::string_view name) {
    return !name.empty() && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-' || c == '_';
           });
}

bool isPort(std::string_view text) {
    int port = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && port > 0 &&
           port < 65536;
}

}  // namespace

bool isRemote(std::string_view text) {
    return text.starts_with(kScheme);
}

Result<RemoteAddress> parseAddress(std::string_view text) {
    const auto refuse = [&](const char* why) {
        return failure(ErrorCode::kUsage,
                       std::string(text) + " " + why +
                           "; write ssh://[user@]host[:port]/absolute/path.sscope or "
                           "ssh://host/~/path.sscope");
    };
    if (!isRemote(text)) return refuse("is no address");
    const std::string_view rest = text.substr(kScheme.size());
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view login = rest.substr(0, slash);
    const std::size_t at = login.rfind('@');
    const std::string_view place = at == std::string_view::npos ? login : login.substr(at + 1);
    const std::size_t colon = std::min(place.find(':'), place.size());
    if (at != std::string_view::npos && !isName(login.substr(0, at)))
        return refuse("has a user name that is none");
    if (!isName(place.substr(0, colon))) return refuse("names no host");
    RemoteAddress address;
    address.target = login;
    if (colon < place.size()) {
        if (!isPort(place.substr(colon + 1))) return refuse("has a port that is none");
        address.target = std::string(kScheme) + std::string(login);
    }
    address.path = rest.substr(slash);
    if (address.path.starts_with("/~")) address.path.erase(0, 1);
    if (address.path.empty()) address.path.assign(1, '~');
    if (address.path.starts_with('~') && address.path != "~" && !address.path.starts_with("~/"))
        return refuse("names another user's home, which is not looked for");
    return address;
}

}  // namespace shardscope::storage::remote

// Datagrams as PyTorch's profiler library sends them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch::kineto::test {

template <class Number>
void put(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

inline std::string datagram(std::string type, std::string_view content) {
    std::string bytes;
    put(bytes, std::uint64_t{content.size()});
    type.resize(32, '\0');
    return bytes + type + std::string(content);
}

/// `type`: 3 of an idle process, 1 of one that a trace goes on in.
inline std::string request(const std::vector<std::int32_t>& pids, std::int32_t type = 3) {
    std::string content;
    put(content, type);
    put(content, static_cast<std::int32_t>(pids.size()));
    put(content, std::int64_t{0});
    for (const std::int32_t pid : pids) put(content, pid);
    return datagram("req", content);
}

inline std::string registration(std::int32_t gpu, std::int32_t pid) {
    std::string content;
    put(content, gpu);
    put(content, pid);
    put(content, std::int64_t{0});
    return datagram("ctxt", content);
}

/// What an answer holds.
inline std::string contentOf(const std::string& answer) {
    return answer.size() < 40 ? "" : answer.substr(40);
}

}  // namespace shardscope::launch::kineto::test

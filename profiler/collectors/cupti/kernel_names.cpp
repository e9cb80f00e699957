#include "profiler/collectors/cupti/kernel_names.h"

#include "storage/model/plain_text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace shardscope::collectors::cupti {
namespace {

constexpr std::size_t kLongestName = 120;
constexpr int kDeepestArgument = 2;
constexpr std::string_view kAnonymous = "(anonymous namespace)::";
constexpr std::array<std::string_view, 3> kCollectivePrefixes = {"ncclDevKernel",
                                                                 "ncclSymkDevKernel", "ncclKernel"};

bool isIdentifier(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

std::string withoutAnonymous(std::string_view text) {
    std::string result(text);
    for (auto at = result.find(kAnonymous); at != std::string::npos; at = result.find(kAnonymous)) {
        result.erase(at, kAnonymous.size());
    }
    return result;
}

/// Where the name proper begins and ends: behind the return type, before the parameters.
std::string_view nameAlone(std::string_view text) {
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<' || c == '{') ++depth;
        if ((c == '>' || c == '}') && depth > 0 && text[i - 1] != '-') --depth;
        if (depth > 0) continue;
        if (c == '(') return text.substr(begin, i - begin);
        if (c == ' ' && i + 1 < text.size() && isIdentifier(text[i + 1])) begin = i + 1;
    }
    return text.substr(begin);
}

std::string withoutNamespaces(std::string_view text) {
    std::string result;
    std::size_t identifier = 0;  // where the identifier at the end of `result` begins
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i, 2) == "::") {
            if (identifier == result.size()) {
                result += "::";  // behind template arguments: part of the name
                identifier = result.size();
            }
            result.resize(identifier);
            ++i;
            continue;
        }
        result += text[i];
        if (!isIdentifier(text[i])) identifier = result.size();
    }
    return result;
}

std::string withoutDeepArguments(std::string_view text) {
    std::string result;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<' && ++depth == kDeepestArgument + 1) result += "<...>";
        if (depth <= kDeepestArgument) result += c;
        if (c == '>' && depth > 0 && text[i - 1] != '-') --depth;
    }
    return result;
}

}  // namespace

std::string displayName(std::string_view demangled) {
    const std::string plain = withoutAnonymous(demangled);
    std::string name = withoutDeepArguments(withoutNamespaces(nameAlone(plain)));
    if (name.empty()) name = plain;
    if (name.size() > kLongestName) name = name.substr(0, kLongestName - 3) + "...";
    return name;
}

std::uint32_t KernelNames::add(std::string_view mangled) {
    const auto found = m_numbers.find(mangled);
    if (found != m_numbers.end()) return found->second;
    KernelName name;
    name.full = demangled(mangled);
    name.shown = displayName(name.full);
    name.collective =
        std::any_of(kCollectivePrefixes.begin(), kCollectivePrefixes.end(),
                    [&](std::string_view prefix) { return name.shown.starts_with(prefix); });
    const auto number = static_cast<std::uint32_t>(m_names.size());
    m_names.push_back(std::move(name));
    m_numbers.emplace(mangled, number);
    return number;
}

}  // namespace shardscope::collectors::cupti

#include "storage/model/size_limit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace shardscope {
namespace {

constexpr double kMostBytes = 9'007'199'254'740'992.0;  // doubles are exact below

struct SizeUnit {
    std::string_view name;
    double bytes;
};
constexpr std::array kUnits{SizeUnit{"", 1},
                            SizeUnit{"k", 1e3},
                            SizeUnit{"ki", 1024},
                            SizeUnit{"m", 1e6},
                            SizeUnit{"mi", 1024.0 * 1024},
                            SizeUnit{"g", 1e9},
                            SizeUnit{"gi", 1024.0 * 1024 * 1024},
                            SizeUnit{"t", 1e12},
                            SizeUnit{"ti", 1024.0 * 1024 * 1024 * 1024}};

std::string lower(std::string_view text) {
    std::string result;
    for (const char c : text) result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
}

tl::unexpected<Error> refuse(std::string_view text, const char* why) {
    std::string sentence(1, '\'');
    sentence.append(text).append("' ").append(why);
    return failure(ErrorCode::kUsage, std::move(sentence));
}

tl::unexpected<Error> noSize(std::string_view text) {
    return refuse(text, "is not a size: write it like 200MB, 2GB or 500MiB");
}

/// Where neither is given.
constexpr Bytes kNoBound{std::numeric_limits<std::int64_t>::max()};

Bytes byRate(Bytes rate, Timestamp now) {
    const double seconds =
        std::max(0.0, now.seconds()) + static_cast<double>(SizeLimit::kHeadStartSeconds);
    return {
        static_cast<std::int64_t>(std::min(static_cast<double>(rate.count) * seconds, kMostBytes))};
}

}  // namespace

Result<Bytes> parseSize(std::string_view text) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (error != std::errc{}) return noSize(text);
    std::string unit = lower({rest, static_cast<std::size_t>(end - rest)});
    unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
    if (!unit.empty() && unit.back() == 'b') unit.pop_back();
    const auto is = [&](const SizeUnit& each) { return each.name == unit; };
    const auto at = std::find_if(kUnits.begin(), kUnits.end(), is);
    if (at == kUnits.end() || !(number >= 0)) return noSize(text);
    const double bytes = number * at->bytes;
    if (!(bytes < kMostBytes)) return refuse(text, "is more than any file holds");
    return Bytes{static_cast<std::int64_t>(bytes)};
}

Result<Bytes> parseRate(std::string_view text) {
    std::string_view size = text;
    if (lower(text).ends_with("/s")) size.remove_suffix(2);
    auto bytes = parseSize(size);
    if (!bytes) return refuse(text, "is not a rate: write it like 2MB/s or 500kB/s");
    return bytes;
}

Bytes SizeLimit::allowed(Timestamp now) const {
    return std::min(most.value_or(kNoBound),
                    mostEverySecond ? byRate(*mostEverySecond, now) : kNoBound);
}

bool SizeLimit::rateBinds(Timestamp now) const {
    return mostEverySecond && byRate(*mostEverySecond, now) < most.value_or(kNoBound);
}

}  // namespace shardscope

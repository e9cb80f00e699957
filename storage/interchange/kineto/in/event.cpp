#include "storage/interchange/kineto/in/event.h"

#include "storage/interchange/decimal.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace shardscope::interchange::kineto {
namespace {

/// Where a member of an event goes; null for one that says nothing about time.
std::string_view* fieldOf(Event& event, std::string_view key) {
    switch (key.size()) {
        case 1:
            return key == "s" ? &event.scope : nullptr;
        case 2:
            if (key == "ph") return &event.phase;
            if (key == "ts") return &event.time;
            if (key == "bp") return &event.bindingPoint;
            return key == "id" ? &event.id : nullptr;
        case 3:
            if (key == "cat") return &event.category;
            if (key == "pid") return &event.process;
            if (key == "tid") return &event.thread;
            if (key == "id2") return &event.id2;
            return key == "dur" ? &event.duration : nullptr;
        case 4:
            if (key == "name") return &event.name;
            return key == "args" ? &event.arguments : nullptr;
        case 5:
            return key == "scope" ? &event.asyncScope : nullptr;
        default:
            return nullptr;
    }
}

void clear(Event& event) {
    std::vector<Member> members = std::move(event.members);
    members.clear();
    event = Event{};
    event.members = std::move(members);
}

const char* readObject(const char* at, const char* end, Event& event) {
    if (at == end || *at != '{') return nullptr;
    ++at;
    if (at < end && *at == '}') return at + 1;
    while (at < end) {
        const char* key = at + 1;
        if (*at != '"') return nullptr;
        at = skipString(at, end, event.flags);
        if (at == nullptr || at == end || *at != ':') return nullptr;
        std::string_view* field = fieldOf(event, {key, static_cast<std::size_t>(at - key) - 1});
        const char* value = ++at;
        if (field == &event.arguments && at < end && *at == '{')
            at = readMembers(at, end, event.members, event.flags);
        else
            at = skipValue(at, end, event.flags);
        if (at == nullptr || at == end) return nullptr;
        if (field != nullptr) *field = {value, static_cast<std::size_t>(at - value)};
        if (*at == '}') return at + 1;
        if (*at != ',') return nullptr;
        ++at;
    }
    return nullptr;
}

/// Whether an event begins at `at` that has all its brackets and a phase.
bool isSound(const char* at, const char* end) {
    constexpr std::ptrdiff_t kMostProbed = std::ptrdiff_t{64} << 10;
    Event event;
    return readObject(at, std::min(end, at + std::min(kMostProbed, end - at)), event) != nullptr &&
           !event.phase.empty();
}

/// After the element whose brackets begin at `at`, however malformed it is inside; where it lacks a
/// bracket, before the next sound event.
const char* skipMalformed(const char* at, const char* end) {
    constexpr int kMostProbes = 16;
    int depth = 0, probes = 0;
    TextFlags ignored;
    while (at < end) {
        if (*at == ',' && depth > 0 && end - at > 1 && at[1] == '{' && probes++ < kMostProbes &&
            isSound(at + 1, end))
            return at;
        if (*at == '"') {
            at = skipString(at, end, ignored);
            if (at == nullptr) return end;
            continue;
        }
        if (*at == ',' && depth == 0) return at;
        if (*at == '{' || *at == '[') ++depth;
        if ((*at == '}' || *at == ']') && --depth <= 0) return at + 1;
        ++at;
    }
    return end;
}

}  // namespace

std::string_view nameOf(const Event& event, std::string& scratch) {
    const std::string_view name = textOf(event.name, scratch);
    const std::int64_t unit = name.ends_with(" ms]") ? 1000 : name.ends_with(" us]") ? 1 : 0;
    const std::size_t at = unit == 0 ? std::string_view::npos : name.rfind('[');
    if (at == std::string_view::npos) return name;
    const auto said = parseMicroseconds(name.substr(at + 1, name.size() - at - 5));
    const auto duration = parseMicroseconds(bare(event.duration));
    constexpr std::int64_t kLongest = std::int64_t{1} << 50;  // ns, 13 days
    if (!said || !duration || std::abs(said->value) > kLongest ||
        std::abs(duration->value) > kLongest)
        return name;
    // Rounded to three digits, from a float of 24 bits.
    const std::int64_t rounding = unit + duration->value / 4'000'000;
    const bool same = std::abs(said->value * unit - duration->value) <= rounding;
    return same ? name.substr(0, at) : name;
}

std::size_t readEvent(std::string_view text, Event& event) {
    clear(event);
    const char* begin = text.data();
    const char* end = begin + text.size();
    const char* at = begin;
    while (at < end && *at == ',') ++at;
    if (at == end) return 0;
    const char* after = readObject(at, end, event);
    // A comma may be missing between two, or a bracket be there too many.
    if (after != nullptr &&
        (after == end || std::string_view(",{}]").find(*after) != std::string_view::npos)) {
        event.text = {at, static_cast<std::size_t>(after - at)};
    } else {
        clear(event);
        event.isObject = *at == '{';
        after = skipMalformed(at, end);
    }
    return static_cast<std::size_t>(after - begin);
}

}  // namespace shardscope::interchange::kineto

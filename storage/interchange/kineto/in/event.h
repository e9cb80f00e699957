// One event of a Chrome trace as it stands in the text.
#pragma once

#include "storage/interchange/json_text.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange::kineto {

/// JSON values, not resolved; empty where absent. Views into the window.
struct Event {
    std::string_view text;  ///< the whole event; empty: malformed, or no object
    bool isObject = true;
    std::string_view phase;
    std::string_view category;
    std::string_view name;
    std::string_view process;
    std::string_view thread;
    std::string_view time;
    std::string_view duration;
    std::string_view id;
    std::string_view id2;         ///< of asynchronous events: an object of "local" or "global"
    std::string_view scope;       ///< of an instant ("s")
    std::string_view asyncScope;  ///< of an asynchronous event ("scope")
    std::string_view bindingPoint;
    std::string_view arguments;   ///< the object, whole
    std::vector<Member> members;  ///< of the arguments
    TextFlags flags;
};

/// A value without its quotes; escapes stay (pids, tids and categories have none).
[[nodiscard]] inline std::string_view bare(std::string_view value) {
    return isString(value) ? value.substr(1, value.size() - 2) : value;
}

/// Its name with escapes resolved, without the duration that Paddle appends ("matmul[0.005 ms]"),
/// by which equal names would differ. Valid as long as `scratch`.
[[nodiscard]] std::string_view nameOf(const Event& event, std::string& scratch);

/// Reads the element at the front of `text` into `event` and returns how long it is, 0 at a text
/// without elements. What is malformed, or no object, ends at the end of its brackets; then
/// `event.text` is empty.
[[nodiscard]] std::size_t readEvent(std::string_view text, Event& event);

}  // namespace shardscope::interchange::kineto

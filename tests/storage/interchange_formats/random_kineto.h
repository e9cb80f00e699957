// Kineto traces made up at random, with what must be found in them again.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::test {

struct RandomKineto {
    std::string text;
    /// Events as canonical() gives them for the same trace written again. What a recording does
    /// not hold is left out of them, and why:
    /// - whether a pid or tid was a number or a text ("7"): rows of a trace go by what they show;
    /// - begin and end as two events: they are one span, as in every analysis;
    /// - counters' thread and category, and that two series came in one event: a lane is a series;
    /// - thread, category and "Ev Idx" of [memory]: a memory event has no lane and no arguments;
    /// - the 2021 names of categories: today's stand for them;
    /// - an ac2g arrow whose other end is not in the trace: it goes nowhere;
    /// - keys of an event that no profiler of training writes.
    std::vector<std::string> events;
};

/// The same for the same seed.
[[nodiscard]] RandomKineto randomKineto(std::uint32_t seed);

/// Events of an exported trace (plain, one a line), each as text that is equal for equal events.
/// Times are exact, numbers are compared as numbers.
[[nodiscard]] std::vector<std::string> canonicalEvents(const std::string& trace);

}  // namespace shardscope::test

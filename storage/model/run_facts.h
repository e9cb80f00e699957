// How ranks computed and what their machines were like: facts by name, so that another one is
// another row and no column (storage/schema/FORMAT.md, table `facts`).
#pragma once

#include "storage/model/events.h"
#include "storage/model/words.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace shardscope {

/// What follows where two runs differ in a fact.
enum class FactEffect : std::uint8_t {
    kComputes,  ///< the same work was computed in another way: times and memory differ by it
    kMachine,   ///< another machine, or another share of it
    kMoment,    ///< what else went on: differs from run to run
};

enum class Fact : std::uint8_t {
    kProducts,
    kNarrowProducts,
    kAttention,
    kInstructionSet,
    kOnlineCores,
    kQuota,
    kGovernor,
    kNumaNodes,
    kHardware,
    kKernel,
    kLoad,
    kStepSource,
    kOptimizers,
    kModelClass,
};
struct FactWords {
    Fact value;
    const char* word;  ///< `facts.name`, and the key in JSON
    const char* title;
    const char* definition;
    FactEffect effect;
    bool ofRank;  ///< else of a host
};
constexpr auto wordsOf(Fact) {
    using E = FactEffect;
    return wordList<FactWords>(
        {{Fact::kProducts, "products", "matrix products by", "Library of fp32 matrix products.",
          E::kComputes, true},
         {Fact::kNarrowProducts, "narrow_products", "bf16 and fp16 products",
          "Native instructions, or widened to fp32.", E::kComputes, true},
         {Fact::kAttention, "attention", "attention by", "Kernel of causal attention.",
          E::kComputes, true},
         {Fact::kInstructionSet, "instruction_set", "instruction set",
          "Of LibTorch's own kernels on the CPU.", E::kComputes, true},
         {Fact::kOnlineCores, "online_cores", "cores of the machine",
          "Hardware threads; hosts.cores are those that ranks may use.", E::kMachine, false},
         {Fact::kQuota, "quota", "quota of processor time",
          "Of the control group, in cores; none: no limit.", E::kMachine, false},
         {Fact::kGovernor, "governor", "clock governor",
          "scaling_governor of processor 0; unknown in most virtual machines.", E::kMachine, false},
         {Fact::kNumaNodes, "numa_nodes", "NUMA nodes", "Nodes with memory of their own.",
          E::kMachine, false},
         {Fact::kHardware, "hardware", "hardware",
          "physical or virtual: a virtual machine shares caches, memory and clocks with others.",
          E::kMachine, false},
         {Fact::kKernel, "kernel", "operating system", "Name and release of the kernel.",
          E::kMachine, false},
         {Fact::kLoad, "load", "load at start",
          "Load average of the last minute before ranks began to compute (/proc/loadavg).",
          E::kMoment, false},
         {Fact::kStepSource, "step_source", "steps end with",
          "What ends a step of a program that is not ours: shardscope.step(), ProfilerStep, a "
          "named "
          "range, or the optimizer.",
          E::kComputes, true},
         {Fact::kOptimizers, "optimizers", "optimizers", "Classes of the program's optimizers.",
          E::kComputes, true},
         {Fact::kModelClass, "model", "model", "Class of what shardscope.model() was given.",
          E::kComputes, true}});
}

/// Of Fact::kHardware.
inline constexpr const char* kVirtualHardware = "virtual";

struct FactRow {
    std::string name;  ///< a word of Fact, or one of a newer program
    std::int32_t host = 0;
    std::int32_t rank = -1;  ///< -1: of the host
    std::string value;
};

/// Its values over all ranks or hosts, each once: "MKL", "flash and blocked"; empty: not known.
[[nodiscard]] inline std::string factText(const std::vector<FactRow>& facts, Fact fact) {
    std::set<std::string> values;
    for (const FactRow& row : facts)
        if (row.name == toWord(fact)) values.insert(row.value);
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "" : " and ") + value;
    return text;
}

}  // namespace shardscope

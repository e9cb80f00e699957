// The ways in which training is divided over ranks, for people who choose: what each divides, what
// it sends, when to take it, and a picture in plain characters. One home of these words.
#pragma once

#include "storage/model/words.h"

#include <cstdint>

namespace shardscope::planning {

enum class Parallelism : std::uint8_t {
    kData,
    kZero,
    kTensor,
    kSequence,
    kPipeline,
    kExpert,
};
struct ParallelismWords {
    Parallelism value;
    const char* word;
    const char* name;
    const char* divides;
    const char* sends;
    const char* when;
    const char* picture;  ///< of equally wide characters, lines end in \n
    const char* source;
    bool trained;  ///< by this engine; the others are planned for as theory
};
constexpr auto wordsOf(Parallelism) {
    return wordList<ParallelismWords>({
        {Parallelism::kData, "data", "Data parallel",
         "The batch: every rank holds the whole model and takes other sequences.",
         "All gradients once per step, by an all-reduce: 2 (W - 1) / W of their bytes.",
         "Where model, gradients and optimizer state fit on a device.",
         "  rank 0            rank 1\n"
         "  [ L1 L2 L3 L4 ]   [ L1 L2 L3 L4 ]   the same parameters\n"
         "    sequences 0-7     sequences 8-15  other data\n"
         "         \\---- sum of gradients ----/\n",
         "Li et al., arXiv 2006.15704", true},
        {Parallelism::kZero, "zero", "ZeRO, fully sharded data parallel",
         "The batch, and what each rank keeps: optimizer state (1), gradients too (2), parameters "
         "too (3).",
         "1 and 2: as much as data parallel. 3: half as much again, since parameters are gathered "
         "for forward and for backward.",
         "Where the state does not fit whole. Compute hides the gathers where a layer has enough "
         "tokens.",
         "  rank 0            rank 1\n"
         "  [ l1 l2 l3 l4 ]   [ L1 L2 L3 L4 ]   halves of each layer are kept\n"
         "        \\-- gather l2+L2, use, drop --/\n"
         "    sequences 0-7     sequences 8-15\n",
         "Rajbhandari et al., arXiv 1910.02054; Zhao et al., arXiv 2304.11277", true},
        {Parallelism::kTensor, "tensor", "Tensor parallel",
         "Every matrix product: a rank has some of the heads and some of the inner width.",
         "4 all-reduces of the activations a layer and micro-batch, 2 forward and 2 backward, "
         "which "
         "nothing hides.",
         "Within a host with fast links, where one layer is too large or too slow for one device.",
         "              x\n"
         "        /           \\\n"
         "  rank 0             rank 1\n"
         "  heads 0-7          heads 8-15       the same tokens\n"
         "        \\           /\n"
         "         sum, next layer\n",
         "Shoeybi et al., arXiv 1909.08053", false},
        {Parallelism::kSequence, "sequence", "Sequence parallel",
         "With tensor parallel, what it leaves whole: norms, dropout and inputs, by tokens.",
         "As much as tensor parallel: each all-reduce becomes a reduce-scatter and a gather.",
         "Always with tensor parallel: activations shrink at no cost.",
         "  tokens 0-511   tokens 512-1023      norms, each its tokens\n"
         "        \\-- gather --/\n"
         "  heads 0-7      heads 8-15           attention, each its heads\n"
         "     /-- reduce-scatter --\\\n"
         "  tokens 0-511   tokens 512-1023\n",
         "Korthikanti et al., arXiv 2205.05198, section 4.2", false},
        {Parallelism::kPipeline, "pipeline", "Pipeline parallel",
         "The layers: a rank has some that follow each other, a stage; micro-batches pass through.",
         "Activations from stage to stage and their gradients back: little, and to one neighbour.",
         "Across hosts, where a model does not fit otherwise and a batch has many micro-batches: "
         "(p - 1) of (m + p - 1) slots are empty.",
         "  stage 0  F1 F2 F3 .  .  .  .  B1 B2 B3   F forward, B backward\n"
         "  stage 1  .  F1 F2 F3 .  .  B1 B2 B3 .    . empty: the bubble\n"
         "  stage 2  .  .  F1 F2 F3 B1 B2 B3 .  .    1 to 3: micro-batches\n",
         "Narayanan et al., arXiv 2104.04473, section 2.2", false},
        {Parallelism::kExpert, "expert", "Expert parallel",
         "The feed-forward parts of a mixture of experts: a rank has some experts, tokens go to "
         "theirs.",
         "Tokens to their experts and back: 2 all-to-all exchanges a layer, forward and backward.",
         "For mixtures of experts only.",
         "  rank 0   tokens a b c      rank 1   tokens d e f\n"
         "        \\------ each to its expert ------/\n"
         "  expert 0   b d f           expert 1   a c e\n"
         "        \\---------- and back -----------/\n",
         "Lepikhin et al., arXiv 2006.16668", false},
    });
}

}  // namespace shardscope::planning

// Each question with its answer; a file of the same name each. Internal to profiler/questions.
#pragma once

#include "profiler/questions/question.h"

namespace shardscope::questions {

Result<Answer> askBreakdown(const Asked& asked);
inline constexpr Question kBreakdown{
    "breakdown", "What did each rank's device do: compute, communicate, or nothing?",
    "Of each rank's time: computing is the union of its compute kernels, communicating that of "
    "collectives and of kernels that communicate, idle what neither covers. On a CPU rank the step "
    "thread's work (forward, head, backward, clip, optimizer) takes the place of compute kernels. "
    "Time that computes and communicates counts as computing, so that span = idle + compute + "
    "non-compute. Overlap is computing and communicating at once / communicating. --mode exact: "
    "within the steps, every kernel counts, in ns. --mode hta: from the first kernel to the end of "
    "the last, classes by HTA's name patterns, kernels without a launch and the last of several "
    "steps left out.",
    "hta/analyzers/breakdown_analysis.py, communication_analysis.py (f4d0062c)", askBreakdown};

Result<Answer> askCollectives(const Asked& asked);
inline constexpr Question kCollectives{
    "collectives", "Did ranks wait for each other, or did data move, and how fast?",
    "Each collective is analysed over all ranks that took part. Waiting lasts from "
    "a rank's own arrival to the last one's, transfer from there to the end. Where "
    "arrivals are not recorded, as in traces of NCCL kernels, the shortest "
    "duration over all ranks of the group is the transfer and the rest waiting. The transfer ends "
    "with the first rank's end, and latency and bandwidth are fitted up to the last rank's, as "
    "`bench comm` and `calibrate` do: that is when all ranks can go on.",
    "nccl-tests doc/PERFORMANCE.md", askCollectives};

Result<Answer> askLate(const Asked& asked);
inline constexpr Question kLate{
    "late", "Who is slow, and why?",
    "Over 6 steady steps at least, of those whose detail was recorded. A rank is named where the "
    "others' step threads were blocked for it for 5 % of their time, and either in 80 % of the "
    "steps for longer than for any other rank, which is 80 % of all that ranks were held up; or "
    "now and then: for 30 % of a step in 5 steps or more, or for 10 % in 10 or more, where other "
    "ranks held up at most 15 % of such steps and it accounts for 80 % of their waits. Why: the "
    "kind of time in which its steps exceed the median of the others' most, where that makes up "
    "for half of its lateness.",
    "arrivals and phases of the recording", askLate};

Result<Answer> askEfficiency(const Asked& asked);
inline constexpr Question kEfficiency{
    "efficiency", "How well were devices and time used?",
    "Throughput is tokens of the median step over its time, warm-up and validation "
    "left out. MFU is throughput x FLOPs per token / the peak of all ranks, by "
    "each of the ways in use to count FLOPs; N parameters, L layers, C hidden "
    "size, T context. Of recorded programs and traces MFU is what forward and backward need, by "
    "the shapes of matrix products, attention and convolutions of up to 20 steady steps, or 6 N x "
    "tokens, / time / the peak; HFU has what backward computes again as well; --per-step has them "
    "of each "
    "step. Goodput is the time "
    "of steps that train / the wall time of "
    "all ranks. Energy is what counters of devices say, of the steps between "
    "samples.",
    "PaLM, arXiv 2204.02311, appendix B; goodput: arXiv 2502.06982", askEfficiency};

Result<Answer> askWork(const Asked& asked);
inline constexpr Question kWork{
    "work", "What ran, how often and how long?",
    "Spans of one name over all selected ranks. Self time is a span's less that of the spans "
    "inside it on its lane, so that self times add up to the time that anything ran. "
    "Calibration, which measures the host before the training, is left out. Parts of the "
    "step are found by phases, of imported traces by names. A matrix product is eligible for "
    "tensor "
    "cores by its type and sizes, and used them if a kernel of it is named after them.",
    "the recording's own spans; alignments: NVIDIA Deep Learning Performance, Matrix "
    "Multiplication Background",
    askWork};

Result<Answer> askSteps(const Asked& asked);
inline constexpr Question kSteps{
    "steps", "Where did each step go?",
    "Each instant of a step's wall time belongs to one part, so that parts add up to it to the "
    "nanosecond. What a step thread is blocked in counts as waiting until the last rank has "
    "arrived, "
    "and as blocked from there on. Of a device that was traced an instant belongs to the first of: "
    "compute kernels, collectives' kernels, copies; and, idle, to the profiler, data, a "
    "checkpoint, "
    "work that was launched and had not begun, or the host, which had not launched the next.",
    "the recording's own phases, kernels and launches; idle time against "
    "hta/analyzers/breakdown_analysis.py: host wait is split where the launch began, its other "
    "classes are launched",
    askSteps};

Result<Answer> askLaunches(const Asked& asked);
inline constexpr Question kLaunches{
    "launches", "How were kernels launched, and why was the device idle?",
    "Work of a device is joined with the call that launched it. In queue is what was launched and "
    "has not begun. Idle is what no work covers between the first start and the last end; each gap "
    "counts for what the work that ends it waited for.",
    "HolisticTraceAnalysis: cuda_kernel_analysis.py, trace_counters.py, breakdown_analysis.py, "
    "default thresholds",
    askLaunches};

Result<Answer> askFlame(const Asked& asked);
inline constexpr Question kFlame{
    "flame", "What does the time look like as a flame graph?",
    "Stacks of each lane: its name, phase and layer of the outermost span, then "
    "spans within spans. Self is a stack's own time, total that of all stacks that "
    "begin with it as well. Time outside of the selection is cut off; different "
    "lanes run at the same time.",
    "folded stacks: FlameGraph, stackcollapse.pl; `export --to folded` writes the same", askFlame};

Result<Answer> askTraining(const Asked& asked);
inline constexpr Question kTraining{
    "training", "Is training healthy?",
    "Losses, gradient norms, loss scales and step times against those of the steps around them, in "
    "spreads: 1.4826 x the median absolute deviation, of losses and norms from step to step.",
    "robust scale: Rousseeuw & Croux 1993", askTraining};

Result<Answer> askTrust(const Asked& asked);
inline constexpr Question kTrust{
    "trust", "Can this recording be trusted?",
    "The certificate compares what each step recorded with what its strategy must have. Times of "
    "different hosts can be compared to the bound that was measured for their clocks, or less "
    "where "
    "collectives prove more. The observer effect is the median steady step recorded at a level / "
    "that of the lowest level in this run - 1.",
    "bounds by collectives: Duda et al., ICDCS 1987", askTrust};

Result<Answer> askOverlap(const Asked& asked);
inline constexpr Question kOverlap{
    "overlap", "How much communication is hidden behind compute, and why is the rest not?",
    "By rank and step: unions of collectives and of compute. By operation, layer and collective: "
    "each "
    "by itself, so that two at once both count. Exposed is what its rank does not compute in; "
    "waiting, "
    "of that, what lies before the last rank arrived.",
    "the limit: CS336 assignment 2, ddp_bucketed_benchmarking (b), for unequal parts", askOverlap};

Result<Answer> askMemory(const Asked& asked);
inline constexpr Question kMemory{
    "memory", "What is the memory, and what would need less?",
    "The peak is the most that was alive at once, by category; theory is what the run's settings "
    "predict for it, and unexplained the rest. Memory grows when what is left at the ends of steps "
    "rises in 80 % of them, two left out, and by 1 % of the peak in all. Slack is what an "
    "allocator "
    "holds and nothing is allocated in; fragmentation 1 - largest free block / all free blocks.",
    "ZeRO, arXiv 1910.02054, for the state; the rest as in `record --dry-run`", askMemory};

Result<Answer> askBounds(const Asked& asked);
inline constexpr Question kBounds{
    "bounds", "What bounds the step?",
    "The critical path of each step over all ranks, walked backward from the end of the last rank: "
    "before each activity lies the last to end of what it had to wait for, so that pieces are "
    "disjoint and add up to the step's wall time, from the first rank's beginning to the last "
    "one's end. It goes over to the late rank of a collective at the moment of its arrival. "
    "What-if: the same steps played again with other durations; saved is the recorded median step "
    "less that of the steps played again.",
    "longest path through the recorded dependencies", askBounds};

Result<Answer> askWhatIf(const Asked& asked);
inline constexpr Question kWhatIf{
    "what-if", "How long would a step take with other settings?",
    "The schedule of each setting (what the step's thread computes, asks for and waits for, in "
    "order) is played with the times that this recording has of each part, medians over steady "
    "steps, and with its link: what it modelled, or what fits its collectives. Blocks and head are "
    "carried over by their FLOPs, clip and optimizer by elements. All ranks do the same at the "
    "same time. Kernels and ranks that are faster: `bounds`.",
    "links: Hockney 1994; rings: Thakur, Rabenseifner and Gropp 2005", askWhatIf};

}  // namespace shardscope::questions

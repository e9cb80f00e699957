#include "engine/run/theory/memory_theory.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/communicator_theory.h"
#include "engine/run/theory/theory.h"
#include "engine/run/theory/working_sizes.h"

#include <algorithm>
#include <numeric>

namespace shardscope::theory {
namespace {

using run::RunConfig;
using run::Strategy;

bool offloads(const RunConfig& config) {
    return config.offload != run::Offload::kNone;
}

/// Whether what is computed with is a copy beside the fp32 master.
bool copies(const RunConfig& config) {
    return computeBytes(config) != kFloatBytes || offloads(config);
}

/// Whether gradients of all units are kept whole until they are summed over ranks.
bool keepsWholeGradients(const RunConfig& config) {
    return run::isDdp(config.strategy) || config.strategy == Strategy::kZero1 ||
           config.keepGathered || config.keepGradients;
}

/// Of which parts of the state a rank keeps only its share.
struct Sharding {
    bool parameters = false;
    bool gradients = false;
    bool optimizer = false;
};

Sharding shardingOf(const RunConfig& config) {
    const bool gradients = !keepsWholeGradients(config);
    switch (config.strategy) {
        case Strategy::kZero1:
            return {false, false, true};
        case Strategy::kZero2:
            return {false, gradients, true};
        case Strategy::kZero3:
        case Strategy::kHsdp:
            return {true, gradients, true};
        default:
            return {};
    }
}

/// Elements of flat buffers.
struct FlatSizes {
    std::int64_t root = 0;
    std::int64_t block = 0;
    std::int64_t piece = 0;   ///< largest of the vocabulary; 0 where it is part of the root
    std::int64_t pieces = 0;  ///< of the head
    std::int64_t all = 0;
    std::vector<std::int64_t> inOrderOfUse;  ///< all but the head's own

    [[nodiscard]] std::int64_t largest() const { return std::max(block, piece); }
    /// Of the head, as far as it is not in the root.
    [[nodiscard]] std::int64_t headPieces(std::int64_t most) const {
        return std::min(most, pieces) * piece;
    }
};

/// Blocks are alike: some stand for all, of which a deep model has thousands.
RunConfig withBlocks(RunConfig config, std::int64_t most) {
    config.model.layers = std::min<std::int64_t>(config.model.layers, most);
    return config;
}

FlatSizes flatSizes(const RunConfig& config) {
    using Part = run::ModelUnit::Part;
    FlatSizes sizes;
    for (const run::ModelUnit& unit : run::modelUnits(withBlocks(config, 1))) {
        const std::int64_t count = padded(unit.count(), shardRanks(config));
        const std::int64_t times = unit.part == Part::kBlock ? config.model.layers : 1;
        sizes.all += times * count;
        if (unit.part != Part::kHead)
            sizes.inOrderOfUse.insert(sizes.inOrderOfUse.end(), static_cast<std::size_t>(times),
                                      count);
        if (unit.part == Part::kRoot) sizes.root = count;
        if (unit.part == Part::kBlock) sizes.block = count;
        if (unit.part == Part::kTokens) sizes.piece = std::max(sizes.piece, count);
    }
    sizes.pieces = run::vocabularyPieces(config).count;
    return sizes;
}

struct StateBytes {
    std::int64_t parameters = 0;  ///< as they are computed with
    std::int64_t master = 0;      ///< in fp32 beside them
    std::int64_t gradients = 0;
    std::int64_t moments = 0;
    [[nodiscard]] std::int64_t total() const { return parameters + master + gradients + moments; }
};

StateBytes stateBytes(const RunConfig& config, std::int64_t parameters) {
    const Sharding sharding = shardingOf(config);
    const auto share = [&](bool sharded) {
        return sharded ? parameters / shardRanks(config) : parameters;
    };
    StateBytes bytes;
    bytes.parameters = computeBytes(config) * share(sharding.parameters);
    if (copies(config)) bytes.master = kFloatBytes * share(sharding.optimizer);
    bytes.gradients = kFloatBytes * share(sharding.gradients);
    bytes.moments = 2 * kFloatBytes * share(sharding.optimizer);
    return bytes;
}

/// The part of it that --offload keeps in host memory.
StateBytes offloaded(const RunConfig& config, const StateBytes& state) {
    StateBytes host;
    if (!offloads(config)) return host;
    host.master = state.master;
    host.moments = state.moments;
    if (config.offload == run::Offload::kGradients) host.gradients = state.gradients;
    return host;
}

/// What operators keep and use, in bytes.
class Tensors {
public:
    Tensors(const RunConfig& config, const KernelChoice& kernels)
        : m_config(config),
          m_kernels(kernels),
          m_tokens(std::int64_t{config.batch} * config.model.context),
          m_rows(m_tokens / (config.sequence ? config.tensor : 1)),
          m_each(computeBytes(config)) {}

    /// `elements` of the compute type for each token, of what lies between layers: a tensor group
    /// has it whole on each rank, or with --sequence divided by rows.
    [[nodiscard]] std::int64_t between(std::int64_t elements) const {
        return m_each * m_rows * elements;
    }
    /// Of what lies inside layers, which a tensor group divides by columns.
    [[nodiscard]] std::int64_t inside(std::int64_t elements) const {
        return m_each * m_tokens * elements / m_config.tensor;
    }
    /// Of the rows of a whole tensor group, as they are gathered: nothing where they need not be.
    [[nodiscard]] std::int64_t gathered(std::int64_t elements) const {
        return m_config.sequence ? m_each * m_tokens * elements : 0;
    }
    [[nodiscard]] std::int64_t hidden() const { return m_config.model.hidden; }
    [[nodiscard]] std::int64_t tokens() const { return m_tokens; }

    /// What a block keeps for backward besides its input: both norms' outputs, q k v, attention's
    /// output as it comes and, of several heads, as it is merged, the residual stream between, the
    /// inner products; in fp32 the norms' statistics and attention's log-sum-exp.
    [[nodiscard]] std::int64_t block() const {
        const auto& m = m_config.model;
        const bool twice = flash() && m.heads > m_config.tensor;
        return between(3 * m.hidden) + inside((twice ? 5 : 4) * m.hidden + innerProducts()) +
               2 * statistics() + logSumExp();
    }

    /// Of it what is there in its attention's forward and backward: the first norm's output and
    /// statistics, q k v, and of the flash kernel its own output and log-sum-exp.
    [[nodiscard]] std::int64_t atAttention() const {
        return between(hidden()) + inside((flash() ? 4 : 3) * hidden()) + statistics() +
               logSumExp();
    }

    /// In the forward of attention: q k v as they came, and the output, scores or in their place
    /// the output as it is merged beside it.
    [[nodiscard]] std::int64_t attentionForward() const {
        return inside(4 * hidden()) + std::max(scores(), inside(hidden()));
    }

    /// In the backward of attention: the gradients of the block's output, of the residual stream
    /// and of attention's output; those of q k v, and beside them either the output's split into
    /// heads and two times the scores, or all three as they are packed.
    [[nodiscard]] std::int64_t attentionBackward() const {
        return between(2 * hidden()) + inside(4 * hidden()) +
               std::max(inside(hidden()) + 2 * scores(), inside(3 * hidden()));
    }

    /// In the backward of the feed-forward part: the gradient of the block's output, and of the
    /// inner width the activation again and the gradients. Own loops write one of them in place.
    /// With --sequence the gradient as it is gathered, or, once the activation is gone, the input
    /// as well and the sum.
    [[nodiscard]] std::int64_t backward() const {
        const std::int64_t inner = m_config.model.innerWidth();
        const bool own = m_config.device != run::Device::kCpu || m_each == kFloatBytes;
        const bool gated = m_config.model.ffn == run::FeedForward::kSwiglu;
        const std::int64_t gradients = gated ? (own ? 3 : 6) : (own ? 2 : 3);
        const std::int64_t rest =
            gathered(2 * hidden()) + inside((gradients - 1) * inner) + summed();
        return between(hidden()) + std::max(gathered(hidden()) + inside(gradients * inner), rest);
    }

    /// In the forward of the feed-forward part: the activation, and gathered rows.
    [[nodiscard]] std::int64_t forward() const {
        return inside(m_config.model.innerWidth()) + gathered(hidden());
    }

    /// The final norm's output, its gradient, and logits or in their place the result; in pieces
    /// also the softmax's statistics.
    [[nodiscard]] std::int64_t head() const {
        const run::VocabularyPieces pieces = run::vocabularyPieces(m_config);
        const bool cut = pieces.count > 1, divided = m_config.tensor > 1;
        const std::int64_t width =
            cut ? pieces.rows : (m_config.model.vocabulary + m_config.tensor - 1) / m_config.tensor;
        const std::int64_t statistics =
            cut || divided ? kRowStatistics * kFloatBytes * m_tokens : 0;
        // A tensor group's gradients lie where it sums them.
        return between((divided ? 1 : 2) * hidden()) + gathered(hidden()) + statistics +
               std::max(logits(width), between(hidden()));
    }

private:
    /// A rank's own rows of what a group has summed, fp32.
    [[nodiscard]] std::int64_t summed() const {
        return m_config.sequence ? kFloatBytes * m_rows * hidden() : 0;
    }
    [[nodiscard]] bool flash() const { return m_kernels.flashAttention || m_each != kFloatBytes; }
    /// Of one norm, fp32.
    [[nodiscard]] std::int64_t statistics() const {
        return kFloatBytes * m_rows * (m_config.model.norm == run::Norm::kLayerNorm ? 2 : 1);
    }
    /// Of attention, fp32.
    [[nodiscard]] std::int64_t logSumExp() const {
        return flash() ? kFloatBytes * m_tokens * m_config.model.heads / m_config.tensor : 0;
    }
    /// That the blocked kernel holds at a time; of the flash kernel a tile a thread, not counted.
    [[nodiscard]] std::int64_t scores() const {
        if (flash()) return 0;
        const std::int64_t context = m_config.model.context;
        const std::int64_t heads =
            std::int64_t{m_config.batch} * m_config.model.heads / m_config.tensor;
        return kFloatBytes * headsAtATime(context, heads) * context * context;
    }

    [[nodiscard]] std::int64_t innerProducts() const {
        const bool gated = m_config.model.ffn == run::FeedForward::kSwiglu;
        return (gated ? 2 : 1) * m_config.model.innerWidth();
    }

    /// Of the chunk that the fused head holds; narrow ones also in fp32 on a CPU
    /// (engine/kernels/cross_entropy.cpp).
    [[nodiscard]] std::int64_t logits(std::int64_t width) const {
        const bool cpu = m_config.device == run::Device::kCpu;
        const LogitBuffer buffer = logitBuffer(!cpu, m_tokens, width);
        const std::int64_t each = m_each + (cpu && m_each != kFloatBytes ? kFloatBytes : 0);
        return buffer.rows * buffer.stride * each;
    }

    const RunConfig& m_config;
    const KernelChoice m_kernels;
    const std::int64_t m_tokens;
    const std::int64_t m_rows;  ///< of them that this rank has between layers
    const std::int64_t m_each;
};

bool recomputes(const RunConfig& config, std::int64_t block) {
    return config.recomputeEvery > 0 && block % config.recomputeEvery == 0;
}

/// The embedding, and of blocks 0 to `last` outputs and activations.
std::int64_t keptUntil(const RunConfig& config, const Tensors& tensors, std::int64_t last) {
    const std::int64_t blocks = last + 1, every = config.recomputeEvery;
    const std::int64_t recomputed = every > 0 ? (blocks + every - 1) / every : 0;
    return (1 + blocks) * tensors.between(tensors.hidden()) +
           (blocks - recomputed) * tensors.block();
}

/// The largest rows of parameters and gradients that ranks move, from the first step on.
LargestRows largestOfState(const RunConfig& config) {
    if (config.strategy == Strategy::kSingle) return {};
    if (run::isDdp(config.strategy)) {
        if (config.compression == run::Compression::kTopK) return {.gathers = true};
        const auto pieces = ddpPieces(config);
        const bool narrow = config.compression != run::Compression::kNone;
        return {.summed = *std::max_element(pieces.begin(), pieces.end()),
                .summedEach = narrow ? 2 : kFloatBytes};
    }
    const FlatSizes sizes = flatSizes(config);
    const std::int64_t largest = std::max(sizes.largest(), sizes.root);
    return {.summed = largest,
            .summedEach = keepsWholeGradients(config) ? kFloatBytes : gradientBytes(config),
            .across = largest / shardRanks(config),
            .gathers = shardingOf(config).parameters};
}

LargestRows largestRows(const RunConfig& config) {
    LargestRows rows = largestOfState(config);
    if (config.tensor > 1)
        rows.exchanged = std::int64_t{config.batch} * config.model.context * config.model.hidden;
    rows.exchangedEach = computeBytes(config);
    return rows;
}

/// Of the memory in which a tensor group exchanges, two of each kind in turn: sums of all rows,
/// with --sequence a rank's own rows, and short ones in fp32, statistics of rows or the vectors of
/// a block.
std::int64_t exchangeBytes(const RunConfig& config) {
    if (config.tensor == 1) return 0;
    const std::int64_t rows = std::int64_t{config.batch} * config.model.context;
    const std::int64_t all = computeBytes(config) * rows * config.model.hidden;
    const std::int64_t small =
        kFloatBytes * std::max(kRowStatistics * rows, kBlockVectors * config.model.hidden);
    return 2 * (all + small + (config.sequence ? all / config.tensor : 0));
}

/// Whether a unit's values are written where they stay, instead of into fp32 that is copied there.
bool loadsInPlace(const RunConfig& config) {
    return config.strategy == Strategy::kSingle ||
           (!shardingOf(config).parameters && !copies(config));
}

/// What initial values are made in, fp32 in host memory (engine/parallel): a unit of a flat buffer,
/// and one parameter whole, even where the unit has a piece of it. The last one of a unit is there
/// still when the next unit's buffer is.
std::int64_t loadingBytes(const RunConfig& config) {
    // What a checkpoint is read in goes by how it was written.
    if (config.device != run::Device::kCpu || !config.resume.empty()) return 0;
    std::int64_t most = 0, kept = 0;
    // the second block comes after a block, as all that follow
    for (const run::ModelUnit& unit : run::modelUnits(withBlocks(config, 2))) {
        const std::int64_t flat =
            loadsInPlace(config) ? 0 : padded(unit.count(), shardRanks(config));
        for (const run::ModelTensor& tensor : unit.tensors) {
            most = std::max(most, flat + kept);
            kept = tensor.wholeRows > 0 ? tensor.count() / tensor.shape[0] * tensor.wholeRows
                                        : tensor.count();
            most = std::max(most, flat + kept);
        }
    }
    return kFloatBytes * most;
}

struct Held {
    std::int64_t gathered = 0;
    std::int64_t activations = 0;
    std::int64_t temporary = 0;
    [[nodiscard]] std::int64_t total() const { return gathered + activations + temporary; }
};

/// Units that lie gathered, in bytes: the root with some pieces of the head or not, and blocks.
std::int64_t gathered(const RunConfig& config, const FlatSizes& sizes, bool root,
                      std::int64_t pieces, std::int64_t blocks) {
    if (!shardingOf(config).parameters) return 0;
    const bool everything = config.keepGathered || !config.reshardAfterForward;
    if (everything) return computeBytes(config) * sizes.all;
    return computeBytes(config) *
           ((root ? sizes.root : 0) + sizes.headPieces(pieces) + blocks * sizes.block);
}

/// What the next step starts with, in bytes.
std::int64_t gatheredBehindUpdate(const RunConfig& config, const FlatSizes& sizes) {
    if (!shardingOf(config).parameters) return 0;
    const auto& units = sizes.inOrderOfUse;
    const std::size_t count =
        std::min(units.size(), std::size_t{1} + static_cast<std::size_t>(config.prefetch));
    return computeBytes(config) *
           std::accumulate(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(count),
                           std::int64_t{0});
}

const Held& larger(const Held& a, const Held& b) {
    return a.total() < b.total() ? b : a;
}

/// In the last block's forward: in its attention or its feed-forward part. Of a block that runs
/// forward again nothing is kept but its input; inside, it holds what any other does.
Held heldInForward(const RunConfig& config, const FlatSizes& sizes, const Tensors& tensors) {
    const std::int64_t last = config.model.layers - 1;
    Held attention, feedForward;
    attention.gathered = feedForward.gathered = gathered(config, sizes, true, 1, 1);
    attention.activations = keptUntil(config, tensors, last - 1) + tensors.atAttention();
    attention.temporary = tensors.attentionForward();
    feedForward.activations = keptUntil(config, tensors, last);
    if (recomputes(config, last)) feedForward.activations += tensors.block();
    feedForward.temporary = tensors.forward();
    return larger(feedForward, attention);
}

/// In the backward of block `i`: first of its feed-forward part, then of its attention. One that
/// ran forward again has its output twice.
Held heldInBackward(const RunConfig& config, const FlatSizes& sizes, const Tensors& tensors,
                    std::int64_t i) {
    Held attention, feedForward;
    attention.gathered = feedForward.gathered =
        gathered(config, sizes, false, 0, 1 + std::min<std::int64_t>(i, config.prefetch));
    const std::int64_t output = tensors.between(tensors.hidden());
    const std::int64_t again = recomputes(config, i) ? output : 0;
    feedForward.activations = keptUntil(config, tensors, i) + again;
    if (again > 0) feedForward.activations += tensors.block();
    feedForward.temporary = tensors.backward();
    attention.activations =
        keptUntil(config, tensors, i - 1) + output + again + tensors.atAttention();
    attention.temporary = tensors.attentionBackward();
    return larger(feedForward, attention);
}

Held heldIn(const RunConfig& config, const Tensors& tensors, Moment moment) {
    const FlatSizes sizes = flatSizes(config);
    const std::int64_t last = config.model.layers - 1;
    Held held;
    switch (moment) {
        case Moment::kForward:
            return heldInForward(config, sizes, tensors);
        case Moment::kHead:
            held.gathered = gathered(config, sizes, true, 2, 1);
            held.activations = keptUntil(config, tensors, last);
            held.temporary = tensors.head();
            break;
        case Moment::kBackward:
            for (std::int64_t i = last; i >= 0; --i)
                held = larger(held, heldInBackward(config, sizes, tensors, i));
            break;
        case Moment::kAfterOptimizer:
            held.gathered = gatheredBehindUpdate(config, sizes);
            break;
        case Moment::kLoading:
            held.temporary = loadingBytes(config);
            break;
        case Moment::kInitialised:
        case Moment::kBeforeOptimizer:
            break;
    }
    return held;
}

void addState(const RunConfig& config, MemoryByCategory& memory) {
    const auto add = [&](MemoryCategory category, std::int64_t bytes) {
        memory[static_cast<std::size_t>(category)].count += bytes;
    };
    const FlatSizes sizes = flatSizes(config);
    const StateBytes state = stateBytes(config, sizes.all);
    const StateBytes host = offloaded(config, state);
    add(MemoryCategory::kParameterShard, state.parameters + state.master - host.master);
    add(MemoryCategory::kOptimizerState, state.moments - host.moments);
    add(keepsWholeGradients(config) ? MemoryCategory::kGradient : MemoryCategory::kGradientShard,
        state.gradients - host.gradients);
    // Two shards on their way to host memory.
    if (host.gradients > 0)
        add(MemoryCategory::kCommunication,
            2 * kFloatBytes * std::max(sizes.largest(), sizes.root) / shardRanks(config));
    if (config.compression != run::Compression::kNone) {
        // What was left out, and what is sent: narrow, or pairs.
        const bool pairs = config.compression == run::Compression::kTopK;
        add(MemoryCategory::kGradient, kFloatBytes * sizes.all);
        add(MemoryCategory::kCommunication, (pairs ? 2 * kFloatBytes : 2) * sizes.all);
    }
    if (!shardingOf(config).gradients) return;
    // Two slots take turns; the root has one of its own.
    add(MemoryCategory::kGradient, gradientBytes(config) * (2 * sizes.largest() + sizes.root));
    // On a GPU reduced gradients arrive beside the shard that they are added to.
    if (config.device == run::Device::kCuda)
        add(MemoryCategory::kCommunication,
            gradientBytes(config) * std::max(sizes.largest(), sizes.root) / shardRanks(config));
}

}  // namespace

Bytes total(const MemoryByCategory& categories) {
    return std::accumulate(categories.begin(), categories.end(), Bytes{});
}

MemoryByCategory memoryAt(const RunConfig& config, Moment moment, const KernelChoice& kernels) {
    const Tensors tensors(config, kernels);
    const Held held = heldIn(config, tensors, moment);
    MemoryByCategory memory{};
    addState(config, memory);
    const auto add = [&](MemoryCategory category, std::int64_t bytes) {
        memory[static_cast<std::size_t>(category)].count += bytes;
    };
    add(MemoryCategory::kGatheredParameter, held.gathered);
    add(MemoryCategory::kActivation, held.activations);
    add(MemoryCategory::kTemporary, held.temporary);
    add(MemoryCategory::kCommunication, exchangeBytes(config));
    if (moment > Moment::kInitialised)
        add(MemoryCategory::kCommunication, communicatorBytes(config, largestRows(config)));
    // Tokens and targets, int64.
    if (held.activations > 0) add(MemoryCategory::kInput, 2 * 8 * tensors.tokens());
    return memory;
}

namespace {

struct Peak {
    Moment moment{};
    MemoryByCategory memory{};
};

/// The first of the moments at which most is held.
Peak peakOf(const RunConfig& config, const KernelChoice& kernels) {
    Peak peak;
    for (const Moment moment : kAll<Moment>) {
        const MemoryByCategory memory = memoryAt(config, moment, kernels);
        if (total(memory) > total(peak.memory)) peak = {moment, memory};
    }
    return peak;
}

}  // namespace

Moment peakMoment(const RunConfig& config, const KernelChoice& kernels) {
    return peakOf(config, kernels).moment;
}

MemoryByCategory memoryTheory(const RunConfig& config, const KernelChoice& kernels) {
    return peakOf(config, kernels).memory;
}

Bytes stateTheory(const RunConfig& config) {
    return {stateBytes(config, partCounts(config).all).total()};
}

Bytes hostStateTheory(const RunConfig& config) {
    return {offloaded(config, stateBytes(config, flatSizes(config).all)).total()};
}

std::vector<KernelChoice> kernelChoices(const run::RunConfig& config) {
    // The blocked kernel knows fp32 on CPUs only.
    if (config.device != run::Device::kCpu || computeBytes(config) != kFloatBytes) return {{true}};
    if (config.attention == run::Attention::kBlocked) return {{false}};
    if (config.attention != run::Attention::kAuto) return {{true}};
    const KernelChoice flash{true}, blocked{false};
    if (total(memoryTheory(config, flash)) < total(memoryTheory(config, blocked)))
        return {blocked, flash};
    return {flash, blocked};
}

MemoryByCategory memoryAt(const run::RunConfig& config, Moment moment) {
    return memoryAt(config, moment, kernelChoices(config).front());
}

Moment peakMoment(const run::RunConfig& config) {
    return peakMoment(config, kernelChoices(config).front());
}

MemoryByCategory memoryTheory(const run::RunConfig& config) {
    return memoryTheory(config, kernelChoices(config).front());
}

}  // namespace shardscope::theory

#include "engine/run/config/run_rules.h"

#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/model_tensors.h"
#include "engine/run/config/rank_layout.h"
#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_settings.h"
#include "storage/model/capture_schedule.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace shardscope::run {
namespace {

bool isZero3(const RunConfig& c) {
    return c.strategy == Strategy::kZero3 || c.strategy == Strategy::kHsdp;
}
bool onGpu(const RunConfig& c) {
    return c.device == Device::kCuda;
}
bool keepsGradients(const RunConfig& c) {
    return c.keepGathered || c.keepGradients;
}

/// Options that mean something only beside others.
struct Condition {
    std::vector<const char*> options;
    bool (*applies)(const RunConfig&);
    const char* otherwise;  ///< in a few words: "HSDP only"
    /// Why a run that asks for one of them, here {0}, is refused; empty: it is without effect.
    const char* refusal;
    /// Whether a run asks for it; null: it is not as it is by itself.
    bool (*asks)(const RunConfig&) = nullptr;
};

bool trains(const RunConfig& c) {
    return c.work == Work::kTraining;
}

bool hasHosts(const RunConfig& c) {
    return !c.hosts.empty();
}

bool asksForPieces(const RunConfig& c) {
    return c.vocabularyPieces > 1;
}

/// What makes a model and its training, but for how many ranks and threads do it: without effect
/// on what is measured.
std::vector<const char*> ofTrainingAlone() {
    static const std::set<std::string_view> kOfMachine{"ranks", "threads", "steps"};
    std::vector<const char*> keys;
    for (const RunOption& option : runOptions()) switch (option.section) {
            case OptionSection::kModel:
            case OptionSection::kModelParts:
            case OptionSection::kStrategy:
            case OptionSection::kData:
            case OptionSection::kTraining:
                if (!kOfMachine.contains(option.key)) keys.push_back(option.key);
                break;
            default:
                break;
        }
    return keys;
}

const std::vector<Condition>& conditions() {
    static const std::vector<Condition> kAll = {
        {ofTrainingAlone(), trains, "of training only", ""},
        {{"ranks"},
         [](const RunConfig& c) { return c.strategy != Strategy::kSingle || c.tensor > 1; },
         "one with this strategy",
         ""},
        {{"bucket_mb"},
         [](const RunConfig& c) { return c.strategy == Strategy::kDdpBucket; },
         "DDP with buckets only",
         ""},
        {{"shard_ranks"},
         [](const RunConfig& c) { return c.strategy == Strategy::kHsdp; },
         "HSDP only",
         "{0} is about {strategy} hsdp, not {1}; leave it out"},
        {{"prefetch"}, isZero3, "ZeRO-3 and HSDP only", ""},
        {{"sequence"},
         [](const RunConfig& c) { return c.tensor > 1; },
         "needs a tensor group",
         "{0} divides rows over the ranks of a tensor group; add {tensor} 2 or more"},
        {{"tensor"},
         [](const RunConfig& c) { return c.strategy != Strategy::kHsdp; },
         "not with HSDP",
         "{0} and {strategy} hsdp cannot be combined yet; use {strategy} zero3"},
        {{"tensor"},
         [](const RunConfig& c) { return c.sampleTokens == 0; },
         "not where text is sampled",
         "{0} and {sample} cannot be combined yet; leave out one of them"},
        {{"tensor"},
         [](const RunConfig& c) { return !c.graphs; },
         "not with graphs",
         "{0} and {graphs} cannot be combined yet; leave out one of them"},
        {{"reshard_after_forward", "keep_gathered", "keep_gradients"},
         isZero3,
         "ZeRO-3 and HSDP only",
         "{0} is about zero3 and hsdp, not {1}; leave it out"},
        {{"vocabulary_pieces"},
         isZero3,
         "ZeRO-3 and HSDP only",
         "{0} is about zero3 and hsdp, not {1}; leave it out",
         asksForPieces},
        {{"vocabulary_pieces"},
         mayCutVocabulary,
         "needs blocks to be freed",
         "{0} needs parameters to be gathered, and gradients reduced, as they are used; leave it "
         "out, or leave {reshard_after_forward} on, {keep_gathered} and {keep_gradients} off",
         asksForPieces},
        {{"compress"},
         [](const RunConfig& c) { return isDdp(c.strategy); },
         "DDP only",
         "{0} is about what ddp-* strategies send, not {1}; leave it out, or use {reduce} bf16"},
        {{"kept_fraction"},
         [](const RunConfig& c) { return c.compression == Compression::kTopK; },
         "needs top-k",
         ""},
        {{"share_device", "device_capture", "graphs"},
         onGpu,
         "GPUs only",
         "{0} is about GPUs; use {device} cuda, or leave it out"},
        {{"graphs"},
         [](const RunConfig& c) { return c.offload == Offload::kNone; },
         "not with offloaded state",
         "{0} and {offload} cannot be combined (offload synchronises with the host); drop one"},
        // A unit that stays lies where the graph that gathered it has put it, and there are two.
        {{"graphs"},
         [](const RunConfig& c) { return !c.keepGathered || c.accumulate == 1; },
         "not with units kept gathered",
         "{0} gathers units in each micro-step; leave out one of {0} and {keep_gathered}, or use "
         "{accumulate} 1"},
        {{"offload"},
         onGpu,
         "GPUs only",
         "{0} moves state from a GPU to host memory, where CPU ranks keep it anyway; use {0} none "
         "or {device} cuda"},
        {{"transport", "link_gb_per_s", "link_latency_us"},
         [](const RunConfig& c) { return !onGpu(c); },
         "CPU ranks only",
         "{0} is about CPU ranks; GPU ranks talk over NCCL: leave it out, or use {device} cpu"},
        {{"encrypt"},
         [](const RunConfig& c) { return !onGpu(c); },
         "CPU ranks only",
         "{0} is about CPU ranks; GPU ranks talk over NCCL, which neither authenticates nor "
         "encrypts: leave it out, or use {device} cpu"},
        {{"link_latency_us"},
         [](const RunConfig& c) { return c.linkGigabytesPerSecond != 0; },
         "needs a modelled link",
         "{0} needs a bandwidth; add {link_gb_per_s}"},
        {{"link_gb_per_s", "link_latency_us"},
         [](const RunConfig& c) { return !hasHosts(c); },
         "one host only",
         "{0} models a link between ranks of one host, and these have a real one; leave out {0} or "
         "{hosts}"},
        {{"transport"},
         [](const RunConfig& c) { return !hasHosts(c) || c.transport != Transport::kSharedMemory; },
         "Gloo between hosts",
         "{0} shared-memory joins ranks of one host; leave it out"},
        {{"interface"},
         [](const RunConfig& c) { return c.transport == Transport::kGloo || hasHosts(c); },
         "Gloo or several hosts",
         "{0} is about {transport} gloo and {hosts}; leave it out"},
        {{"ssh_command", "deploy_libtorch", "send_data", "data_root", "host_lease", "spill",
          "restart"},
         [](const RunConfig& c) { return hasHosts(c); },
         "needs hosts",
         "{0} is about {hosts}; leave it out"},
        {{"send_data"},
         [](const RunConfig& c) { return c.data != kSyntheticData; },
         "not with synthetic data",
         "{data} synthetic is made by each rank and lies in no file that {0} could send; leave out "
         "{0}"},
        {{"send_data"},
         [](const RunConfig& c) { return c.dataRoot.empty(); },
         "not with a folder of the data",
         "{0} puts the data into a folder of its own; leave out {0} or {data_root}"},
        {{"restart"},
         [](const RunConfig& c) { return !c.checkpoint.empty(); },
         "needs a checkpoint folder",
         "{0} goes on from checkpoints; add {checkpoint}"},
        {{"reduce"},
         [](const RunConfig& c) { return c.precision == Precision::kBFloat16; },
         "needs precision bf16",
         "gradients are not computed in bf16 at {precision} {2}; use {0} fp32 or {precision} bf16"},
        // An all-reduce over shared memory takes fp32 only; stage 1 keeps its gradients in fp32.
        {{"reduce"},
         [](const RunConfig& c) { return !isDdp(c.strategy) && c.strategy != Strategy::kZero1; },
         "fp32 with this strategy",
         "strategy {1} reduces gradients in fp32; use {0} fp32, or {strategy} zero2 or zero3"},
        {{"reduce"},
         [](const RunConfig& c) { return !keepsGradients(c); },
         "fp32 where gradients stay",
         "gradients that are kept whole over micro-steps are reduced in fp32; use {0} fp32, or "
         "leave out {keep_gathered} and {keep_gradients}"},
        {{"loss_scale"},
         [](const RunConfig& c) { return c.precision == Precision::kFloat16; },
         "fp16 only",
         ""},
        {{"minimum_learning_rate"},
         [](const RunConfig& c) { return c.schedule != Schedule::kConstant; },
         "a constant rate stays",
         ""},
        {{"evaluate_batches"},
         [](const RunConfig& c) { return c.evaluateEvery != 0; },
         "needs validation",
         ""},
        {{"sample"},
         [](const RunConfig& c) { return c.evaluateEvery != 0; },
         "needs validation",
         "{0} writes after validation passes, and there are none; add {evaluate_every}"},
        {{"prompt", "temperature"},
         [](const RunConfig& c) { return c.sampleTokens != 0; },
         "needs a sample",
         ""},
        {{"checkpoint_every"},
         [](const RunConfig& c) { return !c.checkpoint.empty(); },
         "needs a folder",
         "{0} needs a folder; add {checkpoint} DIR"},
        {{"keep_checkpoints"},
         [](const RunConfig& c) { return !c.checkpoint.empty(); },
         "needs a folder",
         ""},
        {{"checkpoint", "resume", "weights", "reference"},
         trains,
         "training only",
         "{0} is about training; leave it out, or leave {work} at training"},
        {{"measure_operations", "measure_sizes", "measure_rounds", "measure_warmup",
          "measure_seconds", "measure_machine", "measure_norms"},
         [](const RunConfig& c) { return !trains(c); },
         "measuring only",
         "{0} is about {work} measuring; leave it out"},
        {{"precision"},
         [](const RunConfig& c) {
             return trains(c) || c.measureMachine || !c.measureNorms.empty();
         },
         "collectives are of fp32",
         ""},
        // What decays lies in front of what does not.
        {{"decay_vectors"},
         [](const RunConfig& c) { return c.decayEmbeddings; },
         "needs decay of embeddings",
         "{0} needs weight decay on embeddings too; leave out one of {0} and "
         "{decay_embeddings}"}};
    return kAll;
}

std::string mark(std::string_view key) {
    return fmt::format("{{{}}}", key);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// What would be asked for and never happen.
std::string brokenCondition(const RunConfig& c) {
    const RunConfig standard;
    for (const Condition& condition : conditions()) {
        if (*condition.refusal == '\0' || condition.applies(c)) continue;
        for (const char* key : condition.options) {
            const bool asked = condition.asks != nullptr ? condition.asks(c)
                                                         : !findRunOption(key)->isSame(c, standard);
            if (!asked) continue;
            std::string sentence = replaced(condition.refusal, "{0}", mark(key));
            sentence = replaced(sentence, "{1}", toWord(c.strategy));
            return replaced(sentence, "{2}", toWord(c.precision));
        }
    }
    return {};
}

std::string brokenLimit(const RunConfig& c) {
    for (const RunOption& option : runOptions()) {
        const OptionValue value = option.get(c);
        double number = 0;
        if (const auto* whole = std::get_if<std::int64_t>(&value))
            number = static_cast<double>(*whole);
        else if (const auto* real = std::get_if<double>(&value))
            number = *real;
        else
            continue;
        // Written so that NaN fails too.
        if (number >= option.least && number <= option.most) continue;
        return fmt::format("{} is {}; give a value from {} to {}", mark(option.key), number,
                           option.least, option.most);
    }
    return {};
}

/// A rule about several options at once: a sentence when it is broken.
using Rule = std::string (*)(const RunConfig&);

std::string headsDivideHidden(const RunConfig& c) {
    if (c.model.hidden % c.model.heads == 0) return {};
    return fmt::format(
        "a hidden size of {} is not divisible by {} heads; choose {{model.hidden}} as a multiple "
        "of {{model.heads}}",
        c.model.hidden, c.model.heads);
}

std::string rotaryNeedsPairs(const RunConfig& c) {
    if (c.model.position != Position::kRope || c.model.hidden / c.model.heads % 2 == 0) return {};
    return fmt::format(
        "{{model.position}} rope rotates pairs, and a head has {} dimensions here; choose "
        "{{model.hidden}} and {{model.heads}} so that it is even",
        c.model.hidden / c.model.heads);
}

std::string tf32NeedsGpu(const RunConfig& c) {
    if (c.precision != Precision::kTf32 || onGpu(c)) return {};
    return "{precision} tf32 exists on GPUs only; use {precision} fp32, or {device} cuda";
}

std::string attentionExists(const RunConfig& c) {
    const bool fp32 = c.precision == Precision::kFloat32;
    if (c.attention == Attention::kCudnn && !onGpu(c))
        return "{attention} cudnn exists on GPUs only; use {attention} auto, or {device} cuda";
    if (c.attention == Attention::kBlocked && (onGpu(c) || !fp32))
        return "{attention} blocked exists for {precision} fp32 on CPUs only; use {attention} auto";
    return {};
}

std::string productsAreOfCpus(const RunConfig& c) {
    if (c.products == Products::kAuto || !onGpu(c)) return {};
    return "{products} is for CPUs: a GPU multiplies by cuBLAS; use {products} auto";
}

std::string captureIsPossible(const RunConfig& c) {
    if (c.alternateCapture && (c.captureEvery > 0 || !c.captureSteps.empty()))
        return "{alternate_capture} is a schedule by itself; leave it out, or {capture_steps} and "
               "{capture_every}";
    if (const auto spans = parseStepSpans(c.captureSteps); !spans)
        return "{capture_steps}: " + spans.error().message;
    if (c.captureSlow != 0 && !(c.captureSlow >= 1.05 && c.captureSlow <= 1e6))
        return fmt::format(
            "{{capture_slow}} {}: a slow step takes at least 1.05 times the median of those "
            "before; 1.5 is usual, 0 keeps all",
            c.captureSlow);
    return {};
}

std::string sizesArePossible(const RunConfig& c) {
    if (const auto size = parseSize(c.maxSize); !c.maxSize.empty() && !size)
        return "{max_size}: " + size.error().message;
    if (const auto rate = parseRate(c.maxRate); !c.maxRate.empty() && !rate)
        return "{max_rate}: " + rate.error().message;
    if (const auto spill = parseSize(c.spill); !spill) return "{spill}: " + spill.error().message;
    if (const auto words = commandWords(c.sshCommand); hasHosts(c) && !words)
        return "{ssh_command}: " + words.error().message;
    const SizeLimit limit = sizeLimitOf(c);
    if (limit.most && *limit.most < SizeLimit::kLeast)
        return fmt::format("{{max_size}} {}: a recording needs at least {}", c.maxSize,
                           sizeText(SizeLimit::kLeast));
    if (limit.mostEverySecond && *limit.mostEverySecond < SizeLimit::kLeastRate)
        return fmt::format("{{max_rate}} {}: steps and metrics alone need about {}/s", c.maxRate,
                           sizeText(SizeLimit::kLeastRate));
    return {};
}

std::string singleIsOneRank(const RunConfig& c) {
    if (c.strategy != Strategy::kSingle || c.ranks == c.tensor) return {};
    if (c.tensor > 1)
        return fmt::format(
            "{{strategy}} single trains one copy of the model, on {} ranks that share its layers, "
            "not on {}; use {{ranks}} {} or {{strategy}} zero3",
            c.tensor, c.ranks, c.tensor);
    return fmt::format(
        "{{strategy}} single trains on one rank, not on {}; use {{ranks}} 1 or {{strategy}} zero3",
        c.ranks);
}

/// Of each divided layer every rank has as much, and each has some tokens of the vocabulary.
std::string tensorGroupsDivide(const RunConfig& c) {
    const std::int64_t t = c.tensor;
    if (t == 1) return {};
    struct Divided {
        std::int64_t count;
        const char* what;
    };
    const Divided all[] = {{c.ranks, "{ranks}"},
                           {c.model.heads, "{model.heads}"},
                           {c.model.innerWidth(), "{model.ffn_width}"}};
    for (const auto& [count, what] : all)
        if (count % t != 0)
            return fmt::format("{{tensor}} {} does not divide {} {}; choose a divisor", t, what,
                               count);
    if ((t - 1) * ((c.model.vocabulary + t - 1) / t) >= c.model.vocabulary)
        return fmt::format("{{tensor}} {}: the vocabulary has {} tokens only; choose fewer ranks",
                           t, c.model.vocabulary);
    const std::int64_t rows = c.batch * c.model.context;
    if (c.sequence && rows % t != 0)
        return fmt::format(
            "{{sequence}} divides the {} rows of a micro-step, {{batch}} times "
            "{{model.context}}, by {{tensor}} {}; choose a divisor",
            rows, t);
    return {};
}

std::string ranksFitOnHosts(const RunConfig& c) {
    if (isHostFile(c.hosts)) return {};
    const auto hosts = parseHosts(c.hosts);
    if (!hosts) return "{hosts}: " + hosts.error().message;
    const auto places = placeRanks(*hosts, c.ranks);
    return places ? "" : places.error().message;
}

std::string groupsDivideRanks(const RunConfig& c) {
    if (c.strategy != Strategy::kHsdp) return {};
    if (c.shardRanks > 0 && c.shardRanks <= c.ranks && c.ranks % c.shardRanks == 0) return {};
    return fmt::format(
        "{{shard_ranks}} {} does not divide the {} ranks into groups; choose a divisor",
        c.shardRanks, c.ranks);
}

std::string piecesHaveTokens(const RunConfig& c) {
    if (c.vocabularyPieces <= c.model.vocabulary) return {};
    return fmt::format(
        "{{vocabulary_pieces}} {}: the vocabulary has {} tokens only; use that many pieces or "
        "fewer",
        c.vocabularyPieces, c.model.vocabulary);
}

std::string measuresSomething(const RunConfig& c) {
    if (trains(c)) return {};
    const auto plan = measurementPlan(c);
    if (!plan) return plan.error().message;
    if (c.steps == plan->steps()) return {};
    return fmt::format("{{steps}} is {}, and what is to be measured takes {}; use that", c.steps,
                       plan->steps());
}

/// A shard is a cache line of floats at least.
std::string shardsAreNotTiny(const RunConfig& c) {
    if (!trains(c)) return {};
    constexpr std::int64_t kLeast = 16;
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    // Of the last rank of a tensor group, which has the fewest tokens.
    for (const ModelUnit& unit : modelUnits(c, {c.tensor - 1, c.tensor}))
        smallest = std::min(smallest, unit.count());
    const std::int64_t ranks = c.shardRanks > 0 ? c.shardRanks : replicasOf(c);
    if (smallest >= kLeast * ranks) return {};
    return fmt::format(
        "{} ranks cannot share a layer of {} parameters; use {{ranks}} {} or fewer, or a larger "
        "model",
        ranks, smallest, std::max<std::int64_t>(1, smallest / kLeast) * c.tensor);
}

std::string offloadedGradientsAreShards(const RunConfig& c) {
    if (c.offload != Offload::kGradients) return {};
    const bool sharded =
        c.strategy == Strategy::kZero2 || (c.strategy == Strategy::kZero3 && !keepsGradients(c));
    if (sharded) return {};
    return fmt::format(
        "{{offload}} gradients takes shards as they are reduced, which {} does not have; use "
        "{{strategy}} zero2 or zero3, or {{offload}} optimizer",
        c.strategy == Strategy::kZero3 ? "keeping whole gradients" : toWord(c.strategy));
}

std::string ratesDescend(const RunConfig& c) {
    if (c.learningRate != 0 && c.minimumLearningRate <= c.learningRate) return {};
    return fmt::format(
        "learning rate {} must be above 0 and not below its minimum {}; change {{learning_rate}} "
        "or {{minimum_learning_rate}}",
        c.learningRate, c.minimumLearningRate);
}

std::string vocabularyHoldsBytes(const RunConfig& c) {
    if (!c.reference.empty() || holdsBytes(c.model) || c.data.empty() || c.data == kSyntheticData)
        return {};
    return fmt::format(
        "a vocabulary of {} is too small: data is read as bytes, which need {{model.vocabulary}} "
        "256 or more; {{data}} {} takes any",
        c.model.vocabulary, kSyntheticData);
}

std::string validationHasData(const RunConfig& c) {
    if (!c.reference.empty() || c.evaluateEvery == 0 || c.heldBack != 0) return {};
    return "nothing is held out for validation; use {held_back} 0.1 or {evaluate_every} 0";
}

constexpr Rule kRules[] = {brokenLimit,
                           headsDivideHidden,
                           rotaryNeedsPairs,
                           tf32NeedsGpu,
                           attentionExists,
                           productsAreOfCpus,
                           captureIsPossible,
                           sizesArePossible,
                           singleIsOneRank,
                           tensorGroupsDivide,
                           ranksFitOnHosts,
                           brokenCondition,
                           measuresSomething,
                           groupsDivideRanks,
                           piecesHaveTokens,
                           shardsAreNotTiny,
                           offloadedGradientsAreShards,
                           ratesDescend,
                           vocabularyHoldsBytes,
                           validationHasData};

/// Calls `use` with the key of each {option} in a sentence, and whether there is such an option.
template <class Use>
void forEachOption(const std::string& sentence, Use use) {
    for (std::size_t at = sentence.find('{'); at != std::string::npos;
         at = sentence.find('{', at + 1)) {
        const std::size_t end = sentence.find('}', at);
        if (end == std::string::npos) return;
        if (const RunOption* option = findRunOption(sentence.substr(at + 1, end - at - 1)))
            use(at, end + 1, *option);
    }
}

}  // namespace

std::optional<RunProblem> findProblem(const RunConfig& config) {
    for (const Rule rule : kRules) {
        std::string sentence = rule(config);
        if (sentence.empty()) continue;
        RunProblem problem{std::move(sentence), {}};
        forEachOption(problem.sentence, [&](std::size_t, std::size_t, const RunOption& option) {
            const auto& known = problem.options;
            if (std::find(known.begin(), known.end(), option.key) == known.end())
                problem.options.emplace_back(option.key);
        });
        return problem;
    }
    return std::nullopt;
}

std::string_view whyNot(const RunConfig& config, std::string_view key) {
    for (const Condition& condition : conditions()) {
        const auto& keys = condition.options;
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
        if (!condition.applies(config)) return condition.otherwise;
    }
    return {};
}

RunConfig settled(RunConfig config, const RunConfig& base) {
    const RunConfig standard;
    for (const Condition& condition : conditions()) {
        if (condition.applies(config)) continue;
        const RunConfig& from = *condition.refusal != '\0' ? standard : base;
        // Values of the option's own type: they are never refused.
        for (const char* key : condition.options)
            static_cast<void>(findRunOption(key)->set(config, findRunOption(key)->get(from)));
    }
    if (config.strategy == Strategy::kSingle) config.ranks = 1;
    if (config.schedule == Schedule::kConstant)
        config.minimumLearningRate = std::min(config.minimumLearningRate, config.learningRate);
    return config;
}

std::string spelled(const std::string& sentence,
                    const std::function<std::string(const RunOption&)>& name) {
    std::string text;
    std::size_t done = 0;
    forEachOption(sentence, [&](std::size_t begin, std::size_t end, const RunOption& option) {
        text.append(sentence, done, begin - done).append(name(option));
        done = end;
    });
    return text.append(sentence, done, std::string::npos);
}

std::string inFlags(const std::string& sentence) {
    return spelled(sentence, [](const RunOption& option) {
        return std::string(*option.flag != '\0' ? option.flag : option.key);
    });
}

Result<void> checkRanges(const RunConfig& config) {
    const std::string sentence = brokenLimit(config);
    if (sentence.empty()) return {};
    return failure(ErrorCode::kUsage, inFlags(sentence));
}

Result<void> validate(const RunConfig& config) {
    const auto problem = findProblem(config);
    if (!problem) return {};
    return failure(ErrorCode::kUsage, inFlags(problem->sentence));
}

}  // namespace shardscope::run

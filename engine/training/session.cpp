#include "engine/training/session.h"

#include "engine/data/prefetch.h"
#include "engine/run/config/rank_layout.h"
#include "engine/run/theory/working_sizes.h"

namespace shardscope::training {
namespace {

/// Batches made ahead; one would do, two bridge a slow read.
constexpr std::size_t kPreparedBatches = 2;

at::ScalarType computeType(const run::RunConfig& config) {
    if (config.precision == run::Precision::kBFloat16) return at::kBFloat16;
    return config.precision == run::Precision::kFloat16 ? at::kHalf : at::kFloat;
}

}  // namespace

RankGroups::RankGroups(const run::RunConfig& config, at::Device device, comm::Communicator& world,
                       control::Observer* observer)
    : m_world(world) {
    if (config.tensor == 1) return;
    const int rank = world.rank();
    m_layers = world.split(run::tensorGroup(config, rank), run::neighboursId(config.tensor, rank));
    m_data = world.split(run::dataGroup(config, rank),
                         run::samePlaceId(config.ranks, config.tensor, rank));
    parallel::TensorGroupOptions options;
    options.sequence = config.sequence;
    options.rows = config.batch * config.model.context;
    options.hidden = config.model.hidden;
    options.compute = computeType(config);
    options.device = device;
    m_tensor = parallel::makeTensorGroup(*m_layers, observer, options);
}

parallel::Placement placementOf(const run::RunConfig& config, at::Device device, int rank) {
    parallel::Placement placement;
    placement.device = device;
    placement.compute = computeType(config);
    placement.answers = run::placeOf(config, rank).tensor == 0;
    if (config.reduceIn == run::GradientType::kBFloat16) placement.gradient = at::kBFloat16;
    placement.offload = config.offload;
    return placement;
}

std::unique_ptr<parallel::Partitioning> makePartitioning(const run::RunConfig& config,
                                                         const parallel::Placement& placement,
                                                         gpt::Gpt& model,
                                                         comm::Communicator& communicator,
                                                         control::Observer* observer) {
    std::vector<parallel::UnitReference> units;
    for (gpt::Unit& unit : model.units()) {
        for (kernels::Parameter& p : unit.parameters)
            p.decayed = p.decays(config.decayEmbeddings, config.decayVectors);
        units.push_back({unit.layer, unit.parameters});
    }
    using run::Strategy;
    const auto ddp = [&](parallel::GradientExchange exchange) {
        return parallel::makeDdp(
            units, placement, communicator, observer,
            {exchange, theory::bucketElements(config), config.compression, config.keptFraction});
    };
    switch (config.strategy) {
        case Strategy::kSingle:
            return parallel::makeSingle(units, placement);
        case Strategy::kDdpNaive:
            return ddp(parallel::GradientExchange::kNaive);
        case Strategy::kDdpFlat:
            return ddp(parallel::GradientExchange::kFlat);
        case Strategy::kDdpOverlap:
            return ddp(parallel::GradientExchange::kOverlapped);
        case Strategy::kDdpBucket:
            return ddp(parallel::GradientExchange::kBucketed);
        case Strategy::kZero1:
            return parallel::makeZero1(units, placement, communicator, observer);
        case Strategy::kZero2:
            return parallel::makeZero2(units, placement, communicator, observer);
        case Strategy::kZero3:
        case Strategy::kHsdp:
            break;
    }
    return parallel::makeZero3(units, placement, communicator, observer,
                               {config.prefetch, config.reshardAfterForward, config.keepGathered,
                                config.keepGradients, config.shardRanks});
}

BatchSource textBatches(const run::RunConfig& config, const data::Dataset& dataset, int rank) {
    data::BatchPlace place;
    place.seed = config.seed;
    place.rank = run::placeOf(config, rank).replica;
    place.rows = config.batch;
    place.context = config.model.context;
    place.ranks = run::replicasOf(config);
    place.accumulate = config.accumulate;
    BatchSource source;
    source.stepTokens =
        std::int64_t{config.batch} * config.model.context * place.ranks * config.accumulate;
    const auto prefetched = std::make_shared<data::Prefetcher>(
        [&dataset, place](std::int64_t index) mutable {
            place.step = index / place.accumulate;
            place.microStep = index % place.accumulate;
            return dataset.trainingRows(place);
        },
        kPreparedBatches);
    source.training = [prefetched, accumulate = place.accumulate](std::int32_t step,
                                                                  std::int32_t microStep) {
        return data::toBatch(prefetched->take(step * accumulate + microStep));
    };
    source.validation = [&dataset, place, ranks = place.ranks,
                         batches = config.evaluateBatches](std::int32_t index) mutable {
        place.microStep = index;
        return dataset.validation(place, ranks, batches);
    };
    return source;
}

}  // namespace shardscope::training

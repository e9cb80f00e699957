#include "profiler/planning/bucket_model.h"

#include <cmath>
#include <set>

namespace shardscope::planning {

double BucketModel::overheadSeconds(double buckets) const {
    return gradientBytes / (buckets * bytesPerSecond) + buckets * secondsPerBucket;
}

double BucketModel::bestBuckets() const {
    return std::sqrt(gradientBytes / (secondsPerBucket * bytesPerSecond));
}

double BucketModel::bestBucketBytes() const {
    return std::sqrt(gradientBytes * secondsPerBucket * bytesPerSecond);
}

Result<BucketModel> fitBuckets(double gradientBytes, const std::vector<BucketPoint>& points) {
    std::set<double> different;
    // Normal equations of p / n + q n.
    double count = 0, inverse = 0, square = 0, byInverse = 0, byBuckets = 0;
    for (const BucketPoint& point : points) {
        if (point.buckets <= 0) continue;
        different.insert(point.buckets);
        ++count;
        inverse += 1 / (point.buckets * point.buckets);
        square += point.buckets * point.buckets;
        byInverse += point.overheadSeconds / point.buckets;
        byBuckets += point.overheadSeconds * point.buckets;
    }
    if (different.size() < 2)
        return failure(ErrorCode::kFailure, "it takes two different numbers of buckets");
    const double determinant = inverse * square - count * count;
    const double p = (byInverse * square - byBuckets * count) / determinant;
    const double q = (byBuckets * inverse - byInverse * count) / determinant;
    if (!(p > 0))
        return failure(ErrorCode::kFailure, "the overhead does not fall with more buckets");
    if (!(q > 0))
        return failure(ErrorCode::kFailure, "the overhead does not grow with more buckets");
    return BucketModel{gradientBytes, gradientBytes / p, q};
}

}  // namespace shardscope::planning

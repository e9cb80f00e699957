// How large DDP's buckets should be: what a step loses to the communication of its gradients.
//
// s bytes of gradients go in n buckets of b = s / n. While backward computes, a bucket's all-reduce
// is hidden if the computing of the next bucket takes as long; what is left at the end is
// the last bucket, for which nothing is left to compute: s / (n w) at w bytes a second. Each
// all-reduce costs o besides, to be launched and to be met: n o. So
//
//   overhead(n) = s / (n w) + n o,  smallest where -s / (n^2 w) + o = 0: n = sqrt(s / (o w)),
//   that is b = s / n = sqrt(s o w), where it is 2 sqrt(s o / w).
//
// The model and its question are those of Stanford CS336, assignment 2, "Bucketed DDP". o and w are
// alpha and 1 / beta of an all-reduce (analysis/transfers.h). Pure.
#pragma once

#include "storage/model/result.h"

#include <vector>

namespace shardscope::planning {

struct BucketModel {
    double gradientBytes = 0;     ///< s
    double bytesPerSecond = 0;    ///< w
    double secondsPerBucket = 0;  ///< o

    [[nodiscard]] double overheadSeconds(double buckets) const;
    [[nodiscard]] double bestBuckets() const;      ///< not a whole number
    [[nodiscard]] double bestBucketBytes() const;  ///< may be more than s: then one bucket is best
};

struct BucketPoint {
    double buckets = 0;          ///< all-reduces of gradients of a step
    double overheadSeconds = 0;  ///< measured
};

/// o and w by least squares of overhead = p (1 / n) + q n, with w = s / p and o = q. kFailure, with
/// what is missing: fewer than two different numbers of buckets, or a fit in which one of the terms
/// is not above zero, so that what was measured has no optimum.
[[nodiscard]] Result<BucketModel> fitBuckets(double gradientBytes,
                                             const std::vector<BucketPoint>& points);

}  // namespace shardscope::planning

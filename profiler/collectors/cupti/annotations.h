// What each thread has pushed, handed on to CUPTI while launches are traced.
//
// The annotator's functions take no user pointer, so the process has one target: the CUPTI that
// is subscribed. Pushes and pops balance on each thread whatever the level does in between.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/graph_nodes.h"

namespace shardscope::collectors::cupti {

/// Lives as long as the process; does nothing without a target.
[[nodiscard]] const capture::DeviceAnnotator& annotator();

/// `api` outlives all annotating threads; null: none.
void setAnnotationTarget(CuptiApi* api);
/// Whether pushes reach CUPTI; they are remembered for graph nodes either way.
void setAnnotating(bool on);

/// Innermost annotations of the calling thread, for a graph node it captures.
[[nodiscard]] CapturedLaunch threadAnnotations();

}  // namespace shardscope::collectors::cupti

// `--precision-report`: which types tensors really had. Operators, the optimizer and communicators
// tell of the tensors that they make (engine/control/precision_probe.h); nothing here looks at the
// configuration.
//
//   PrecisionReport report;
//   {
//       const control::PrecisionScope scope(&report);  // on the step thread, for one step
//       trainer.step(0, false);
//   }
//   send(report.rows());
//
// Of blocks on a GPU, whose backward runs on a thread of LibTorch's, the gradients are not
// reported; those of the root (head, embedding, final norm) are.
#pragma once

#include "engine/control/observer.h"
#include "engine/control/precision_probe.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::training {

struct PrecisionRow {
    std::string what;          ///< "logits", "gradient", ...
    std::string dtype;         ///< "fp32", "bf16", ...
    std::string where;         ///< the operator or buffer
    std::int64_t tensors = 0;  ///< how many were seen like that
    friend bool operator==(const PrecisionRow&, const PrecisionRow&) = default;
};

class PrecisionReport final : public control::PrecisionProbe {
public:
    void tensor(control::TensorRole role, DataType type, const char* where) override;
    /// Notes the type in which gradients went over the link; an observer passes on what is reported
    /// of. Any thread.
    void collective(const control::CollectiveReport& report);

    /// By role, then as first seen.
    [[nodiscard]] std::vector<PrecisionRow> rows() const;

private:
    struct Seen {
        control::TensorRole role;
        DataType type;
        std::string where;
        std::int64_t tensors = 0;
    };

    mutable Mutex m_mutex;  ///< collectives end on the communication thread
    std::vector<Seen> m_seen SHARDSCOPE_GUARDED_BY(m_mutex);
};

}  // namespace shardscope::training

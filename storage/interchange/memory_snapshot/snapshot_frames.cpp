#include "storage/interchange/memory_snapshot/snapshot_frames.h"

#include "storage/model/words.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace shardscope::interchange {
namespace {

/// What every allocation passes through: the unwinder, the allocator, tensors being made, and the
/// dispatcher. Fronts of qualified names.
constexpr std::string_view kEverybodys[] = {"torch::unwind::",
                                            "torch::CapturedTraceback",
                                            "torch::cuda::::gather",
                                            "c10::cuda::",
                                            "c10::impl::",
                                            "c10::StorageImpl",
                                            "c10::Allocator",
                                            "c10::Dispatcher",
                                            "c10::KernelFunction",
                                            "at::detail::",
                                            "at::_ops::",
                                            "at::redispatch::",
                                            "at::::",
                                            "at::meta::",
                                            "at::TensorIteratorBase::",
                                            "at::empty",
                                            "at::native::empty",
                                            "at::native::resize",
                                            "at::native::::create_out"};

/// "at::TensorBase at::detail::_empty<long>(c10::IntArrayRef)" is at::detail::_empty; anonymous
/// namespaces have no name.
std::string qualifiedName(std::string_view name) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::string text(name);
    for (std::size_t at = 0; (at = text.find(kAnonymous, at)) != std::string::npos;)
        text.erase(at, kAnonymous.size());
    text.resize(std::min(text.size(), text.find_first_of("<(")));
    return text.substr(text.rfind(' ') + 1);
}

bool isEverybodys(std::string_view name) {
    const std::string qualified = qualifiedName(name);
    return std::any_of(std::begin(kEverybodys), std::end(kEverybodys),
                       [&](std::string_view front) { return qualified.starts_with(front); });
}

}  // namespace

PickleValue chosenFrame(const PickleDocument& document, PickleValue frames) {
    const auto& all = document.items(frames);
    for (const PickleValue frame : all) {
        const std::string_view file = document.text(frame, "filename");
        if (file.ends_with(".py") && file.find("/torch/") == std::string_view::npos) return frame;
    }
    for (const PickleValue frame : all)
        if (!isEverybodys(document.text(frame, "name"))) return frame;
    return all.empty() ? PickleValue{} : all.front();
}

MemoryCategory categoryOf(std::string_view name, std::string_view& owner) {
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const auto category = static_cast<MemoryCategory>(i);
        const std::string_view word = toWord(category);
        if (name == word) {
            owner = {};
            return category;
        }
        if (!name.starts_with(word) || name.substr(word.size(), 2) != ": ") continue;
        owner = name.substr(word.size() + 2);
        return category;
    }
    return MemoryCategory::kOther;
}

}  // namespace shardscope::interchange

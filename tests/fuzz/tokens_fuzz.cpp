// libFuzzer on text of any bytes: pieces, and a tokenizer trained on the text itself.
//
// The first half of the input is trained on, all of it encoded.
#include "engine/tokens/bpe_trainer.h"
#include "engine/tokens/encoder.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace shardscope::tokens {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void trainAndEncode(std::string_view text) {
    PieceCounts pieces;
    pieces.add(text.substr(0, text.size() / 2));
    auto vocabulary = trainBpe(pieces, {320, 1, {}});
    require(vocabulary.has_value());
    const auto tokenizer = Tokenizer::make(std::move(*vocabulary), "trained");
    require(tokenizer.has_value());
    std::vector<std::uint32_t> ids;
    Encoder(*tokenizer, AddedTokens::kRecognised, 64).encode(text, ids);
    const auto decoded = tokenizer->decode(ids);
    require(decoded && *decoded == text);
}

}  // namespace
}  // namespace shardscope::tokens

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    shardscope::tokens::trainAndEncode({reinterpret_cast<const char*>(data), size});
    return 0;
}

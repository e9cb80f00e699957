#!/usr/bin/env python3
"""Which sources are compiled as one (packaging/cmake/batches.py)."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging/cmake"))
import batches


def unnamed(text):
    return f"namespace shardscope {{\nnamespace {{\n\n{text}\n}}  // namespace\n\n}}  // namespace shardscope\n"


class Batches(unittest.TestCase):
    def numbers(self, *texts, size=8):
        with tempfile.TemporaryDirectory() as folder:
            sources = [pathlib.Path(folder, f"{i}.cpp") for i in range(len(texts))]
            for source, text in zip(sources, texts):
                source.write_text(text)
            return batches.batches(sources, size)

    def test_at_most_size_in_the_order_given(self):
        self.assertEqual(self.numbers(*5 * [""], size=2), [0, 0, 1, 1, 2])

    def test_what_two_define_keeps_them_apart(self):
        for text in ("int f(int a) {\n    return a;\n}\n", "constexpr int kA = 1, kB = 2;\n", "struct A {\n};\n",
                     "constexpr std::array<int, 2> kA{1, 2};\n", "enum class A { kB };\n", "enum A { kB, kC };\n",
                     "using A = int;\n", "template <typename T>\nT f(const T& a) {\n}\n", "std::mutex mutex;\n",
                     "namespace fs = std::filesystem;\n", "class A final : public B {\n};\n"):
            self.assertEqual(self.numbers(unnamed(text), unnamed(text), ""), [0, 1, 0], text)
        one, other = unnamed("constexpr int kA = 1,\n              kB = 2;\n"), unnamed("int kB(int kA) {\n}\n")
        self.assertEqual(self.numbers(one, other), [0, 1])
        self.assertEqual(self.numbers("static void f() {\n}\n", "static void f() {\n}\n"), [0, 1])
        self.assertEqual(self.numbers("using A = int;\n", "using A = long;\n"), [0, 1])

    def test_what_only_one_defines_does_not(self):
        one = unnamed("int f(int a) {\n    const int kA = g(a);\n    return kA;\n}\n")
        other = unnamed("int g(int a) {\n    const int kA = f(a);\n    return kA;\n}\n")
        self.assertEqual(self.numbers(one, other), [0, 0])
        # Overrides, members and what others may see; and each test has a name of its own.
        self.assertEqual(self.numbers("int A::f() {\n}\n", "int B::f() {\n}\n"), [0, 0])
        test = unnamed("using ::testing::ElementsAre;\n\nTEST(A, B) {\n    f();\n}\n")
        self.assertEqual(self.numbers(test, test), [0, 0])


if __name__ == "__main__":
    unittest.main()

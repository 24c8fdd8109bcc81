// The smallest program: adds two tensors of four floats, with what never moves bound once and what moves lent.
//
//     add add4.onnx|add4.tflite
//
// C++17. Errors are exceptions here: value() of a result throws. Without exceptions a result is asked instead, as in
// later.cpp.
#include <cstdio>
#include <cstdlib>

#include <zerobind.hpp>

// Room for four floats as every engine takes it: at a multiple of 64 bytes, with readable bytes behind.
struct alignas(64) Four {
    float v[4];
};

static void add(const char *path)
{
    const zb::Model model = zb::Model::open(path).value();
    zb::Context context = zb::Context::create(model).value();
    // slots by name; their type is compared here, and from here on by the compiler
    const auto x = model.input<float>("x").value();
    const auto y = model.input<float>("y").value();
    const auto z = model.output<float>("z").value();

    Four sum = {};
    context.bind(z, zb::Tensor::wrap(sum.v, {4}).value()).value();

    const Four numbers = {{0, 1, 2, 3}};
    for (const Four &addend : {Four{{10, 10, 10, 10}}, Four{{20, 20, 20, 20}}}) {
        context.infer_with({zb::in(x, numbers.v, sizeof numbers), zb::in(y, addend.v, sizeof addend)}).value();
        std::printf("%g %g %g %g\n", double{sum.v[0]}, double{sum.v[1]}, double{sum.v[2]}, double{sum.v[3]});
    }
    // a wrong type of memory would not compile, and a wrong size of it throws: zb::in(x, std::vector<int>{1, 2, 3, 4})
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fputs("usage: add add4.onnx|add4.tflite\n", stderr);
        return EXIT_FAILURE;
    }
    try {
        add(argv[1]);
    } catch (const zb::Exception &exception) {
        std::fprintf(stderr, "%s\n", exception.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

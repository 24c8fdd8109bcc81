// The part in C++20, with exceptions.
#include "mixed.hpp"

int main(int argc, char **argv)
{
    alignas(64) static float x[16] = {1, 2, 3, 4}, y[16] = {10, 20, 30, 40}, z[16];
    if (argc != 2) {
        return 2;
    }
    try {
        const zb::Model model = zb::Model::open(argv[1]).value();
        zb::Context context = make_context_elsewhere(model).value();
        run_elsewhere(context, x, y, z).value();
        std::printf("%g %g %g %g\n", double{z[0]}, double{z[1]}, double{z[2]}, double{z[3]});
        z[0] = z[3] = 0;
        context.infer_with({zb::in(zb::input(0), zb::Span<const float>(x, 4), 64),
                            zb::in(zb::input(1), zb::Span<const float>(y, 4), 64),
                            zb::out(zb::output(0), zb::Span<float>(z, 4))})
            .value();
        std::printf("%g %g %g %g\n", double{z[0]}, double{z[1]}, double{z[2]}, double{z[3]});
        run_elsewhere(context, x, y, x).value();
    } catch (const zb::Exception &exception) {
        // the last run is refused: its output is its input
        return exception.status() == ZB_ERROR_ALIASED ? 0 : 1;
    }
    return 1;
}

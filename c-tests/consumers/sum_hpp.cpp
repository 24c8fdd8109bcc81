/* sum.c by the C++ header, as C++17 and every later standard. */
#include <cstdio>
#include <cstring>
#include <zerobind.hpp>

#ifndef PACKAGE_VERSION
#error "-DPACKAGE_VERSION is missing"
#endif

static zb::Result<void> run(const char *path, zb::Span<const float> x, zb::Span<const float> y, zb::Span<float> z)
{
    auto model = zb::Model::open(path);
    auto context = model ? zb::Context::create(*model) : model.error();
    return context ? context->infer_with({zb::in(zb::input(0), x, 64), zb::in(zb::input(1), y, 64), zb::out(zb::output(0), z)})
                   : context.error();
}

int main(int argc, char **argv)
{
    if (std::strcmp(zb_version_string(), PACKAGE_VERSION) != 0 || zb_version() != ZB_HEADER_VERSION) {
        std::fprintf(stderr, "failed: library, header and package %s are not of one version\n", PACKAGE_VERSION);
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        alignas(64) static float x[16] = {0, 1, 2, 3}, y[16] = {10, 10, 10, 10}, z[16];
        const auto done = run(argv[i], zb::Span<float>(x, 4), zb::Span<float>(y, 4), zb::Span<float>(z, 4));
        if (!done) {
            std::fprintf(stderr, "failed: %s\n", done.error().text());
            return 1;
        }
        for (int k = 0; k < 4; k++) {
            if (z[k] < 9.5f + static_cast<float>(k) || z[k] > 10.5f + static_cast<float>(k)) {
                std::fprintf(stderr, "failed: the sum is wrong\n");
                return 1;
            }
        }
    }
    return 0;
}

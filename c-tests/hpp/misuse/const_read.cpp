// Must not compile: a read into memory that is only read.
#include <zerobind.hpp>

zb::Result<zb::Event> read(zb::Queue &queue, const zb::Tensor &tensor, const std::vector<float> &values);

zb::Result<zb::Event> read(zb::Queue &queue, const zb::Tensor &tensor, const std::vector<float> &values)
{
    return queue.read(tensor, values);
}

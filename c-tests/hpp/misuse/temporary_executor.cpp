// Must not compile: an executor that is gone before the queue uses it.
#include <zerobind.hpp>

zb::Result<zb::Queue> make();

zb::Result<zb::Queue> make()
{
    return zb::Queue::create_on([](zb::Task task) { task(); });
}

// Must not compile: a function as an executor has no address that C takes as data.
#include <zerobind.hpp>

zb::Result<zb::Queue> make();

static void at_once(zb::Task task) { task(); }

zb::Result<zb::Queue> make()
{
    return zb::Queue::create_on(at_once);
}

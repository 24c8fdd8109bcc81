// Must not compile: a function as a log callback has no address that C takes as data.
#include <zerobind.hpp>

zb::Result<void> listen();

static void line(zb::LogLevel, std::string_view) {}

zb::Result<void> listen()
{
    return zb::set_log_callback(line, zb::LogLevel::warn);
}

/* Must not compile with clang: NULL where none may be. */
#include <zerobind.h>

zb_status run(void);

zb_status run(void)
{
    return zb_infer(NULL, NULL);
}

/* Must not compile with clang that is asked to look: what may be missing, given to what must be there. */
#include <zerobind.h>

zb_status open_reason(const zb_runtime_info *info, zb_model **model);

zb_status open_reason(const zb_runtime_info *info, zb_model **model)
{
    return zb_model_open(info->path, NULL, model);
}

//! What `include/zerobind.h` declares, under one roof: for Rust programs that link this crate instead of the shared
//! library and use it as any other host would. Queues, events and DLPack are to be added when such a program needs them.

pub use super::constants::*;
pub use super::context::{
    zb_context_create, zb_context_destroy, zb_context_get_binding_report, zb_context_get_requirements,
    zb_context_get_slot_desc, zb_context_get_slot_info, zb_context_get_stats, zb_context_output_view,
    zb_context_prepare, zb_context_resize_input,
};
pub use super::infer::zb_infer;
pub use super::layout::*;
pub use super::library::{
    zb_dtype_bits, zb_dtype_name, zb_last_error, zb_set_log_callback, zb_status_name, zb_tensor_desc_size,
    zb_version_string,
};
pub use super::model::{
    zb_model_destroy, zb_model_find_input, zb_model_find_output, zb_model_get_metadata, zb_model_get_runtime,
    zb_model_get_signature_count, zb_model_get_signature_key, zb_model_get_slot_counts, zb_model_get_slot_info,
    zb_model_open,
};
pub use super::preflight::zb_model_preflight;
pub use super::runtime::{zb_runtime_get_info, zb_runtime_load};
pub use super::tensor::{zb_tensor_alloc_for, zb_tensor_bind, zb_tensor_destroy, zb_tensor_get_data, zb_tensor_map_fd};

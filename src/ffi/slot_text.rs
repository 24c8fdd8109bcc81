//! Names and numbers of a model's slots in the form that C reads, kept as long as the handle.

use std::ffi::{CString, c_char};
use std::ptr::null;

use super::constants::{ZB_QUANTIZATION_NONE, ZB_QUANTIZATION_PER_AXIS, ZB_QUANTIZATION_PER_TENSOR};
use super::layout::zb_slot_info;
use crate::base::room::{c_text, copied};
use crate::base::{Gather, Quantization, Result, Side, Slot, SlotInfo};
use crate::core::Model;

/// The texts of all slots of a model, and the keys of its signatures.
pub struct ModelText {
    inputs: Vec<SlotText>,
    outputs: Vec<SlotText>,
    signature_keys: Vec<CString>,
}

struct SlotText {
    name: CString,
    /// Kept for `dim_pointers`.
    _dim_names: Vec<CString>,
    dim_pointers: Vec<*const c_char>,
    kind: i32,
    axis: i32,
    scales: Vec<f32>,
    zero_points: Vec<i32>,
}

// SAFETY: the pointers lead to strings that this value owns and never changes.
unsafe impl Send for SlotText {}
// SAFETY: as above.
unsafe impl Sync for SlotText {}

impl ModelText {
    pub fn new(model: &Model) -> Result<ModelText> {
        let texts = |side| model.slots(side).iter().map(SlotText::new).gather_all();
        let signature_keys = model.signatures().iter().map(|signature| c_string(&signature.key)).gather_all()?;
        Ok(ModelText { inputs: texts(Side::Input)?, outputs: texts(Side::Output)?, signature_keys })
    }

    /// The keys of the signatures, in the order of the model.
    pub fn signature_keys(&self) -> &[CString] {
        &self.signature_keys
    }

    /// Fills in what lives as long as the handle.
    pub fn describe(&self, slot: Slot, info: &mut zb_slot_info) {
        let texts = if slot.side == Side::Input { &self.inputs } else { &self.outputs };
        if let Some(text) = texts.get(slot.index) {
            text.describe(info);
        }
    }
}

impl SlotText {
    fn new(info: &SlotInfo) -> Result<SlotText> {
        let dim_names = info.dim_names.iter().map(|name| c_string(name)).gather_all()?;
        let named = dim_names.iter().any(|name| !name.is_empty());
        let dim_pointers = if named { dim_names.iter().map(|name| name.as_ptr()).gather()? } else { Vec::new() };
        let (kind, axis, scales, zero_points) = match &info.quantization {
            Quantization::None => (ZB_QUANTIZATION_NONE, 0, Vec::new(), Vec::new()),
            Quantization::PerTensor { scale, zero_point } => {
                (ZB_QUANTIZATION_PER_TENSOR, 0, copied(&[*scale])?, copied(&[*zero_point])?)
            }
            Quantization::PerAxis { axis, scales, zero_points } => {
                (ZB_QUANTIZATION_PER_AXIS, *axis, copied(scales)?, copied(zero_points)?)
            }
        };
        let name = c_string(&info.name)?;
        Ok(SlotText { name, _dim_names: dim_names, dim_pointers, kind, axis, scales, zero_points })
    }

    fn describe(&self, info: &mut zb_slot_info) {
        info.name = self.name.as_ptr();
        info.dim_names = pointer_to(&self.dim_pointers);
        info.scales = pointer_to(&self.scales);
        info.zero_points = pointer_to(&self.zero_points);
        info.quantization_count = self.scales.len() as u32;
        info.quantization = self.kind;
        info.quantization_axis = self.axis;
    }
}

fn pointer_to<T>(values: &[T]) -> *const T {
    if values.is_empty() { null() } else { values.as_ptr() }
}

/// A text as C sees it: up to its first NUL.
fn c_string(text: &str) -> Result<CString> {
    c_text(text.split('\0').next().unwrap_or_default())
}

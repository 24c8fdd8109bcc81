//! Sticky bindings: a tensor stays at a slot until it is unbound, replaced, or the context goes.

use std::sync::Arc;

use super::{Attached, Context, CopyPolicy, SlotState};
use crate::base::{Desc, Dims, Dtype, Result, Side, Slot, fail, text};
use crate::core::Tensor;
use crate::memory::{Access, HostRange};

/// A tensor that a slot let go. Dropping it may run the host's release callback, so the caller does that once it holds the
/// context no more.
#[must_use]
pub struct Displaced {
    tensor: Option<Arc<Tensor>>,
}

impl Displaced {
    pub(super) fn into_tensor(self) -> Option<Arc<Tensor>> {
        self.tensor
    }
}

impl Context {
    /// Binds `tensor` to `slot`. Whatever can be judged without the other slots is judged here; the rest by the run.
    ///
    /// The tensor stays the caller's: one that is refused may have lost its handle meanwhile, and letting it go may run the
    /// host's release callback.
    pub fn bind(&mut self, slot: Slot, tensor: &Arc<Tensor>) -> Result<Displaced> {
        let position = self.position(slot)?;
        self.check_fits(slot, tensor)?;
        Ok(self.replace(position, Some(tensor.clone())))
    }

    /// Whatever can be judged of a tensor for a slot without the other slots.
    pub(super) fn check_fits(&self, slot: Slot, tensor: &Tensor) -> Result<()> {
        self.check_fits_pattern(slot, tensor, &self.pattern(slot))
    }

    /// The same where the shape has to match another pattern than that of the shapes at hand.
    pub(super) fn check_fits_pattern(&self, slot: Slot, tensor: &Tensor, pattern: &Dims) -> Result<()> {
        self.check_desc_pattern(slot, tensor.desc(), tensor.range().size(), pattern)?;
        self.check_access(slot, tensor.range().access())?;
        tensor.still_there().map_err(|error| error.at(self.model.label(slot)))?;
        if self.copy_policy == CopyPolicy::Never {
            self.check_alignment(slot, &tensor.range())?;
            self.check_slack(slot, &tensor.range())?;
        }
        Ok(())
    }

    /// Ends a binding; without one nothing happens.
    pub fn unbind(&mut self, slot: Slot) -> Result<Displaced> {
        let position = self.position(slot)?;
        Ok(self.replace(position, None))
    }

    pub(super) fn replace(&mut self, position: usize, tensor: Option<Arc<Tensor>>) -> Displaced {
        if self.slots[position].attached == Attached::Binding {
            self.detach(position);
        }
        self.unsettle();
        self.viewable = false;
        // the shape of an open input may be that of its tensor
        self.shapes_changed |= position < self.inputs;
        let old = std::mem::replace(&mut self.slots[position].binding, tensor);
        self.give_back(old.as_ref());
        // the last run's list holds the tensor too, and so does what was captured; here they are never the last to let go
        self.uses.clear();
        self.captured = None;
        Displaced { tensor: old }
    }

    /// Whether others use a tensor that was bound is no business of this context any more, unless another slot has it.
    fn give_back(&self, tensor: Option<&Arc<Tensor>>) {
        // a stand-in never ran
        let (Some(tensor), Some(stop)) = (tensor, &self.stop) else { return };
        let is_it = |slot: &SlotState| slot.binding.as_ref().is_some_and(|bound| Arc::ptr_eq(bound, tensor));
        if !self.slots.iter().any(is_it) {
            tensor.usage().give_back(stop);
        }
    }

    /// Type and shape against the slot: the type always, the shape as far as it is fixed by the model or a resize.
    pub(super) fn check_desc(&self, slot: Slot, desc: &Desc, size: usize) -> Result<()> {
        self.check_desc_pattern(slot, desc, size, &self.pattern(slot))
    }

    fn check_desc_pattern(&self, slot: Slot, desc: &Desc, size: usize, wanted: &Dims) -> Result<()> {
        let info = self.model.slot(slot)?;
        self.check_holdable(slot)?;
        if desc.dtype != info.desc.dtype {
            let wanted = self.wanted_desc(slot);
            return fail!(
                DtypeMismatch,
                "{} is {wanted}{}, but the memory given is {desc} ({size} bytes): convert it, or describe it as what it is",
                self.model.label(slot),
                wanted.byte_size().map(|bytes| text!(" ({bytes} bytes)")).unwrap_or_default()
            );
        }
        if slot.side == Side::Input && !desc.dims.is_known() {
            return fail!(
                ShapeMismatch,
                "{} is given as {desc}: memory that is read has a shape, so give every dimension",
                self.model.label(slot)
            );
        }
        if !desc.dims.agrees_with(wanted) {
            let advice = if desc.dims.agrees_with(&info.desc.dims) {
                "bind or lend memory of the shape that was asked for, or call zb_context_resize_input with this one"
            } else if wanted.is_known() {
                "the shape is fixed by the model"
            } else {
                "only dimensions given as -1 can be chosen"
            };
            return fail!(
                ShapeMismatch,
                "{} is {}{wanted}, but the memory given is {desc}: {advice}",
                self.model.label(slot),
                info.desc.dtype
            );
        }
        Ok(())
    }

    /// Whether there is memory of a host for such elements at all.
    pub(super) fn check_holdable(&self, slot: Slot) -> Result<()> {
        if self.model.slot(slot)?.desc.dtype != Dtype::String {
            return Ok(());
        }
        let advice = match slot.side {
            Side::Input => "this version cannot run a model with such an input",
            Side::Output => "leave it unbound; its value cannot be had in this version",
        };
        fail!(
            Unsupported,
            "{} is made of strings, which the engine keeps in memory of its own: {advice}",
            self.model.label(slot)
        )
    }

    pub(super) fn check_access(&self, slot: Slot, access: Access) -> Result<()> {
        if slot.side == Side::Output && access == Access::ReadOnly {
            return fail!(
                ReadOnly,
                "{} is written by the run, but the tensor is read-only (made by zb_tensor_wrap_const, by zb_tensor_map_fd with ZB_MAP_READ_ONLY, or from a read-only DLPack tensor): bind writable memory",
                self.model.label(slot)
            );
        }
        Ok(())
    }

    /// The address against what the engine asks for. Empty memory is never looked at.
    pub(super) fn check_alignment(&self, slot: Slot, range: &HostRange) -> Result<()> {
        let alignment = self.alignment_of(slot);
        let address = range.data() as usize;
        if range.size() == 0 || address.is_multiple_of(alignment) {
            return Ok(());
        }
        fail!(
            Misaligned,
            "{} is at {address:#x}, which is {} bytes past a multiple of {alignment}, but {} needs a multiple of {alignment}: align it, use zb_tensor_alloc_for, or allow copies",
            self.model.label(slot),
            address % alignment,
            self.model.runtime().name()
        )
    }

    /// The bytes behind an input that the engine may read too. They only matter where they could lie on another page, since
    /// reading on in a page that holds the input cannot fault.
    pub(super) fn check_slack(&self, slot: Slot, range: &HostRange) -> Result<()> {
        let slack = self.facts.input_slack;
        if slot.side == Side::Output || slack == 0 || range.size() == 0 {
            return Ok(());
        }
        let needed = range.size().saturating_add(slack);
        if range.capacity() >= needed || bytes_left_in_page(range) >= slack {
            return Ok(());
        }
        fail!(
            BufferTooSmall,
            "{} of {} bytes ends {} bytes before the end of a page and its capacity is {}, but {} may read {slack} bytes past an input: the bytes behind it must really be there (capacity at least {needed}): over-allocate, use zb_tensor_alloc_for, or allow copies",
            self.model.label(slot),
            range.size(),
            bytes_left_in_page(range),
            range.capacity(),
            self.model.runtime().name()
        )
    }
}

/// Bytes between the end of the range and the end of the page that holds its last byte.
fn bytes_left_in_page(range: &HostRange) -> usize {
    let page = crate::memory::page_size();
    let end = (range.data() as usize).wrapping_add(range.size());
    (page - end % page) % page
}

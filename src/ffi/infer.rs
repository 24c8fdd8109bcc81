//! Running on the calling thread.

use super::constants::{ZB_LOAN_INPUT, ZB_LOAN_OUTPUT};
use super::context::with_running;
use super::guard::guard;
use super::layout::{zb_context, zb_infer_options, zb_loan, zb_status};
use super::{options, pointers, slots};
use crate::base::hint::likely;
use crate::base::{Error, Result, Side, Slot, fail};
use crate::core::Lending;
use crate::memory::{Access, HostRange};
use crate::runtime::Loan;

/// Runs the context on the calling thread with what is bound to it. When it returns ZB_OK, bound outputs are complete.
///
/// Inputs are read during the run, on every engine, and never written; an output that is not bound stays in the engine's
/// memory (zb_context_output_view). A call that is refused by a check writes nothing. Once the engine has started, a failure
/// leaves bound outputs and recurrent state unspecified; bytes outside them are never touched.
///
/// One run of a context at a time; contexts of one model run at once. No allocation of zerobind's own, no copy.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (options), BUSY (the context runs; a tensor is in use by another
/// context), UNBOUND (an input has no memory), SHAPE_MISMATCH, BUFFER_TOO_SMALL, MISALIGNED, ALIASED, COPY_REQUIRED,
/// IO (a shared file was cut short), UNSUPPORTED, RUNTIME (the engine's text), OUT_OF_MEMORY, CANCELLED (zb_context_cancel, or
/// the context was destroyed), DEADLINE_EXCEEDED, and those of zb_context_prepare.
///
/// # Safety
/// `options` is NULL or has its struct_size set; the memory of bound tensors is as zb_tensor_wrap asks.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_infer(context: *mut zb_context, options: *const zb_infer_options) -> zb_status {
    guard(|| {
        let deadline = match likely(options.is_null()) {
            true => None,
            // SAFETY: the caller's promise.
            false => unsafe { options::read_infer(options) }?,
        };
        with_running(context, |state| state.infer(deadline))
    })
}

/// Runs as zb_infer, with memory lent to some slots for this call only: for buffers that are at another address every time.
///
/// A loan shadows the binding of its slot; the other slots keep theirs. Type and shape in a loan may differ from the slot's
/// only in dimensions that are open in the model; an input is then resized, and that stays: a binding of another shape has to be
/// replaced, or the input resized back, before it can be used again. When the call returns, however
/// it returns, no pointer of a loan is used again, and the slot is back at its binding, or at none. State inside the engine
/// is kept from call to call. With count 0 it is zb_infer. Quickest where the slots, and their order, are those of the call before.
///
/// Errors: those of zb_infer; INVALID_ARGUMENT (a slot named twice or out of range, loan flags, an input
/// lent as an output), READ_ONLY (an output lent as an input), NULL_ARGUMENT (data NULL
/// with size above 0), DTYPE_MISMATCH.
///
/// # Safety
/// `count` loans are readable at `loans`; the memory of each is as it says until the call returns.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_infer_with(
    context: *mut zb_context,
    loans: *const zb_loan,
    count: usize,
    options: *const zb_infer_options,
) -> zb_status {
    guard(|| {
        let deadline = match likely(options.is_null()) {
            true => None,
            // SAFETY: the caller's promise.
            false => unsafe { options::read_infer(options) }?,
        };
        // SAFETY: the caller's promise.
        let loans = unsafe { pointers::array(loans, count, "loans") }?;
        with_running(context, |state| {
            // SAFETY: the caller's promise for the memory of each loan.
            let at_once = loans.iter().map(|loan| unsafe { read_at_once(loan) });
            state.infer_lent(deadline, at_once, |lending| {
                for loan in loans {
                    // SAFETY: as above.
                    unsafe { lend(lending, loan) }?;
                }
                Ok(())
            })
        })
    })
}

/// What is the rule: memory, and nothing but memory. `None` says nothing.
///
/// # Safety
/// The memory is as the loan says until the call of the ABI returns.
#[inline]
unsafe fn read_at_once(loan: &zb_loan) -> Option<Loan> {
    let slot = slots::from_c(loan.slot);
    let capacity = pointers::capacity_at_once(loan.data, loan.size, loan.capacity)?;
    if !loan.desc.is_null() || !are_right(loan.flags, slot.side) {
        return None;
    }
    let access = if slot.side == Side::Input { Access::ReadOnly } else { Access::ReadWrite };
    // SAFETY: the caller's promise.
    Some(Loan { slot, memory: unsafe { HostRange::new(loan.data, loan.size, capacity, access) } })
}

/// Where anything may be new, or wrong.
///
/// # Safety
/// As above.
unsafe fn lend(lending: &mut Lending<'_>, loan: &zb_loan) -> Result<()> {
    let slot = slots::from_c(loan.slot);
    let place = |error: Error| error.at(slot);
    let capacity = pointers::check_data(loan.data, loan.size, loan.capacity).map_err(place)?;
    let access = if slot.side == Side::Input { Access::ReadOnly } else { Access::ReadWrite };
    // SAFETY: the caller's promise.
    let memory = unsafe { HostRange::new(loan.data, loan.size, capacity, access) };
    // SAFETY: the desc of a loan is NULL or readable.
    let desc = match unsafe { loan.desc.as_ref() } {
        Some(desc) => Some(slots::read_desc(desc).map_err(place)?),
        None => None,
    };
    lending.lend(slot, memory, desc.as_ref())?;
    // after the slot is known to exist
    check_flags(loan.flags, slot)
}

/// Whether the slot is on the side that the loan was made for.
#[inline]
const fn are_right(flags: u32, side: Side) -> bool {
    let of_side = if matches!(side, Side::Input) { ZB_LOAN_INPUT } else { ZB_LOAN_OUTPUT };
    flags == of_side || flags == 0
}

fn check_flags(flags: u32, slot: Slot) -> Result<()> {
    match (flags, slot.side) {
        (flags, side) if are_right(flags, side) => Ok(()),
        (ZB_LOAN_INPUT, Side::Output) => {
            fail!(ReadOnly, "{slot} is lent memory that is only to be read: lend an output by zb_loan_output")
        }
        (ZB_LOAN_OUTPUT, Side::Input) => {
            fail!(InvalidArgument, "{slot} is lent memory that is to be written: was ZB_OUTPUT({}) meant?", slot.index)
        }
        _ => fail!(InvalidArgument, "loan flags {flags:#x}: give ZB_LOAN_INPUT, ZB_LOAN_OUTPUT or 0"),
    }
}

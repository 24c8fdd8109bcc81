//! Trying shapes on an interpreter that is thrown away.
//!
//! Under XNNPACK the engine does not check that shapes make sense: an image smaller than a filter is planned without a
//! complaint and crashes in the run. The plain kernels do check. And a plan that fails may cost the real interpreter its
//! state, so shapes are tried elsewhere first.

use std::fmt;
use std::sync::Arc;

use super::interpreter::Interpreter;
use super::model::Declared;
use super::sentinel::Sentinel;
use super::settings::Settings;
use super::symbols::Symbols;
use super::tensor::{Allocation, Tensor};
use crate::base::room::joined;
use crate::base::{Dims, Gather, Result, Slot, SlotInfo, Status, fail, text};

/// The shapes of the outputs; `None` for one that only the run will tell.
pub type OutputShapes = Vec<Option<Dims>>;

/// Plans the shapes with plain kernels. `None` when plain kernels cannot run this model at all, because only XNNPACK has
/// one of its operators. Where `strict`, a shape that is too small for the model is refused, since a delegate may not bear it.
pub fn rehearse(
    symbols: &'static Symbols,
    declared: &Arc<Declared>,
    shapes: &[Dims],
    sentinel: Sentinel,
    strict: bool,
) -> Result<Option<OutputShapes>> {
    let Some(stage) = plan_plainly(symbols, declared, shapes, sentinel)? else { return Ok(None) };
    if strict && !shapes.iter().any(is_empty) {
        refuse_empty_tensors(&stage, declared, shapes)?;
    }
    if strict && shapes.iter().any(is_empty) {
        // tensors without elements are right here, so those that are too small are looked for without such inputs; shapes
        // that cannot be planned then tell nothing
        let filled = shapes.iter().zip(&declared.inputs).map(|(dims, input)| fill(dims, input)).gather()?;
        if !filled.iter().any(is_empty)
            && let Ok(Some(stage)) = plan_plainly(symbols, declared, &filled, sentinel)
        {
            refuse_empty_tensors(&stage, declared, shapes)?;
        }
    }
    output_shapes(&stage, declared).map(Some)
}

fn plan_plainly(
    symbols: &'static Symbols,
    declared: &Arc<Declared>,
    shapes: &[Dims],
    sentinel: Sentinel,
) -> Result<Option<Interpreter>> {
    let mut stage = Interpreter::create(symbols, declared.parsed.clone(), Settings::plain(), false)?;
    apply_shapes(&mut stage, declared, shapes)?;
    spare_inputs(&mut stage, declared, sentinel)?;
    match stage.allocate() {
        Err(error) if error.status == Status::Unsupported => return Ok(None),
        other => other.map_err(|error| error.at(given(declared, shapes)))?,
    }
    refuse_lost_arena(&stage)?;
    Ok(Some(stage))
}

/// The shape with some elements wherever the host chose none.
fn fill(dims: &Dims, input: &SlotInfo) -> Dims {
    const SOME: i64 = 16;
    let mut filled = *dims;
    for (dim, declared) in filled.as_mut_slice().iter_mut().zip(input.desc.dims.as_slice()) {
        if *dim == 0 && *declared < 0 {
            *dim = SOME;
        }
    }
    filled
}

/// Gives each input its shape, where it does not have it already: a resize to the same shape is not free.
pub fn apply_shapes(interpreter: &mut Interpreter, declared: &Declared, shapes: &[Dims]) -> Result<()> {
    for (ordinal, (index, wanted)) in declared.input_tensors.iter().zip(shapes).enumerate() {
        let now = interpreter.tensor(*index).map(Tensor::dims).transpose()?;
        if now.as_ref() != Some(wanted) {
            interpreter.resize(ordinal, wanted).map_err(|error| error.at(&declared.inputs[ordinal].name))?;
        }
    }
    Ok(())
}

/// Takes the inputs out of the arena before it is planned: they never compute from there.
pub fn spare_inputs(interpreter: &mut Interpreter, declared: &Declared, sentinel: Sentinel) -> Result<()> {
    for (ordinal, index) in declared.input_tensors.iter().enumerate() {
        if interpreter.tensor(*index).is_some_and(is_bindable) {
            // SAFETY: the number was checked when the model was opened; no run follows before there is memory.
            let status = unsafe { interpreter.set_memory(*index, &sentinel.allocation()) };
            interpreter.check(status, || text!("TFLite refuses memory of ours for {}", Slot::input(ordinal)))?;
        }
    }
    Ok(())
}

/// Whether memory of ours can take the place of the tensor's own.
pub fn is_bindable(tensor: Tensor) -> bool {
    matches!(tensor.allocation(), Allocation::Arena | Allocation::Custom) && !tensor.is_variable()
}

/// The shape of an output, if planning settled it.
pub fn settled_shape(tensor: Tensor) -> Option<Dims> {
    // behind a tensor that only the run will size nothing is planned, and so nothing has an address
    let is_planned = !tensor.data().is_null() || tensor.bytes() == 0;
    if tensor.allocation() == Allocation::Dynamic || !is_planned {
        return None;
    }
    tensor.dims().ok().filter(Dims::is_known)
}

/// Whether any tensor has no size before the run.
pub fn has_unsized_tensors(interpreter: &Interpreter) -> bool {
    let mut tensors = (0..).map_while(|index| interpreter.tensor(index));
    tensors.any(|tensor| tensor.allocation() == Allocation::Dynamic)
}

fn output_shapes(stage: &Interpreter, declared: &Declared) -> Result<OutputShapes> {
    declared.output_tensors.iter().map(|index| stage.tensor(*index).and_then(settled_shape)).gather()
}

/// Refuses shapes that leave nothing to compute with inside the model, as an image that is smaller than a filter does.
fn refuse_empty_tensors(stage: &Interpreter, declared: &Declared, shapes: &[Dims]) -> Result<()> {
    let tensors = (0..).map_while(|index| stage.tensor(index));
    for tensor in tensors.filter(|tensor| tensor.allocation() == Allocation::Arena) {
        let dims = tensor.dims()?;
        if is_empty(&dims) || !dims.is_known() {
            return fail!(
                ShapeMismatch,
                "{}: the tensor '{}' inside the model would become {dims}; the shape is too small for it",
                given(declared, shapes),
                tensor.name()
            );
        }
    }
    Ok(())
}

/// Refuses a plan with dimensions below 0, which the engine takes for a success: plain kernels compute them for an image that
/// is smaller than a filter, where the other dimension comes out as 0, and XNNPACK leaves them to chance for a convolution
/// over a batch of nothing.
pub fn refuse_senseless_shapes(interpreter: &Interpreter) -> Result<()> {
    let mut tensors = (0..).map_while(|index| interpreter.tensor(index));
    let is_senseless = |tensor: &Tensor| is_bindable(*tensor) && tensor.dims().is_ok_and(|dims| !dims.is_known());
    match tensors.find(is_senseless) {
        Some(tensor) => fail!(
            ShapeMismatch,
            "TFLite computes the shape {} for the tensor '{}', which makes no sense",
            tensor.dims()?,
            tensor.name()
        ),
        None => Ok(()),
    }
}

/// Below this, memory that cannot be had would end the process elsewhere already.
const LARGE_ARENA: usize = 256 << 20;

/// Refuses a plan whose memory the engine did not get. It does not look: its tensors then lie at small numbers, the offsets
/// from an arena at address 0 with one of them at 0 itself, and the run crashes. Seen with plain kernels; a delegate keeps its
/// tensors elsewhere.
pub fn refuse_lost_arena(interpreter: &Interpreter) -> Result<()> {
    let arena = || {
        let tensors = (0..).map_while(|index| interpreter.tensor(index));
        tensors.filter(|tensor| tensor.allocation() == Allocation::Arena && tensor.bytes() > 0)
    };
    let total = arena().fold(0usize, |sum, tensor| sum.saturating_add(tensor.bytes()));
    let is_offset = |tensor: Tensor| !tensor.data().is_null() && (tensor.data() as usize) < total;
    let is_at_zero = |tensor: Tensor| tensor.data().is_null();
    if total > LARGE_ARENA && arena().any(is_at_zero) && arena().any(is_offset) {
        return fail!(
            OutOfMemory,
            "the tensors inside the model take up to {total} bytes with these shapes, and TFLite did not get them"
        );
    }
    Ok(())
}

pub fn is_empty(dims: &Dims) -> bool {
    dims.as_slice().contains(&0)
}

/// The shapes that were asked for, for texts.
pub fn given(declared: &Declared, shapes: &[Dims]) -> String {
    let inputs = declared.inputs.iter().zip(shapes);
    let list = joined(inputs.map(|(input, dims)| Given(&input.name, dims)), ", ");
    if declared.inputs.is_empty() { text!("without inputs") } else { text!("with {list}") }
}

struct Given<'a>(&'a str, &'a Dims);

impl fmt::Display for Given<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.0, self.1)
    }
}

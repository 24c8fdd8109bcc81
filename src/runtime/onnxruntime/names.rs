//! Which slots the engine is told of, and by which names.

use std::ffi::{CStr, CString, c_char};

use super::describe::Declared;
use crate::base::room::{c_copy, push};
use crate::base::{Gather, Result, Side, Slot, SlotInfo};

/// The slots of a model as they are named to the engine: every input, and every tensor among the outputs once.
///
/// The engine takes a name twice, or one that is also an input's, without complaint, and then leaves the memory given for it
/// unwritten; so such an output is a twin of the slot that has the tensor, and is never asked for.
pub struct Names {
    inputs: Vec<CString>,
    outputs: Vec<CString>,
    /// For each output slot, the slot that is the same tensor.
    twins: Vec<Option<Slot>>,
    /// The output slots that are asked for.
    requested: Vec<usize>,
}

impl Names {
    pub fn new(inputs: &[Declared], outputs: &[Declared]) -> Result<Names> {
        let names = |slots: &[Declared]| slots.iter().map(|slot| c_copy(&slot.name)).gather_all();
        Names::of(names(inputs)?, names(outputs)?)
    }

    pub(super) fn of(inputs: Vec<CString>, outputs: Vec<CString>) -> Result<Names> {
        let twin = |index: usize| {
            let same = |name: &CString| *name == outputs[index];
            let input = inputs.iter().position(same).map(Slot::input);
            input.or_else(|| outputs[..index].iter().position(same).map(Slot::output))
        };
        let twins = (0..outputs.len()).map(twin).gather()?;
        let mut requested = (0..outputs.len()).filter(|index| twins[*index].is_none()).gather()?;
        if requested.is_empty() && !outputs.is_empty() {
            // a run has to ask for something
            push(&mut requested, 0)?;
        }
        Ok(Names { inputs, outputs, twins, requested })
    }

    pub fn input(&self, index: usize) -> &CStr {
        &self.inputs[index]
    }

    pub fn output(&self, index: usize) -> &CStr {
        &self.outputs[index]
    }

    pub fn twin(&self, output: usize) -> Option<Slot> {
        *self.twins.get(output)?
    }

    /// The output slots that a run asks for, in its order.
    pub fn requested(&self) -> &[usize] {
        &self.requested
    }

    /// The names of all inputs, for a run. They point into this object.
    pub fn input_pointers(&self) -> Result<Vec<*const c_char>> {
        self.inputs.iter().map(|name| name.as_ptr()).gather()
    }

    /// The names of the outputs that a run asks for. They point into this object.
    pub fn output_pointers(&self) -> Result<Vec<*const c_char>> {
        self.requested.iter().map(|index| self.outputs[*index].as_ptr()).gather()
    }

    /// Notes in the slots what became of them here.
    pub fn flag(&self, outputs: &mut [SlotInfo]) {
        for (slot, twin) in outputs.iter_mut().zip(&self.twins) {
            slot.flags.pass_through = matches!(twin, Some(Slot { side: Side::Input, .. }));
            slot.flags.duplicate = matches!(twin, Some(Slot { side: Side::Output, .. }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inputs: &[&str], outputs: &[&str]) -> Names {
        let owned = |names: &[&str]| names.iter().map(|name| CString::new(*name).unwrap()).collect();
        Names::of(owned(inputs), owned(outputs)).unwrap()
    }

    #[test]
    fn each_tensor_is_asked_for_once() {
        let names = names(&["a", "b"], &["x", "b", "x", "y", "b"]);
        let twins: Vec<_> = (0..5).map(|index| names.twin(index)).collect();
        let (b, x) = (Some(Slot::input(1)), Some(Slot::output(0)));
        assert_eq!(twins, [None, b, x, None, b]);
        assert_eq!(names.requested(), [0, 3]);
        assert_eq!(names.output_pointers().unwrap().len(), 2);
    }

    #[test]
    fn something_is_always_asked_for() {
        let names = names(&["a"], &["a", "a"]);
        assert_eq!(names.requested(), [0]);
        assert_eq!(names.twin(0), Some(Slot::input(0)));
    }
}

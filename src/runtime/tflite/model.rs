//! A model: parsed once, listed once, shared by its contexts.

use std::ffi::c_int;
use std::sync::Arc;

use super::context::Context;
use super::file;
use super::interpreter::{Interpreter, ParsedModel};
use super::settings::Settings;
use super::symbols::Symbols;
use super::validate;
use crate::base::{Dims, Gather, Metadata, Result, Side, Signature, Slot, SlotInfo, fail};
use crate::runtime::{EngineContext, EngineModel, EngineOptions, ModelSource};

/// What all contexts of a model need to know of it.
pub struct Declared {
    pub parsed: Arc<ParsedModel>,
    pub inputs: Vec<SlotInfo>,
    pub outputs: Vec<SlotInfo>,
    /// The engine's number of the tensor behind each slot; checked, so that they can be used without a check.
    pub input_tensors: Vec<c_int>,
    pub output_tensors: Vec<c_int>,
    /// A run can be stopped at some point.
    pub can_be_interrupted: bool,
}

pub struct Model {
    symbols: &'static Symbols,
    declared: Arc<Declared>,
    metadata: Vec<Metadata>,
    signatures: Vec<Signature>,
}

impl Model {
    pub fn open(symbols: &'static Symbols, source: Arc<ModelSource>, most: u64) -> Result<Model> {
        let parsed = Arc::new(ParsedModel::parse(symbols, source.clone())?);
        validate::check(source.bytes(), most)?;
        // only an interpreter knows the slots; it plans nothing, since some models cannot be planned as they are declared
        let interpreter = Interpreter::create(symbols, parsed.clone(), Settings::plain(), false)?;
        if let Some(complaint) = interpreter.complaint() {
            return fail!(ModelInvalid, "TFLite finds fault with the model: {complaint}");
        }
        let (input_tensors, output_tensors) = (interpreter.input_tensors()?, interpreter.output_tensors()?);
        let inputs = list(&interpreter, &input_tensors, Slot::input)?;
        let mut outputs = list(&interpreter, &output_tensors, Slot::output)?;
        for (position, output) in outputs.iter_mut().enumerate() {
            let twin = output_twin(&input_tensors, &output_tensors, position);
            output.flags.pass_through = twin.is_some_and(|slot| slot.side == Side::Input);
            output.flags.duplicate = twin.is_some_and(|slot| slot.side == Side::Output);
        }
        let metadata = file::metadata(source.bytes())?;
        let signatures = file::signatures(source.bytes(), &input_tensors, &output_tensors)?;
        let can_be_interrupted = file::can_be_interrupted(source.bytes());
        let declared = Declared { parsed, inputs, outputs, input_tensors, output_tensors, can_be_interrupted };
        Ok(Model { symbols, declared: Arc::new(declared), metadata, signatures })
    }
}

impl EngineModel for Model {
    fn inputs(&self) -> &[SlotInfo] {
        &self.declared.inputs
    }

    fn outputs(&self) -> &[SlotInfo] {
        &self.declared.outputs
    }

    fn metadata(&self) -> &[Metadata] {
        &self.metadata
    }

    fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    fn new_context(&self, options: &EngineOptions) -> Result<Box<dyn EngineContext>> {
        let settings = Settings::read(options)?;
        Ok(Box::new(Context::create(self.symbols, self.declared.clone(), settings)?))
    }
}

impl Declared {
    /// Whether a shape of an input is left to the host.
    pub fn is_open(&self) -> bool {
        self.inputs.iter().any(|input| !input.desc.dims.is_known())
    }

    /// Checks shapes against what the model declares: the engine itself would resize anything.
    pub fn check_shapes(&self, shapes: &[Dims]) -> Result<()> {
        if shapes.len() != self.inputs.len() {
            return fail!(InvalidArgument, "{} shapes for {} inputs", shapes.len(), self.inputs.len());
        }
        for (position, (shape, input)) in shapes.iter().zip(&self.inputs).enumerate() {
            if !shape.is_known() || !shape.matches(&input.desc.dims) {
                return fail!(
                    ShapeMismatch,
                    "input {position} '{}' is {} in the model, and {shape} does not fit: only dimensions of -1 can be chosen",
                    input.name,
                    input.desc
                );
            }
        }
        Ok(())
    }
}

/// The earlier slot that is the same tensor as an output. An input goes before an output.
pub fn output_twin(inputs: &[c_int], outputs: &[c_int], position: usize) -> Option<Slot> {
    let tensor = outputs[position];
    let input = inputs.iter().position(|other| *other == tensor).map(Slot::input);
    input.or_else(|| outputs[..position].iter().position(|other| *other == tensor).map(Slot::output))
}

/// The earlier input that is the same tensor as an input.
pub fn input_twin(inputs: &[c_int], position: usize) -> Option<Slot> {
    inputs[..position].iter().position(|other| *other == inputs[position]).map(Slot::input)
}

fn list(interpreter: &Interpreter, tensors: &[c_int], slot: fn(usize) -> Slot) -> Result<Vec<SlotInfo>> {
    let read = |(position, index): (usize, &c_int)| match interpreter.tensor(*index) {
        Some(tensor) => tensor.slot_info().map_err(|error| error.at(slot(position))),
        None => fail!(ModelInvalid, "{} is tensor {index}, which the model does not have", slot(position)),
    };
    tensors.iter().enumerate().map(read).gather_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_one_tensor_point_to_the_first() {
        assert_eq!(output_twin(&[0, 1], &[2, 1, 2], 0), None);
        assert_eq!(output_twin(&[0, 1], &[2, 1, 2], 1), Some(Slot::input(1)));
        assert_eq!(output_twin(&[0, 1], &[2, 1, 2], 2), Some(Slot::output(0)));
        assert_eq!(input_twin(&[5, 6, 5], 2), Some(Slot::input(0)));
        assert_eq!(input_twin(&[5, 6, 5], 1), None);
    }
}

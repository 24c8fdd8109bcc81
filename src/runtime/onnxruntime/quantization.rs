//! How the numbers of inputs and outputs stand for real ones, from the operators at the borders of the graph.
//!
//! ONNX does not say this of a slot. But where all that a model does with an input is to take it as quantized, by constants,
//! or where an output is made by quantizing with constants, the model says it in other words. All else is left alone.

use super::constants::Constants;
use super::graph::Graph;
use super::model::Slots;
use super::operators::Operator;
use super::uses::{Parameters, Use, Uses};
use crate::base::room::Shortage;
use crate::base::{Desc, Dtype, Gather, Quantization, Result, SlotInfo};
use crate::runtime::format::onnx;

/// Notes in the slots of a model what its graph tells of them. Costs nothing where no slot can be quantized.
pub fn note(model: &[u8], slots: &mut Slots) -> Result<()> {
    let can_be = |slots: &[SlotInfo]| slots.iter().any(|slot| can_be_quantized(&slot.desc));
    if onnx::is_ort_format(model) || !(can_be(&slots.inputs) || can_be(&slots.outputs)) {
        return Ok(());
    }
    let names = &slots.names;
    let inputs = slots.inputs.iter().enumerate().map(|(index, slot)| (names.input(index).to_bytes(), slot.desc));
    let outputs = slots.outputs.iter().enumerate().map(|(index, slot)| (names.output(index).to_bytes(), slot.desc));
    let Some((of_inputs, of_outputs)) = read(model, &inputs.gather()?, &outputs.gather()?)? else {
        return Ok(());
    };
    let all = slots.inputs.iter_mut().zip(of_inputs).chain(slots.outputs.iter_mut().zip(of_outputs));
    all.for_each(|(slot, found)| slot.quantization = found);
    Ok(())
}

fn can_be_quantized(desc: &Desc) -> bool {
    use Dtype::*;
    matches!(desc.dtype, I8 | U8 | I16 | U16 | I32 | I4 | U4)
}

pub(super) type Named<'a> = (&'a [u8], Desc);

type Found = (Vec<Quantization>, Vec<Quantization>);

/// The quantization of each input and output; `None` where the model cannot be understood.
pub(super) fn read(model: &[u8], inputs: &[Named<'_>], outputs: &[Named<'_>]) -> Result<Option<Found>> {
    let shortage = Shortage::default();
    let found = read_all(model, inputs, outputs, &shortage);
    shortage.check(found)
}

fn read_all(model: &[u8], inputs: &[Named<'_>], outputs: &[Named<'_>], shortage: &Shortage) -> Option<Found> {
    let mut is_redefined = false;
    let redefined = |domain: &[u8], name: &[u8]| is_redefined |= Operator::find(domain, name).is_some();
    let graph = Graph::of(model, shortage, redefined)?;
    if is_redefined {
        return None;
    }
    let mut uses = Uses::of(inputs.iter().map(|(name, _)| *name), outputs.iter().map(|(name, _)| *name), shortage)?;
    graph.nodes(|node| uses.note(&node, shortage))?;
    let constants = Constants::read(&graph, &uses, shortage)?;
    let mut resolver = Resolver { constants, budget: model.len(), shortage };
    let found = |used: Option<&Use<'_>>, desc: &Desc, resolver: &mut Resolver<'_>| match used {
        Some(used) if can_be_quantized(desc) => resolver.quantization(used, desc).unwrap_or_default(),
        _ => Quantization::None,
    };
    let of_inputs = inputs.iter().map(|(name, desc)| found(uses.inputs.get(name), desc, &mut resolver));
    let of_inputs = shortage.gather(of_inputs)?;
    // an output that is an input is quantized as that one is
    let of_output = |name: &[u8]| uses.inputs.get(name).or_else(|| uses.outputs.get(name));
    let of_outputs = outputs.iter().map(|(name, desc)| found(of_output(name), desc, &mut resolver));
    Some((of_inputs, shortage.gather(of_outputs)?))
}

/// Makes quantizations out of constants.
struct Resolver<'a> {
    constants: Constants<'a>,
    /// How many more scales may be looked at, so that a model which names the same ones over and over costs no more than its
    /// size.
    budget: usize,
    shortage: &'a Shortage,
}

impl Resolver<'_> {
    /// The one that all uses agree on.
    fn quantization(&mut self, used: &Use<'_>, desc: &Desc) -> Option<Quantization> {
        let Use::Quantized(all) = used else { return None };
        let mut all = all.iter();
        let first = self.resolve(all.next()?, desc)?;
        for other in all {
            if self.resolve(other, desc)? != first {
                return None;
            }
        }
        Some(first)
    }

    fn resolve(&mut self, parameters: &Parameters<'_>, desc: &Desc) -> Option<Quantization> {
        let scales = self.constants.scales.get(parameters.scale)?.as_ref()?;
        self.budget = self.budget.checked_sub(scales.len())?;
        let zero_points = match parameters.zero_point {
            b"" => self.shortage.gather(scales.iter().map(|_| 0))?,
            name => {
                let all = self.constants.zero_points.get(name)?.as_ref()?;
                self.shortage.copied(Some(&all[..]).filter(|all| all.len() == scales.len())?)?
            }
        };
        match (&scales[..], &zero_points[..]) {
            ([], _) => None,
            ([scale], [zero_point]) => Some(Quantization::PerTensor { scale: *scale, zero_point: *zero_point }),
            _ => {
                let axis = axis_of(desc, parameters.axis?, scales.len())?;
                Some(Quantization::PerAxis { axis, scales: self.shortage.copied(scales)?, zero_points })
            }
        }
    }
}

/// The axis counted from the first, if there can be so many scales along it.
pub(super) fn axis_of(desc: &Desc, axis: i64, scales: usize) -> Option<i32> {
    let dims = desc.dims.as_slice();
    if dims.is_empty() {
        // the engine shows a slot of unknown rank like this; a scalar has no axis and would not have come this far
        return i32::try_from(axis).ok().filter(|axis| *axis >= 0);
    }
    let from_first = if axis < 0 { axis.checked_add(dims.len() as i64)? } else { axis };
    let index = usize::try_from(from_first).ok()?;
    let fits = dims.get(index).is_some_and(|dim| *dim < 0 || *dim == scales as i64);
    fits.then_some(index as i32)
}

//! Shapes of outputs from shapes of inputs, as far as names of dimensions tell.

use std::collections::HashMap;

use super::names::Names;
use crate::base::{Desc, Dims, Dtype, Result, Side, Slot, SlotInfo, fail};
use crate::runtime::{Plan, PlannedSlot};

/// Settles the shapes for these dimensions of the inputs. The engine is not asked: it computes shapes only while it runs.
pub fn plan(inputs: &[SlotInfo], outputs: &[SlotInfo], names: &Names, given: &[Dims]) -> Result<Plan> {
    if given.len() != inputs.len() {
        return fail!(InvalidArgument, "{} shapes for a model with {} inputs", given.len(), inputs.len());
    }
    for (index, (slot, dims)) in inputs.iter().zip(given).enumerate() {
        require(Slot::input(index), slot, dims)?;
    }
    let known = named_dims(inputs, given);
    let planned_inputs: Vec<_> = inputs.iter().zip(given).map(|(slot, dims)| planned(slot, *dims)).collect();
    let output = |(index, slot): (usize, &SlotInfo)| {
        let twin = names.twin(index);
        match twin {
            // a twin of an earlier output has its name and so its shape
            Some(Slot { side: Side::Input, index: input }) => {
                PlannedSlot { twin, ..planned(slot, planned_inputs[input].desc.dims) }
            }
            _ => PlannedSlot { twin, ..planned(slot, resolved(slot, &known)) },
        }
    };
    let planned_outputs = outputs.iter().enumerate().map(output).collect();
    Ok(Plan { inputs: planned_inputs, outputs: planned_outputs })
}

fn require(place: Slot, slot: &SlotInfo, dims: &Dims) -> Result<()> {
    let name = &slot.name;
    if !dims.matches(&slot.desc.dims) {
        return fail!(
            ShapeMismatch,
            "{place} '{name}': {dims} does not fit the model's {}; only dimensions of -1 are free",
            slot.desc.dims
        );
    }
    if !dims.is_known() {
        return fail!(ShapeMismatch, "{place} '{name}': {dims} has open dimensions; give all of them before a run");
    }
    if slot.desc.dtype != Dtype::String {
        Desc { dims: *dims, ..slot.desc }.byte_size().map_err(|error| error.at(format!("{place} '{name}'")))?;
    }
    Ok(())
}

/// The value of each dimension that has a name; `None` where inputs disagree. The engine lets them, so a model may mean it.
fn named_dims<'a>(inputs: &'a [SlotInfo], given: &[Dims]) -> HashMap<&'a str, Option<i64>> {
    let mut known = HashMap::new();
    for (slot, dims) in inputs.iter().zip(given) {
        let open = slot.desc.dims.as_slice().iter().zip(dims.as_slice()).zip(&slot.dim_names);
        for ((declared, dim), name) in open {
            if *declared < 0 && !name.is_empty() {
                let value = known.entry(name.as_str()).or_insert(Some(*dim));
                *value = value.filter(|value| value == dim);
            }
        }
    }
    known
}

fn resolved(slot: &SlotInfo, known: &HashMap<&str, Option<i64>>) -> Dims {
    let mut dims = slot.desc.dims;
    for (dim, name) in dims.as_mut_slice().iter_mut().zip(&slot.dim_names) {
        if *dim < 0 {
            *dim = known.get(name.as_str()).copied().flatten().unwrap_or(-1);
        }
    }
    dims
}

fn planned(slot: &SlotInfo, dims: Dims) -> PlannedSlot {
    let mut flags = slot.flags;
    flags.dynamic = !dims.is_known();
    let strings = c"string tensors are objects of the engine; no host memory can take their place";
    let fixed = (slot.desc.dtype == Dtype::String).then_some(strings);
    PlannedSlot { desc: Desc { dims, ..slot.desc }, flags, twin: None, fixed }
}
